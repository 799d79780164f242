// Timing, seeded data and result lines of the benchmarks.
#include "tools/bench/Bench.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <random>
#include <thread>

namespace qfx::bench {

static double nowNs() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What one thread alone has worked, whatever else the machine does.
static double workedNs() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

Timing measure(int threads, int most, const std::function<void(int)> &run) {
  std::atomic<int> round{0}, done{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> helpers;
  for (int t = 1; t < threads; ++t)
    helpers.emplace_back([&, t] {
      for (int seen = 0;;) {
        while (round.load(std::memory_order_acquire) == seen && !stop.load(std::memory_order_acquire))
          std::this_thread::yield();
        if (stop.load(std::memory_order_acquire))
          return;
        ++seen;
        run(t);
        done.fetch_add(1, std::memory_order_release);
      }
    });
  auto once = [&] {
    done.store(0);
    round.fetch_add(1, std::memory_order_release);
    run(0);
    while (done.load(std::memory_order_acquire) != threads - 1)
      std::this_thread::yield();
  };
  constexpr double kBudgetNs = 3e8;
  std::vector<double> times;
  double start = nowNs();
  if (most > 1)
    once(); // warm caches
  while (static_cast<int>(times.size()) < most && (times.empty() || nowNs() - start < kBudgetNs)) {
    double begin = threads == 1 ? workedNs() : nowNs();
    once();
    times.push_back((threads == 1 ? workedNs() : nowNs()) - begin);
  }
  stop.store(true, std::memory_order_release);
  for (std::thread &helper : helpers)
    helper.join();
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[0], static_cast<int>(times.size())};
}

Buffer allocate(int64_t bytes) {
  return Buffer(static_cast<char *>(std::aligned_alloc(64, static_cast<size_t>(bytes + 64) / 64 * 64)));
}

Buffer makeCodes(int64_t count, bool fullRange) {
  Buffer buffer = allocate(count);
  std::mt19937 random(1);
  for (int64_t i = 0; i < count; ++i)
    buffer.get()[i] = static_cast<char>(random() & (fullRange ? 255 : 127));
  return buffer;
}

Buffer makeWeights(int64_t count) {
  Buffer buffer = allocate(count);
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 38);
  for (int64_t i = 0; i < count; ++i)
    buffer.get()[i] = static_cast<char>(std::clamp(std::nearbyint(normal(random)), -128.0f, 127.0f));
  return buffer;
}

void printHeader(const Options &options) {
  if (options.csv)
    std::printf("family,kernel,layer,threads,codes,repetitions,median_us,min_us,gops,vs_scalar,of_peak\n");
}

void printLine(const Options &options, const std::string &kernel, const Layer &layer, const Timing &timing,
               double scalarNs, double peakGops) {
  const char *codes = options.fullRange ? "0..255" : "0..127";
  double gops = layer.operations() / timing.minNs;
  double speedup = scalarNs > 0 ? scalarNs / timing.minNs : NAN, share = peakGops > 0 ? gops / peakGops : NAN;
  if (options.csv)
    std::printf("%s,%s,%s,%d,%s,%d,%.2f,%.2f,%.1f,%.1f,%.3f\n", options.family.c_str(), kernel.c_str(),
                layer.text.c_str(), options.threads, codes, timing.repetitions, timing.medianNs / 1e3,
                timing.minNs / 1e3, gops, speedup, share);
  else
    std::printf("%-32s %-66s threads=%d codes=%s n=%d median_us=%.1f min_us=%.1f gops=%.1f vs_scalar=%.1f "
                "of_peak=%.2f\n",
                kernel.c_str(), layer.text.c_str(), options.threads, codes, timing.repetitions, timing.medianNs / 1e3,
                timing.minNs / 1e3, gops, speedup, share);
  std::fflush(stdout);
}

void printTotal(const Options &options, const std::string &kernel, double totalNs) {
  if (!options.csv)
    std::printf("%-32s all layers of the list, each as often as the network runs it: %.3f ms\n", kernel.c_str(),
                totalNs / 1e6);
}

} // namespace qfx::bench
