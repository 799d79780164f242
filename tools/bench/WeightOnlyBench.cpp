// Family weight-only: linear layers with 8- and 4-bit weights beside the float product that gives the same bits.
#include "kernels/sgemm/Sgemm.h"
#include "kernels/weightonly/WeightOnly.h"
#include "tools/bench/Bench.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace qfx::bench {

using namespace kernels;

/// Codes of a group share a scale, as group_size = 128 of weight-only configurations has it.
static constexpr int64_t kGroup = 128;

static Timing timeFloat(int64_t m, int64_t n, int64_t k, const Options &options, const float *src, const float *bias, float *dst) {
  const SgemmKernel &kernel = selectSgemm();
  std::vector<float> weights(static_cast<size_t>(n * k));
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>(static_cast<int>(i * 37 % 255) - 127) * 0.01f;
  Buffer packed = allocate(getSgemmPackedSize(kernel, n, k) * static_cast<int64_t>(sizeof(float)));
  SgemmArgs args = {};
  args.n = n;
  args.k = args.lda = k;
  args.a = src;
  args.packed = reinterpret_cast<const float *>(packed.get());
  args.bias = bias;
  args.c = dst;
  args.ldc = n;
  packSgemm(kernel, n, k, weights.data(), k, 1, reinterpret_cast<float *>(packed.get()));
  const int64_t panels = (n + kernel.columns - 1) / kernel.columns;
  return measure(options.threads, 1000, [&](int thread) {
    const int64_t begin = firstUnit(panels, thread, options.threads) * kernel.columns;
    const int64_t end = std::min(n, firstUnit(panels, thread + 1, options.threads) * kernel.columns);
    if (begin < end)
      sgemm(kernel, args, 0, m, begin, end);
  });
}

static Timing timeWeightOnly(int bits, int64_t m, int64_t n, int64_t k, const Options &options, const float *src, const float *bias, float *dst) {
  Buffer codes = makeCodes(n * k, true);
  WeightOnlySource source;
  source.columns = n;
  source.depth = k;
  source.groupSize = kGroup;
  source.bits = bits;
  source.bytes = reinterpret_cast<const int8_t *>(codes.get());
  source.nibbles = reinterpret_cast<const uint8_t *>(codes.get());
  std::vector<float> scale(static_cast<size_t>(n * source.groups()), 0.01f);
  std::vector<int32_t> zeroPoint(scale.size(), bits == 4 ? 8 : 0);
  source.scale = scale.data();
  source.zeroPoint = zeroPoint.data();
  Buffer packed = allocate(getWeightOnlyPackedBytes(source));
  WeightOnlyArgs args;
  args.weights = packWeightOnly(source, packed.get());
  args.src = src;
  args.bias = bias;
  args.dst = dst;
  WeightOnlyFn run = selectWeightOnly(bits);
  return measure(options.threads, 1000, [&](int thread) {
    run(args, 0, m, firstUnit(args.weights.panels(), thread, options.threads), firstUnit(args.weights.panels(), thread + 1, options.threads));
  });
}

void runWeightOnlyFamily(const Options &options, const std::vector<Layer> &layers) {
  for (const Layer &layer : layers) {
    if (layer.isConv)
      continue;
    const int64_t m = layer.m, n = layer.n, k = layer.k;
    Buffer src = allocate(m * k * 4), dst = allocate(m * n * 4), bias = allocate(n * 4);
    auto *values = reinterpret_cast<float *>(src.get());
    for (int64_t i = 0; i < m * k; ++i)
      values[i] = static_cast<float>(i * 29 % 127) * 0.01f;
    std::memset(bias.get(), 0, static_cast<size_t>(n) * 4);
    auto *start = reinterpret_cast<const float *>(bias.get());
    auto *result = reinterpret_cast<float *>(dst.get());
    const double floatNs = timeFloat(m, n, k, options, values, start, result).minNs;
    for (int bits : {8, 4}) {
      Timing timing = timeWeightOnly(bits, m, n, k, options, values, start, result);
      if (options.csv)
        std::printf("weight-only,int%d,%s,%d,float32,%d,%.2f,%.2f,%.1f,,%.3f\n", bits, layer.text.c_str(), options.threads, timing.repetitions,
                    timing.medianNs / 1e3, timing.minNs / 1e3, layer.operations() / timing.minNs, floatNs / timing.minNs);
      else
        std::printf("weight-only int%d %-40s threads=%d n=%d median_us=%.1f min_us=%.1f float_min_us=%.1f vs_float=%.2f\n", bits, layer.text.c_str(),
                    options.threads, timing.repetitions, timing.medianNs / 1e3, timing.minNs / 1e3, floatNs / 1e3, floatNs / timing.minNs);
      std::fflush(stdout);
    }
  }
}

} // namespace qfx::bench
