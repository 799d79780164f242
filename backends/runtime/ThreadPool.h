// A pool of threads that share out the pieces of one job after another.
#ifndef BACKENDS_RUNTIME_THREADPOOL_H
#define BACKENDS_RUNTIME_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace qfx::runtime {

/// `size` threads counting the caller.  Workers spin for a moment after each job, then sleep.
class ThreadPool {
public:
  explicit ThreadPool(int size);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int size() const { return static_cast<int>(workers.size()) + 1; }

  /// Calls fn(piece, thread) once for every piece in [0, pieces), thread in [0, size()) being the one that runs it (0: the caller), and
  /// returns when all are done.  A thread that is free takes the next piece, so that one which the system holds up delays the job by no more
  /// than the piece it has; threads that took none are not waited for.  At most `pieces` - 1 sleeping workers are woken.
  /// Not reentrant, one caller at a time.
  void run(int pieces, llvm::function_ref<void(int piece, int thread)> fn);

private:
  void work(int thread);
  void takePieces(int thread);

  llvm::function_ref<void(int, int)> job = nullptr;
  uint32_t count = 0; ///< of the job's pieces; read, as `job`, by a thread only while it has one
  /// The job's number (high half) and how many of its pieces nobody has taken (low half): taken in one step, a piece is of the job meant.
  std::atomic<uint64_t> open{0};
  std::atomic<uint32_t> done{0};
  std::atomic<uint32_t> generation{0}; ///< what sleeping workers wait for
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
};

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_THREADPOOL_H
