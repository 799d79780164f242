// The pool: a generation counter starts a job, a pending counter ends it.
#include "backends/runtime/ThreadPool.h"

namespace qfx::runtime {

namespace {

/// About 50 us of waiting before a thread goes to sleep: longer than the gap between two steps of a graph.
constexpr int kSpins = 4000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

} // namespace

ThreadPool::ThreadPool(int size) {
  for (int t = 1; t < size; ++t)
    workers.emplace_back([this, t] { work(t); });
}

ThreadPool::~ThreadPool() {
  stopping = true;
  ++generation;
  generation.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::run(llvm::function_ref<void(int)> fn) {
  if (workers.empty())
    return fn(0);
  job = fn;
  pending.store(static_cast<int>(workers.size()), std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  fn(0);
  int left;
  for (int spins = 0; (left = pending.load(std::memory_order_acquire)) != 0; ++spins) {
    if (spins < kSpins)
      relax();
    else
      pending.wait(left);
  }
}

void ThreadPool::work(int thread) {
  uint32_t seen = 0;
  while (true) {
    uint32_t now;
    for (int spins = 0; (now = generation.load(std::memory_order_acquire)) == seen; ++spins) {
      if (spins < kSpins)
        relax();
      else
        generation.wait(seen);
    }
    seen = now;
    if (stopping)
      return;
    job(thread);
    if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1)
      pending.notify_all();
  }
}

} // namespace qfx::runtime
