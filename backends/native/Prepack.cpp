// Prepack calls: weights and geometry gathered in a packed-weights module of their own.
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"

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
      llvm::Expected<llvm::SmallVector<int64_t, 4>> numbers = context.attrs().getInts(name, spatial);
      if (!numbers)
        return numbers.takeError();
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

} // namespace qfx::runtime
