// Drives the depthwise microkernels over lines of output: borders pixel by pixel, the inside in one run.
#include "kernels/depthwise/Depthwise.h"

#include <algorithm>
#include <cstring>

namespace qfx::kernels {

static int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

DepthwisePlan planDepthwise(const PackedDepthwise &weights, const ConvSizes &sizes, int threads) {
  DepthwisePlan plan;
  plan.weights = weights;
  plan.sizes = sizes;
  int64_t wanted = threads > 1 ? 4 * int64_t(threads) : 1;
  plan.linesPerUnit = std::max<int64_t>(1, plan.lines() / wanted);
  return plan;
}

static bool isExpanded(const ConvShape &shape) { return shape.outChannels != shape.inChannels; }

namespace {
/// The scratch memory of a run, cut into its arrays; with null memory only `bytes` means anything.
struct Scratch {
  int32_t *offset;       ///< [paddedChannels] in the kernel's channel order, as bias and multiplier
  float *bias;
  float *multiplier;
  const uint8_t **taps;  ///< [tapGroups * tapGroup]
  const uint8_t **lines; ///< [kernel d * kernel h] lines of taps of an output line, null for padding
  const uint8_t **sources; ///< [kernel d * kernel h] the input lines they come from
  bool *below128;        ///< [kernel d * kernel h] every code of that input line is below 128
  uint8_t *padding;      ///< padding codes for a whole block of channels
  uint8_t *tail;         ///< [taps, paddedChannels] copies of taps at the very end of the input
  uint8_t *expanded;     ///< [lines, expandedLineBytes] input lines with channels repeated per output channel
  int64_t expandedLineBytes;
  int64_t bytes = 0;

  Scratch(const DepthwisePlan &plan, void *memory) : base(static_cast<char *>(memory)) {
    const PackedDepthwise &weights = plan.weights;
    const ConvShape &shape = weights.shape;
    const int64_t channels = weights.paddedChannels(), lineCount = shape.kernel[0] * shape.kernel[1];
    offset = take<int32_t>(channels);
    bias = take<float>(channels);
    multiplier = take<float>(channels);
    taps = take<const uint8_t *>(weights.tapGroups() * weights.kernel->tapGroup);
    lines = take<const uint8_t *>(lineCount);
    sources = take<const uint8_t *>(lineCount);
    below128 = take<bool>(lineCount);
    padding = take<uint8_t>(channels);
    tail = take<uint8_t>(shape.taps() * channels);
    expandedLineBytes = plan.sizes.in[2] * shape.outChannels + weights.kernel->width;
    expanded = take<uint8_t>(isExpanded(shape) ? lineCount * expandedLineBytes : 0);
  }

private:
  char *base;
  template <class T> T *take(int64_t count) {
    char *here = base + bytes;
    bytes += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return reinterpret_cast<T *>(here);
  }
};

/// One call of runDepthwise.
class Run {
public:
  Run(const DepthwisePlan &plan, const RequantParams &params, int32_t srcZeroPoint, const uint8_t *src,
      int64_t ldsElems, uint8_t *dst, int64_t lddElems, void *memory)
      : plan(plan), shape(plan.weights.shape), sizes(plan.sizes), params(params), scratch(plan, memory),
        src(src), ldsElems(ldsElems), dst(dst), lddElems(lddElems) {
    const DepthwiseKernel &kernel = *plan.weights.kernel;
    std::memset(scratch.padding, srcZeroPoint, plan.weights.paddedChannels());
    std::fill_n(scratch.sources, shape.kernel[0] * shape.kernel[1], nullptr);
    for (int64_t c = 0; c < plan.weights.paddedChannels(); ++c) {
      bool real = c < shape.outChannels;
      int64_t at = c / kernel.width * kernel.width + depthwisePosition(kernel, c % kernel.width);
      scratch.offset[at] = real ? params.offset[c] : 0;
      scratch.bias[at] = real ? params.bias[c] : 0;
      scratch.multiplier[at] = real ? params.multiplier[c] : 0;
    }
    tile = {};
    tile.taps = scratch.taps;
    tile.tapGroups = plan.weights.tapGroups();
    tile.weights = plan.weights.weights;
    tile.channels = shape.outChannels;
    tile.dstStep = lddElems;
    tile.offset = scratch.offset;
    tile.bias = scratch.bias;
    tile.multiplier = scratch.multiplier;
    tile.zeroPoint = params.zeroPoint;
    tile.low = params.low;
    tile.high = params.high;
    pixelElems = isExpanded(shape) ? shape.outChannels : ldsElems;
    tile.srcStep = shape.stride[2] * pixelElems;
    int64_t pixels = sizes.batch * sizes.in[0] * sizes.in[1] * sizes.in[2];
    end = src + (pixels - 1) * ldsElems + shape.inChannels;
  }

