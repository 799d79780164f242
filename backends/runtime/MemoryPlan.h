// Places all buffers of a plan in one arena so that buffers alive at the same time do not overlap.
#ifndef BACKENDS_RUNTIME_MEMORYPLAN_H
#define BACKENDS_RUNTIME_MEMORYPLAN_H

#include "backends/runtime/View.h"

#include "llvm/ADT/ArrayRef.h"

namespace qfx::runtime {

constexpr int64_t kArenaAlignment = 64;

/// Readable bytes behind every buffer and arena: kernels may read (never use) a little behind a row.
constexpr int64_t kReadSlack = 256;

/// Sets arenaOffset of every buffer that some step uses (buffers in place of another share its place).  Largest first,
/// each at the lowest free offset: within a few per cent of the lower bound on convolutional networks.
/// \returns the arena's size in bytes, a multiple of kArenaAlignment.
int64_t planArena(llvm::ArrayRef<BufferRef> buffers);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_MEMORYPLAN_H
