// Normalization, embedding sums, bilinear pixels and fixed-point addition of codes: by their rules, on every
// instruction set.
#include "kernels/elementwise/FixedPointAdd.h"
#include "kernels/embedding/Embedding.h"
#include "kernels/norm/CodeNorm.h"
#include "kernels/resize/Bilinear.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

static std::vector<Isa> allIsas() {
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  return isas;
}

template <class T> static T quantizeByRule(float value, const QParams &params) {
  const float t = value * (1.0f / static_cast<float>(params.scale));
  const double code = std::nearbyint(static_cast<double>(t)) + params.zeroPoint;
  return static_cast<T>(std::clamp<double>(code, CodeRange<T>::lo, CodeRange<T>::hi));
}

template <class T> static auto layerOf(const CodeNormKernels &k) {
  if constexpr (std::is_unsigned_v<T>)
    return k.layerU8;
  else
    return k.layerS8;
}
template <class T> static auto channelsOf(const CodeNormKernels &k) {
  if constexpr (std::is_unsigned_v<T>)
    return k.channelsU8;
  else
    return k.channelsS8;
}
template <class T> static auto pixelOf(const BilinearKernels &k) {
  if constexpr (std::is_unsigned_v<T>)
    return k.pixelU8;
  else
    return k.pixelS8;
}

TEMPLATE_TEST_CASE("normalization of codes follows the rule on every instruction set", "[float][norm]", uint8_t,
                   int8_t) {
  using T = TestType;
  for (Isa isa : allIsas()) {
    const CodeNormKernels &kernels = selectCodeNorm(isa);
    bool layerSame = true, channelSame = true;
    for (int n = 1; n <= 130; ++n) {
      Random random(n);
      const int shift = n % 9;
      std::vector<T> src = random.codes<T>(n + 9), got(n), channel(n);
      std::vector<float> weight = random.floats(n + 9), bias = random.floats(n + 9),
                         mean = random.floats(n + 9, -99, 99);
      const CodeNormParams params{
          CodeRange<T>::lo + static_cast<int32_t>(random.below(256)),
          {random.uniform(0.01f, 0.2f), CodeRange<T>::lo + static_cast<int32_t>(random.below(256))}};
      const NormStatistics statistics{random.uniform(-90, 90), random.uniform(0.001f, 0.1f)};
      layerOf<T>(kernels)(src.data() + shift, got.data(), n, statistics, weight.data() + shift, bias.data() + shift,
                          params);
      channelsOf<T>(kernels)(src.data() + shift, channel.data(), n, mean.data() + shift, weight.data() + shift,
                             bias.data() + shift, params);
      for (int i = 0; i < n; ++i) {
        const float x = static_cast<float>(src[shift + i] - params.zeroPoint);
        const float y = (x - statistics.mean) * statistics.rstd * weight[shift + i] + bias[shift + i];
        layerSame = layerSame && got[i] == quantizeByRule<T>(y, params.out);
        const float z = (x - mean[shift + i]) * weight[shift + i] + bias[shift + i];
        channelSame = channelSame && channel[i] == quantizeByRule<T>(z, params.out);
      }
    }
    INFO(getIsaName(isa));
    CHECK(layerSame);
    CHECK(channelSame);
  }
}

TEST_CASE("statistics of codes are exact sums", "[float][norm]") {
  Random random(3);
  for (int64_t n : {1, 7, 16384, 16385, 40000}) {
    const std::vector<uint8_t> codes(static_cast<size_t>(n), 255);
    const CodeSums sums = sumCodes(codes.data(), n);
    CHECK(sums.sum == 255 * n);
    CHECK(sums.squares == 65025 * n);
    std::vector<CodeSums> channels(1);
    sumCodeRows(codes.data(), n, 1, channels.data());
    CHECK(channels[0].squares == sums.squares);
  }
  // All codes alike: no variance, so that only eps keeps the gain finite.
  const NormStatistics flat = makeNormStatistics({100 * 8, 100 * 100 * 8}, 8, {0.1, 20}, 1e-5);
  CHECK(flat.mean == 80.0f);
  CHECK(std::abs(flat.rstd - 0.1 / std::sqrt(1e-5)) < 1e-4);
}

TEST_CASE("embedding rows add by fma on every instruction set", "[float][embedding]") {
  for (Isa isa : allIsas()) {
    const EmbeddingKernels &kernels = selectEmbedding(isa);
    bool same = true;
    for (int n = 0; n <= 130; ++n) {
      Random random(n + 1);
      const int shift = n % 9;
      std::vector<uint8_t> codes = random.codes<uint8_t>(n + 9);
      std::vector<float> sums = random.floats(n + 9), before = sums;
      const float scale = random.uniform(0.001f, 0.2f), bias = random.uniform(-9, 9);
      kernels.addRow(codes.data() + shift, sums.data() + shift, n, scale, bias);
      for (int i = 0; i < n + 9; ++i) {
        const bool isInside = i >= shift && i < shift + n;
        const float want = isInside ? std::fma(scale, static_cast<float>(codes[i]), before[i] + bias) : before[i];
        same = same && sums[i] == want;
      }
    }
    INFO(getIsaName(isa));
    CHECK(same);
  }
}

