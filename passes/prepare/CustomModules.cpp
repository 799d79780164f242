// Float custom modules: what follows them, and their observed form (workflow 4.8).
#include "ir/Ops.h"
#include "passes/custom/ObservedModules.h"
#include "passes/prepare/ObserverInserter.h"

#include "llvm/Support/FormatVariadic.h"

namespace qfx {

static bool isStatic(const QConfig &qconfig) { return qconfig.activation && !qconfig.activation->isDynamic(); }

llvm::Error ObserverInserter::insertForCustomModule(Node &node, const QuantMatch &match) {
  static const TargetInfo &lstm = requireModuleClass("torch.nn.LSTM");
  static const TargetInfo &attention = requireModuleClass("torch.nn.MultiheadAttention");
  ModuleRef module = floatCustomModules.try_emplace(node.getTargetText(), model.getModule(node)).first->second; // a further call sees the observed one
  const QConfig &qconfig = *plan.findQConfig(node);
  if (isStatic(qconfig) && module->isA(lstm)) {
    insertLstmStubs(node);
    return swapToObserved(node);
  }
  if (isStatic(qconfig) && module->isA(attention)) {
    insertAttentionStub(node);
    return swapToObserved(node);
  }
  size_t before = node.getNumUsers();
  if (llvm::Error err = insertOutputObserver(node, match))
    return err;
  bool isObserved = node.hasOneUser() && getObserver(*node.getUsers().front());
  return isObserved || before != node.getNumUsers() ? swapToObserved(node) : llvm::Error::success();
}

Node *ObserverInserter::insertStub(Node &value) {
  static const TargetInfo &stub = requireModuleClass("torch.ao.quantization.stubs.DeQuantStub");
  std::string name;
  for (unsigned i = 0;; ++i)
    if (name = llvm::formatv("dequant_stub_{0}", i); !model.getRoot().hasMember(name))
      break;
  auto module = std::make_shared<Module>(stub);
  module->setLoc(value.getLoc());
  module->setTraining(model.getRoot().isTraining());
  model.getRoot().setChild(name, std::move(module));
  Graph::InsertPoint guard = Graph::InsertPoint::after(&value);
  Node *call = model.getGraph().callModule(name, {&value});
  call->setLoc(value.getLoc());
  return call;
}

/// What a chain of getitems reads out of tuples that are nodes of the graph; null if it reads something else.
static Node *resolve(const Node &getItem, const TargetInfo &getItemFunction, const TargetInfo &tupleFunction) {
  if (!getItem.is(Opcode::CallFunction) || getItem.getTarget() != &getItemFunction || !getItem.getArg(0).isNode() || !getItem.getArg(1).isInt())
    return nullptr;
  Node *source = getItem.getArg(0).getNode();
  if (Node *inner = resolve(*source, getItemFunction, tupleFunction))
    source = inner;
  if (!source->is(Opcode::CallFunction) || source->getTarget() != &tupleFunction || !source->getArg(0).isSequence())
    return nullptr;
  llvm::ArrayRef<Argument> elements = source->getArg(0).getElements();
  int64_t index = getItem.getArg(1).getInt();
  return index >= 0 && index < static_cast<int64_t>(elements.size()) ? elements[index].getNodeOrNull() : nullptr;
}

void ObserverInserter::insertLstmStubs(Node &lstm) {
  static const TargetInfo &getItem = requireFunction("operator.getitem");
  static const TargetInfo &makeTuple = requireFunction("builtins.tuple");
  Graph &graph = model.getGraph();
  auto callAfter = [&](Node *position, const TargetInfo &function, std::vector<Argument> args) {
    Graph::InsertPoint guard = Graph::InsertPoint::after(position);
    Node *call = graph.callFunction(function, std::move(args));
    call->setLoc(lstm.getLoc());
    return call;
  };
  Node *output = callAfter(&lstm, getItem, {&lstm, 0});
  Node *outputStub = insertStub(*output);
  Node *hidden = callAfter(outputStub, getItem, {&lstm, 1});
  Node *hidden0 = callAfter(hidden, getItem, {hidden, 0});
  Node *hidden0Stub = insertStub(*hidden0);
  Node *hidden1 = callAfter(hidden0Stub, getItem, {hidden, 1});
  Node *hidden1Stub = insertStub(*hidden1);
  Node *states = callAfter(hidden1Stub, makeTuple, {Argument::list({hidden0Stub, hidden1Stub})});
  Node *result = callAfter(states, makeTuple, {Argument::list({outputStub, states})});
  lstm.replaceAllUsesWith(result, [&](Node *user) { return user != output && user != hidden; });
  for (Node *part : {outputStub, hidden0Stub, hidden1Stub, states, result})
    markResult(part, lstm);
  for (Node *node : graph.getNodeVector())
    if (Node *value = resolve(*node, getItem, makeTuple))
      node->replaceAllUsesWith(value);
}

/// QFX: attention returns (output, weights); the output is quantized, the weights are not.
void ObserverInserter::insertAttentionStub(Node &attention) {
  static const TargetInfo &getItem = requireFunction("operator.getitem");
  std::vector<Node *> users(attention.getUsers().begin(), attention.getUsers().end());
  Node *output;
  {
    Graph::InsertPoint guard = Graph::InsertPoint::after(&attention);
    output = model.getGraph().callFunction(getItem, {&attention, 0});
    output->setLoc(attention.getLoc());
  }
  Node *stub = insertStub(*output);
  markResult(stub, attention);
  for (Node *user : users)
    if (user->is(Opcode::CallFunction) && user->getTarget() == &getItem && user->getArg(1) == Argument(0))
      user->replaceAllUsesWith(stub);
}

llvm::Error ObserverInserter::swapToObserved(Node &node) {
  if (!swappedPaths.insert(node.getTargetText()).second)
    return llvm::Error::success();
  ModuleRef module = model.getModule(node);
  const OperatorName *observedClass = custom.getFloatToObserved().find(OperatorName::ofClass(*module));
  assert(observedClass && "the match says so");
  auto observed = makeObservedCustomModule(*module, *observedClass, *plan.findQConfig(node));
  if (!observed)
    return observed.takeError();
  model.getRoot().setModule(node.getTargetText(), *observed);
  return llvm::Error::success();
}

} // namespace qfx
