// Weight-only products: the bits of a chain of fma on dequantized weights, on all instruction sets, sizes and splits.
#include "kernels/weightonly/WeightOnly.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace qfx::kernels;
using namespace qfx::test;

namespace {

struct Case {
  WeightOnlySource source;
  std::vector<int8_t> bytes;
  std::vector<uint8_t> nibbles;
  std::vector<float> scale, bias;
  std::vector<int32_t> zeroPoint;

  Case(Random &random, int bits, int64_t n, int64_t k, int64_t groupSize) {
    source.columns = n;
    source.depth = k;
    source.groupSize = groupSize;
    source.bits = bits;
    bytes = random.codes<int8_t>(n * k);
    nibbles = random.codes<uint8_t>(n * ((k + 1) / 2));
    scale = random.floats(n * source.groups(), 0.001f, 0.1f);
    bias = random.floats(n);
    for (size_t i = 0; i < scale.size(); ++i)
      zeroPoint.push_back(static_cast<int32_t>(random.below(bits == 8 ? 256 : 16)) - (bits == 8 ? 128 : 0));
    source.bytes = bytes.data();
    source.nibbles = nibbles.data();
    source.scale = scale.data();
    source.zeroPoint = zeroPoint.data();
  }

  float getWeight(int64_t n, int64_t k) const {
    int code = source.bits == 8
                   ? bytes[static_cast<size_t>(n * source.depth + k)]
                   : (nibbles[static_cast<size_t>(n * ((source.depth + 1) / 2) + k / 2)] >> (k % 2 * 4)) & 15;
    auto group = static_cast<size_t>(n * source.groups() + k / source.groupSize);
    return static_cast<float>(code - zeroPoint[group]) * scale[group];
  }
};

struct Memory {
  explicit Memory(int64_t bytes) : data(std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64))) {}
  ~Memory() { std::free(data); }
  Memory(const Memory &) = delete;
  void *data;
};

} // namespace

TEST_CASE("weight-only products are chains of fma on dequantized weights", "[kernels][weightonly]") {
  Random random(9);
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  for (int bits : {8, 4})
    for (int64_t n : {1, 7, 8, 15, 16, 17, 33, 64})
      for (int64_t k : {1, 2, 5, 31, 67, 260})
        for (int64_t groupSize : {int64_t(1), int64_t(16), int64_t(32), k})
          for (int64_t rows : {1, 3, 4, 6, 13}) {
            Case one(random, bits, n, k, groupSize);
            std::vector<float> src = random.floats(rows * k), expected(static_cast<size_t>(rows * n));
            bool hasBias = rows != 3;
            for (int64_t m = 0; m < rows; ++m)
              for (int64_t j = 0; j < n; ++j) {
                float acc = hasBias ? one.bias[static_cast<size_t>(j)] : 0.0f;
                for (int64_t p = 0; p < k; ++p)
                  acc = std::fma(src[static_cast<size_t>(m * k + p)], one.getWeight(j, p), acc);
                expected[static_cast<size_t>(m * n + j)] = acc;
              }
            Memory memory(getWeightOnlyPackedBytes(one.source));
            WeightOnlyArgs args;
            args.weights = packWeightOnly(one.source, memory.data);
            args.src = src.data();
            args.bias = hasBias ? one.bias.data() : nullptr;
            for (Isa isa : isas) {
              WeightOnlyFn run = selectWeightOnly(bits, isa);
              std::vector<float> whole(expected.size(), -1.0f), split(expected.size(), -1.0f);
              args.dst = whole.data();
              run(args, 0, rows, 0, args.weights.panels());
              REQUIRE(sameBits(whole, expected));
              args.dst = split.data();
              for (int64_t panel = 0; panel < args.weights.panels(); ++panel)
                for (int64_t row = 0; row < rows; ++row)
                  run(args, row, row + 1, panel, panel + 1);
              REQUIRE(sameBits(split, expected));
            }
          }
}
