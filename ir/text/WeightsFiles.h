// Which files hold the tensors of a model: those that a text names, and the one that is written beside it.
#ifndef IR_TEXT_WEIGHTSFILES_H
#define IR_TEXT_WEIGHTSFILES_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace qfx {

/// The names in the `weights "..."` lines of a model's text, as written there, in order.  A text with errors gives those that stand before them.
std::vector<std::string> findWeightsNames(llvm::StringRef text);

/// Where saveModel(`modelPath`) puts the tensors: m.safetensors for m.qfx.  Empty for "-" and for a device or pipe, whose text has all of its
/// tensors inline.
std::string getWeightsPath(llvm::StringRef modelPath);

} // namespace qfx

#endif // IR_TEXT_WEIGHTSFILES_H
