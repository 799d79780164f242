// Observer loops: torch.aminmax's NaN rule, the bin formula of numerics.md 3.7, equal results on all instruction sets.
#include "kernels/histogram/Histogram.h"

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

static bool same(float a, float b) { return std::memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b)); }

TEST_CASE("min and max over a row", "[float][histogram]") {
  for (Isa isa : allIsas()) {
    const HistogramKernels &kernels = selectHistogram(isa);
    bool ok = true;
    for (int n = 0; n <= 130; ++n)
      for (int seed = 0; seed < 3; ++seed) {
        std::vector<float> x = seed == 0 ? nastyFloats(n + 8, n) : Random(n * 3 + seed).floats(n + 8, -seed, 1 - seed);
        const float *p = x.data() + n % 8;
        float lo = INFINITY, hi = -INFINITY;
        bool nan = false;
        for (int i = 0; i < n; ++i) {
          nan = nan || std::isnan(p[i]);
          lo = p[i] < lo ? p[i] : lo;
          hi = p[i] > hi ? p[i] : hi;
        }
        MinMax got = kernels.minMax(p, n);
        ok = ok && same(got.min, nan ? NAN : lo + 0.0f) && same(got.max, nan ? NAN : hi + 0.0f);
      }
    INFO(getIsaName(isa));
    CHECK(ok);
    // NaN at each position of a batch
    for (int n : {1, 5, 8, 33, 64})
      for (int at = 0; at < n; ++at) {
        std::vector<float> x(n, 1.0f);
        x[at] = NAN;
        CHECK(std::isnan(kernels.minMax(x.data(), n).max));
      }
    float zeros[] = {-0.0f, 0.0f, -0.0f};
    CHECK(!std::signbit(kernels.minMax(zeros, 3).min)); // the sign of zero does not depend on the order
  }
}

TEST_CASE("min and max per channel", "[float][histogram]") {
  for (Isa isa : allIsas()) {
    bool ok = true;
    for (int channels = 1; channels <= 40; ++channels) {
      const int rows = 7, stride = channels + 3;
      std::vector<float> x = nastyFloats(rows * stride, channels);
      std::vector<float> lo(channels, INFINITY), hi(channels, -INFINITY);
      selectHistogram(isa).minMaxChannels(x.data(), rows, channels, stride, lo.data(), hi.data());
      for (int c = 0; c < channels; ++c) {
        float low = INFINITY, high = -INFINITY;
        bool nan = false;
        for (int r = 0; r < rows; ++r) {
          float v = x[r * stride + c];
          nan = nan || std::isnan(v);
          low = v < low ? v : low;
          high = v > high ? v : high;
        }
        ok = ok && same(lo[c], nan ? NAN : low + 0.0f) && same(hi[c], nan ? NAN : high + 0.0f);
      }
    }
    INFO(getIsaName(isa));
    CHECK(ok);
  }
}

TEST_CASE("histogram bins follow the formula", "[float][histogram]") {
  for (int bins : {1, 7, 256, 2048})
    for (int n : {0, 1, 15, 16, 17, 1000}) {
      Random random(bins + n);
      std::vector<float> x = n % 2 ? random.floats(n, -3, 5) : nastyFloats(n, n);
      const float lo = -2.3f, hi = n == 17 ? 5.0f : 3.7f;
      std::vector<float> want(bins, 0.5f), got;
      for (float v : x)
        if (v >= lo && v <= hi) {
          float a = v - lo, b = a * static_cast<float>(bins), c = b / (hi - lo); // three roundings
          want[std::min(static_cast<int>(c), bins - 1)] += 1;
        }
      for (Isa isa : allIsas()) {
        std::vector<uint32_t> scratch(getHistogramScratchSize(bins), 123u);
        got.assign(bins, 0.5f);
        addHistogram(selectHistogram(isa), x.data(), n, lo, hi, bins, got.data(), scratch.data());
        INFO(getIsaName(isa) << " bins " << bins << " n " << n);
        CHECK(sameBits(want, got));
      }
    }
}

