// Selects quantize rows; int32 codes and per-channel blocks.
#include "kernels/quantize/QuantizeDetail.h"
#include "kernels/simd/Select.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace qfx::kernels {

static constexpr IsaRow<QuantizeKernels> kRows[] = {
#define QFX_QUANTIZE_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/quantize/QuantizeKernels.def"
};

const QuantizeKernels &selectQuantize(Isa isa) { return selectLast(kRows, isa); }

void quantizeS32(const float *src, int32_t *dst, int64_t n, const QParams &params) {
  const float inv = 1.0f / static_cast<float>(params.scale), zeroPoint = static_cast<float>(params.zeroPoint);
  for (int64_t i = 0; i < n; ++i) {
    float v = zeroPoint + std::nearbyint(src[i] * inv);
    if (v >= 2147483648.0f)
      dst[i] = INT32_MAX;
    else if (v >= -2147483648.0f)
      dst[i] = static_cast<int32_t>(v);
    else
      dst[i] = INT32_MIN; // below the range, or NaN
  }
}

void dequantizeS32(const int32_t *src, float *dst, int64_t n, const QParams &params) {
  const float scale = static_cast<float>(params.scale);
  for (int64_t i = 0; i < n; ++i)
    dst[i] = scale * static_cast<float>(static_cast<int64_t>(src[i]) - params.zeroPoint);
}

/// Channels handled at a time when the channel is innermost: their f32 scales stand on the stack.
static constexpr int64_t kChannelBlock = 256;

template <class T>
void quantizePerChannel(const float *src, T *dst, int64_t outer, int64_t channels, int64_t inner, const double *scale,
                        const int32_t *zeroPoint) {
  const QuantizeKernels &kernels = selectQuantize();
  auto quantizeRun = [&](const float *s, T *d, int64_t n, const QParams &params) {
    if constexpr (std::is_same_v<T, uint8_t>)
      kernels.quantizeU8(s, d, n, params);
    else if constexpr (std::is_same_v<T, int8_t>)
      kernels.quantizeS8(s, d, n, params);
    else
      quantizeS32(s, d, n, params);
  };
  if (inner != 1 || std::is_same_v<T, int32_t>) {
    for (int64_t row = 0; row < outer * channels; ++row)
      quantizeRun(src + row * inner, dst + row * inner, inner, {scale[row % channels], zeroPoint[row % channels]});
    return;
  }
  if constexpr (!std::is_same_v<T, int32_t>) {
    float narrow[kChannelBlock];
    for (int64_t c = 0; c < channels; c += kChannelBlock) {
      int64_t count = std::min(kChannelBlock, channels - c);
      std::transform(scale + c, scale + c + count, narrow, [](double s) { return static_cast<float>(s); });
      for (int64_t o = 0; o < outer; ++o) {
        const float *s = src + o * channels + c;
        T *d = dst + o * channels + c;
        if constexpr (std::is_same_v<T, uint8_t>)
          kernels.quantizeChannelsU8(s, d, count, narrow, zeroPoint + c);
        else
          kernels.quantizeChannelsS8(s, d, count, narrow, zeroPoint + c);
      }
    }
  }
}

template <class T>
void dequantizePerChannel(const T *src, float *dst, int64_t outer, int64_t channels, int64_t inner, const double *scale,
                          const int32_t *zeroPoint) {
  for (int64_t row = 0; row < outer * channels; ++row) {
    const double s = scale[row % channels];
    const float z = static_cast<float>(zeroPoint[row % channels]);
    for (int64_t i = row * inner; i < (row + 1) * inner; ++i)
      dst[i] = static_cast<float>(static_cast<double>(static_cast<float>(src[i]) - z) * s);
  }
}

template void quantizePerChannel(const float *, uint8_t *, int64_t, int64_t, int64_t, const double *, const int32_t *);
template void quantizePerChannel(const float *, int8_t *, int64_t, int64_t, int64_t, const double *, const int32_t *);
template void quantizePerChannel(const float *, int32_t *, int64_t, int64_t, int64_t, const double *, const int32_t *);
template void dequantizePerChannel(const uint8_t *, float *, int64_t, int64_t, int64_t, const double *,
                                   const int32_t *);
template void dequantizePerChannel(const int8_t *, float *, int64_t, int64_t, int64_t, const double *, const int32_t *);
template void dequantizePerChannel(const int32_t *, float *, int64_t, int64_t, int64_t, const double *,
                                   const int32_t *);

} // namespace qfx::kernels
