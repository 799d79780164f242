// Operators that write into their operand, as values of a graph that do not change: who reads afterwards reads the result.
#ifndef BACKENDS_RUNTIME_WRITEBACK_H
#define BACKENDS_RUNTIME_WRITEBACK_H

#include "ir/GraphModule.h"

#include "llvm/Support/Error.h"

namespace qfx::runtime {

/// `relu_`, `add_`, `F.relu(x, inplace=True)`, modules with inplace=True: later users of the written value get the call's result instead
/// (operators 24.5).  Errors, code `run_write`: a part or another view of the value is read afterwards; a tensor of the model is written.
llvm::Error writeBack(GraphModule &model);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_WRITEBACK_H
