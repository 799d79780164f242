// Prepack calls: weights and geometry gathered in a packed-weights module of their own, and taken out of it.
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"
#include "ir/OpKind.h"
#include "kernels/quantize/HalfFloat.h"

#include <algorithm>
#include <vector>

namespace qfx::runtime {

llvm::Expected<RuntimeValue> bindPrepack(BindContext &context) {
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  bool isLinear = context.getOp().kind == OpKind::LinearPrepack;
  size_t spatial = weight->getRank() - 2;
  if (!isLinear && (weight->getRank() < 3 || weight->getRank() > 5))
    return context.fail("weight must have rank 3 to 5, got {0}", toString(weight->getType()));
  std::string className = isLinear ? "torch.classes.quantized.LinearPackedParamsBase"
                                   : "torch.classes.quantized.Conv" + std::to_string(spatial) + "dPackedParamsBase";
  auto packed = std::make_shared<Module>(requireModuleClass(className));
  packed->setParameter("weight", *weight);
  if (*bias)
    packed->setParameter("bias", *bias);
  if (!isLinear) {
    const bool isTransposed = context.getCall().find("output_padding");
    llvm::SmallVector<const char *, 4> names = {"stride", "padding", "dilation"};
    if (isTransposed)
      names.push_back("output_padding");
    for (const char *name : names) {
      llvm::Expected<llvm::SmallVector<int64_t, 4>> numbers = context.attrs().getInts(name, spatial == 1 ? 0 : spatial);
      if (!numbers)
        return numbers.takeError();
      if (spatial == 1)
        *numbers = {numbers->back()}; // of two numbers the second is for the one axis (operators 5.2)
      packed->setAttribute(name, Argument::ints(*numbers));
    }
    llvm::Expected<int64_t> groups = context.attrs().getInt("groups");
    if (!groups)
      return groups.takeError();
    packed->setAttribute("groups", Argument(*groups));
    if (isTransposed)
      packed->setAttribute("transpose", Argument(true));
  }
  return RuntimeValue::ofPacked(std::move(packed));
}

/// Weights as float16: saturated to its range, then rounded half to even (operators 11.2).
llvm::Expected<RuntimeValue> bindPrepackHalf(BindContext &context) {
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  if (weight->getDType() != DType::Float32)
    return context.fail("weight must be float32, got {0}", toString(weight->getType()));
  std::vector<float> bounded(weight->getData<float>().begin(), weight->getData<float>().end());
  for (float &value : bounded)
    value = std::min(std::max(value, -65504.0f), 65504.0f);
  Tensor half = Tensor::build(DType::Float16, weight->getSizes(), [&](MutableBytes bytes) {
    kernels::convertF32ToF16(bounded.data(), reinterpret_cast<uint16_t *>(bytes.data()),
                             static_cast<int64_t>(bounded.size()));
  });
  auto packed = std::make_shared<Module>(requireModuleClass("torch.classes.quantized.LinearPackedParamsBase"));
  packed->setParameter("weight", half);
  if (*bias)
    packed->setParameter("bias", *bias);
  return RuntimeValue::ofPacked(std::move(packed));
}

llvm::Expected<RuntimeValue> bindUnpack(BindContext &context) {
  llvm::Expected<std::shared_ptr<const Module>> packed = context.getPacked("packed");
  if (!packed)
    return packed.takeError();
  const Tensor *weight = (*packed)->findTensor("weight"), *bias = (*packed)->findTensor("bias");
  if (!weight)
    return context.fail("its packed weights hold no weight");
  RuntimeValue first(viewConstant(*weight));
  if (context.getOp().kind == OpKind::EmbeddingUnpack)
    return first;
  RuntimeValue second = bias && *bias ? RuntimeValue(viewConstant(*bias)) : RuntimeValue::ofHost(Argument());
  return RuntimeValue::ofSequence({std::move(first), std::move(second)});
}

} // namespace qfx::runtime
