// One step of a plan: a kernel bound to its operands, and what it may use while running.
#ifndef BACKENDS_RUNTIME_STEP_H
#define BACKENDS_RUNTIME_STEP_H

#include "backends/runtime/ThreadPool.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

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

  /// Splits [0, units) into one contiguous range per thread; `fn(begin, end, scratch)` runs on each that is not empty.
  /// \param grain  least number of units worth a thread of its own.
  void parallelFor(int64_t units, int64_t grain, llvm::function_ref<void(int64_t, int64_t, void *)> fn) {
    int64_t threads = grain > 0 ? units / grain : units;
    if (threads > pool.size())
      threads = pool.size();
    if (threads <= 1) {
      if (units > 0)
        fn(0, units, scratch);
      return;
    }
    pool.run([&](int thread) {
      if (thread >= threads)
        return;
      int64_t begin = units * thread / threads, end = units * (thread + 1) / threads;
      fn(begin, end, scratch + thread * scratchBytes);
    });
  }
  void *getScratch() const { return scratch; } ///< of the calling thread

  /// Ends the run after this step.
  void fail(llvm::Error err) { failure = llvm::joinErrors(std::move(failure), std::move(err)); }
  llvm::Error takeFailure() { return std::move(failure); }

private:
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

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_STEP_H
