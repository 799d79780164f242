// Packing of GEMM weights, and the order of k steps that keeps int16 sums exact.
#include "kernels/gemm/GemmPack.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

namespace qfx::kernels {

static int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

namespace {
/// Offsets of the arrays of a PackedGemm in its memory.
struct Layout {
  int64_t steps, panelCount, panelBytes, orderBytes, safeBytes, sumBytes;

  Layout(const GemmKernel &kernel, int64_t columns, int64_t depth) {
    steps = roundUp(depth, kernel.kStep) / kernel.kStep;
    panelCount = roundUp(columns, kernel.columns) / kernel.columns;
    panelBytes = roundUp(roundUp(columns, kernel.vectorColumns) * steps * kernel.kStep, 64);
    orderBytes = kernel.hasOrder() ? roundUp(panelCount * steps * sizeof(int32_t), 64) : 0;
    safeBytes = kernel.hasOrder() ? roundUp(panelCount * sizeof(int32_t), 64) : 0;
    sumBytes = roundUp(columns * sizeof(int32_t), 64);
  }
  int64_t total() const { return panelBytes + 2 * orderBytes + 2 * safeBytes + sumBytes; }
};
} // namespace

int64_t getPackedGemmBytes(const GemmKernel &kernel, int64_t columns, int64_t depth) {
  return Layout(kernel, columns, depth).total();
}

PackedGemm viewPackedGemm(const GemmKernel &kernel, int64_t columns, int64_t depth, const void *memory) {
  Layout layout(kernel, columns, depth);
  PackedGemm packed;
  packed.kernel = &kernel;
  packed.columns = columns;
  packed.depth = depth;
  packed.steps = layout.steps;
  packed.panels = static_cast<const int8_t *>(memory);
  const int8_t *next = packed.panels + layout.panelBytes;
  if (kernel.hasOrder()) {
    packed.order = reinterpret_cast<const int32_t *>(next);
    packed.place = reinterpret_cast<const int32_t *>(next + layout.orderBytes);
    packed.safeSteps = reinterpret_cast<const int32_t *>(next + 2 * layout.orderBytes);
    packed.balancedSteps = reinterpret_cast<const int32_t *>(next + 2 * layout.orderBytes + layout.safeBytes);
  }
  packed.weightSum = reinterpret_cast<const int32_t *>(next + 2 * layout.orderBytes + 2 * layout.safeBytes);
  return packed;
}

/// The weights of one column from k on, `count` of them, zero behind the end.
static void readColumn(const GemmWeights &weights, int64_t column, int64_t k, int count, int8_t *dst) {
  std::memset(dst, 0, count);
  if (column >= weights.columns)
    return;
  int64_t outer = k / weights.innerCount, inner = k % weights.innerCount;
  const int8_t *src = weights.data + column * weights.columnStride + outer * weights.outerStride;
  int64_t left = std::min<int64_t>(count, weights.depth() - k);
  for (int64_t i = 0; i < left; ++i) {
    dst[i] = src[inner * weights.innerStride];
    if (++inner == weights.innerCount) {
      inner = 0;
      src += weights.outerStride;
    }
  }
}

namespace {
/// How a step's weights may be multiplied, best first; a step is as good as its worst column.
enum class StepKind : uint8_t { Balanced, Safe, Other };
} // namespace

/// By the four weights w of each of both int16 lanes: 128 * (their sum with any w as ~w) fits int16; 127 * (any signs-alike part) does; neither.
static StepKind classifyStep(const int8_t (&w)[8]) {
  StepKind kind = StepKind::Balanced;
  for (int lane = 0; lane < 4; lane += 2) {
    int positive = 0, negative = 0;
    for (int8_t value : {w[lane], w[lane + 1], w[lane + 4], w[lane + 5]})
      (value > 0 ? positive : negative) += value;
    if (positive > 258 || negative < -258)
      return StepKind::Other;
    if (positive - negative > 252)
      kind = StepKind::Safe;
  }
  return kind;
}

static int32_t sumColumn(const GemmWeights &weights, int64_t column) {
  int32_t sum = 0;
  for (int64_t outer = 0; outer < weights.outerCount; ++outer)
    for (int64_t inner = 0; inner < weights.innerCount; ++inner)
      sum += weights.data[column * weights.columnStride + outer * weights.outerStride + inner * weights.innerStride];
  return sum;
}

void packGemmPanels(const GemmKernel &kernel, const GemmWeights &weights, int64_t begin, int64_t end, void *memory) {
  assert(weights.depth() < (1 << 24) && "column sums would leave int32");
  Layout layout(kernel, weights.columns, weights.depth());
  assert(begin >= 0 && end <= layout.panelCount && "no such panel");
  auto *panels = static_cast<int8_t *>(memory);
  auto *order = reinterpret_cast<int32_t *>(panels + layout.panelBytes);
  int8_t *behind = panels + layout.panelBytes + layout.orderBytes;
  auto *places = reinterpret_cast<int32_t *>(behind);
  auto *safeSteps = reinterpret_cast<int32_t *>(behind + layout.orderBytes);
  auto *balancedSteps = reinterpret_cast<int32_t *>(behind + layout.orderBytes + layout.safeBytes);
  auto *weightSum = reinterpret_cast<int32_t *>(behind + layout.orderBytes + 2 * layout.safeBytes);
  std::vector<int64_t> between; // the steps of a panel that are safe and not balanced,
  std::vector<int8_t> betweenBlocks; // and their weights

  for (int64_t panel = begin; panel < end; ++panel) {
    int64_t first = panel * kernel.columns; // all panels before it are full
    int64_t width = std::min<int64_t>(kernel.columns, roundUp(weights.columns - first, kernel.vectorColumns));
    for (int64_t n = first; n < std::min(first + width, weights.columns); ++n)
      weightSum[n] = sumColumn(weights, n);
    for (int64_t n = weights.columns; n < first + width; ++n)
      weightSum[n] = 0;
    int8_t *dst = panels + first * layout.steps * kernel.kStep;
    int64_t stepBytes = width * kernel.kStep;
    int32_t *panelOrder = order + panel * layout.steps;
    int64_t front = 0, back = layout.steps;
    auto setPlace = [&](int64_t step, int64_t place) {
      if (!kernel.hasOrder())
        return;
      panelOrder[place] = static_cast<int32_t>(step * kernel.kStep);
      places[panel * layout.steps + step] = static_cast<int32_t>(place);
    };
    between.clear();
    betweenBlocks.clear();
    for (int64_t step = 0; step < layout.steps; ++step) {
      int8_t values[64][8];
      StepKind kind = StepKind::Balanced;
      for (int64_t n = 0; n < width; ++n) {
        readColumn(weights, first + n, step * kernel.kStep, kernel.kStep, values[n]);
        if (kernel.hasOrder())
          kind = std::max(kind, classifyStep(values[n]));
      }
      int8_t *block;
      if (kind == StepKind::Safe) {
        between.push_back(step);
        betweenBlocks.resize(betweenBlocks.size() + static_cast<size_t>(stepBytes));
        block = betweenBlocks.data() + betweenBlocks.size() - stepBytes;
      } else {
        int64_t place = kind == StepKind::Balanced ? front++ : --back;
        setPlace(step, place);
        block = dst + place * stepBytes;
      }
      for (int half = 0; half < kernel.kStep; half += 4)
        for (int64_t n = 0; n < width; ++n, block += 4)
          std::memcpy(block, values[n] + half, 4);
    }
    if (!kernel.hasOrder())
      continue;
    for (size_t i = 0; i < between.size(); ++i)
      setPlace(between[i], front + static_cast<int64_t>(i));
    if (!betweenBlocks.empty())
      std::memcpy(dst + front * stepBytes, betweenBlocks.data(), betweenBlocks.size());
    balancedSteps[panel] = static_cast<int32_t>(front);
    safeSteps[panel] = static_cast<int32_t>(back);
  }
}

PackedGemm packGemm(const GemmKernel &kernel, const GemmWeights &weights, void *memory) {
  PackedGemm packed = viewPackedGemm(kernel, weights.columns, weights.depth(), memory);
  packGemmPanels(kernel, weights, 0, packed.panelCount(), memory);
  return packed;
}

} // namespace qfx::kernels