TEST_CASE("histogram: hand-computed bins", "[float][histogram]") {
  float x[] = {0, 0.25f, 0.5f, 0.75f, 1, 1.0001f, -0.0001f, NAN, 1}, h[4] = {};
  std::vector<uint32_t> scratch(getHistogramScratchSize(4));
  addHistogram(selectHistogram(), x, 9, 0, 1, 4, h, scratch.data());
  CHECK(h[0] == 1);
  CHECK(h[1] == 1);
  CHECK(h[2] == 1);
  CHECK(h[3] == 3); // 0.75 and twice the closed upper end
}

TEST_CASE("counts in cells of a power of two", "[float][histogram]") {
  for (Isa isa : allIsas()) {
    bool ok = true;
    for (int n : {0, 1, 7, 16, 17, 33, 1000})
      for (float inverse : {0.25f, 8.0f, 0x1p-100f}) {
        constexpr int32_t first = -20, cells = 37;
        std::vector<float> x = n % 2 ? nastyFloats(n, static_cast<uint64_t>(n)) : Random(static_cast<uint64_t>(n)).floats(n, -3, 3);
        std::vector<int64_t> counts(cells, 5), expected(cells, 5);
        std::vector<uint32_t> scratch(static_cast<size_t>(getHistogramScratchSize(cells)), 99);
        addGridCounts(selectHistogram(isa), x.data(), n, inverse, first, cells, counts.data(), scratch.data());
        for (float value : x) {
          const double cell = std::floor(static_cast<double>(value) * static_cast<double>(inverse));
          if (cell >= first && cell < first + cells)
            ++expected[static_cast<size_t>(cell - first)];
        }
        ok = ok && counts == expected;
      }
    INFO(getIsaName(isa));
    CHECK(ok);
  }
}

/// numerics.md 3.8 `qerr` of one bin as it is written, with the C library's remainder.
static float normOfBin(const LevelGrid &grid, int bin, float density) {
  auto divideFloor = [](float a, float b) {
    float mod = std::fmod(a, b), quotient = (a - mod) / b;
    if (mod < 0)
      quotient -= 1;
    float floored = std::floor(quotient);
    return quotient - floored > 0.5f ? floored + 1 : floored;
  };
  auto levelOf = [&](float position) { return std::min(std::max(divideFloor(position, grid.levelWidth), 0.0f), grid.lastLevel); };
  auto integral = [](float begin, float end) { return (end * end * end - begin * begin * begin) / 3; };
  float begin = static_cast<float>(bin - grid.start) * grid.binWidth, end = begin + grid.binWidth;
  float beginLevel = levelOf(begin), endLevel = levelOf(end);
  float first = density * integral(begin - (beginLevel + 0.5f) * grid.levelWidth, grid.halfLevel);
  float middle = (endLevel - beginLevel - 1) * (density * integral(-grid.halfLevel, grid.halfLevel));
  float last = density * integral(-grid.halfLevel, end - (endLevel * grid.levelWidth + grid.halfLevel));
  return (first + middle) + last;
}

TEST_CASE("error norms are those of the written formula, whatever the remainder", "[float][histogram]") {
  for (Isa isa : allIsas()) {
    INFO(getIsaName(isa));
    const HistogramKernels &kernels = selectHistogram(isa);
    Random random(7);
    int numWrong = 0;
    for (int bins = 1; bins <= 130; ++bins)
      for (float levels : {2.0f, 16.0f, 128.0f, 256.0f}) {
        const int start = bins / 3, width = bins - start;
        float binWidth = random.floats(1, 0.001f, 2.0f)[0];
        if (bins % 4 == 0)
          binWidth = 0.25f; // positions that are multiples of a level
        float levelWidth = static_cast<float>(static_cast<double>(binWidth) * width / levels);
        LevelGrid grid{binWidth, levelWidth, levelWidth / 2, levels - 1, start};
        std::vector<float> density = random.floats(bins, 0, 100), norm(bins, NAN);
        kernels.errorNorms(grid, density.data(), norm.data(), bins);
        for (int i = 0; i < bins; ++i)
          numWrong += !same(norm[i], normOfBin(grid, i, density[i]));
      }
    CHECK(numWrong == 0);
  }
}
