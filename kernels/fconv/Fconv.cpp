// Packs convolution weights and gathers input rows: as pointers where channels are many, as copies where they are few.
#include "kernels/fconv/Fconv.h"
#include "kernels/fconv/FconvDetail.h"

#include <algorithm>
#include <cassert>

namespace qfx::kernels {

/// From this many channels on, the tile's inner loop over one tap is long enough to read the input in place.
static constexpr int64_t kDirectChannels = 16;

static bool isDirect(const ConvShape &shape) { return shape.taps() == 1 || shape.groupInChannels() >= kDirectChannels; }

static int64_t groupPackedSize(const SgemmKernel &kernel, const ConvShape &shape) {
  return getSgemmPackedSize(kernel, shape.groupOutChannels(), shape.reduction());
}

int64_t getFconvPackedSize(const SgemmKernel &kernel, const ConvShape &shape) {
  return shape.groups * groupPackedSize(kernel, shape);
}

void packFconv(const SgemmKernel &kernel, const ConvShape &shape, const float *weight, float *packed) {
  const int64_t channels = shape.groupInChannels(), taps = shape.taps(), depth = shape.reduction();
  const int64_t outputs = shape.groupOutChannels(), columns = kernel.columns;
  std::fill_n(packed, getFconvPackedSize(kernel, shape), 0.0f);
  for (int64_t o = 0; o < shape.outChannels; ++o) {
    const int64_t j = o % outputs;
    float *panel = packed + o / outputs * groupPackedSize(kernel, shape) + j / columns * columns * depth + j % columns;
    const float *w = weight + o * depth;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t)
        panel[(t * channels + c) * columns] = w[c * taps + t];
  }
}

static int64_t roundUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Scratch: the pointers, then a row of zeros (direct) or the gathered rows.
static int64_t pointerBytes(const ConvShape &shape) {
  const int64_t perRow = isDirect(shape) ? shape.taps() : 1;
  return roundUp(perRow * (kMaxSgemmBlockRows + kMaxSgemmRows) * static_cast<int64_t>(sizeof(float *)));
}

int64_t getFconvScratchBytes(const SgemmKernel &kernel, const ConvShape &shape) {
  const int64_t rows = getSgemmBlockRows(kernel, shape.reduction());
  const int64_t floats = isDirect(shape) ? shape.inChannels : rows * shape.reduction();
  return pointerBytes(shape) + roundUp(floats * static_cast<int64_t>(sizeof(float)));
}

/// Points at the input of `count` pixels from `cursor` on, in sgemmRows' order; padding points at `zeros`.
static void gatherPointers(const SgemmKernel &kernel, const ConvShape &shape, const FconvArgs &args, ConvCursor &cursor,
                           int64_t count, const float *zeros, const float **pointers) {
  const int64_t taps = shape.taps();
  for (int64_t i = 0; i < count; ++i, cursor.next()) {
    const float **row = pointers + i / kernel.rows * taps * kernel.rows + i % kernel.rows;
    cursor.forTaps(shape, [&](int64_t tap, int64_t pixel) {
      row[tap * kernel.rows] = pixel < 0 ? zeros : args.src + pixel * args.srcStride;
    });
  }
}

/// Copies the taps of one row of one pixel: n channels each, zeros in the padding.
static void gatherTaps(const ConvShape &shape, const ConvSizes &sizes, const FconvArgs &args, int64_t firstPixel,
                       int64_t column, int64_t firstChannel, int64_t channels, float *dst) {
  const int64_t taps = shape.kernel[2], step = shape.dilation[2];
  if (firstPixel < 0) {
    std::fill_n(dst, taps * channels, 0.0f);
    return;
  }
  const int64_t left = column < 0 ? std::min(taps, (-column + step - 1) / step) : 0;
  const int64_t width = sizes.in[2] - column; // columns from the first tap to the right edge
  const int64_t right = std::clamp<int64_t>(width > 0 ? (width + step - 1) / step : 0, left, taps);
  std::fill_n(dst, left * channels, 0.0f);
  const float *src =
      args.src + (firstPixel + std::max<int64_t>(column + left * step, 0)) * args.srcStride + firstChannel;
  if (step * args.srcStride == channels) // neighbouring taps lie side by side
    std::copy_n(src, (right - left) * channels, dst + left * channels);
  else
    for (int64_t t = left; t < right; ++t, src += step * args.srcStride)
      for (int64_t c = 0; c < channels; ++c)
        dst[t * channels + c] = src[c];
  std::fill_n(dst + right * channels, (taps - right) * channels, 0.0f);
}

/// Copies the taps of `count` pixels of one group into dense rows of K floats; \returns the cursor behind them.
static ConvCursor gatherRows(const ConvShape &shape, const ConvSizes &sizes, const FconvArgs &args, ConvCursor cursor,
                             int64_t count, int64_t firstChannel, float *rows) {
  const int64_t channels = shape.groupInChannels(), depth = shape.reduction();
  for (int64_t i = 0; i < count; ++i, cursor.next(), rows += depth) {
    const int64_t column = cursor.getColumn(shape);
    cursor.forTapRows(shape, [&](int64_t tap, int64_t first) {
      gatherTaps(shape, sizes, args, first, column, firstChannel, channels, rows + tap * channels);
    });
  }
  return cursor;
}

void fconv(const SgemmKernel &kernel, const ConvShape &shape, const ConvSizes &sizes, const FconvArgs &args,
           int64_t begin, int64_t end, void *scratch) {
  assert(begin >= 0 && end <= sizes.outPixels() && "pixels out of range");
  const int64_t depth = shape.reduction(), outputs = shape.groupOutChannels(), channels = shape.groupInChannels();
  const int64_t block = getSgemmBlockRows(kernel, depth), packedSize = groupPackedSize(kernel, shape);
  const bool direct = isDirect(shape);
  const float **pointers = static_cast<const float **>(scratch);
  float *floats = reinterpret_cast<float *>(static_cast<char *>(scratch) + pointerBytes(shape));
  if (direct)
    std::fill_n(floats, shape.inChannels, 0.0f);
  ConvCursor cursor(sizes, begin);
  for (int64_t pixel = begin; pixel < end; pixel += block) {
    const int64_t count = std::min(block, end - pixel);
    const ConvCursor blockStart = cursor;
    SgemmRows rows = {count, 1, depth, pointers};
    if (direct) {
      gatherPointers(kernel, shape, args, cursor, count, floats, pointers);
      rows.taps = shape.taps();
      rows.tapLength = channels;
    } else {
      for (int64_t i = 0; i < count; ++i)
        pointers[i] = floats + i * depth;
    }
    for (int64_t group = 0; group < shape.groups; ++group) {
      if (direct)
        rows.offset = group * channels;
      else
        cursor = gatherRows(shape, sizes, args, blockStart, count, group * channels, floats);
      SgemmArgs part = {outputs,
                        depth,
                        nullptr,
                        0,
                        args.packed + group * packedSize,
                        args.bias ? args.bias + group * outputs : nullptr,
                        args.lo,
                        args.hi,
                        args.dst + pixel * args.dstStride + group * outputs,
                        args.dstStride};
      sgemmRows(kernel, part, rows, 0, outputs);
    }
  }
}

} // namespace qfx::kernels
