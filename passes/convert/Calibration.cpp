// Whether the observers of a model have seen what convert needs, and the weights that nobody calibrates.
#include "passes/convert/ConvertDetail.h"

#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/ConstantValue.h"
#include "passes/GraphUtils.h"
#include "passes/eager/Pieces.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// Argument positions of the weight that the backend states for a function (backend_config 8.2), by keyword too.
static const Argument *findWeight(const BackendConfig &backend, const Node &call) {
  const BackendPatternConfig *config = backend.findSingle(OperatorName::of(*call.getTarget()));
  if (config) {
    auto it = config->inputTypeToIndex.find("weight");
    if (it != config->inputTypeToIndex.end())
      return findOperand(call, it->second, "weight");
  }
  return call.getKwarg("weight");
}

/// Runs the observer that `producer` calls, and those that its value passes on the way, if parameters and buffers alone decide it.
static llvm::Error runWeightObserver(ConvertState &state, Node &producer) {
  ModuleRef observer = getObserver(state.model, producer);
  Node *source = observer && !producer.getArgs().empty() ? producer.getArg(0).getNodeOrNull() : nullptr;
  if (source && source->is(Opcode::GetAttr)) { // most weights: no program is needed
    const Tensor *tensor = state.model.getRoot().findTensorAt(source->getTargetText());
    return tensor && tensor->getDType() == DType::Float32 ? observe(*observer, ObservedTensor(*tensor)) : llvm::Error::success();
  }
  std::vector<Node *> producers = collectProducers(&producer);
  if (llvm::none_of(producers, [&](const Node *node) { return getObserver(state.model, *node) != nullptr; }))
    return llvm::Error::success(); // computed from inputs: calibration has fed it
  return evaluateConstant(state.model, producer, state.context, /*observe=*/true).takeError();
}

llvm::Error runWeightObservers(ConvertState &state) {
  for (Node &call : state.model.getGraph().nodes()) {
    if (!call.is(Opcode::CallFunction))
      continue;
    const Argument *weight = findWeight(state.context.backend, call);
    if (Node *producer = weight ? weight->getNodeOrNull() : nullptr)
      if (llvm::Error err = runWeightObserver(state, *producer))
        return err;
  }
  return llvm::Error::success();
}

llvm::Error checkCalibration(ConvertState &state) {
  std::vector<std::string> empty;
  Location loc;
  auto check = [&](const Node &node, const Module &observer, const std::string &text) {
    if (isObserverDynamic(observer) || hasObserved(observer))
      return;
    if (empty.empty())
      loc = node.getLoc();
    empty.push_back(text);
  };
  for (Node &node : state.model.getGraph().nodes()) {
    if (ModuleRef observer = getObserver(state.model, node))
      check(node, *observer, "'" + node.getTargetText().str() + "' (of '" + node.getArg(0).getNode()->getName() + "')");
    ModuleRef module = node.is(Opcode::CallModule) ? state.model.getModule(node) : nullptr;
    if (!module || !isInPieces(*module))
      continue;
    module->forEachModule([&](const std::string &path, const ModuleRef &piece) {
      // Weights are measured at convert; attention's scaling is a mul_scalar, which nobody observes.
      if (isObserver(*piece) && !endsWith(path, "weight_fake_quant") && !startsWith(path, "q_scaling_product."))
        check(node, *piece, "'" + joinPath(node.getTargetText(), path) + "'");
    });
  }
  if (empty.empty())
    return llvm::Error::success();
  std::string names;
  for (size_t i = 0; i < empty.size(); ++i)
    names += (i ? ", " : "") + empty[i];
  Diagnostic diagnostic =
      error(loc, "{0} observers saw no data; calibrate first (--calibrate=DATA): {1}", empty.size(), names).code("convert_uncalibrated").take();
  if (!state.context.allowUncalibrated)
    return llvm::make_error<InputError>(std::move(diagnostic));
  diagnostic.message += "; scale 1 and zero point 0 are used";
  state.context.warn(std::move(diagnostic));
  return llvm::Error::success();
}

} // namespace qfx
