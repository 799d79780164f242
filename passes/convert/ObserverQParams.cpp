// Quantization parameters of observer calls, those derived from another observer's included.
#include "passes/convert/ConvertDetail.h"

#include "backends/runtime/ParallelFor.h"
#include "ir/Ops.h"
#include "passes/prepare/DerivedObserver.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <optional>

namespace qfx {

static llvm::Expected<QParams> deriveQParams(const ConvertState &state, const Module &derived, const Location &loc) {
  const std::string &sourcePath = derived.getAttribute("source").getString();
  ModuleRef source = state.model.getRoot().findModule(sourcePath);
  if (!source || source.get() == &derived)
    return error(loc, "derived observer follows '{0}', which the model does not have", sourcePath).code("convert_derived");
  auto qparams = isDerivedObserver(*source) ? deriveQParams(state, *source, loc) : calculateQParams(*source);
  if (!qparams)
    return qparams.takeError();
  if (qparams->scales.size() != 1)
    return error(loc, "derived observer follows '{0}', which is not per tensor", sourcePath).code("convert_derived");
  auto [newScale, newZeroPoint] = deriveQParams(derived.getAttribute("op").getString(), qparams->scales[0], qparams->zeroPoints[0], qparams->dtype,
                                                derived.getAttribute("constant").getNumber());
  qparams->scales = {newScale};
  qparams->zeroPoints = {newZeroPoint};
  return qparams;
}

void measureActivations(ConvertState &state) {
  std::vector<const Module *> observers;
  for (const Node &node : state.model.getGraph().nodes()) {
    ModuleRef observer = getObserver(state.model, node);
    if (observer && !isDerivedObserver(*observer) && !isObserverDynamic(*observer) && isQuantized(getObserverDType(*observer)) &&
        hasObserved(*observer) && !llvm::is_contained(observers, observer.get()))
      observers.push_back(observer.get());
  }
  std::vector<std::optional<QParams>> measured(observers.size());
  runtime::parallelFor(state.context.numThreads, observers.size(), [&](size_t i) {
    if (auto qparams = calculateQParams(*observers[i]))
      measured[i] = std::move(*qparams);
    else
      llvm::consumeError(qparams.takeError()); // whoever asks for it gets the error again
  });
  for (size_t i = 0; i < observers.size(); ++i)
    if (measured[i])
      state.qparams.try_emplace(observers[i], std::move(*measured[i]));
}

llvm::Expected<QParams> getQParams(const ConvertState &state, const Node &observerCall) {
  ModuleRef observer = getObserver(state.model, observerCall);
  if (auto measured = state.qparams.find(observer.get()); measured != state.qparams.end())
    return measured->second;
  if (isDerivedObserver(*observer))
    return deriveQParams(state, *observer, observerCall.getLoc());
  return calculateQParams(*observer);
}

} // namespace qfx
