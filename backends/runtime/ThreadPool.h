// A plain pool of threads that all run the same function, each on its own part.
#ifndef BACKENDS_RUNTIME_THREADPOOL_H
#define BACKENDS_RUNTIME_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <memory>
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

  /// Calls fn(t) once for every t in [0, size()), t = 0 on the calling thread, and returns when all are done.
  /// Not reentrant, one caller at a time.
  void run(llvm::function_ref<void(int thread)> fn);

private:
  void work(int thread);

  llvm::function_ref<void(int)> job = nullptr;
  std::atomic<uint32_t> generation{0};
  std::atomic<int> pending{0};
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
};

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_THREADPOOL_H
