// What the steps of convert-to-reference share; private to this folder.
#ifndef PASSES_CONVERT_CONVERTDETAIL_H
#define PASSES_CONVERT_CONVERTDETAIL_H

#include "backends/observe/Observer.h"
#include "passes/GraphUtils.h"
#include "passes/Pass.h"
#include "passes/prepare/PreparedState.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace qfx {

/// A reference module whose weights are still to be measured.
struct PendingWeights {
  ModuleRef reference;
  std::vector<std::string> keys; ///< `weight`, or weight_ih, weight_hh, ... of a recurrent one
  ObserverSpec spec;             ///< of the qconfig
  ModuleRef trained;             ///< the fake-quantizer that training fed; null: build one by `spec`
  std::string path;              ///< where the float module lies, for messages
  Location loc;
};

/// One run of convert: the model, what prepare decided, and the surroundings.
struct ConvertState {
  GraphModule &model;
  PreparedState prepared;
  PassContext &context;
  llvm::DenseSet<const Node *> staticCustomCalls{}; ///< custom modules that yield codes
  llvm::StringSet<> convertedPaths{};               ///< standalone modules that are converted already
  llvm::StringMap<ModuleRef> customModules{};       ///< the observed modules, by path, of the custom modules that are converted already
  std::vector<PendingWeights> pendingWeights{};     ///< in the order of their calls
  llvm::DenseMap<const Module *, QParams> qparams{}; ///< measured ahead, see measureActivations
  AttrNamer attrNames{};
};

/// The observer module that `node` calls, or null.
ModuleRef getObserver(const GraphModule &model, const Node &node);

/// Quantization parameters of an observer call; derived observers (scalar add and mul, workflow 4.7) follow their source.
llvm::Expected<QParams> getQParams(const ConvertState &state, const Node &observerCall);

/// Step 3: input-weight equalization, where prepare put its observers: weights and inputs are scaled, the observers of inputs follow, the
/// equalization observers go.  Errors: observers without data (`convert_uncalibrated`, unless context.allowUncalibrated), columns that differ
/// in number (`equalization_columns`), an input observer whose range cannot be scaled (`equalization_observer`).
llvm::Error equalize(ConvertState &state);
/// Step 4: feeds functional weights to their observers once.
llvm::Error runWeightObservers(ConvertState &state);
/// Refuses static observers that saw no data; names all of them.
llvm::Error checkCalibration(ConvertState &state);
/// QFX: additions whose operands differ more than 1024-fold in range lose their own observers and stay float.
llvm::Error dropMismatchedAdditions(ConvertState &state);
/// 5.3: one observer call becomes quantize + dequantize, or disappears.
llvm::Error replaceObserver(ConvertState &state, Node &observerCall);
/// numerics 3.13: the call of an affine observer becomes quantize_affine + dequantize_affine, with parameters found while running if it is dynamic.
/// Errors: `convert_uncalibrated` without a block size.
llvm::Error replaceAffineObserver(ConvertState &state, Node &observerCall);
/// 5.5: a module that prepare prepared by itself is converted by itself; its interface takes and gives codes as its config says.
bool isObservedStandalone(const Module &module);
llvm::Error convertStandalone(ConvertState &state, Node &call);
/// 5.5: an observed custom module becomes its quantized class.
llvm::Error convertCustomModule(ConvertState &state, Node &call);
/// A DeQuantStub, or the observer of a module that yields codes.
llvm::Error replaceByDequantize(Node &observerCall);
/// 5.4: the module that `call` calls becomes a reference module if qconfig and backend agree; its weights are measured later.
llvm::Error convertWeightedModule(ConvertState &state, Node &call);
/// Measures the pending weights, several modules at once, and writes their parameters on the reference modules.
llvm::Error measureWeights(ConvertState &state);
/// Calculates the parameters of all calibrated observers, several at once: the search of a histogram takes its time.
void measureActivations(ConvertState &state);

} // namespace qfx

#endif // PASSES_CONVERT_CONVERTDETAIL_H
