// prepare and convert of modules whose own call runs their children: LSTM and attention in pieces (operators 20).
#ifndef PASSES_EAGER_PIECES_H
#define PASSES_EAGER_PIECES_H

#include "backends/config/QConfig.h"
#include "ir/Module.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// What from_float ends with: everything below `whole` gets `qconfig` and the observers of eager prepare, in training mode QAT modules first
/// (prepare_qat).  No graph shows the pieces: their observers stand as children `activation_post_process`, which the call of `whole` runs.
/// Errors: those of prepareEager.
llvm::Error preparePieces(const ModuleRef &whole, const QConfig &qconfig);

/// What from_observed starts with: a copy of `whole` with everything below it converted and its observers gone.
/// Errors: those of convertEager.
llvm::Expected<ModuleRef> convertPieces(const Module &whole, const QConfig &qconfig);

/// Does `module` come in pieces (getNoObserverSet())?
bool isInPieces(const Module &module);

} // namespace qfx

#endif // PASSES_EAGER_PIECES_H
