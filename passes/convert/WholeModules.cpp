// Standalone and custom modules in convert-to-reference (workflow 5.5).
#include "passes/convert/Convert.h"
#include "passes/convert/ConvertDetail.h"

#include "ir/ModuleGraph.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/custom/ObservedModules.h"

#include "llvm/ADT/SetVector.h"

namespace qfx {

/// `call` reads the quantized values below those operands that are a dequantize; one goes if nobody else needs it.
static void bypassDequantize(Node &call, llvm::ArrayRef<Node *> operands) {
  llvm::SmallSetVector<Node *, 4> dequantizes; // attention(x, x, x) names one three times
  for (Node *operand : operands)
    if (isDequantize(operand))
      dequantizes.insert(operand);
  for (Node *dequantize : dequantizes) {
    call.replaceInputWith(dequantize, dequantize->getArg(0).getNode());
    if (dequantize->getUsers().empty())
      dequantize->getParent()->erase(dequantize);
  }
}

static void dequantizeResult(Node &call) {
  auto insertPoint = Graph::InsertPoint::after(&call);
  Node *dequantize = call.getParent()->callMethod(requireMethod("dequantize"), {&call});
  dequantize->setLoc(call.getLoc());
  call.replaceAllUsesWith(dequantize, [&](Node *user) { return user != dequantize; });
}

bool isObservedStandalone(const Module &module) {
  if (!hasGraph(module))
    return false;
  for (const auto &entry : readGraphMeta(module))
    if (entry.first == "prepared")
      return true;
  return false;
}

llvm::Error convertStandalone(ConvertState &state, Node &call) {
  ModuleRef module = state.model.getModule(call);
  GraphModule inner = openModule(*module);
  auto prepared = PreparedState::load(inner);
  if (!prepared)
    return prepared.takeError();
  for (size_t i = 0; i < call.getArgs().size(); ++i) { // upstream turns every operand that is the same value into codes
    Node *input = call.getArg(i).getNodeOrNull();
    if (!llvm::is_contained(prepared->inputQuantizedIndexes, static_cast<int64_t>(i)) || !isDequantize(input))
      continue;
    call.setArg(i, input->getArg(0));
    if (input->getUsers().empty())
      input->getParent()->erase(input);
  }
  if (!prepared->outputQuantizedIndexes.empty()) {
    if (prepared->outputQuantizedIndexes.front() != 0)
      return error(call.getLoc(), "the standalone module '{0}' has one output: output_quantized_idxs is [0], got {1}", call.getTargetText(),
                   prepared->outputQuantizedIndexes.front())
          .code("convert_standalone");
    dequantizeResult(call);
  }
  if (!state.convertedPaths.insert(call.getTargetText()).second)
    return llvm::Error::success(); // another call of the same module
  PassContext context = state.context;
  context.customConfig = CustomConfig();
  if (llvm::Error err = convertToReference(inner, {}, context))
    return err;
  state.model.getRoot().setModule(call.getTargetText(), closeModule(inner));
  return llvm::Error::success();
}

/// The nodes that a statically quantized custom module takes as codes: (x, (h, c)) of an LSTM, (query, key, value) of attention, else the
/// first argument.
static llvm::Expected<std::vector<Node *>> getCodeInputs(const Module &module, const Node &call) {
  llvm::StringRef name = module.getClassName();
  std::vector<Argument> wanted;
  if (name == "torch.ao.nn.quantizable.LSTM") {
    if (call.getArgs().size() != 2 || call.getArg(1).getKind() != Argument::Kind::Tuple || call.getArg(1).getElements().size() != 2)
      return error(call.getLoc(), "the custom LSTM '{0}' is called as (x, (h, c))", call.getTargetText()).code("convert_custom");
    wanted = {call.getArg(0), call.getArg(1).getElements()[0], call.getArg(1).getElements()[1]};
  } else if (name == "torch.ao.nn.quantizable.MultiheadAttention") {
    if (call.getArgs().size() != 3)
      return error(call.getLoc(), "the custom attention '{0}' is called as (query, key, value)", call.getTargetText()).code("convert_custom");
    wanted.assign(call.getArgs().begin(), call.getArgs().end());
  } else if (!call.getArgs().empty()) {
    wanted = {call.getArg(0)};
  }
  std::vector<Node *> nodes;
  for (const Argument &argument : wanted) {
    if (!argument.isNode())
      return error(call.getLoc(), "the custom module '{0}' takes values of the graph, got {1}", call.getTargetText(),
                   toString(argument, ArgumentStyle::Repr))
          .code("convert_custom");
    nodes.push_back(argument.getNode());
  }
  return nodes;
}

llvm::Error convertCustomModule(ConvertState &state, Node &call) {
  const ConvertCustomConfig &custom = state.context.customConfig.convert;
  const OptionalQConfig *qconfig = state.prepared.findQConfig(call);
  if (!qconfig || !*qconfig)
    return llvm::Error::success();
  auto [known, isFirst] = state.customModules.try_emplace(call.getTargetText(), state.model.getModule(call));
  const ModuleRef &module = known->second;
  llvm::Expected<QuantType> quantType = getQuantType(**qconfig);
  if (!quantType)
    return quantType.takeError();
  QuantType type = *quantType;
  if (type == QuantType::Static) {
    auto inputs = getCodeInputs(*module, call);
    if (!inputs)
      return inputs.takeError();
    bypassDequantize(call, *inputs);
    state.staticCustomCalls.insert(&call);
  }
  const OperatorName *quantizedClass = custom.getObservedToQuantized(type).find(OperatorName::ofClass(*module));
  if (!quantizedClass)
    return error(call.getLoc(), "no quantized class is given for '{0}' under {1} quantization (observed_to_quantized_custom_module_class)",
                 module->getClassName(), getQuantTypeName(type))
        .code("convert_custom");
  if (!isFirst)
    return llvm::Error::success();
  auto quantized = makeQuantizedCustomModule(*module, *quantizedClass, **qconfig);
  if (!quantized)
    return quantized.takeError();
  // A plain custom module makes its codes itself: it keeps the observer of its result.
  for (Node *user : call.getUsers())
    if (ModuleRef observer = getObserver(state.model, *user); observer && type == QuantType::Static)
      (*quantized)->setChild("activation_post_process", observer);
  state.model.getRoot().setModule(call.getTargetText(), *quantized);
  return llvm::Error::success();
}

llvm::Error replaceByDequantize(Node &observerCall) {
  auto insertPoint = Graph::InsertPoint::before(&observerCall);
  Node *dequantize = observerCall.getParent()->callMethod(requireMethod("dequantize"), {observerCall.getArg(0)});
  dequantize->setLoc(observerCall.getLoc());
  observerCall.replaceAllUsesWith(dequantize);
  observerCall.getParent()->erase(&observerCall);
  return llvm::Error::success();
}

} // namespace qfx
