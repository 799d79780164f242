// Observers of weights and the buffers of reference modules.
#include "passes/WeightQParams.h"

#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/Tensor.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qfx {

static ObserverSpec onAxis(ObserverSpec spec, int64_t axis) {
  if (spec.observer) {
    spec.observer = std::make_shared<ObserverSpec>(onAxis(*spec.observer, axis));
    return spec;
  }
  auto known = llvm::find_if(spec.keywords, [](const auto &keyword) { return keyword.first == "ch_axis"; });
  if (known != spec.keywords.end())
    known->second = Argument(axis);
  else if (spec.observerClass->getSignature().findSlot("ch_axis"))
    spec.keywords.emplace_back("ch_axis", Argument(axis));
  return spec;
}

ObserverSpec makeWeightSpec(const ObserverSpec &spec, llvm::StringRef target) {
  static const ObserverSpec slopeSpec{&requireModuleClass("torch.ao.quantization.observer.MinMaxObserver"), /*isPartial=*/false, {}, nullptr};
  if (endsWith(target, "PReLU") && spec.getDType() != DType::QUInt8)
    return slopeSpec;
  bool isTransposed = target.contains("ConvTranspose") || target.contains("conv_transpose");
  return isTransposed && isPerChannel(spec.getQScheme()) ? onAxis(spec, 1) : spec;
}

llvm::Error checkFinite(const Tensor &tensor, llvm::StringRef kind, llvm::StringRef name, const Location &loc) {
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i) {
    double value = tensor.getElementAsDouble(i);
    if (std::isfinite(value))
      continue;
    llvm::SmallVector<int64_t, 5> index(tensor.getSizes().size());
    int64_t rest = i;
    for (size_t axis = index.size(); axis-- > 0; rest /= tensor.getSizes()[axis])
      index[axis] = rest % tensor.getSizes()[axis];
    return error(loc, "{0} '{1}' has the element {2} at [{3:$[, ]}]; the {0} of a quantized layer is finite", kind, name,
                 std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf", llvm::make_range(index.begin(), index.end()))
        .code("convert_finite");
  }
  return llvm::Error::success();
}

/// Why a weight's observer came to a scale that is no number: the first element that is none, else the range.
static llvm::Error reportScale(const Tensor &weight, llvm::StringRef name, float scale, const Location &loc) {
  if (llvm::Error err = checkFinite(weight, "weight", name, loc))
    return err;
  return error(loc, "the range of weight '{0}' is too large: its observer yields the scale {1}", name, scale).code("convert_scale");
}

llvm::Expected<QParams> measureWeight(Module &observer, const Tensor &weight, llvm::StringRef name, const Location &loc) {
  if (weight.getDType() != DType::Float32)
    return error(loc, "weight '{0}' must be float32 to be quantized, got {1}", name, toString(weight.getType())).code("convert_weight");
  if (llvm::Error err = observe(observer, ObservedTensor(weight)))
    return err;
  auto qparams = calculateQParams(observer);
  if (!qparams)
    return qparams;
  for (float scale : qparams->scales)
    if (!(scale > 0) || scale > std::numeric_limits<float>::max())
      return reportScale(weight, name, scale, loc);
  return qparams;
}

/// The scheme by which codes are read back: symmetry only says how the parameters were chosen.
static QScheme toAffine(QScheme scheme) {
  switch (scheme) {
  case QScheme::PerTensorSymmetric:
    return QScheme::PerTensorAffine;
  case QScheme::PerChannelSymmetric:
    return QScheme::PerChannelAffine;
  default:
    return scheme;
  }
}

void setWeightQParams(Module &reference, llvm::StringRef name, const QParams &qparams) {
  reference.setAttribute("weight_dtype", qparams.dtype);
  reference.setAttribute("weight_qscheme", toAffine(qparams.scheme));
  if (isPerChannel(qparams.scheme))
    reference.setAttribute("weight_axis", qparams.axis);
  if (qparams.quantMin && qparams.quantMax) {
    reference.setAttribute("weight_quant_min", *qparams.quantMin);
    reference.setAttribute("weight_quant_max", *qparams.quantMax);
  }
  auto count = static_cast<int64_t>(qparams.scales.size());
  std::string key = name.str();
  reference.setBuffer(key + "_scale", Tensor::of<float>(DType::Float32, {count}, qparams.scales));
  if (qparams.floatZeroPoints.empty())
    reference.setBuffer(key + "_zero_point", Tensor::of<int64_t>(DType::Int64, {count}, qparams.zeroPoints));
  else
    reference.setBuffer(key + "_zero_point", Tensor::of<float>(DType::Float32, {count}, qparams.floatZeroPoints));
}

void setUnmeasuredWeight(Module &reference, llvm::StringRef name, DType dtype) {
  reference.setAttribute("weight_dtype", dtype);
  reference.setAttribute("weight_qscheme", Argument::none());
  reference.setBuffer(name.str() + "_scale", Tensor::of<float>(DType::Float32, {}, {1.0f}));
  reference.setBuffer(name.str() + "_zero_point", Tensor::of<int32_t>(DType::Int32, {}, {0}));
}

Tensor saturateToHalf(const Tensor &weight) {
  return Tensor::build(DType::Float16, weight.getSizes(), [&](MutableBytes bytes) {
    auto *half = reinterpret_cast<uint16_t *>(bytes.data());
    for (int64_t i = 0, n = weight.getNumElements(); i < n; ++i) {
      auto value = static_cast<float>(weight.getElementAsDouble(i));
      half[i] = floatToHalf(std::isnan(value) ? value : std::clamp(value, -65504.0f, 65504.0f));
    }
  });
}

} // namespace qfx
