// Prepares output-stage tables and runs the epilogue of exact 64-bit accumulators.
#include "kernels/requant/Requant.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace qfx::kernels {

/// Room for a whole tile that starts at any channel.
static int64_t padChannels(int64_t channels) {
  return (channels + 2 * kChannelPadding - 1) / kChannelPadding * kChannelPadding;
}

int64_t getRequantBytes(int64_t channels) {
  // wideOffset, then offset, bias, multiplier, weightZeroPoint.
  return padChannels(channels) * static_cast<int64_t>(sizeof(int64_t) + 4 * sizeof(int32_t));
}

static double weightScaleOf(const RequantSpec &spec, int64_t c) { return spec.weightScale[spec.perChannel ? c : 0]; }

static int32_t weightZeroPointOf(const RequantSpec &spec, int64_t c) {
  return spec.weightZeroPoint ? spec.weightZeroPoint[spec.perChannel ? c : 0] : 0;
}

/// Stage Q's bias in steps of s_x * s_w, before the saturation that would lose it.
static float biasStepsQ(const RequantSpec &spec, int64_t c) {
  float reciprocal = 1.0f / static_cast<float>(weightScaleOf(spec, c) * spec.srcScale);
  return std::nearbyint(spec.bias[c] * reciprocal);
}

static float multiplierQ(const RequantSpec &spec, int64_t c) {
  float actTimesWeight = static_cast<float>(weightScaleOf(spec, c)) * static_cast<float>(spec.srcScale);
  return actTimesWeight * (1.0f / static_cast<float>(spec.dstScale));
}

static float actTimesWeightScale(const RequantSpec &spec, int64_t c) {
  return static_cast<float>(spec.srcScale) * static_cast<float>(weightScaleOf(spec, c));
}

bool canUseStageQ(const RequantSpec &spec, bool &badMultiplier) {
  badMultiplier = false;
  for (int64_t c = 0; c < spec.channels; ++c) {
    float multiplier = multiplierQ(spec, c);
    if (!std::isnormal(multiplier) || multiplier < 0) {
      badMultiplier = true;
      return false;
    }
    if (spec.bias && !(std::fabs(biasStepsQ(spec, c)) < 2147483648.0f))
      return false;
  }
  return true;
}

namespace {
/// The arrays of RequantParams while they are being written.
struct Tables {
  int64_t *wideOffset;
  int32_t *offset;
  float *bias;
  float *multiplier;
  int32_t *weightZeroPoint;

  Tables(void *memory, int64_t channels) {
    int64_t padded = padChannels(channels);
    wideOffset = static_cast<int64_t *>(memory);
    offset = reinterpret_cast<int32_t *>(wideOffset + padded);
    bias = reinterpret_cast<float *>(offset + padded);
    multiplier = bias + padded;
    weightZeroPoint = reinterpret_cast<int32_t *>(multiplier + padded);
    std::fill_n(static_cast<char *>(memory), getRequantBytes(channels), 0);
  }
};
} // namespace

/// Fills what both outputs share; `extra` is what stage Q adds to the accumulator of a channel.
template <class Extra>
static RequantParams fillTables(const RequantSpec &spec, const int32_t *weightSum, const Tables &tables, Extra extra) {
  RequantParams params;
  params.offset = tables.offset;
  params.bias = tables.bias;
  params.multiplier = tables.multiplier;
  params.wideOffset = tables.wideOffset;
  int64_t largest = 0;
  for (int64_t c = 0; c < spec.channels; ++c) {
    int32_t zeroPoint = weightZeroPointOf(spec, c);
    int64_t added = extra(c);
    int64_t offset = -int64_t(spec.srcZeroPoint) * (weightSum[c] - spec.depth * zeroPoint) + added;
    tables.wideOffset[c] = offset;
    tables.offset[c] = static_cast<int32_t>(static_cast<uint32_t>(offset));
    tables.weightZeroPoint[c] = zeroPoint;
    if (zeroPoint != 0)
      params.weightZeroPoint = tables.weightZeroPoint;
    largest = std::max(largest, added < 0 ? -added : added);
  }
  constexpr int64_t kLargestProduct = 255 * 128;
  params.exact32 = !params.weightZeroPoint &&
                   spec.depth <= (std::numeric_limits<int32_t>::max() - largest) / kLargestProduct;
  return params;
}

RequantParams prepareRequant(const RequantSpec &spec, const int32_t *weightSum, void *memory) {
  assert(spec.dstZeroPoint >= 0 && spec.dstZeroPoint <= 255 && "output zero point is not a quint8 code");
  Tables tables(memory, spec.channels);
  bool stageQ = spec.stage == OutputStage::Q;
  RequantParams params = fillTables(spec, weightSum, tables, [&](int64_t c) -> int64_t {
    return stageQ && spec.bias ? static_cast<int64_t>(biasStepsQ(spec, c)) : 0;
  });
  float dstScale = static_cast<float>(spec.dstScale);
  for (int64_t c = 0; c < spec.channels; ++c) {
    if (stageQ) {
      tables.multiplier[c] = multiplierQ(spec, c);
      continue;
    }
    float scale = actTimesWeightScale(spec, c);
    tables.multiplier[c] = scale / dstScale;
    if (spec.bias)
      tables.bias[c] = spec.perChannel ? spec.bias[c] / scale
                                       : spec.bias[c] * static_cast<float>(1.0 / static_cast<double>(scale));
  }
  params.zeroPoint = spec.dstZeroPoint;
  params.low = spec.relu ? spec.dstZeroPoint : 0;
  params.high = 255;
  return params;
}

RequantParams prepareDequant(const RequantSpec &spec, const int32_t *weightSum, void *memory) {
  Tables tables(memory, spec.channels);
  RequantParams params = fillTables(spec, weightSum, tables, [](int64_t) -> int64_t { return 0; });
  for (int64_t c = 0; c < spec.channels; ++c) {
    tables.multiplier[c] = actTimesWeightScale(spec, c);
    tables.bias[c] = spec.bias ? spec.bias[c] : 0.0f;
  }
  params.floor = spec.relu ? 0.0f : -std::numeric_limits<float>::infinity();
  params.fusesBias = spec.fusesBias;
  return params;
}

static int64_t finishAccumulator(int64_t acc, int64_t rowSum, int64_t c, const RequantParams &params) {
  int64_t weightZeroPoint = params.weightZeroPoint ? params.weightZeroPoint[c] : 0;
  return acc + params.wideOffset[c] - weightZeroPoint * rowSum;
}

void requantizeRow(const int64_t *acc, int64_t rowSum, int64_t first, int64_t channels, const RequantParams &params,
                   uint8_t *dst) {
  for (int64_t i = 0; i < channels; ++i) {
    int64_t c = first + i;
    dst[i] = requantize(finishAccumulator(acc[i], rowSum, c, params), params.bias[c], params.multiplier[c], params);
  }
}

void dequantizeRow(const int64_t *acc, int64_t rowSum, int64_t first, int64_t channels, const RequantParams &params,
                   float *dst) {
  for (int64_t i = 0; i < channels; ++i) {
    int64_t c = first + i;
    const float total = static_cast<float>(finishAccumulator(acc[i], rowSum, c, params));
    float value = params.fusesBias ? std::fma(total, params.multiplier[c], params.bias[c])
                                   : total * params.multiplier[c] + params.bias[c];
    dst[i] = value < params.floor ? params.floor : value;
  }
}

} // namespace qfx::kernels
