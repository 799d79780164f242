// Rules of linear layers, embeddings and chains of modules.
#include "ir/Module.h"
#include "ir/infer/LinearDetail.h"

namespace qfx {

llvm::Expected<TensorType> inferLinearShape(const InferContext &context, const TensorType &input, const TensorType &weight,
                                            const std::optional<TensorType> &bias) {
  if (input.shape.empty() || weight.getRank() != 2)
    return context.fail("rank", "wants an input of rank >= 1 and a weight of rank 2, got {0} and {1}",
                        toString(input.shape), toString(weight.shape));
  if (!input.shape.back().mayEqual(weight.shape[1]))
    return context.fail("features", "wants {0} input features for weight {1}, got {2}", weight.shape[1],
                        toString(weight.shape), toString(input.shape));
  if (bias && !(bias->getRank() <= 1 && multiplyAll(bias->shape).mayEqual(weight.shape[0])))
    return context.fail("bias", "wants a bias of {0} elements, got {1}", weight.shape[0], toString(*bias));
  TensorType result;
  result.dtype = input.dtype;
  result.shape = input.shape;
  result.shape.back() = weight.shape[0];
  return result;
}

/// y = x W^T + b.  Rules `<op>_rank`, `<op>_features`, `<op>_bias`, `<op>_dtype` (input, weight and bias of one dtype).
llvm::Expected<ValueType> inferLinear(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(weight, context.getTensor("weight"));
  if (llvm::Error err = checkNotQuantized(context, input, "input"))
    return err;
  if (llvm::Error err = checkNotQuantized(context, weight, "weight"))
    return err;
  if (input.dtype != weight.dtype)
    return context.fail("dtype", "wants input and weight of one dtype, got {0} and {1}", toString(input), toString(weight));
  std::optional<TensorType> bias = context.getOptionalTensor("bias");
  if (bias && bias->dtype != input.dtype)
    return context.fail("dtype", "wants input and bias of one dtype, got {0} and {1}", toString(input), toString(*bias));
  QFX_TRY(result, inferLinearShape(context, input, weight, bias));
  return ValueType(result);
}

/// Children in order, each fed with the result of the one before.
llvm::Expected<ValueType> inferComposite(const InferContext &context) {
  ValueType value = context.getValue("input");
  const Module *module = context.getCall().module;
  assert(module && "only modules are chains");
  for (const auto &[name, child] : module->getChildren()) {
    if (child->getClass() && child->getClass()->getOp().has(Traits::Observes))
      continue; // an observer attached to the chain sees its result
    QFX_TRY(next, inferChild(context, *child, value));
    value = std::move(next);
    if (value.isUnknown())
      break;
  }
  return value;
}

} // namespace qfx
