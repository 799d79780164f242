// What passes ask of a module object, read off its row.
#ifndef PASSES_CONFIG_MODULEFACTS_H
#define PASSES_CONFIG_MODULEFACTS_H

#include "ir/Module.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "ir/Text.h"

namespace qfx {

/// An observer or fake-quantizer (FX: activation post process).
inline bool isObserverModule(const Module &module) {
  return module.getClass() && module.getClass()->getOp().has(Traits::Observes);
}

/// A float module of torch.ao.nn.intrinsic that runs its children (FX's _FusedModule).
inline bool isFusedFloatModule(const Module &module) {
  llvm::StringRef name = module.getClassName();
  return startsWith(name, "torch.ao.nn.intrinsic.") && name.count('.') == 4;
}

/// A module of torch.ao.nn.quantized.reference: float arithmetic on weights that went through their codes.
inline bool isReferenceModule(const Module &module) {
  return startsWith(module.getClassName(), "torch.ao.nn.quantized.reference.");
}

/// A reference bag that leaves out the rows of its padding_idx, which the quantized one cannot.
inline bool skipsIndices(const Module &module) {
  const Argument *index = module.getClass() && module.getClass()->op == OpKind::ReferenceEmbeddingBag ? module.findAttribute("padding_idx") : nullptr;
  return index && !index->isNone();
}

} // namespace qfx

#endif // PASSES_CONFIG_MODULEFACTS_H
