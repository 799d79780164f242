// Batches of input tensors from a file or folder.
#ifndef IR_WEIGHTS_INPUTSET_H
#define IR_WEIGHTS_INPUTSET_H

#include "ir/weights/Safetensors.h"

namespace qfx {

/// One batch: placeholder target -> tensor, in the file's order.
struct InputBatch {
  NamedTensors tensors;
  const Tensor *find(llvm::StringRef placeholder) const;
};

/// Reads a safetensors file whose tensors are named `<placeholder>` (one batch) or `<k>.<placeholder>` (batch k), or a folder of
/// `<placeholder>.npy` / `<k>.<placeholder>.npy`, or one `.npy` file (`<placeholder>.npy`, or `<k>.<placeholder>.npy`).
/// Batches come in the order of k.  Errors: `inputs_empty`, `inputs_mixed` (numbered and plain names together), `inputs_batch`
/// (a batch that lacks an input which another has), and those of the formats.
llvm::Expected<std::vector<InputBatch>> loadInputs(llvm::StringRef path, const LoadLimits &limits = {});

} // namespace qfx

#endif // IR_WEIGHTS_INPUTSET_H
