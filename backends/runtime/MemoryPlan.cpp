// Greedy placement by size.
#include "backends/runtime/MemoryPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <vector>

namespace qfx::runtime {

int64_t planArena(llvm::ArrayRef<BufferRef> buffers) {
  std::vector<Buffer *> order;
  for (const BufferRef &buffer : buffers)
    if (!buffer->inPlaceOf && buffer->lastStep >= 0)
      order.push_back(buffer.get());
  llvm::stable_sort(order, [](const Buffer *a, const Buffer *b) { return a->sizeBytes > b->sizeBytes; });
  int64_t total = 0;
  std::vector<Buffer *> placed; // by offset
  for (Buffer *buffer : order) {
    int64_t size = (buffer->sizeBytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    int64_t offset = 0;
    for (const Buffer *other : placed) {
      if (other->lastStep < buffer->firstStep || other->firstStep > buffer->lastStep)
        continue;
      if (offset + size <= other->arenaOffset)
        break;
      offset = std::max(offset, (other->arenaOffset + other->sizeBytes + kArenaAlignment - 1) / kArenaAlignment *
                                    kArenaAlignment);
    }
    buffer->arenaOffset = offset;
    total = std::max(total, offset + size);
    placed.insert(
        llvm::upper_bound(placed, offset, [](int64_t value, const Buffer *b) { return value < b->arenaOffset; }),
        buffer);
  }
  for (const BufferRef &buffer : buffers)
    if (buffer->inPlaceOf) {
      const Buffer *root = buffer->inPlaceOf.get();
      while (root->inPlaceOf)
        root = root->inPlaceOf.get();
      buffer->arenaOffset = root->arenaOffset;
    }
  return total;
}

} // namespace qfx::runtime
