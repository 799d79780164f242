// One step of a plan: a kernel bound to its operands, and what it may use while running.
#ifndef BACKENDS_RUNTIME_STEP_H
#define BACKENDS_RUNTIME_STEP_H

#include "backends/runtime/ThreadPool.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace qfx {
class Node;
}

namespace qfx::runtime {

/// What a step sees while running.
class RunContext {
public:
  RunContext(ThreadPool &pool, std::byte *scratch, int64_t scratchBytesPerThread)
      : pool(pool), scratch(scratch), scratchBytes(scratchBytesPerThread) {}
  ~RunContext() { llvm::consumeError(std::move(failure)); }

  /// Splits [0, units) into contiguous ranges, a few per thread; `fn(begin, end, scratch)` runs on each, on the scratch of its thread.  What
  /// makes a single range runs on the calling thread and wakes nobody.
  /// \param grain  least number of units worth handing to another thread.
  void parallelFor(int64_t units, int64_t grain, llvm::function_ref<void(int64_t, int64_t, void *)> fn) {
    int64_t pieces = std::min<int64_t>(units / std::max<int64_t>(grain, 1), kPiecesPerThread * pool.size());
    if (pieces <= 1 || pool.size() == 1) {
      if (units > 0)
        fn(0, units, scratch);
      return;
    }
    pool.run(static_cast<int>(pieces), [&](int piece, int thread) {
      int64_t begin = units * piece / pieces, end = units * (piece + 1) / pieces;
      fn(begin, end, scratch + thread * scratchBytes);
    });
  }
  void *getScratch() const { return scratch; } ///< of the calling thread

  /// Ends the run after this step.
  void fail(llvm::Error err) { failure = llvm::joinErrors(std::move(failure), std::move(err)); }
  llvm::Error takeFailure() { return std::move(failure); }

private:
  /// More pieces than threads even out threads that others slow down.
  static constexpr int64_t kPiecesPerThread = 4;

  ThreadPool &pool;
  std::byte *scratch;
  int64_t scratchBytes;
  llvm::Error failure = llvm::Error::success();
};

struct Step {
  const Node *node = nullptr; ///< of the program's graph; null for input copies
  std::function<void(RunContext &)> run;
};

/// Elements below which handing work to another thread costs more than it saves.
constexpr int64_t kElementGrain = 16384;

/// Multiply-adds below which it does: some 20 us of AVX2's int8 products, 40 us of its float ones; a sleeping thread takes 5 to 50 us to wake.
constexpr int64_t kProductGrain = int64_t(1) << 21;

/// The grain of units of `products` multiply-adds each.
constexpr int64_t getProductGrain(int64_t products) { return std::max<int64_t>(1, kProductGrain / std::max<int64_t>(products, 1)); }

/// The grain of rows of `elements` elements each.
constexpr int64_t getElementGrain(int64_t elements) { return kElementGrain / std::max<int64_t>(elements, 1) + 1; }

/// How many of `threads` threads find work in `products` multiply-adds: what a product is cut for.
constexpr int getUsefulThreads(int threads, int64_t products) {
  return static_cast<int>(std::clamp<int64_t>(products / kProductGrain, 1, std::max(threads, 1)));
}

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_STEP_H
