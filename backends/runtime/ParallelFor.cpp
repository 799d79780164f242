// Threads that live as long as one call.
#include "backends/runtime/ParallelFor.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace qfx::runtime {

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

} // namespace qfx::runtime
