// Selects float depthwise rows and gathers their taps.
#include "kernels/fconv/FconvDetail.h"
#include "kernels/fconv/FdepthwiseDetail.h"
#include "kernels/simd/Select.h"

#include <algorithm>

namespace qfx::kernels {

static constexpr IsaRow<FdepthwiseKernels> kRows[] = {
#define QFX_FDEPTHWISE_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/fconv/FdepthwiseKernels.def"
};

const FdepthwiseKernels &selectFdepthwise(Isa isa) { return selectLast(kRows, isa); }

bool isFdepthwise(const ConvShape &shape) { return shape.isDepthwise() && shape.outChannels == shape.inChannels; }

int64_t getFdepthwisePackedSize(const ConvShape &shape) { return shape.taps() * shape.inChannels; }

void packFdepthwise(const ConvShape &shape, const float *weight, float *packed) {
  const int64_t taps = shape.taps(), channels = shape.inChannels;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t t = 0; t < taps; ++t)
      packed[t * channels + c] = weight[c * taps + t];
}

static constexpr int kPixels = 2;

static int64_t pointerBytes(const ConvShape &shape) {
  return (kPixels * shape.taps() * static_cast<int64_t>(sizeof(float *)) + 63) / 64 * 64;
}

int64_t getFdepthwiseScratchBytes(const ConvShape &shape) {
  return pointerBytes(shape) + (shape.inChannels * static_cast<int64_t>(sizeof(float)) + 63) / 64 * 64;
}

void fdepthwise(const FdepthwiseKernels &kernels, const ConvShape &shape, const ConvSizes &sizes, const FconvArgs &args,
                int64_t begin, int64_t end, void *scratch) {
  const float **pointers = static_cast<const float **>(scratch);
  float *zeros = reinterpret_cast<float *>(static_cast<char *>(scratch) + pointerBytes(shape));
  std::fill_n(zeros, shape.inChannels, 0.0f);
  ConvCursor cursor(sizes, begin);
  for (int64_t pixel = begin; pixel < end; pixel += kPixels) {
    const int count = static_cast<int>(std::min<int64_t>(kPixels, end - pixel));
    for (int i = 0; i < count; ++i, cursor.next())
      cursor.forTaps(shape, [&](int64_t tap, int64_t from) {
        pointers[i * shape.taps() + tap] = from < 0 ? zeros : args.src + from * args.srcStride;
      });
    kernels.run(shape.taps(), shape.inChannels, pointers, count, args.packed, args.bias ? args.bias : zeros, args.lo,
                args.hi, args.dst + pixel * args.dstStride, args.dstStride);
  }
}

} // namespace qfx::kernels
