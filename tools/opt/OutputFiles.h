// Results must not replace what they are made from.
#ifndef TOOLS_OPT_OUTPUTFILES_H
#define TOOLS_OPT_OUTPUTFILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace qfx::tool {

struct OptFlags;

/// Refuses a result whose file, or weights file, is one that the command reads: another model's text or weights, calibration data, a
/// configuration.  A model may be written over itself, text and weights together.
/// \param text  of the input model.  Error: `file_write`.
llvm::Error checkOutputFiles(const OptFlags &flags, llvm::StringRef text);

} // namespace qfx::tool

#endif // TOOLS_OPT_OUTPUTFILES_H
