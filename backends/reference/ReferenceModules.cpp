// Reference quantized modules (operators 21): the float operator on a weight quantized and dequantized once.
#include "backends/native/WeightOnlyLinear.h"
#include "backends/observe/Observer.h"
#include "backends/reference/FloatConv.h"
#include "backends/reference/FloatLinear.h"
#include "backends/reference/ReferenceModules.h"
#include "backends/reference/ReferenceWeight.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"

namespace qfx::runtime {

namespace {

/// f32 through half and back.
Tensor roundToHalf(const Tensor &weight) {
  llvm::ArrayRef<float> from = weight.getData<float>();
  std::vector<float> rounded;
  rounded.reserve(from.size());
  for (float value : from)
    rounded.push_back(halfToFloat(floatToHalf(value)));
  return Tensor::of<float>(DType::Float32, weight.getSizes(), rounded);
}

} // namespace

llvm::Expected<Tensor> getReferenceWeight(BindContext &context, llvm::StringRef name) {
  std::string tag = ("reference_" + name).str();
  auto cached = context.getCached<Tensor>(tag, [&]() -> llvm::Expected<std::shared_ptr<Tensor>> {
    const Tensor *weight = context.getCall().module->findTensor(name);
    if (!weight)
      return context.fail("its weight '{0}' is missing", name);
    const BoundCall &call = context.getCall();
    const Argument &scheme = call.module->getAttribute("weight_qscheme");
    const Argument &dtype = call.module->getAttribute("weight_dtype");
    if (scheme.isNone())
      return std::make_shared<Tensor>(*weight);
    if (weight->getDType() != DType::Float32)
      return context.fail("weight must be float32, got {0}", toString(weight->getType()));
    if (dtype.isDType() && dtype.getDType() == DType::Float16)
      return std::make_shared<Tensor>(roundToHalf(*weight));
    llvm::Expected<Tensor> quantized = getQuantizedWeight(*call.module, name);
    if (!quantized)
      return quantized.takeError();
    return std::make_shared<Tensor>(dequantizeTensor(*quantized));
  });
  if (!cached)
    return cached.takeError();
  return **cached;
}

llvm::Expected<View> getWeightOperand(BindContext &context) {
  if (!context.getCall().find("weight_qscheme"))
    return getFloatTensor(context, "weight");
  llvm::Expected<Tensor> weight = getReferenceWeight(context, "weight");
  if (!weight)
    return weight.takeError();
  return viewConstant(*weight);
}

llvm::Expected<RuntimeValue> bindReferenceLinear(BindContext &context) {
  llvm::Expected<View> stored = context.getTensor("weight");
  if (!stored)
    return stored.takeError();
  if (stored->getDType() == DType::Int8 || stored->getDType() == DType::UInt8)
    return emitWeightOnlyLinear(context);
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<Tensor> weight = getReferenceWeight(context, "weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  return emitFloatLinear(context, *input, *weight, *bias);
}

llvm::Expected<RuntimeValue> bindReferenceConv(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<Tensor> weight = getReferenceWeight(context, "weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  return emitFloatConv(context, *input, *weight, *bias);
}

} // namespace qfx::runtime
