// Reads a reference module's weight parameters and applies them.
#include "backends/reference/ReferenceWeight.h"

#include "ir/Diagnostics.h"
#include "ir/Module.h"

#include <algorithm>

namespace qfx {

std::optional<QParams> getWeightQParams(const Module &reference, llvm::StringRef name) {
  const Argument *dtype = reference.findAttribute("weight_dtype");
  const Argument *scheme = reference.findAttribute("weight_qscheme");
  const Tensor *scale = reference.findTensor((name + "_scale").str());
  const Tensor *zeroPoint = reference.findTensor((name + "_zero_point").str());
  if (!dtype || !dtype->isDType() || !isQuantized(dtype->getDType()) || !scheme ||
      scheme->getKind() != Argument::Kind::QScheme || !scale || !zeroPoint)
    return std::nullopt;
  QParams qparams;
  qparams.dtype = dtype->getDType();
  qparams.scheme = scheme->getQScheme();
  for (int64_t i = 0, n = scale->getNumElements(); i < n; ++i)
    qparams.scales.push_back(static_cast<float>(scale->getElementAsDouble(i)));
  for (int64_t i = 0, n = zeroPoint->getNumElements(); i < n; ++i) {
    if (isFloat(zeroPoint->getDType()))
      qparams.floatZeroPoints.push_back(static_cast<float>(zeroPoint->getElementAsDouble(i)));
    else
      qparams.zeroPoints.push_back(static_cast<int64_t>(zeroPoint->getElementAsDouble(i)));
  }
  auto getInt = [&](llvm::StringRef name) -> std::optional<int64_t> {
    const Argument *value = reference.findAttribute(name);
    return value && value->isInt() ? std::optional<int64_t>(value->getInt()) : std::nullopt;
  };
  qparams.axis = getInt("weight_axis").value_or(0);
  const Argument *decomposed = reference.findAttribute("is_decomposed");
  if (decomposed && *decomposed == Argument(true)) {
    qparams.quantMin = getInt("weight_quant_min");
    qparams.quantMax = getInt("weight_quant_max");
  }
  return qparams;
}

/// Rule `reference_weight`: a scheme that says how codes are read back, float32 scales, as many zero points, a code range that has both ends.
static llvm::Error checkQParams(const Module &reference, llvm::StringRef name, const QParams &qparams) {
  auto fail = [&](const std::string &why) {
    return error(reference.getLoc(), "'{0}' cannot quantize its '{1}': {2}", reference.getClassName(), name, why).code("reference_weight");
  };
  if (qparams.scheme == QScheme::PerTensorSymmetric || qparams.scheme == QScheme::PerChannelSymmetric)
    return fail("weight_qscheme is an affine scheme or None, got torch." + getQSchemeName(qparams.scheme).str());
  const TensorType scale = reference.getTensor((name + "_scale").str()).getType(),
                   zeroPoint = reference.getTensor((name + "_zero_point").str()).getType();
  if (scale.dtype != DType::Float32)
    return fail("its scales are float32, got " + toString(scale));
  if (zeroPoint.dtype != DType::Int32 && zeroPoint.dtype != DType::Int64 && zeroPoint.dtype != DType::Float32)
    return fail("its zero points are int32, int64 or float32, got " + toString(zeroPoint));
  const size_t count = qparams.scales.size();
  if (std::max(qparams.zeroPoints.size(), qparams.floatZeroPoints.size()) != count || (!isPerChannel(qparams.scheme) && count != 1))
    return fail("it wants one scale and one zero point " + std::string(isPerChannel(qparams.scheme) ? "per channel" : "in all") + ", got " +
                toString(scale) + " and " + toString(zeroPoint));
  if (!isPerChannel(qparams.scheme) && !qparams.floatZeroPoints.empty())
    return fail("zero points are integers with torch." + getQSchemeName(qparams.scheme).str() + ", got " + toString(zeroPoint));
  if (qparams.quantMin.has_value() != qparams.quantMax.has_value() || qparams.quantMin > qparams.quantMax)
    return fail("weight_quant_min and weight_quant_max are the ends of a range, or both None");
  return llvm::Error::success();
}

llvm::Expected<Tensor> getQuantizedWeight(const Module &reference, llvm::StringRef name) {
  auto qparams = getWeightQParams(reference, name);
  const Tensor *weight = reference.findTensor(name);
  if (!qparams || !weight || weight->getDType() != DType::Float32)
    return error(reference.getLoc(), "'{0}' has no quantized weight: it needs a float32 '{1}' and {1}_* parameters",
                 reference.getClassName(), name)
        .code("reference_weight");
  if (llvm::Error err = checkQParams(reference, name, *qparams))
    return err;
  return quantizeTensor(*weight, *qparams);
}

} // namespace qfx
