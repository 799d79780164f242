// Calls of children and functions in a decomposition.
#include "backends/reference/Decomposition.h"

namespace qfx::runtime {

Node *Decomposition::observe(const std::string &path, Node *x) {
  std::string observer = joinPath(path, "activation_post_process");
  ModuleRef child = findChild(observer);
  bool observes = child && child->getClass() && child->getClass()->getOp().has(Traits::Observes);
  return observes ? graph.callModule(joinPath(prefix, observer), {Argument(x)}) : x;
}

Node *Decomposition::callChild(const std::string &path, Node *x) {
  return observe(path, graph.callModule(joinPath(prefix, path), {Argument(x)}));
}

/// The number `name` that a quantized child holds as attribute or tensor.
static Argument getNumber(const Module &child, llvm::StringRef name, bool isInt) {
  double value = isInt ? 0 : 1;
  const Argument *attribute = child.findAttribute(name);
  const Tensor *tensor = child.findTensor(name);
  if (attribute && attribute->isNumber())
    value = attribute->getNumber();
  else if (tensor && tensor->getNumElements() == 1)
    value = tensor->getElementAsDouble(0);
  return isInt ? Argument(static_cast<int64_t>(value)) : Argument(value);
}

Node *Decomposition::callFunctional(const std::string &path, llvm::StringRef name, Node *a, Node *b) {
  if (!quantized)
    return observe(path, callFunction(("torch." + name).str(), {Argument(a), Argument(b)}));
  ModuleRef child = findChild(path);
  return callFunction(
      ("torch.ops.quantized." + name).str(),
      {Argument(a), Argument(b), getNumber(*child, "scale", false), getNumber(*child, "zero_point", true)});
}

Node *Decomposition::stack(llvm::ArrayRef<Node *> tensors) {
  std::vector<Argument> parts;
  for (Node *tensor : tensors)
    parts.push_back(callFunction("torch.unsqueeze", {Argument(tensor), Argument(int64_t(0))}));
  return callFunction("torch.cat", {Argument::list(std::move(parts)), Argument(int64_t(0))});
}

llvm::Expected<RuntimeValue> bindDecomposition(BindContext &context, const std::string &tag,
                                               llvm::function_ref<void(Graph &)> build,
                                               llvm::ArrayRef<RuntimeValue> inputs) {
  auto graph = context.getCached<Graph>("graph of " + context.getNode().getName() + " " + tag,
                                        [&]() -> llvm::Expected<std::shared_ptr<Graph>> {
                                          auto made = std::make_shared<Graph>();
                                          build(*made);
                                          for (Node &node : made->nodes())
                                            node.setLoc(context.getNode().getLoc());
                                          return made;
                                        });
  if (!graph)
    return graph.takeError();
  return context.getBuilder().bindInline(**graph, inputs);
}

llvm::Error requireChildren(BindContext &context, llvm::ArrayRef<std::string> paths) {
  for (const std::string &path : paths)
    if (!context.getCall().module->findModule(path))
      return context.fail("its child '{0}' is missing", path);
  return llvm::Error::success();
}

} // namespace qfx::runtime
