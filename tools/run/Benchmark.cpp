// Latency and per-node times.
#include "tools/run/Benchmark.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace qfx::tool {

llvm::Expected<Latency> measureLatency(Program &program, const InputBatch &batch, unsigned repeats) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  auto warmUp = program.run(batch.tensors);
  if (!warmUp)
    return warmUp.takeError();
  Clock::time_point started = Clock::now();
  auto isEnough = [&] {
    if (repeats)
      return times.size() >= repeats;
    return times.size() >= 5 && std::chrono::duration<double>(Clock::now() - started).count() > 1.0;
  };
  while (!isEnough()) {
    Clock::time_point before = Clock::now();
    auto outputs = program.run(batch.tensors);
    if (!outputs)
      return outputs.takeError();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
  }
  std::sort(times.begin(), times.end());
  return Latency{times[times.size() / 2], times.front(), static_cast<unsigned>(times.size())};
}

void printProfile(llvm::raw_ostream &os, const Program &program, bool asJson) {
  std::vector<NodeTime> times = program.getProfile();
  std::stable_sort(times.begin(), times.end(), [](const NodeTime &a, const NodeTime &b) { return a.timeNs > b.timeNs; });
  int64_t total = 0;
  for (const NodeTime &time : times)
    total += time.timeNs;
  if (asJson) {
    llvm::json::Array rows;
    for (const NodeTime &time : times)
      rows.push_back(llvm::json::Object{{"node", time.name}, {"op", time.op}, {"time_ns", time.timeNs}, {"runs", time.runs}});
    os << llvm::json::Value(llvm::json::Object{{"total_ns", total}, {"nodes", std::move(rows)}}) << '\n';
    return;
  }
  os << "node                              op                                   ms/run      %\n";
  for (const NodeTime &time : times)
    os << llvm::formatv("{0,-32}  {1,-34}  {2,8:f3}  {3,5:f1}\n", time.name, time.op,
                        static_cast<double>(time.timeNs) / 1e6 / static_cast<double>(std::max<int64_t>(time.runs, 1)),
                        total ? 100.0 * static_cast<double>(time.timeNs) / static_cast<double>(total) : 0.0);
}

int64_t getPeakMemoryBytes() {
  // getrusage would count what the parent had before exec.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    llvm::StringRef text(line);
    int64_t kilobytes = 0;
    if (!text.consume_front("VmHWM:"))
      continue;
    text = text.trim();
    if (!text.consumeInteger(10, kilobytes))
      return kilobytes * 1024;
  }
  return 0;
}

} // namespace qfx::tool
