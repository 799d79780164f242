// Scales, zero points and codes of a weight, group by group.
#include "passes/weightonly/WeightOnlyLinear.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace qfx {

namespace {
struct GroupParams {
  float scale = 1;
  int32_t zeroPoint = 0;
};
} // namespace

static GroupParams chooseParams(llvm::ArrayRef<float> group, const WeightOnlyOptions &options, int32_t lo, int32_t hi) {
  float min = 0, max = 0;
  for (float value : group) {
    min = std::min(min, value);
    max = std::max(max, value);
  }
  GroupParams params;
  double steps = hi - lo;
  double scale =
      options.symmetric ? 2 * std::max(-double(min), double(max)) / steps : (double(max) - double(min)) / steps;
  params.scale = static_cast<float>(scale);
  if (!(params.scale > 0) || std::isinf(1 / params.scale)) // all zeros, or nearly
    params.scale = 1;
  params.zeroPoint = options.bits == 4 ? 8 : 0;
  if (!options.symmetric)
    params.zeroPoint = std::clamp(lo - static_cast<int32_t>(std::nearbyint(min / params.scale)), lo, hi);
  return params;
}

WeightOnlyCodes quantizeWeightOnly(const Tensor &weight, const WeightOnlyOptions &options) {
  assert(weight.getDType() == DType::Float32 && weight.getRank() == 2 && "the caller has looked");
  const int64_t rows = weight.getSizes()[0], depth = weight.getSizes()[1];
  const int64_t groupSize = options.groupSize ? options.groupSize : std::max<int64_t>(depth, 1);
  const int64_t groups = options.groupSize ? (depth + groupSize - 1) / groupSize : 1;
  const int32_t lo = options.bits == 4 ? 0 : -128, hi = options.bits == 4 ? 15 : 127;
  const int64_t stored = options.bits == 4 ? (depth + 1) / 2 : depth;
  llvm::ArrayRef<float> values = weight.getData<float>();
  std::vector<float> scales(static_cast<size_t>(rows * groups));
  std::vector<int32_t> zeroPoints(scales.size());
  WeightOnlyCodes result;
  result.codes = Tensor::build(options.bits == 4 ? DType::UInt8 : DType::Int8, {rows, stored}, [&](MutableBytes bytes) {
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t group = 0; group < groups; ++group) {
        int64_t begin = group * groupSize, end = std::min(begin + groupSize, depth);
        auto part = values.slice(static_cast<size_t>(n * depth + begin),
                                 static_cast<size_t>(std::max(end - begin, int64_t(0))));
        GroupParams params = chooseParams(part, options, lo, hi);
        scales[static_cast<size_t>(n * groups + group)] = params.scale;
        zeroPoints[static_cast<size_t>(n * groups + group)] = params.zeroPoint;
        const float inverse = 1 / params.scale;
        for (int64_t k = begin; k < end; ++k) {
          float steps = std::nearbyint(values[static_cast<size_t>(n * depth + k)] * inverse);
          auto code = static_cast<uint8_t>(
              std::clamp(static_cast<int32_t>(std::clamp(steps, -1e6f, 1e6f)) + params.zeroPoint, lo, hi));
          if (options.bits == 4)
            bytes[static_cast<size_t>(n * stored + k / 2)] |= static_cast<std::byte>(code << (k % 2 * 4));
          else
            bytes[static_cast<size_t>(n * stored + k)] = static_cast<std::byte>(code);
        }
      }
  });
  result.scale = Tensor::of<float>(DType::Float32, {rows, groups}, scales);
  if (!options.symmetric)
    result.zeroPoint = Tensor::of<int32_t>(DType::Int32, {rows, groups}, zeroPoints);
  return result;
}

} // namespace qfx
