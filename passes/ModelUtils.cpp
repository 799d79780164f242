// Example inputs by running the model once; dotted names by walking the module tree.
#include "passes/ModelUtils.h"

#include "ir/Diagnostics.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace qfx {

namespace {
/// Collects the arguments of calls from the values of a finished run.
class ExampleCollector {
public:
  ExampleCollector(const GraphModule &model, const std::vector<NamedValue> &values) : model(model) {
    for (const NamedValue &value : values)
      byNode[value.name] = &value.value;
  }

  llvm::Expected<ExampleInputs> getInputsOf(const Node &call) const {
    ExampleInputs inputs;
    for (const Argument &arg : call.getArgs())
      if (llvm::Error err = add(call, arg, inputs))
        return err;
    ModuleRef module = model.getModule(call);
    assert(module && module->getClass() && "the model ran");
    llvm::ArrayRef<SlotInfo> slots = module->getClass()->getForwardSignature().getSlots();
    for (const SlotInfo &slot : slots.drop_front(std::min(slots.size(), call.getArgs().size()))) {
      const Argument *given = call.getKwarg(slot.name);
      Argument fallback = slot.defaultValue ? *slot.defaultValue : Argument::none();
      if (llvm::Error err = add(call, given ? *given : fallback, inputs))
        return err;
    }
    return inputs;
  }

  const Value *find(llvm::StringRef node) const { return byNode.lookup(node); }

private:
  llvm::Error add(const Node &call, const Argument &arg, ExampleInputs &inputs) const {
    if (arg.isSequence()) {
      for (const Argument &element : arg.getElements())
        if (llvm::Error err = add(call, element, inputs))
          return err;
      return llvm::Error::success();
    }
    if (Node *node = arg.getNodeOrNull()) {
      const Value *value = find(node->getName());
      if (!value)
        return error(call.getLoc(), "argument '{0}' of '{1}' is no single value", node->getName(), call.getName()).code("example_input");
      inputs.push_back(*value);
      return llvm::Error::success();
    }
    inputs.push_back(Value{Tensor(), arg});
    return llvm::Error::success();
  }

  const GraphModule &model;
  llvm::StringMap<const Value *> byNode;
};
} // namespace

llvm::Expected<std::vector<std::pair<std::string, ExampleInputs>>> getFqnToExampleInputs(const GraphModule &model,
                                                                                        const NamedTensors &inputs) {
  auto program = Program::compile(model);
  if (!program)
    return program.takeError();
  auto values = (*program)->runAndKeep(inputs);
  if (!values)
    return values.takeError();
  ExampleCollector collector(model, *values);
  std::vector<std::pair<std::string, ExampleInputs>> examples(1);
  for (const Node &node : model.getGraph().nodes()) {
    if (node.is(Opcode::Placeholder))
      if (const Value *value = collector.find(node.getName()))
        examples.front().second.push_back(*value);
    if (!node.is(Opcode::CallModule))
      continue;
    auto received = collector.getInputsOf(node);
    if (!received)
      return received.takeError();
    auto known = llvm::find_if(examples, [&](const auto &entry) { return entry.first == node.getTargetText(); });
    if (known != examples.end())
      known->second = std::move(*received);
    else
      examples.emplace_back(node.getTargetText().str(), std::move(*received));
  }
  return examples;
}

llvm::Expected<ModelMember> getattrFromFqn(const GraphModule &model, llvm::StringRef fqn) {
  ModelMember member;
  if ((member.module = model.getRoot().findModule(fqn)))
    return member;
  if ((member.tensor = model.getRoot().findTensorAt(fqn)))
    return member;
  auto [parentPath, name] = splitPath(fqn);
  ModuleRef parent = parentPath.empty() ? nullptr : model.getRoot().findModule(parentPath);
  const Module &owner = parent ? *parent : model.getRoot();
  if (parent || parentPath.empty())
    if ((member.attribute = owner.findAttribute(name)))
      return member;
  std::vector<std::string> paths;
  model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &) { paths.push_back(path); });
  return error(model.getRoot().getLoc(), "the model has no '{0}'{1}", fqn, didYouMean(fqn, paths)).code("model_member");
}

} // namespace qfx
