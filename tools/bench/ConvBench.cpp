// Families conv and depthwise: every instruction set's row on every convolution of a list.
#include "kernels/conv/Conv.h"
#include "tools/bench/Bench.h"
#include "tools/bench/Peak.h"

#include <cstdio>
#include <regex>

namespace qfx::bench {

using namespace kernels;

static Timing timeConv(Isa isa, const Layer &layer, const Options &options, int most) {
  const ConvShape &shape = layer.conv;
  const int64_t in[3] = {1, layer.size, layer.size};
  Buffer src = makeCodes(layer.size * layer.size * shape.inChannels, options.fullRange);
  Buffer weights = makeWeights(shape.outChannels * shape.reduction());
  Buffer packedMemory = allocate(getPackedConvBytes(shape, selectConv(isa))), tables = allocate(getRequantBytes(shape.outChannels));
  PackedConv packed = packConv(shape, selectConv(isa), reinterpret_cast<const int8_t *>(weights.get()), packedMemory.get());
  std::vector<double> weightScale(shape.outChannels, 0.01);
  RequantSpec spec;
  spec.channels = shape.outChannels;
  spec.depth = shape.reduction();
  spec.srcScale = 0.02;
  spec.srcZeroPoint = 60;
  spec.weightScale = weightScale.data();
  spec.perChannel = true;
  spec.dstScale = 0.5;
  spec.dstZeroPoint = 60;
  RequantParams params = prepareRequant(spec, packed.weightSum, tables.get());
  ConvPlan plan = planConv(packed, 1, in, options.threads);
  int64_t scratchBytes = getConvScratchBytes(plan);
  Buffer scratch = allocate(scratchBytes * options.threads), dst = allocate(plan.sizes.outPixels() * shape.outChannels);
  return measure(options.threads, most, [&](int thread) {
    runConv(plan, params, TileOutput::Code, spec.srcZeroPoint, reinterpret_cast<const uint8_t *>(src.get()),
            shape.inChannels, dst.get(), shape.outChannels, scratch.get() + thread * scratchBytes,
            firstUnit(plan.units(), thread, options.threads), firstUnit(plan.units(), thread + 1, options.threads));
  });
}

static void runIsa(const Options &options, const std::vector<Layer> &layers, bool depthwise, Isa isa,
                   const std::string &name) {
  double peak = measurePeakGops(isa) * options.threads, total = 0;
  for (const Layer &layer : layers) {
    if (!layer.isConv || layer.conv.isDepthwise() != depthwise)
      continue;
    Timing timing = timeConv(isa, layer, options, isa == Isa::Scalar ? 1 : 1000);
    double scalarNs = options.scalar ? timeConv(Isa::Scalar, layer, options, 1).minNs : 0;
    printLine(options, name, layer, timing, scalarNs, peak);
    total += timing.minNs * static_cast<double>(layer.count);
  }
  printTotal(options, name, total);
}

void runConvFamily(const Options &options, const std::vector<Layer> &layers, bool depthwise) {
  std::regex wanted(options.kernel);
  auto runRow = [&](const auto &kernel) {
    if (isIsaSupported(kernel.isa) && std::regex_search(kernel.name.begin(), kernel.name.end(), wanted))
      runIsa(options, layers, depthwise, kernel.isa, std::string(kernel.name));
  };
  if (depthwise)
    for (const DepthwiseKernel &kernel : getDepthwiseKernels())
      runRow(kernel);
  else
    for (const GemmKernel &kernel : getGemmKernels())
      runRow(kernel);
}

} // namespace qfx::bench
