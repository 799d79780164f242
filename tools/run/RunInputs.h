// The batches that qfx-run feeds: files, folders or seeded noise.
#ifndef TOOLS_RUN_RUNINPUTS_H
#define TOOLS_RUN_RUNINPUTS_H

#include "ir/GraphModule.h"
#include "ir/weights/InputSet.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace qfx::tool {

/// `--inputs=PATH`, `--inputs=random:SEED` (every placeholder by its declared type, symbolic sizes 1), and single inputs
/// `--input=NAME=@FILE.npy`, `--input=NAME=f32[1,3,8,8]:random:SEED`, which override.  Without any: random:0.
llvm::Expected<std::vector<InputBatch>> makeRunInputs(const GraphModule &model, llvm::StringRef inputs,
                                                      llvm::ArrayRef<std::string> singles);

} // namespace qfx::tool

#endif // TOOLS_RUN_RUNINPUTS_H