  /// Computes output line `line`, counted over images, depth and height.
  void line(int64_t line) {
    const bool whole = pointToLines(line);
    uint8_t *out = dst + line * sizes.out[2] * lddElems;
    const int64_t stride = shape.stride[2], padding = shape.padding[2];
    const int64_t lastInside = sizes.in[2] - 1 + padding - (shape.kernel[2] - 1) * shape.dilation[2];
    const int64_t insideBegin = ceilDiv(padding, stride), insideEnd = lastInside < 0 ? 0 : lastInside / stride + 1;
    for (int64_t ow = 0, pixels; ow < sizes.out[2]; ow += pixels) {
      bool inside = whole && params.exact32 && ow >= insideBegin && ow < insideEnd;
      pixels = inside ? std::min(insideEnd, sizes.out[2]) - ow : 1;
      pixels = pointToTaps(ow * stride - padding, pixels);
      uint8_t *to = out + ow * lddElems;
      if (!params.exact32) {
        plainPixel(to);
        continue;
      }
      tile.pixels = pixels;
      tile.dst = to;
      plan.weights.kernel->run(tile);
    }
  }

private:
  const DepthwisePlan &plan;
  const ConvShape &shape;
  const ConvSizes &sizes;
  const RequantParams &params;
  Scratch scratch;
  DepthwiseTile tile;
  const uint8_t *src;
  int64_t ldsElems;
  uint8_t *dst;
  int64_t lddElems;
  int64_t pixelElems; ///< distance of the pixels that taps point to
  const uint8_t *end; ///< behind the last byte that may be read

  /// Finds the input lines of an output line; \returns whether none of them is padding.
  bool pointToLines(int64_t line) {
    int64_t oh = line % sizes.out[1], od = line / sizes.out[1] % sizes.out[0];
    int64_t image = line / (sizes.out[1] * sizes.out[0]);
    bool whole = true;
    tile.below128 = plan.weights.kernel->below128 && scratch.padding[0] < 128;
    int64_t i = 0;
    for (int64_t kd = 0; kd < shape.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < shape.kernel[1]; ++kh, ++i) {
        int64_t d = od * shape.stride[0] - shape.padding[0] + kd * shape.dilation[0];
        int64_t h = oh * shape.stride[1] - shape.padding[1] + kh * shape.dilation[1];
        if (d < 0 || d >= sizes.in[0] || h < 0 || h >= sizes.in[1]) {
          scratch.lines[i] = scratch.sources[i] = nullptr;
          whole = false;
          continue;
        }
        const uint8_t *from = src + ((image * sizes.in[0] + d) * sizes.in[1] + h) * sizes.in[2] * ldsElems;
        scratch.lines[i] = isExpanded(shape) ? expand(from, scratch.expanded + i * scratch.expandedLineBytes) : from;
        tile.below128 = tile.below128 && isBelow128(from, i);
      }
    return whole;
  }

