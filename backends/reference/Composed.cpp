// Operators that are graphs of others (ir/compose): bound as those.
#include "backends/runtime/Kernels.h"
#include "ir/Compose.h"

namespace qfx::runtime {

/// Whatever of a value's type a composition may depend on.
static void describeType(const ValueType &value, std::string &text) {
  if (const TensorType *tensor = value.getTensor())
    text += toString(*tensor) + ';';
  else if (const ValueType::Sequence *sequence = value.getSequence())
    for (const ValueType &element : sequence->elements)
      describeType(element, text);
  else if (const ValueType::Dictionary *dict = value.getDictionary())
    for (const auto &[key, element] : dict->entries) {
      text += key + ':';
      describeType(element, text);
    }
  else if (std::optional<Argument> constant = value.getConstant())
    text += toString(*constant, ArgumentStyle::Qfx) + ';';
}

llvm::Expected<RuntimeValue> bindComposed(BindContext &context) {
  std::string tag = "composition of " + context.getNode().getName() + " ";
  for (const BoundSlot &slot : context.getCall().slots)
    describeType(context.attrs().getValue(slot.info->name), tag);
  llvm::Expected<std::shared_ptr<Composition>> made =
      context.getCached<Composition>(tag, [&] { return compose(context.attrs()); });
  if (!made)
    return made.takeError();
  if (!*made)
    return context.fail("the sizes of its operands are not known before the graph runs");
  std::vector<RuntimeValue> inputs;
  for (const Composition::Input &input : (*made)->inputs) {
    RuntimeValue value = context.getValue(input.slot);
    inputs.push_back(input.element ? value.elements[*input.element] : value);
  }
  return context.getBuilder().bindInline((*made)->graph, inputs);
}

} // namespace qfx::runtime
