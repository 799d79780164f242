// Construction, comparison and the rule `tensor_quant` of quantizers.
#include "ir/Quantizer.h"

#include "ir/Diagnostics.h"

#include <cmath>

namespace qfx {

Quantizer Quantizer::perTensor(double scale, int64_t zeroPoint) {
  Quantizer result;
  result.scales = {scale};
  result.zeroPoints = {zeroPoint};
  return result;
}

Quantizer Quantizer::perChannel(std::vector<double> scales, std::vector<int64_t> zeroPoints, int64_t axis) {
  Quantizer result;
  result.scheme = QScheme::PerChannelAffine;
  result.axis = axis;
  result.scales = std::move(scales);
  result.zeroPoints = std::move(zeroPoints);
  return result;
}

Quantizer Quantizer::perChannelFloat(std::vector<float> scales, std::vector<float> zeroPoints, int64_t axis) {
  Quantizer result;
  result.scheme = QScheme::PerChannelAffineFloatQParams;
  result.axis = axis;
  result.scales.assign(scales.begin(), scales.end());
  result.floatZeroPoints = std::move(zeroPoints);
  return result;
}

llvm::Error Quantizer::verify(DType dtype, llvm::ArrayRef<int64_t> shape, const Location &loc) const {
  const DTypeInfo &info = getDTypeInfo(dtype);
  auto fail = [&](const auto &...args) -> llvm::Error { return error(loc, args...).code("tensor_quant"); };
  if (info.kind != DTypeKind::Quantized)
    return fail("a quantizer needs a quantized dtype, got '{0}'", info.text);
  if (!isPerTensor()) {
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
      return fail("axis {0} is outside a tensor of rank {1}", axis, shape.size());
    size_t numZeroPoints = floatZeroPoints.empty() ? zeroPoints.size() : floatZeroPoints.size();
    if (static_cast<int64_t>(scales.size()) != shape[axis] || numZeroPoints != scales.size())
      return fail("axis {0} has {1} channels, got {2} scales and {3} zero points", axis, shape[axis], scales.size(),
                  numZeroPoints);
  }
  for (double scale : scales)
    if (!std::isfinite(scale) || scale <= 0)
      return fail("a scale must be finite and > 0, got {0}", scale);
  // PyTorch lets a packed dtype's zero point fill its storage type (numerics 1.3).
  const DTypeInfo &storage = getDTypeInfo(toUnderlyingDType(dtype));
  for (int64_t zeroPoint : zeroPoints)
    if (zeroPoint < storage.codeMin || zeroPoint > storage.codeMax)
      return fail("zero point {0} is outside the range of {1}, {2}..{3}", zeroPoint, info.torchName, storage.codeMin,
                  storage.codeMax);
  return llvm::Error::success();
}

bool Quantizer::operator==(const Quantizer &other) const {
  return scheme == other.scheme && axis == other.axis && scales == other.scales && zeroPoints == other.zeroPoints &&
         floatZeroPoints == other.floatZeroPoints;
}

} // namespace qfx
