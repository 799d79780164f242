// Reads a reference module's weight parameters and applies them.
#include "backends/reference/ReferenceWeight.h"

#include "ir/Diagnostics.h"
#include "ir/Module.h"

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
  qparams.quantMin = getInt("weight_quant_min");
  qparams.quantMax = getInt("weight_quant_max");
  return qparams;
}

llvm::Expected<Tensor> getQuantizedWeight(const Module &reference, llvm::StringRef name) {
  auto qparams = getWeightQParams(reference, name);
  const Tensor *weight = reference.findTensor(name);
  if (!qparams || !weight || weight->getDType() != DType::Float32)
    return error(reference.getLoc(), "'{0}' has no quantized weight: it needs a float32 '{1}' and {1}_* parameters",
                 reference.getClassName(), name)
        .code("reference_weight");
  return quantizeTensor(*weight, *qparams);
}

} // namespace qfx
