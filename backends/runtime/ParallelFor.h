// Independent pieces of work on several threads, for work that comes once (packing and measuring weights).
#ifndef BACKENDS_RUNTIME_PARALLELFOR_H
#define BACKENDS_RUNTIME_PARALLELFOR_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace qfx::runtime {

/// Calls fn(i) once for every i in [0, count), on `numThreads` threads counting the caller, and returns when all are done.  Threads
/// take the next free i; pieces must not depend on each other.  Runs of a Program have their own ThreadPool, which stays.
void parallelFor(unsigned numThreads, size_t count, llvm::function_ref<void(size_t)> fn);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_PARALLELFOR_H
