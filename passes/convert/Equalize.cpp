// Input-weight equalization of a calibrated model (workflow 5.2, step 3; torch/ao/quantization/fx/_equalize.py).
//   x -> observer -> equalization -> layer     becomes     x -> mul(scale) -> observer (scaled range) -> layer (weight / scale)
// and between two layers the first one's rows take the scale instead of a mul.
#include "passes/convert/ConvertDetail.h"

#include "backends/observe/EqualizationObserver.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/convert/EqualizedLayer.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

static ModuleRef getEqualization(const ConvertState &state, const Node *node) {
  ModuleRef observer = node ? getObserver(state.model, *node) : nullptr;
  return observer && isEqualizationObserver(*observer) ? observer : nullptr;
}

static void removeCall(Node &call) {
  call.replaceAllUsesWith(call.getArg(0).getNode());
  call.getParent()->erase(&call);
}

/// Observers that saw no data, all in one message.
static llvm::Error checkObserved(ConvertState &state, llvm::ArrayRef<Node *> calls) {
  std::vector<std::string> empty;
  for (const Node *call : calls)
    if (ModuleRef observer = getEqualization(state, call); isInputEqualizationObserver(*observer) && !hasObserved(*observer))
      empty.push_back("'" + call->getTargetText().str() + "'");
  if (empty.empty())
    return llvm::Error::success();
  std::string names;
  for (const std::string &name : empty)
    names += (names.empty() ? "" : ", ") + name;
  Diagnostic diagnostic = error(calls.front()->getLoc(), "{0} equalization observers saw no data; calibrate first (--calibrate=DATA): {1}",
                                empty.size(), names)
                              .code("convert_uncalibrated")
                              .take();
  if (!state.context.allowUncalibrated)
    return llvm::make_error<InputError>(std::move(diagnostic));
  diagnostic.message += "; scale 1 is used";
  state.context.warn(std::move(diagnostic));
  return llvm::Error::success();
}

/// PyTorch puts no mul behind these; other ones that could take a scale keep their rows and get a mul, as there.
static bool isJoinedByName(const ConvertState &state, const Node &source) {
  return findEqualizableCall(source, state.model) || llvm::StringRef(source.getName()).contains("relu");
}

/// The observer in front of an equalization observer follows the scale, in a copy of its own if other calls share it.
static llvm::Error rescaleObserver(ConvertState &state, Node &observerCall, const EqualizedLayer &layer) {
  ModuleRef observer = getObserver(state.model, observerCall);
  auto isSharing = [&](const Node &node) { return &node != &observerCall && getObserver(state.model, node) == observer; };
  if (llvm::any_of(state.model.getGraph().nodes(), isSharing)) {
    observer = observer->deepCopy();
    std::string path = observerCall.getTargetText().str();
    auto isSameCall = [&](const Node &node) { return &node != &observerCall && node.is(Opcode::CallModule) && node.getTargetText() == path; };
    if (llvm::any_of(state.model.getGraph().nodes(), isSameCall))
      return error(observerCall.getLoc(), "observer '{0}' is called for several values, one of which is equalized", path).code("equalization_observer");
    state.model.getRoot().setModule(path, observer);
  }
  return scaleObservedRange(*observer, layer, observerCall.getLoc());
}

static void insertMul(ConvertState &state, Node &observerCall, const EqualizedLayer &layer) {
  Node *source = observerCall.getArg(0).getNode();
  Graph &graph = state.model.getGraph();
  Tensor scale = layer.scale.empty() ? Tensor::of<int64_t>(DType::Int64, {}, int64_t(1))
                                     : Tensor::of<float>(DType::Float32, layer.shape, layer.scale);
  auto insertPoint = Graph::InsertPoint::before(&observerCall);
  Node *scaleNode = createGetAttrFromTensor(state.model, state.attrNames, source->getName() + "_equalization_scale", std::move(scale));
  Node *mul = graph.callFunction(requireFunction("torch.mul"), {source, scaleNode});
  mul->setLoc(source->getLoc());
  observerCall.replaceInputWith(source, mul);
}

static void decline(ConvertState &state, const Node &node, llvm::StringRef reason) {
  state.context.warn(error(node.getLoc(), "'{0}' is not equalized: {1}", node.getName(), reason).code("not_equalized").take());
}

namespace {
/// One equalization observer of an input and what becomes of it.
struct Place {
  Node *call;              ///< of the equalization observer
  EqualizedLayer layer;    ///< behind it
  LayerWeights producer;   ///< in front of it; takes the scale on its rows if `isJoined`
  bool isJoined = false, isDeclined = false;
};
} // namespace

static llvm::Expected<Place> plan(ConvertState &state, Node &call) {
  Place place;
  place.call = &call;
  Node &observerCall = *call.getArg(0).getNode();
  auto found = llvm::find_if(call.getUsers(), [&](const Node *user) { return findEqualizableCall(*user, state.model) != nullptr; });
  std::string reason;
  if (found == call.getUsers().end() || !getObserver(state.model, observerCall))
    reason = "no layer with an observed input reads it";
  else if (!call.hasOneUser() || !observerCall.hasOneUser())
    reason = "its observed input has other readers";
  if (!reason.empty()) {
    decline(state, found == call.getUsers().end() ? call : **found, reason);
    place.isDeclined = true;
    return place;
  }
  Node &node = **found;
  LayerWeights weights = findLayerWeights(state.model, node);
  if (!weights.problem.empty()) {
    decline(state, node, weights.problem);
    place.isDeclined = true;
    return place;
  }
  auto layer = measureLayer(*getEqualization(state, &call), node, std::move(weights), state.model);
  if (!layer)
    return layer.takeError();
  place.layer = std::move(*layer);
  Node *source = observerCall.getArg(0).getNode();
  if (!isJoinedByName(state, *source) || !source->hasOneUser())
    return place;
  if (Node *producer = findScalableProducer(state.model, *source)) {
    place.producer = findLayerWeights(state.model, *producer);
    place.isJoined = place.producer.problem.empty() && takesScale(place.producer, *producer, place.layer, state.model);
  }
  return place;
}

llvm::Error equalize(ConvertState &state) {
  std::vector<Node *> calls, weightCalls;
  for (Node &node : state.model.getGraph().nodes())
    if (ModuleRef observer = getEqualization(state, &node))
      (isInputEqualizationObserver(*observer) ? calls : weightCalls).push_back(&node);
  if (calls.empty() && weightCalls.empty())
    return llvm::Error::success();
  if (llvm::Error err = checkObserved(state, calls))
    return err;
  std::vector<Place> places; // all scales follow from the weights as they were
  for (Node *call : calls) {
    auto place = plan(state, *call);
    if (!place)
      return place.takeError();
    places.push_back(std::move(*place));
  }
  for (const Place &place : places)
    if (!place.isDeclined && !place.layer.scale.empty())
      if (llvm::Error err = divideWeight(state.model, place.layer))
        return err;
  for (const Place &place : places) {
    if (!place.isDeclined) {
      Node &observerCall = *place.call->getArg(0).getNode();
      if (!place.layer.scale.empty()) {
        if (place.isJoined)
          if (llvm::Error err = multiplyOutput(state.model, place.producer, place.layer.scale))
            return err;
        if (llvm::Error err = rescaleObserver(state, observerCall, place.layer))
          return err;
      }
      if (!place.isJoined)
        insertMul(state, observerCall, place.layer);
    }
    removeCall(*place.call);
  }
  for (Node *call : weightCalls)
    removeCall(*call);
  return llvm::Error::success();
}

} // namespace qfx