  /// Whether every code of the input line `from` is below 128; slot `i` remembers it, and lower slots of the next
  /// output line, which mostly reads the same lines, ask there first.
  bool isBelow128(const uint8_t *from, int64_t i) {
    const int64_t lineCount = shape.kernel[0] * shape.kernel[1], before = i + shape.stride[1];
    bool known = before < lineCount && scratch.sources[before] == from;
    bool dense = ldsElems == shape.inChannels;
    scratch.below128[i] = known ? scratch.below128[before]
                                : plan.weights.kernel->below128(from, dense ? 1 : sizes.in[2],
                                                                shape.inChannels * (dense ? sizes.in[2] : 1), ldsElems);
    scratch.sources[i] = from;
    return scratch.below128[i];
  }

  /// Repeats every channel of an input line for each of its output channels.
  const uint8_t *expand(const uint8_t *from, uint8_t *to) const {
    const int64_t multiplier = shape.groupOutChannels();
    uint8_t *out = to;
    for (int64_t w = 0; w < sizes.in[2]; ++w, from += ldsElems)
      for (int64_t c = 0; c < shape.inChannels; ++c, out += multiplier)
        std::memset(out, from[c], multiplier);
    return to;
  }

  /// Points to the taps of the pixel whose first tap stands at column `w`.
  /// \returns how many of the wanted `pixels` can be run: no tap may reach behind the input.
  int64_t pointToTaps(int64_t w, int64_t pixels) {
    const int64_t lineCount = shape.kernel[0] * shape.kernel[1], block = plan.weights.paddedChannels();
    const int64_t room = isExpanded(shape) ? 0 : block;
    int64_t t = 0;
    for (int64_t i = 0; i < lineCount; ++i)
      for (int64_t kw = 0; kw < shape.kernel[2]; ++kw, ++t) {
        int64_t column = w + kw * shape.dilation[2];
        if (!scratch.lines[i] || column < 0 || column >= sizes.in[2]) {
          scratch.taps[t] = scratch.padding;
          continue;
        }
        const uint8_t *tap = scratch.lines[i] + column * pixelElems;
        if (room && end - tap < room) {
          uint8_t *copy = scratch.tail + t * block;
          std::memcpy(copy, tap, shape.outChannels);
          tap = copy;
          pixels = 1;
        } else if (room && pixels > 1) {
          pixels = std::min(pixels, (end - tap - room) / tile.srcStep + 1);
        }
        scratch.taps[t] = tap;
      }
    for (int64_t last = tile.tapGroups * plan.weights.kernel->tapGroup; t < last; ++t)
      scratch.taps[t] = scratch.taps[0]; // their weights are 0
    return pixels;
  }

  /// One pixel in exact 64-bit sums, weight zero points included.
  void plainPixel(uint8_t *to) const {
    for (int64_t c = 0; c < shape.outChannels; ++c) {
      int64_t acc = 0, sum = 0;
      for (int64_t t = 0; t < shape.taps(); ++t) {
        acc += int64_t(scratch.taps[t][c]) * getDepthwiseWeight(plan.weights, c, t);
        sum += scratch.taps[t][c];
      }
      requantizeRow(&acc, sum, c, 1, params, to + c);
    }
  }
};
} // namespace

int64_t getDepthwiseScratchBytes(const DepthwisePlan &plan) { return Scratch(plan, nullptr).bytes; }

void runDepthwise(const DepthwisePlan &plan, const RequantParams &params, int32_t srcZeroPoint, const uint8_t *src,
                  int64_t ldsElems, uint8_t *dst, int64_t lddElems, void *scratch, int64_t begin, int64_t end) {
  if (begin >= end)
    return;
  Run run(plan, params, srcZeroPoint, src, ldsElems, dst, lddElems, scratch);
  for (int64_t line = begin * plan.linesPerUnit; line < std::min(end * plan.linesPerUnit, plan.lines()); ++line)
    run.line(line);
}

} // namespace qfx::kernels
