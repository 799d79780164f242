// Observers on the data of the performance targets: histogram, minimum and maximum, per channel; beside them a plain read of the data.
#include "backends/config/QConfig.h"
#include "backends/observe/Observer.h"
#include "ir/Module.h"
#include "tools/bench/Bench.h"
#include "tools/bench/PlainRead.h"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace qfx::bench {

/// Normally distributed values by Box-Muller from splitmix64.
static std::vector<float> makeNormal(size_t count, uint64_t state) {
  auto next = [&state] {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  };
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(std::sqrt(-2 * std::log(1 - next())) * std::cos(6.283185307179586 * next()));
  return values;
}

static ModuleRef build(const char *className) {
  return llvm::cantFail(llvm::cantFail(ObserverSpec::fromArgument(Argument::dict({{"class", Argument(className)}}))).build());
}

static void printTime(const char *name, const Timing &timing) {
  std::printf("%s %.3f ms median %.3f ms min\n", name, timing.medianNs / 1e6, timing.minNs / 1e6);
}

void runObserverFamily() {
  constexpr int64_t kCount = 1'000'000;
  std::vector<std::vector<float>> batches;
  for (uint64_t i = 0; i < 10; ++i)
    batches.push_back(makeNormal(kCount, i));
  const int64_t count[] = {kCount}, stride[] = {1};
  auto view = [&](size_t i) { return ObservedTensor{batches[i].data(), count, stride}; };

  printTime("histogram-10x1M", measure(1, 1000, [&](int) {
              ModuleRef observer = build("HistogramObserver");
              for (size_t i = 0; i < batches.size(); ++i)
                llvm::cantFail(observe(*observer, view(i)));
              llvm::cantFail(calculateQParams(*observer));
            }));
  ModuleRef minMax = build("MinMaxObserver");
  printTime("minmax-1M", measure(1, 100000, [&](int) { llvm::cantFail(observe(*minMax, view(0))); }));
  printTime("read-1M", measure(1, 100000, [&](int) { readPlain(batches[0].data(), kCount); }));
  std::vector<float> weight = makeNormal(512 * 512 * 9, 11);
  const int64_t sizes[] = {512, 512, 3, 3}, strides[] = {512 * 9, 9, 3, 1};
  ModuleRef perChannel = build("PerChannelMinMaxObserver");
  printTime("per-channel-512x512x3x3",
            measure(1, 100000, [&](int) { llvm::cantFail(observe(*perChannel, {weight.data(), sizes, strides})); }));
}

} // namespace qfx::bench
