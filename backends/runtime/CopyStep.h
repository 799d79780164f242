// Copies between views of different layout.
#ifndef BACKENDS_RUNTIME_COPYSTEP_H
#define BACKENDS_RUNTIME_COPYSTEP_H

#include "backends/runtime/Step.h"
#include "backends/runtime/View.h"

namespace qfx::runtime {

/// Copies every element of `src` to `dst`: same sizes and element size (asserted), no overlap, any strides.
void runCopy(RunContext &run, const View &src, const View &dst);

/// The same from and to plain memory on the calling thread.
void copyElements(llvm::ArrayRef<int64_t> sizes, int64_t elemBytes, const void *src, llvm::ArrayRef<int64_t> srcStrides,
                  void *dst, llvm::ArrayRef<int64_t> dstStrides);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_COPYSTEP_H
