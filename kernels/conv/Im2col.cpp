// im2col for channels-last codes: taps that lie next to each other are copied as one run.
#include "kernels/conv/Im2col.h"

#include <algorithm>
#include <cstring>

namespace qfx::kernels {

namespace {
/// One line of taps along the width for a pixel whose first tap stands at column `w` of the line `src`.
struct LineGather {
  int64_t taps, dilation, width, channels, lds;
  uint8_t padCode;

  uint8_t *operator()(const uint8_t *src, int64_t w, uint8_t *dst) const {
    if (dilation == 1 && lds == channels) {
      int64_t left = std::clamp<int64_t>(-w, 0, taps);
      int64_t inside = std::clamp<int64_t>(width - (w + left), 0, taps - left);
      std::memset(dst, padCode, left * channels);
      std::memcpy(dst + left * channels, src + (w + left) * lds, inside * channels);
      std::memset(dst + (left + inside) * channels, padCode, (taps - left - inside) * channels);
      return dst + taps * channels;
    }
    for (int64_t t = 0; t < taps; ++t, w += dilation, dst += channels) {
      if (w < 0 || w >= width)
        std::memset(dst, padCode, channels);
      else
        std::memcpy(dst, src + w * lds, channels);
    }
    return dst;
  }
};
} // namespace

void im2col(const ConvShape &shape, const ConvSizes &sizes, const uint8_t *src, int64_t ldsElems, uint8_t padCode,
            int64_t begin, int64_t end, uint8_t *dst, int64_t rowBytes) {
  const int64_t channels = shape.groupInChannels();
  const LineGather gather{shape.kernel[2], shape.dilation[2], sizes.in[2], channels, ldsElems, padCode};
  const int64_t lineTaps = shape.kernel[2] * channels;
  for (int64_t pixel = begin; pixel < end; ++pixel, dst += rowBytes) {
    int64_t ow = pixel % sizes.out[2], rest = pixel / sizes.out[2];
    int64_t oh = rest % sizes.out[1];
    rest /= sizes.out[1];
    int64_t od = rest % sizes.out[0], image = rest / sizes.out[0];
    int64_t w = ow * shape.stride[2] - shape.padding[2];
    uint8_t *out = dst;
    for (int64_t kd = 0; kd < shape.kernel[0]; ++kd) {
      int64_t d = od * shape.stride[0] - shape.padding[0] + kd * shape.dilation[0];
      for (int64_t kh = 0; kh < shape.kernel[1]; ++kh) {
        int64_t h = oh * shape.stride[1] - shape.padding[1] + kh * shape.dilation[1];
        if (d < 0 || d >= sizes.in[0] || h < 0 || h >= sizes.in[1]) {
          std::memset(out, padCode, lineTaps);
          out += lineTaps;
          continue;
        }
        const uint8_t *line = src + ((image * sizes.in[0] + d) * sizes.in[1] + h) * sizes.in[2] * ldsElems;
        out = gather(line, w, out);
      }
    }
    std::memset(out, 0, dst + rowBytes - out);
  }
}

} // namespace qfx::kernels
