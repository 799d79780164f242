// Quantization parameters of observer calls, those derived from another observer's included.
#include "passes/convert/ConvertDetail.h"

#include "backends/runtime/ParallelFor.h"
#include "ir/Ops.h"
#include "passes/prepare/DerivedObserver.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <optional>

namespace qfx {

/// operators 6, add_scalar: what x + c has when x has (scale, zeroPoint) over codes lo..hi.
static std::pair<double, int64_t> addScalar(double scale, int64_t zeroPoint, int64_t lo, int64_t hi, double c) {
  double steps = std::nearbyint(c / scale);
  double shifted = static_cast<double>(zeroPoint) - steps;
  if (shifted < static_cast<double>(lo))
    return {(static_cast<double>(hi) - shifted) / static_cast<double>(hi - lo) * scale, lo};
  if (shifted > static_cast<double>(hi))
    return {(shifted - static_cast<double>(lo)) / static_cast<double>(hi - lo) * scale, hi};
  return {scale, static_cast<int64_t>(shifted)};
}

/// operators 6, mul_scalar: x * c.
static std::pair<double, int64_t> mulScalar(double scale, int64_t zeroPoint, int64_t lo, int64_t hi, double c) {
  if (c > 0)
    return {c * scale, zeroPoint};
  if (c == 0)
    return {1.0, 0};
  return {-c * scale, hi - (zeroPoint - lo)};
}

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
  const DTypeInfo &info = getDTypeInfo(qparams->dtype);
  double c = derived.getAttribute("constant").getNumber();
  const std::string &op = derived.getAttribute("op").getString();
  double scale = qparams->scales[0];
  auto [newScale, newZeroPoint] =
      op == "mul" ? mulScalar(scale, qparams->zeroPoints[0], info.codeMin, info.codeMax, c)
                  : addScalar(scale, qparams->zeroPoints[0], info.codeMin, info.codeMax, op == "sub" ? -c : c);
  qparams->scales = {static_cast<float>(newScale)};
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