TEST_CASE("packed rows of any number of columns come back", "[float][embedding]") { // known_traps B105
  for (int bits : {8, 4, 2})
    for (int64_t columns = 1; columns <= 130; ++columns) {
      const PackedRows rows{bits, columns};
      Random random(columns * 9 + bits);
      std::vector<float> src = random.floats(columns, -3, 5), back(columns);
      std::vector<uint8_t> row(static_cast<size_t>(rows.rowBytes()), 0xff), codes(columns);
      packFloatRow(rows, src.data(), row.data());
      unpackRow(rows, row.data(), back.data());
      unpackCodes(rows, row.data(), codes.data());
      const RowParams params = readRowParams(rows, row.data());
      REQUIRE(std::isfinite(params.scale));
      for (int64_t i = 0; i < columns; ++i) {
        REQUIRE(codes[i] < (1 << bits));
        REQUIRE(back[i] == static_cast<float>(codes[i]) * params.scale + params.bias);
        // Half a step, and what float16 takes from the minimum and, at the top, from the scale.
        const float slack = bits == 8 ? 1e-5f : 4e-3f + 4e-3f * static_cast<float>(codes[i]);
        REQUIRE(std::abs(back[i] - src[i]) <= params.scale * 0.5f + slack);
      }
    }
}

TEST_CASE("a constant row has finite parameters", "[float][embedding]") { // known_traps B47
  for (int bits : {8, 4, 2}) {
    const PackedRows rows{bits, 4};
    for (float value : {0.0f, 1.0f, -2.5f}) {
      const std::vector<float> src(4, value);
      std::vector<uint8_t> row(static_cast<size_t>(rows.rowBytes()));
      std::vector<float> back(4);
      packFloatRow(rows, src.data(), row.data());
      unpackRow(rows, row.data(), back.data());
      CHECK(back == src);
    }
  }
}

TEMPLATE_TEST_CASE("bilinear pixels follow the rule on every instruction set", "[float][resize]", uint8_t, int8_t) {
  using T = TestType;
  for (Isa isa : allIsas()) {
    bool same = true;
    for (int n = 1; n <= 130; ++n) {
      Random random(n);
      const int shift = n % 9;
      std::vector<T> pixels[4], got(n);
      for (std::vector<T> &pixel : pixels)
        pixel = random.codes<T>(n + 9);
      const float h1 = random.uniform(0, 1), w1 = random.uniform(0, 1), h0 = 1 - h1, w0 = 1 - w1;
      const int32_t zeroPoint = CodeRange<T>::lo + static_cast<int32_t>(random.below(256));
      pixelOf<T>(selectBilinear(isa))({pixels[0].data() + shift, pixels[1].data() + shift, pixels[2].data() + shift,
                                       pixels[3].data() + shift, h0, h1, w0, w1},
                                      n, zeroPoint, got.data());
      for (int i = 0; i < n; ++i) {
        auto at = [&](int k) { return static_cast<float>(pixels[k][shift + i]); };
        const float top = w0 * at(0) + w1 * at(1), bottom = w0 * at(2) + w1 * at(3);
        const float t = h0 * top + h1 * bottom - static_cast<float>(zeroPoint);
        const double code = std::nearbyint(static_cast<double>(t + static_cast<float>(zeroPoint)));
        same = same && got[i] == static_cast<T>(std::clamp<double>(code, CodeRange<T>::lo, CodeRange<T>::hi));
      }
    }
    INFO(getIsaName(isa));
    CHECK(same);
  }
}

TEST_CASE("sources of resizing", "[float][resize]") {
  CHECK(getNearestSource(3, 2, 0.5f, false) == 1);
  CHECK(getNearestSource(9, 2, 1.0f, false) == 1); // never beyond the last
  CHECK(getNearestSource(1, 4, 2.0f, true) == 3);
  const ResizeSource first = getBilinearSource(0, 4, 0.5f, false), last = getBilinearSource(7, 4, 0.5f, false);
  CHECK(first.first == 0);
  CHECK(first.w0 == 1.0f);
  CHECK(last.first == 3);
  CHECK(last.second == 3);
}

TEST_CASE("fixed-point addition is qnnpack's", "[float][quantized]") { // X17, operators 6
  const QParams p{0.1, 100}, r{0.05, 60}, out{0.2, 90};
  auto params = makeFixedPointAddParams(p, r, out, false);
  REQUIRE(params);
  const std::vector<uint8_t> a = {0, 100, 255}, b = {50, 60, 70};
  std::vector<uint8_t> sum(3);
  addFixedPoint(a.data(), b.data(), sum.data(), 3, *params);
  CHECK(sum == std::vector<uint8_t>{37, 90, 170});
  addFixedPoint(a.data(), b.data(), sum.data(), 3, *makeFixedPointAddParams(p, r, out, true));
  CHECK(sum == std::vector<uint8_t>{90, 90, 170});
  CHECK_FALSE(makeFixedPointAddParams({3e-7, 0}, r, out, false)); // below 2^-14
  CHECK_FALSE(makeFixedPointAddParams({52.0, 0}, r, out, false)); // 2^8 and more
}
