// Float linear layers.
#include "backends/reference/FloatLinear.h"

#include "backends/reference/FloatProduct.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"

namespace qfx::runtime {

llvm::Expected<RuntimeValue> emitFloatLinear(BindContext &context, const View &input, const Tensor &weight,
                                             const Tensor &bias, bool relu) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<std::shared_ptr<FloatProduct>> made = FloatProduct::make(context, "sgemm", weight, bias);
  if (!made)
    return made.takeError();
  std::shared_ptr<FloatProduct> product = *made;
  int64_t k = product->getInputs(), n = product->getOutputs();
  View src = context.toOrder(input, StorageOrder::RowMajor);
  if (src.sizes.empty() || src.sizes.back() != k)
    return context.fail("the input's last dimension must be {0}, got {1}", k, toString(input.type));
  ClampRange clamp = context.absorbClamp();
  if (relu)
    clamp = {std::max(clamp.lo, 0.0f), std::max(clamp.hi, 0.0f)};
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  int64_t rows = k ? src.getNumElements() / k : dst.getNumElements() / std::max<int64_t>(n, 1);
  context.emit({&src}, {&dst}, [src, dst, product, rows, clamp](RunContext &run) {
    product->multiplyClamped(run, src.getData<float>(), rows, dst.getData<float>(), clamp);
  });
  return RuntimeValue(dst);
}

llvm::Expected<RuntimeValue> bindLinear(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  return emitFloatLinear(context, *input, *weight, *bias);
}

} // namespace qfx::runtime
