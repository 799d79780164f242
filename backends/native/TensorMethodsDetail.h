// Errors that all tensor methods share.
#ifndef BACKENDS_NATIVE_TENSORMETHODSDETAIL_H
#define BACKENDS_NATIVE_TENSORMETHODSDETAIL_H

#include "backends/native/TensorMethods.h"
#include "ir/Diagnostics.h"

namespace qfx::tensors {

/// "'<method>' <message>", code `tensor_method`.
template <class... Args> ErrorBuilder refuse(llvm::StringRef method, const char *format, Args &&...args) {
  return error(Location(), "'{0}' {1}", method, llvm::formatv(format, std::forward<Args>(args)...).str())
      .code("tensor_method");
}

/// Rule of the methods that PyTorch keeps to tensors quantized per tensor.
llvm::Error wantPerTensor(llvm::StringRef method, const Tensor &self);

} // namespace qfx::tensors

#endif // BACKENDS_NATIVE_TENSORMETHODSDETAIL_H
