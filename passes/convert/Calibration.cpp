// Whether the observers of a model have seen what convert needs, and the weights that nobody calibrates.
#include "passes/convert/ConvertDetail.h"

#include "ir/Ops.h"
#include "passes/GraphUtils.h"

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

llvm::Error runWeightObservers(ConvertState &state) {
  for (Node &call : state.model.getGraph().nodes()) {
    if (!call.is(Opcode::CallFunction))
      continue;
    const Argument *weight = findWeight(state.context.backend, call);
    Node *observerCall = weight ? weight->getNodeOrNull() : nullptr;
    ModuleRef observer = observerCall ? getObserver(state.model, *observerCall) : nullptr;
    if (!observer || observerCall->getArgs().empty())
      continue;
    Node *source = observerCall->getArg(0).getNodeOrNull();
    const Tensor *tensor = source && source->is(Opcode::GetAttr) ? state.model.getRoot().findTensorAt(source->getTargetText()) : nullptr;
    if (!tensor || tensor->getDType() != DType::Float32)
      continue; // computed from inputs: calibration has fed it
    if (llvm::Error err = observe(*observer, {tensor->getData<float>().data(), tensor->getSizes(), tensor->getStrides()}))
      return err;
  }
  return llvm::Error::success();
}

llvm::Error checkCalibration(ConvertState &state) {
  std::vector<std::string> empty;
  Location loc;
  for (Node &node : state.model.getGraph().nodes()) {
    ModuleRef observer = getObserver(state.model, node);
    if (!observer || isObserverDynamic(*observer) || hasObserved(*observer))
      continue;
    if (empty.empty())
      loc = node.getLoc();
    empty.push_back("'" + node.getTargetText().str() + "' (of '" + node.getArg(0).getNode()->getName() + "')");
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
