// Walks output pixels and sets up their cells and rounding.
#include "kernels/pool/Pool.h"
#include "kernels/pool/PoolDetail.h"
#include "kernels/simd/Select.h"

#include <type_traits>

namespace qfx::kernels {

static constexpr IsaRow<PoolKernels> kRows[] = {
#define QFX_POOL_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/pool/PoolKernels.def"
};

const PoolKernels &selectPool(Isa isa) { return selectLast(kRows, isa); }

namespace {
/// What one output pixel reads.
struct Pixel {
  int64_t offset; // elements from src to the first tap
  PoolCell cell;
  int64_t size;   // taps inside the input
  int64_t padded; // taps counting padding
  int64_t extents[3];
};
} // namespace

static Pixel getPixel(const PoolShape &shape, int64_t index) {
  int64_t position[3];
  for (int d = 2; d >= 0; --d) {
    position[d] = index % shape.out[d];
    index /= shape.out[d];
  }
  Pixel pixel;
  pixel.offset = index * shape.numInputPixels();
  pixel.size = pixel.padded = 1;
  int64_t stride = 1;
  for (int d = 2; d >= 0; --d) {
    PoolWindow window = getPoolWindow(shape, d, position[d]);
    pixel.offset += window.start * stride;
    pixel.cell.counts[d] = pixel.extents[d] = window.count;
    pixel.cell.strides[d] = window.step * stride * shape.channels;
    pixel.size *= window.count;
    pixel.padded *= window.padded;
    stride *= shape.in[d];
  }
  pixel.offset *= shape.channels;
  return pixel;
}

static int64_t getDivisor(const PoolShape &shape, const Pixel &pixel) {
  if (shape.divisorOverride != 0)
    return shape.divisorOverride;
  return shape.countIncludePad ? pixel.padded : pixel.size;
}

template <class T>
void maxPool(const PoolKernels &kernels, const PoolShape &shape, const T *src, T *dst, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    Pixel pixel = getPixel(shape, i);
    const T *first = src + pixel.offset;
    T *out = dst + i * shape.channels;
    if constexpr (std::is_same_v<T, float>)
      kernels.maxF32(first, pixel.cell, shape.channels, out);
    else if constexpr (std::is_same_v<T, uint8_t>)
      kernels.maxU8(first, pixel.cell, shape.channels, out);
    else
      kernels.maxS8(first, pixel.cell, shape.channels, out);
  }
}

void avgPool(const PoolKernels &kernels, const PoolShape &shape, const float *src, float *dst, int64_t begin,
             int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    Pixel pixel = getPixel(shape, i);
    kernels.avgF32(src + pixel.offset, pixel.cell, shape.channels, static_cast<float>(getDivisor(shape, pixel)),
                   dst + i * shape.channels);
  }
}

/// The two rules of operators.md 8.1 and the two of 8.2; they differ at ties only.
static PoolRounding getRounding(const PoolShape &shape, const Pixel &pixel, int32_t zeroPoint, MemoryFormat format) {
  PoolRounding rounding = {0, 1.0f, 1.0f, 1.0f, 0.0f, 0};
  if (shape.adaptive && format == MemoryFormat::Contiguous) { // raw sums, reciprocal built dimension by dimension
    for (int64_t extent : pixel.extents)
      rounding.scale = rounding.scale / static_cast<float>(extent);
    return rounding;
  }
  rounding.correction = static_cast<int32_t>(pixel.size) * zeroPoint;
  if (shape.adaptive) {
    rounding.unscale = 1.0f / static_cast<float>(pixel.size);
    rounding.before = static_cast<float>(zeroPoint);
    return rounding;
  }
  const int64_t divisor = getDivisor(shape, pixel);
  if (format == MemoryFormat::ChannelsLast) {
    rounding.scale = 1.0f / static_cast<float>(divisor);
    rounding.after = zeroPoint;
  } else {
    rounding.scale = static_cast<float>(1.0 / static_cast<double>(divisor));
    rounding.before = static_cast<float>(zeroPoint);
  }
  return rounding;
}

template <class T>
static void avgCell(const PoolKernels &kernels, const T *src, const PoolCell &cell, int64_t channels,
                    const PoolRounding &rounding, T *dst) {
  assert(cell.counts[0] * cell.counts[1] * cell.counts[2] < (1 << 23) && "sum would overflow");
  if constexpr (std::is_same_v<T, uint8_t>)
    kernels.avgU8(src, cell, channels, rounding, dst);
  else
    kernels.avgS8(src, cell, channels, rounding, dst);
}

template <class T>
void avgPool(const PoolKernels &kernels, const PoolShape &shape, int32_t zeroPoint, MemoryFormat format, const T *src,
             T *dst, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    Pixel pixel = getPixel(shape, i);
    avgCell(kernels, src + pixel.offset, pixel.cell, shape.channels, getRounding(shape, pixel, zeroPoint, format),
            dst + i * shape.channels);
  }
}

template <class T>
void meanPositions(const PoolKernels &kernels, int64_t rows, int64_t positions, int64_t channels, const QParams &params,
                   MemoryFormat format, const T *src, T *dst) {
  PoolCell cell = {{1, 1, positions}, {0, 0, channels}};
  PoolRounding rounding = {0, 1.0f, static_cast<float>(positions), 1.0f, 0.0f, 0};
  if (format == MemoryFormat::ChannelsLast) {
    rounding.correction = static_cast<int32_t>(positions) * params.zeroPoint;
    rounding.scale = static_cast<float>(params.scale);
    rounding.unscale = 1.0f / static_cast<float>(params.scale);
    rounding.after = params.zeroPoint;
  }
  for (int64_t r = 0; r < rows; ++r)
    avgCell(kernels, src + r * positions * channels, cell, channels, rounding, dst + r * channels);
}

template void maxPool(const PoolKernels &, const PoolShape &, const float *, float *, int64_t, int64_t);
template void maxPool(const PoolKernels &, const PoolShape &, const uint8_t *, uint8_t *, int64_t, int64_t);
template void maxPool(const PoolKernels &, const PoolShape &, const int8_t *, int8_t *, int64_t, int64_t);
template void avgPool(const PoolKernels &, const PoolShape &, int32_t, MemoryFormat, const uint8_t *, uint8_t *,
                      int64_t, int64_t);
template void avgPool(const PoolKernels &, const PoolShape &, int32_t, MemoryFormat, const int8_t *, int8_t *, int64_t,
                      int64_t);
template void meanPositions(const PoolKernels &, int64_t, int64_t, int64_t, const QParams &, MemoryFormat,
                            const uint8_t *, uint8_t *);
template void meanPositions(const PoolKernels &, int64_t, int64_t, int64_t, const QParams &, MemoryFormat,
                            const int8_t *, int8_t *);

} // namespace qfx::kernels
