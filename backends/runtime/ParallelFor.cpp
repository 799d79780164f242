// Threads that live as long as one call.
#include "backends/runtime/ParallelFor.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace qfx::runtime {

/// 256 KB take some 50 us to read and write; a thread starts in less.
static constexpr size_t kLeastPieceBytes = size_t(256) << 10;

void parallelFor(unsigned numThreads, size_t count, llvm::function_ref<void(size_t)> fn) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
      fn(i);
  };
  std::vector<std::thread> helpers;
  for (size_t t = 1, threads = std::min<size_t>(numThreads, count); t < threads; ++t)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
}

size_t getNumPieces(unsigned numThreads, size_t bytes) {
  return std::clamp<size_t>(bytes / kLeastPieceBytes, 1, std::max(1u, numThreads));
}

} // namespace qfx::runtime
