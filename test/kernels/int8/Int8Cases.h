// Seeded inputs and the plain formulas of quantized linear and convolution, written from spec/operators.md 3.5-3.7.
#ifndef TEST_KERNELS_INT8_INT8CASES_H
#define TEST_KERNELS_INT8_INT8CASES_H

#include "kernels/requant/Requant.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace qfx::test {

/// Which codes a random tensor holds.
enum class Codes { Any, Below128, Outliers, Extreme, Edge };

inline std::vector<uint8_t> randomCodes(std::mt19937 &random, int64_t count, Codes codes) {
  std::vector<uint8_t> values(count);
  for (uint8_t &value : values) {
    uint32_t bits = random();
    value = codes == Codes::Any        ? bits & 255
            : codes == Codes::Below128 ? bits & 127
            : codes == Codes::Outliers ? (bits >> 8) % 200 == 0 ? 255 - (bits & 127) : bits & 127
            : codes == Codes::Extreme  ? (bits & 1 ? 255 : 0)
                                       : (bits & 1 ? 127 : 0);
  }
  return values;
}

inline std::vector<int8_t> randomWeights(std::mt19937 &random, int64_t count, bool extreme) {
  std::vector<int8_t> values(count);
  std::normal_distribution<float> normal(0, 30);
  for (int8_t &value : values)
    value = extreme ? (random() & 1 ? 127 : -128)
                    : static_cast<int8_t>(std::clamp(std::nearbyint(normal(random)), -128.0f, 127.0f));
  return values;
}

/// Scales, zero points and bias of one operator, and the RequantSpec that points to them.
struct Scales {
  std::vector<double> weightScale;
  std::vector<int32_t> weightZeroPoint;
  std::vector<float> bias;
  kernels::RequantSpec spec;

  Scales() = default;
  Scales(const Scales &) = delete;
  Scales &operator=(const Scales &) = delete;
};

struct ScaleOptions {
  bool perChannel = true, bias = true, weightZeroPoint = false, relu = false, fusesBias = false;
  kernels::OutputStage stage = kernels::OutputStage::F;
};

/// Scales for which outputs of `depth` products spread over and beyond the codes.
inline std::unique_ptr<Scales> randomScales(std::mt19937 &random, int64_t channels, int64_t depth,
                                            const ScaleOptions &options) {
  auto scales = std::make_unique<Scales>();
  std::uniform_real_distribution<double> unit(0.5, 1.5);
  int64_t count = options.perChannel ? channels : 1;
  for (int64_t c = 0; c < count; ++c) {
    scales->weightScale.push_back(0.01 * unit(random));
    scales->weightZeroPoint.push_back(static_cast<int32_t>(random() % 256) - 128);
  }
  kernels::RequantSpec &spec = scales->spec;
  spec.channels = channels;
  spec.depth = depth;
  spec.srcScale = 0.02 * unit(random);
  spec.srcZeroPoint = random() % 128;
  spec.dstScale = spec.srcScale * 0.01 * 30 * 64 * std::sqrt(double(std::max<int64_t>(depth, 1))) / 60;
  spec.dstZeroPoint = random() % 256;
  for (int64_t c = 0; c < channels; ++c)
    scales->bias.push_back(static_cast<float>((unit(random) - 1) * 40 * spec.dstScale));
  spec.weightScale = scales->weightScale.data();
  spec.weightZeroPoint = options.weightZeroPoint ? scales->weightZeroPoint.data() : nullptr;
  spec.perChannel = options.perChannel;
  spec.bias = options.bias ? scales->bias.data() : nullptr;
  spec.relu = options.relu;
  spec.fusesBias = options.fusesBias;
  spec.stage = options.stage;
  return scales;
}

/// RNE of a binary32 value, clamped; NaN gives the lower bound.
inline int32_t clampRound(float value, int32_t low, int32_t high) {
  if (!(value > static_cast<float>(low)))
    return low;
  return value >= static_cast<float>(high) ? high : static_cast<int32_t>(std::nearbyint(value));
}

/// The code of an exact accumulator sum (a - z_x)(w - z_w): spec operators 3.6 and 3.7, step by step.
inline uint8_t expectedCode(const kernels::RequantSpec &spec, int64_t channel, int64_t acc) {
  double weightScale = spec.weightScale[spec.perChannel ? channel : 0];
  float sx = static_cast<float>(spec.srcScale), sw = static_cast<float>(weightScale);
  float sy = static_cast<float>(spec.dstScale);
  float product;
  if (spec.stage == kernels::OutputStage::Q) {
    int64_t biasSteps = 0;
    if (spec.bias)
      biasSteps = static_cast<int64_t>(
          std::nearbyint(spec.bias[channel] * (1.0f / static_cast<float>(weightScale * spec.srcScale))));
    volatile float scale = sw * sx;
    volatile float reciprocal = 1.0f / sy;
    volatile float multiplier = scale * reciprocal;
    product = static_cast<float>(acc + biasSteps) * multiplier;
  } else {
    volatile float scale = sx * sw;
    volatile float multiplier = scale / sy;
    volatile float value = static_cast<float>(acc);
    if (spec.bias) {
      volatile float steps = spec.perChannel ? spec.bias[channel] / scale
                                             : spec.bias[channel] * static_cast<float>(1.0 / double(scale));
      value = value + steps;
    }
    product = value * multiplier;
  }
  int32_t low = spec.relu ? spec.dstZeroPoint : 0;
  return static_cast<uint8_t>(
      clampRound(product, low - spec.dstZeroPoint, 255 - spec.dstZeroPoint) + spec.dstZeroPoint);
}

/// The float output of dynamic linear (operators 11.1).
inline float expectedFloat(const kernels::RequantSpec &spec, int64_t channel, int64_t acc) {
  volatile float scale =
      static_cast<float>(spec.srcScale) * static_cast<float>(spec.weightScale[spec.perChannel ? channel : 0]);
  const float bias = spec.bias ? spec.bias[channel] : 0.0f;
  volatile float value = static_cast<float>(acc) * scale;
  value = spec.fusesBias ? std::fma(static_cast<float>(acc), float(scale), bias) : value + bias;
  return spec.relu && value < 0 ? 0.0f : float(value);
}

inline int32_t weightZeroPointOf(const kernels::RequantSpec &spec, int64_t channel) {
  return spec.weightZeroPoint ? spec.weightZeroPoint[spec.perChannel ? channel : 0] : 0;
}

/// 64-byte aligned bytes, with guard bytes behind them that `isIntact` checks.
class Memory {
public:
  explicit Memory(int64_t bytes) : size(bytes), bytes(bytes + 128, 0xA5) {}
  uint8_t *data() {
    auto address = reinterpret_cast<uintptr_t>(bytes.data());
    return bytes.data() + ((address + 63) / 64 * 64 - address);
  }
  bool isIntact() {
    const uint8_t *end = data() + size, *last = bytes.data() + bytes.size();
    return std::all_of(end, last, [](uint8_t byte) { return byte == 0xA5; });
  }

private:
  int64_t size;
  std::vector<uint8_t> bytes;
};

} // namespace qfx::test

#endif // TEST_KERNELS_INT8_INT8CASES_H
