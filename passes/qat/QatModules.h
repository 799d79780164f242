// Modules of quantization-aware training: made from float ones, and turned back.
#ifndef PASSES_QAT_QATMODULES_H
#define PASSES_QAT_QATMODULES_H

#include "backends/config/BackendConfig.h"
#include "backends/config/CustomConfig.h"
#include "backends/config/QConfigMapping.h"
#include "ir/Module.h"

#include "llvm/Support/Error.h"

namespace qfx {

class GraphModule;

/// from_float of a QAT class: the float module (or child "0" of a fused one) with its tensors, a child `weight_fake_quant` made from
/// `qconfig.weight`, and a batch norm of the fused module as child `bn`.  Errors: `qat_qconfig`, a qconfig without a weight constructor,
/// with an activation observer that remembers for qat.dynamic.Linear, with another weight scheme than that of float rows for an embedding.
llvm::Expected<ModuleRef> makeQatModule(const Module &floatModule, const TargetInfo &qatClass, const QConfig &qconfig);

/// Is it of a class of QatModules.def?
bool isQatModule(const Module &module);

/// to_float: the plain or fused float module, its batch norm folded with the running statistics.  Asserts isQatModule.  Errors: those of
/// foldBatchNorm.
llvm::Expected<ModuleRef> makeFloatFromQat(const Module &module, const Location &loc);

/// prepare_qat_fx's swap (workflow 4.1 step 6): every called module that has a qconfig and whose class the backend gives a QAT class is
/// replaced in place; a module under several paths stays one.  Qconfigs are those of propagate_qconfig_: global, then the class, then
/// names along the path; regexes do not count.  So are the modules inside standalone modules, by this model's mapping and before those fuse
/// (PyTorch's order): a convolution and a relu in one stay two modules.
llvm::Error swapToQatModules(GraphModule &model, const BackendConfig &backend, const QConfigMapping &mapping, const PrepareCustomConfig &custom);

/// Step 2.4.3: each object_type entry whose class has a QAT class is repeated for that.
void addQatObjectTypes(QConfigMapping &mapping, const BackendConfig &backend);

} // namespace qfx

#endif // PASSES_QAT_QATMODULES_H
