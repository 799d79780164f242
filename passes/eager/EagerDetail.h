// What the steps of eager mode share; private to this folder.
#ifndef PASSES_EAGER_EAGERDETAIL_H
#define PASSES_EAGER_EAGERDETAIL_H

#include "backends/config/QConfig.h"
#include "backends/observe/Observer.h"
#include "ir/GraphModule.h"
#include "passes/eager/ModuleQConfigs.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// An instance of upstream's _FusedModule: the float and QAT classes of torch.ao.nn.intrinsic, swapped as one unit.
bool isFusedModule(const Module &module);
/// FloatFunctional or QFunctional: its operations are functions in the graph, marked with its path.
bool isFloatFunctional(const Module &module);

/// Node meta that names the FloatFunctional whose method made a node.
inline constexpr llvm::StringLiteral kFunctionalMeta = "functional";

struct FromFloatOptions {
  const QConfig &qconfig;       ///< of the module
  const QConfig *weightQConfig; ///< of the member that holds the weight; null: the module's
  bool usePrecomputedFakeQuant = false;
};

/// `target.from_float(module)`: attributes and tensors that both classes have, weights quantized by the weight observer (the trained
/// fake-quantizer of a QAT module, whose batch norm is folded first), output parameters from the module's observer.
/// QFX: PReLU's slope is measured, by a quint8 observer if the qconfig's is none; padding and the like go by name.
/// Errors: swapModule's.
llvm::Expected<ModuleRef> makeQuantizedFromFloat(const Module &module, const TargetInfo &target, const FromFloatOptions &options);
/// The reference class: float weights and the parameters that the weight observer comes to.
llvm::Expected<ModuleRef> makeReferenceFromFloat(const Module &module, const TargetInfo &target, const FromFloatOptions &options);
/// Each child of `parent` whose class is in `mapping` and whose qconfig is active becomes its twin, bottom up.  Errors: swapModule's.
/// \param path  of `parent` in `model`.
llvm::Error swapChildren(GraphModule &model, Module &parent, const std::string &path, ModuleQConfigs &qconfigs, const ModuleMapping &mapping);

/// The observed FloatFunctional at `path` becomes a QFunctional and the functions in the graph its quantized operators.
/// Errors: an operation that QFunctional does not have (`eager_functional`).
llvm::Expected<ModuleRef> convertFloatFunctional(GraphModule &model, const std::string &path, const ModuleRef &functional);

} // namespace qfx

#endif // PASSES_EAGER_EAGERDETAIL_H
