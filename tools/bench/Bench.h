// Measuring a kernel that is cut into units of work, and printing a line about it.
#ifndef TOOLS_BENCH_BENCH_H
#define TOOLS_BENCH_BENCH_H

#include "tools/bench/Shapes.h"

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace qfx::bench {

struct Options {
  std::string family, shapes, kernel = ".*";
  int threads = 1;
  bool csv = false, scalar = true, fullRange = false;
};

/// Median and minimum over the repetitions, in nanoseconds.
struct Timing {
  double medianNs = 0, minNs = 0;
  int repetitions = 0;
};

/// Times `run(thread)`, called at the same time on `threads` threads, until 0.3 s or `most` repetitions have passed.  The time of one thread is
/// its processor time, that of several the clock's.
Timing measure(int threads, int most, const std::function<void(int thread)> &run);

/// Units [begin, end) of thread `thread` when `units` are shared evenly.
inline int64_t firstUnit(int64_t units, int thread, int threads) { return units * thread / threads; }

/// 64-byte aligned memory.
struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, Free>;
Buffer allocate(int64_t bytes);

/// Seeded activations: codes below 128 (what a calibrated network holds), or all codes.
Buffer makeCodes(int64_t count, bool fullRange);
/// Seeded weights, normally distributed with the largest near 127.
Buffer makeWeights(int64_t count);

/// Prints one result.
void printLine(const Options &options, const std::string &kernel, const Layer &layer, const Timing &timing,
               double scalarNs, double peakGops);
void printHeader(const Options &options);
/// Prints the sum over a list, each layer as often as its network runs it.
void printTotal(const Options &options, const std::string &kernel, double totalNs);

/// The families; each runs every matching table row on every fitting layer.
void runGemmFamily(const Options &options, const std::vector<Layer> &layers);
void runConvFamily(const Options &options, const std::vector<Layer> &layers, bool depthwise);
/// Linear layers of the list with weights of 8 and 4 bits, group size 128, beside the float product; vs_float: float time / time.
void runWeightOnlyFamily(const Options &options, const std::vector<Layer> &layers);
/// Observers on fixed data; prints median and minimum of each case.
void runObserverFamily();

} // namespace qfx::bench

#endif // TOOLS_BENCH_BENCH_H
