// Why a node is quantized as it is: qconfig and its rule, the backend's entries and why each fits or not, what prepare decides.
#ifndef PASSES_DEBUG_EXPLAIN_H
#define PASSES_DEBUG_EXPLAIN_H

#include "passes/prepare/Prepare.h"

#include "llvm/Support/Error.h"

#include <string>

namespace qfx {

/// Fuses, prepares and converts copies of `model` with the backend of `context` and the mode and mapping of `options`, and tells, in lines of
/// text, about the node `name`:
///  - what it calls and where it stands; the node that fusion made of it, of which the rest then speaks; the class that is trained in its place (QAT);
///  - its qconfig, and the rule of the mapping that it comes from;
///  - every entry of the backend that names what the node calls, in matching order: that it matches, or what it stumbles over (entries whose nodes
///    fusion has used are left out); for the match that prepare takes, every dtype config with the reason it is refused;
///  - the observers that prepare puts before and behind it, the reference module that convert makes of it, and the remarks and warnings about it.
/// `model` itself is left as it is.  Errors: no such node (`usage`, with the nearest name), a model that is prepared already (`prepare_twice`),
/// and those of fuse and prepare.
llvm::Expected<std::string> explainNode(const GraphModule &model, llvm::StringRef name, const PassContext &context,
                                        const PrepareOptions &options);

} // namespace qfx

#endif // PASSES_DEBUG_EXPLAIN_H
