// Rule of views by explicit strides.
#include "ir/Graph.h"
#include "ir/GraphModule.h"
#include "ir/InferDetail.h"
#include "ir/Module.h"
#include "ir/OpKind.h"

namespace qfx {

/// May the value be a part of another's memory, so that a storage offset counts from the start of that?
static bool mayBePart(const Node *node, const GraphModule *model) {
  while (node && !node->getInputs().empty()) {
    ModuleRef module = node->is(Opcode::CallModule) && model ? model->getModule(*node) : nullptr;
    const TargetInfo *target = module ? module->getClass() : node->getTarget();
    if (!target || target->getOp().has(Traits::ViewsData))
      return true;
    if (!target->getOp().has(Traits::Identity) || target->op == OpKind::Clone)
      return false;
    node = node->getInputs()[0];
  }
  return false;
}

/// Does the graph say in which order PyTorch's memory holds this value?  Inputs, constants and what contiguous() gives are row-major; contiguous()
/// of a view may be the view, whose storage has an offset of its own.  Other values have the strides that PyTorch's kernels chose.
static bool hasKnownMemory(const InferContext &context) {
  const Node *node = context.getCall().get("input").arg.getNodeOrNull();
  if (!node || node->is(Opcode::Placeholder) || node->is(Opcode::GetAttr))
    return true;
  if (!node->getTarget() || node->getTarget()->text != "contiguous" || node->getArgs().size() != 1 || !node->getKwargs().empty())
    return false;
  return !context.hasValue("storage_offset") || !mayBePart(node, context.getModel());
}

/// Rules `as_strided_memory` (the input's memory is known), `as_strided_stride` (as many strides as sizes, both >= 0), `as_strided_range` (no
/// element beyond the input's), `as_strided_quantized` (per tensor).
llvm::Expected<ValueType> inferAsStrided(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  QFX_TRY(size, context.getInts("size"));
  QFX_TRY(stride, context.getInts("stride"));
  int64_t offset = 0;
  if (context.hasValue("storage_offset")) {
    QFX_TRY(given, context.getInt("storage_offset"));
    offset = given;
  }
  if (!hasKnownMemory(context) || input.format != MemoryFormat::Contiguous)
    return context.fail("memory", "reads the memory of a tensor whose strides and storage the graph does not say, got {0}: call contiguous() first, "
                        "and clone() in front of it if a storage offset is given", toString(input));
  if (size.size() != stride.size())
    return context.fail("stride", "wants as many strides as sizes, got {0} and {1}", stride.size(), size.size());
  int64_t last = offset;
  bool isEmpty = false;
  TensorType result = input;
  result.shape.clear();
  for (size_t i = 0; i < size.size(); ++i) {
    constexpr int64_t kMax = int64_t(1) << 40;
    if (size[i] < 0 || stride[i] < 0 || size[i] > kMax || stride[i] > kMax)
      return context.fail("stride", "wants sizes and strides in 0..2^40, got {0} and {1}", size[i], stride[i]);
    isEmpty |= size[i] == 0;
    int64_t reach;
    if (__builtin_mul_overflow(std::max<int64_t>(size[i] - 1, 0), stride[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return context.fail("range", "reaches beyond the input's elements");
    result.shape.push_back(Dim(size[i]));
  }
  Dim elements = multiplyAll(input.shape);
  if (offset < 0 || (!isEmpty && elements.isStatic() && last >= elements.getValue()))
    return context.fail("range", "wants elements 0..{0} of the input, reaches {1}", elements, offset < 0 ? offset : last);
  return ValueType(result);
}

} // namespace qfx
