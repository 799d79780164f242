// QuantWrapper and add_quant_dequant: modules between a QuantStub and a DeQuantStub.
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "passes/eager/Eager.h"
#include "passes/eager/EagerDetail.h"
#include "passes/eager/ObserverHooks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace qfx {

static ModuleRef makeStub(llvm::StringRef name, const Module &like) {
  auto stub = std::make_shared<Module>(requireModuleClass(("torch.ao.quantization.stubs." + name).str()));
  stub->setTraining(like.isTraining());
  stub->setLoc(like.getLoc());
  return stub;
}

/// QuantWrapper(module): the stubs have the module's qconfig.
static ModuleRef makeWrapper(const ModuleRef &module, ModuleQConfigs &qconfigs) {
  auto wrapper = std::make_shared<Module>("torch.ao.quantization.stubs.QuantWrapper");
  wrapper->setTraining(module->isTraining());
  wrapper->setLoc(module->getLoc());
  wrapper->setChild("quant", makeStub("QuantStub", *module));
  wrapper->setChild("dequant", makeStub("DeQuantStub", *module));
  wrapper->setChild("module", module);
  if (const QConfig *qconfig = qconfigs.getActive(*module))
    for (const char *stub : {"quant", "dequant"})
      qconfigs.set(wrapper->findChild(stub), *qconfig);
  return wrapper;
}

/// call(x) -> dequant(module(quant(x))) of the wrapper that now stands at the call's path.
static llvm::Error wrapCall(GraphModule &model, Node &call) {
  Graph &graph = model.getGraph();
  if (call.getArgs().size() != 1 || !call.getKwargs().empty() || !call.getArg(0).getNodeOrNull())
    return error(call.getLoc(), "'{0}' cannot be wrapped: a QuantWrapper takes one tensor by position", call.getName()).code("eager_wrap");
  std::string path = call.getTargetText().str();
  auto insertPoint = Graph::InsertPoint::before(&call);
  auto make = [&](llvm::StringRef child, Node *input) {
    Node *node = graph.callModule(joinPath(path, child), {input});
    node->setLoc(call.getLoc());
    node->setScope(Scope{node->getTargetText().str(), model.getModule(*node)->getClassName()});
    return node;
  };
  Node *wrapped = make("dequant", make("module", make("quant", call.getArg(0).getNode())));
  call.replaceAllUsesWith(wrapped);
  graph.erase(&call);
  return llvm::Error::success();
}

namespace {
/// Visits the leaves that have a qconfig, each once per parent; a parent that stands at several paths is gone through once.
class LeafVisitor {
public:
  using Visit = llvm::function_ref<void(Module &parent, const std::string &name, const ModuleRef &leaf)>;
  LeafVisitor(const ModuleQConfigs &qconfigs, Visit visit) : qconfigs(qconfigs), visit(visit) {}

  void run(Module &parent) {
    if (!seen.insert(&parent).second)
      return;
    for (const auto &[name, child] : Module::Named<ModuleRef>(parent.getChildren())) {
      // QFX: a fused module is one layer; upstream wraps the convolution inside it and cannot convert the result.
      if ((child->getChildren().empty() || isFusedModule(*child)) && qconfigs.getActive(*child))
        visit(parent, name, child);
      else
        run(*child);
    }
  }

private:
  const ModuleQConfigs &qconfigs;
  Visit visit;
  llvm::SmallPtrSet<const Module *, 16> seen;
};
} // namespace

/// Stubs belong around float layers: those of a prepared model have their observers already.
static llvm::Error checkUnprepared(const GraphModule &model) {
  if (model.findMeta("prepared") || ObserverHooks::isHooked(model))
    return error(model.getRoot().getLoc(), "the model is prepared already: stubs come before 'eager-prepare'").code("eager_wrap");
  return llvm::Error::success();
}

llvm::Expected<GraphModule> addQuantDequant(GraphModule model) {
  if (llvm::Error err = checkUnprepared(model))
    return err;
  auto qconfigs = ModuleQConfigs::load(model);
  if (!qconfigs)
    return qconfigs.takeError();
  ObserverHooks calls(model);
  std::vector<Node *> wrapped;
  llvm::DenseMap<const Module *, ModuleRef> wrappers;
  std::vector<ModuleRef> retired;
  auto wrap = [&](Module &parent, const std::string &name, const ModuleRef &leaf) {
    ModuleRef &wrapper = wrappers[leaf.get()];
    if (!wrapper) {
      wrapper = makeWrapper(leaf, *qconfigs);
      llvm::append_range(wrapped, calls.getCalls(*leaf));
    }
    parent.setChild(name, wrapper);
  };
  LeafVisitor(*qconfigs, wrap).run(model.getRoot());
  for (Node *call : wrapped)
    if (llvm::Error err = wrapCall(model, *call))
      return err;
  qconfigs->store(model);
  return model;
}

llvm::Expected<GraphModule> wrapInQuantWrapper(GraphModule model) {
  if (llvm::Error err = checkUnprepared(model))
    return err;
  auto qconfigs = ModuleQConfigs::load(model);
  if (!qconfigs)
    return qconfigs.takeError();
  Graph &graph = model.getGraph();
  std::vector<Node *> inputs = graph.getPlaceholders();
  Node *output = graph.getOutput();
  Node *result = output && !output->getArgs().empty() ? output->getArg(0).getNodeOrNull() : nullptr;
  if (inputs.size() != 1 || !result)
    return error(model.getRoot().getLoc(), "a QuantWrapper takes a model of one input and one tensor result, got {0} inputs", inputs.size())
        .code("eager_wrap");
  for (Node &node : graph.nodes()) {
    if (node.is(Opcode::CallModule) || node.is(Opcode::GetAttr))
      node.setTargetPath(joinPath("module", node.getTargetText()));
    if (const auto &scope = node.getScope())
      node.setScope(Scope{joinPath("module", scope->path), scope->path.empty() ? model.getRoot().getClassName() : scope->className});
    if (const Argument *functional = node.findMeta(kFunctionalMeta))
      node.setMeta(kFunctionalMeta, Argument(joinPath("module", functional->getString())));
  }
  ModuleRef inner = model.getRoot().shallowCopy();
  if (const OptionalQConfig *own = qconfigs->find(model.getRoot()))
    qconfigs->set(inner, *own);
  ModuleRef wrapper = makeWrapper(inner, *qconfigs);

  Node *input = inputs.front();
  Node *quant;
  {
    auto afterInput = Graph::InsertPoint::after(input);
    quant = graph.callModule("quant", {input});
  }
  quant->setLoc(input->getLoc());
  input->replaceAllUsesWith(quant, [&](Node *user) { return user != quant; });
  result = output->getArg(0).getNode();
  auto beforeOutput = Graph::InsertPoint::before(output);
  Node *dequant = graph.callModule("dequant", {result});
  dequant->setLoc(output->getLoc());
  output->setArg(0, dequant);

  auto meta = model.getMeta();
  auto taken = std::make_unique<Graph>();
  llvm::DenseMap<const Node *, Node *> copies;
  for (const Node &node : graph.nodes())
    copies[&node] = taken->copyNode(node, [&](Node *operand) -> Argument { return copies.lookup(operand); });
  GraphModule wrapped(wrapper, std::move(taken));
  for (const auto &[key, value] : meta)
    wrapped.setMeta(key, value);
  qconfigs->store(wrapped);
  return wrapped;
}

} // namespace qfx
