// The pool: one word says what is left to take, a counter says what is done.
#include "backends/runtime/ThreadPool.h"

#include <algorithm>

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

void ThreadPool::run(int pieces, llvm::function_ref<void(int, int)> fn) {
  if (workers.empty() || pieces <= 1) {
    for (int piece = 0; piece < pieces; ++piece)
      fn(piece, 0);
    return;
  }
  job = fn;
  count = static_cast<uint32_t>(pieces);
  done.store(0, std::memory_order_relaxed);
  const uint64_t number = (open.load(std::memory_order_relaxed) >> 32) + 1;
  open.store(number << 32 | count, std::memory_order_release);
  generation.fetch_add(1, std::memory_order_release);
  for (int woken = std::min(pieces - 1, static_cast<int>(workers.size())); woken > 0; --woken)
    generation.notify_one();
  takePieces(0);
  uint32_t finished;
  for (int spins = 0; (finished = done.load(std::memory_order_acquire)) != count; ++spins) {
    if (spins < kSpins)
      relax();
    else
      done.wait(finished);
  }
}

void ThreadPool::takePieces(int thread) {
  uint64_t seen = open.load(std::memory_order_acquire);
  while (const uint32_t left = static_cast<uint32_t>(seen)) {
    if (!open.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    // The job cannot end before this piece: `job` and `count` stand still.
    const uint32_t pieces = count;
    job(static_cast<int>(pieces - left), thread);
    if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == pieces)
      done.notify_one();
    seen = open.load(std::memory_order_acquire);
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
    takePieces(thread);
  }
}

} // namespace qfx::runtime
