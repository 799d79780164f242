// torch.ao.quantization's eager mode: modules of the tree are observed and swapped, the graph calls them as before.
#ifndef PASSES_EAGER_EAGER_H
#define PASSES_EAGER_EAGER_H

#include "ir/GraphModule.h"
#include "passes/Pass.h"
#include "passes/eager/ModuleMappings.h"
#include "passes/eager/ModuleQConfigs.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace qfx {

/// Runs calibration data through an observed model, in place.
using CalibrateFn = llvm::function_ref<llvm::Error(GraphModule &model)>;

/// Lists of paths; each list is fused into the module at its first path.
using ModuleGroups = std::vector<std::vector<std::string>>;

struct EagerPrepareOptions {
  /// Classes that are watched where they are leaves; unset: getDefaultQConfigPropagationList().
  std::optional<ModuleClassList> allowList;
  /// Classes that are watched though they have children.
  ModuleClassList observerNonLeafModuleList;
  /// float_to_observed_custom_module_class; unset: getDefaultFloatToObservedMapping().
  std::optional<ModuleMapping> floatToObserved;
};

struct EagerConvertOptions {
  /// Unset: getDefaultStaticQuantModuleMappings(), or the reference ones if `isReference`.
  std::optional<ModuleMapping> mapping;
  bool isReference = false;
  /// Forget the qconfigs and drop the observers that are left.
  bool removeQConfig = true;
  /// Keep the parameters that a weight's fake-quantizer has instead of letting it look at the weight once more.
  bool usePrecomputedFakeQuant = false;
  /// observed_to_quantized_custom_module_class; unset: getDefaultObservedToQuantizedMapping().
  std::optional<ModuleMapping> observedToQuantized;
};

// Every function takes a model by value and returns the changed one: clone() first to keep the original (PyTorch's inplace=False).

/// fuse_modules (fuse_modules_qat if `isQat`): each group of module paths becomes one fused module at its first path and Identity modules at
/// the others.  Groups are Conv+BN, Conv+BN+ReLU, Conv+ReLU, Linear+BN1d, Linear+ReLU, BN2d/3d+ReLU, ConvTranspose+BN.
/// \param additional  a backend whose fusers come before these (PyTorch's `additional_fuser_method_mapping`): Linear+LeakyReLU of onednn, or
///                    those of a BackendConfig file; null: none.
/// Errors: an unknown path (`eager_module`), no fuser for these classes (`eager_fuse`), those of the fusers (Fusers.h).
llvm::Expected<GraphModule> fuseModules(GraphModule model, const ModuleGroups &groups, bool isQat = false,
                                        const BackendConfig *additional = nullptr);

/// prepare (workflow 7.1, 7.3): spreads the qconfigs and puts an observer on each module that will be quantized.  Warns if no module has a
/// qconfig.  Errors: those of propagateQConfig and of observers that cannot be built, a model that is prepared already
/// (`prepare_twice`), a qconfig without an activation observer (`eager_activation`), ObserverHooks.h.
llvm::Expected<GraphModule> prepareEager(GraphModule model, const EagerPrepareOptions &options, PassContext &context);

/// prepare_qat: QAT modules by `mapping` (unset: getDefaultQatModuleMappings()), then prepare.  The model must be in training mode
/// (`eager_training`).
llvm::Expected<GraphModule> prepareQatEager(GraphModule model, const std::optional<ModuleMapping> &mapping, PassContext &context);

/// convert (workflow 7.4): each module with a qconfig whose class has a twin becomes that twin (swapModule).
/// Errors: observers without data, all named in one message, unless context.allowUncalibrated (`convert_uncalibrated`); those of swapModule.
llvm::Expected<GraphModule> convertEager(GraphModule model, const EagerConvertOptions &options, PassContext &context);

/// quantize: eval mode, prepare, `calibrate`, convert with `mapping` (unset: the static one).
llvm::Expected<GraphModule> quantizeEager(GraphModule model, CalibrateFn calibrate, const std::optional<ModuleMapping> &mapping,
                                          PassContext &context);

/// quantize_qat: training mode, prepare_qat, `train`, convert (the model stays in training mode).
llvm::Expected<GraphModule> quantizeQatEager(GraphModule model, CalibrateFn train, PassContext &context);

/// What quantize_dynamic quantizes when no qconfigs are given: qint8 and float16 Linear and the recurrent layers, quint8 Embedding and
/// EmbeddingBag, quint4x2 EmbeddingBag.  Errors: another dtype (`eager_dtype`).
llvm::Expected<QConfigMapping> getDefaultDynamicSpec(DType dtype);
/// The qconfig for `dtype` under each of `classesOrNames` (module classes, or module paths).  Errors: another dtype (`eager_dtype`).
llvm::Expected<QConfigMapping> makeDynamicSpec(llvm::ArrayRef<std::string> classesOrNames, DType dtype);

/// quantize_dynamic: eval mode, propagate `spec`, convert with `mapping` (unset: the dynamic one).
llvm::Expected<GraphModule> quantizeDynamicEager(GraphModule model, const QConfigMapping &spec, const std::optional<ModuleMapping> &mapping,
                                                 PassContext &context);

/// add_quant_dequant: each leaf module that has a qconfig of its own (setQConfig, propagateQConfig) is wrapped in a QuantWrapper.
llvm::Expected<GraphModule> addQuantDequant(GraphModule model);

/// QuantWrapper(model): children quant, dequant and module; inputs go through quant, the output through dequant.
/// Errors: other than one input and one tensor result (`eager_wrap`).
llvm::Expected<GraphModule> wrapInQuantWrapper(GraphModule model);

/// model.train(mode): the flag of every module, the root's included.
void setTraining(GraphModule &model, bool mode);

/// swap_module: the twin of one module.  Returns `module` itself if its qconfig says none or no mapping knows its class.
struct SwapOptions {
  const ModuleMapping &mapping;
  const ModuleMapping &observedToQuantized;
  bool usePrecomputedFakeQuant = false;
  const PassContext *context = nullptr; ///< asked for cancellation, if given
};
/// \param qconfigs  the qconfig of `module` and of its children.
/// Errors: a class that cannot be made from this one (`eager_swap`), weights that are not finite (`convert_scale`), observers' own.
llvm::Expected<ModuleRef> swapModule(const ModuleRef &module, const ModuleQConfigs &qconfigs, const SwapOptions &options);

/// default_eval_fn: runs the model on each batch and drops the results.
llvm::Error defaultEvalFn(const GraphModule &model, llvm::ArrayRef<InputBatch> data);

} // namespace qfx

#endif // PASSES_EAGER_EAGER_H
