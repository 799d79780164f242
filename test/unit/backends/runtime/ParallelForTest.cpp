// Every piece once, whatever the number of threads.
#include "backends/runtime/ParallelFor.h"
#include "Catch.h"

#include <atomic>
#include <vector>

using namespace qfx::runtime;

TEST_CASE("parallelFor calls each index once", "[runtime]") {
  for (unsigned threads : {0u, 1u, 2u, 3u, 8u})
    for (size_t count : {size_t(0), size_t(1), size_t(2), size_t(7), size_t(1000)}) {
      std::vector<std::atomic<int>> calls(count);
      parallelFor(threads, count, [&](size_t i) { ++calls[i]; });
      for (const std::atomic<int> &n : calls)
        CHECK(n == 1);
    }
}
