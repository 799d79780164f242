// Family gemm: every table row on every layer seen as a matrix product (convolutions: pixels x output channels x taps).
#include "kernels/gemm/Gemm.h"
#include "tools/bench/Bench.h"
#include "tools/bench/Peak.h"

#include <algorithm>
#include <cstdio>
#include <regex>

namespace qfx::bench {

using namespace kernels;

/// Scales under which outputs spread over the codes.
static RequantSpec makeSpec(int64_t channels, int64_t depth, const std::vector<double> &weightScale) {
  RequantSpec spec;
  spec.channels = channels;
  spec.depth = depth;
  spec.srcScale = 0.02;
  spec.srcZeroPoint = 60;
  spec.weightScale = weightScale.data();
  spec.perChannel = true;
  spec.dstScale = 0.5;
  spec.dstZeroPoint = 60;
  return spec;
}

static Timing timeGemm(const GemmKernel &kernel, int64_t m, int64_t n, int64_t k, const Options &options, int most) {
  Buffer a = makeCodes(m * k, options.fullRange), weights = makeWeights(n * k), c = allocate(m * n);
  Buffer packedMemory = allocate(getPackedGemmBytes(kernel, n, k)), tables = allocate(getRequantBytes(n));
  GemmWeights source;
  source.data = reinterpret_cast<const int8_t *>(weights.get());
  source.columns = n;
  source.innerCount = k;
  source.columnStride = k;
  PackedGemm packed = packGemm(kernel, source, packedMemory.get());
  std::vector<double> weightScale(n, 0.01);
  RequantParams params = prepareRequant(makeSpec(n, k, weightScale), packed.weightSum, tables.get());
  GemmPlan plan = planGemm(packed, m, options.threads);
  int64_t scratchBytes = (getGemmScratchBytes(plan) + 63) / 64 * 64;
  Buffer scratch = allocate(scratchBytes * options.threads);
  return measure(options.threads, most, [&](int thread) {
    runGemm(plan, params, TileOutput::Code, reinterpret_cast<const uint8_t *>(a.get()), k, c.get(), n,
            scratch.get() + thread * scratchBytes, firstUnit(plan.units(), thread, options.threads),
            firstUnit(plan.units(), thread + 1, options.threads));
  });
}

void runGemmFamily(const Options &options, const std::vector<Layer> &layers) {
  std::regex wanted(options.kernel);
  for (const GemmKernel &kernel : getGemmKernels()) {
    if (!isIsaSupported(kernel.isa) || !std::regex_search(kernel.name.begin(), kernel.name.end(), wanted))
      continue;
    std::string name(kernel.name);
    double peak = measurePeakGops(kernel.isa) * options.threads, total = 0;
    if (!options.csv && peak > 0)
      std::printf("%-32s peak of %s, registers only, %d thread(s): %.1f GOPS\n", name.c_str(),
                  getPeakSequence(kernel.isa), options.threads, peak);
    for (Layer layer : layers) {
      int64_t m = layer.m, n = layer.n, k = layer.k;
      if (layer.isConv) {
        if (layer.conv.groups != 1)
          continue;
        m = layer.outSize() * layer.outSize();
        n = layer.conv.outChannels;
        k = layer.conv.reduction();
        layer.text = "linear m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k);
      }
      Timing timing = timeGemm(kernel, m, n, k, options, kernel.isa == Isa::Scalar ? 1 : 1000);
      double scalarNs = options.scalar ? timeGemm(getGemmKernels()[0], m, n, k, options, 1).minNs : 0;
      printLine(options, name, layer, timing, scalarNs, peak);
      total += timing.minNs * layer.count;
    }
    printTotal(options, name, total);
  }
}

} // namespace qfx::bench
