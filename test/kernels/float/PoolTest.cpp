// Pooling of floats and codes against the window definition of operators.md 8, its examples, all instruction sets.
#include "kernels/pool/Pool.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace qfx::kernels;
using namespace qfx::test;

/// A random 2-d or 3-d pooling with PyTorch's restrictions.
static PoolShape randomShape(Random &random, bool dilate) {
  PoolShape shape;
  shape.batch = 1 + random.below(2);
  shape.channels = 1 + random.below(90);
  for (int d = static_cast<int>(random.below(2)); d < 3; ++d) {
    shape.in[d] = 1 + random.below(8);
    shape.kernel[d] = 1 + random.below(std::min<int64_t>(4, shape.in[d]));
    shape.stride[d] = 1 + random.below(3);
    shape.padding[d] = random.below(shape.kernel[d] / 2 + 1);
    if (dilate && (shape.kernel[d] - 1) * 2 < shape.in[d])
      shape.dilation[d] = 1 + random.below(2);
    bool ceilMode = random.below(2);
    shape.out[d] =
        getPooledSize(shape.in[d], shape.kernel[d], shape.stride[d], shape.padding[d], shape.dilation[d], ceilMode);
  }
  return shape;
}

/// Visits each tap's flat input pixel of an output pixel, from the definition.
template <class Visit> static void naiveTaps(const PoolShape &s, int64_t pixel, Visit visit) {
  int64_t pos[3], taps[3][64], count[3];
  for (int d = 2; d >= 0; --d) {
    pos[d] = pixel % s.out[d];
    pixel /= s.out[d];
    count[d] = 0;
    if (s.adaptive) {
      int64_t lo =
          static_cast<int64_t>(std::floor(static_cast<float>(pos[d] * s.in[d]) / static_cast<float>(s.out[d])));
      int64_t hi =
          static_cast<int64_t>(std::ceil(static_cast<float>((pos[d] + 1) * s.in[d]) / static_cast<float>(s.out[d])));
      for (int64_t i = lo; i < hi; ++i)
        taps[d][count[d]++] = i;
    } else
      for (int64_t k = 0; k < s.kernel[d]; ++k) {
        int64_t i = pos[d] * s.stride[d] - s.padding[d] + k * s.dilation[d];
        if (i >= 0 && i < s.in[d])
          taps[d][count[d]++] = i;
      }
  }
  for (int64_t a = 0; a < count[0]; ++a)
    for (int64_t b = 0; b < count[1]; ++b)
      for (int64_t c = 0; c < count[2]; ++c)
        visit(((pixel * s.in[0] + taps[0][a]) * s.in[1] + taps[1][b]) * s.in[2] + taps[2][c]);
}

/// The divisor of operators.md 8.1.
static int64_t naiveDivisor(const PoolShape &s, int64_t pixel) {
  if (s.divisorOverride)
    return s.divisorOverride;
  int64_t padded = 1, size = 0;
  naiveTaps(s, pixel, [&](int64_t) { ++size; });
  for (int d = 2; d >= 0; --d) {
    int64_t h0 = pixel % s.out[d] * s.stride[d] - s.padding[d];
    padded *= std::min(h0 + s.kernel[d], s.in[d] + s.padding[d]) - h0;
    pixel /= s.out[d];
  }
  return s.countIncludePad && !s.adaptive ? padded : size;
}

static std::vector<Isa> allIsas() {
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  return isas;
}

TEMPLATE_TEST_CASE("max pooling takes the largest tap", "[float][pool]", float, uint8_t, int8_t) {
  using T = TestType;
  for (int round = 0; round < 60; ++round) {
    Random random(round);
    PoolShape s = randomShape(random, true);
    std::vector<T> src(s.batch * s.numInputPixels() * s.channels);
    if constexpr (std::is_same_v<T, float>)
      src = nastyFloats(static_cast<int64_t>(src.size()), round);
    else
      src = random.codes<T>(static_cast<int64_t>(src.size()));
    std::vector<T> want(s.numOutputPixels() * s.channels), got(want.size());
    for (int64_t p = 0; p < s.numOutputPixels(); ++p)
      for (int64_t c = 0; c < s.channels; ++c) {
        T best = std::is_same_v<T, float> ? static_cast<T>(-INFINITY) : std::numeric_limits<T>::lowest();
        naiveTaps(s, p, [&](int64_t i) {
          T v = src[i * s.channels + c];
          if (v > best || v != v)
            best = v;
        });
        want[p * s.channels + c] = best;
      }
    for (Isa isa : allIsas()) {
      std::fill(got.begin(), got.end(), T(0));
      int64_t cut = random.below(s.numOutputPixels() + 1);
      maxPool(selectPool(isa), s, src.data(), got.data(), 0, cut);
      maxPool(selectPool(isa), s, src.data(), got.data(), cut, s.numOutputPixels());
      bool same = true;
      for (size_t i = 0; i < want.size(); ++i)
        same = same && (want[i] == got[i] || (want[i] != want[i] && got[i] != got[i]));
      INFO(getIsaName(isa) << " round " << round);
      CHECK(same);
    }
  }
}

TEST_CASE("float average pooling", "[float][pool]") {
  for (int round = 0; round < 60; ++round) {
    Random random(round);
    PoolShape s = randomShape(random, false);
    s.countIncludePad = random.below(2);
    if (random.below(4) == 0)
      s.divisorOverride = 1 + random.below(9);
    if (random.below(3) == 0) {
      s.adaptive = true;
      for (int d = 0; d < 3; ++d)
        s.out[d] = 1 + random.below(s.in[d]);
    }
    std::vector<float> src = random.floats(s.batch * s.numInputPixels() * s.channels);
    std::vector<float> want(s.numOutputPixels() * s.channels), got(want.size());
    for (int64_t p = 0; p < s.numOutputPixels(); ++p)
      for (int64_t c = 0; c < s.channels; ++c) {
        float sum = 0;
        naiveTaps(s, p, [&](int64_t i) { sum += src[i * s.channels + c]; });
        want[p * s.channels + c] = sum / static_cast<float>(naiveDivisor(s, p));
      }
    for (Isa isa : allIsas()) {
      avgPool(selectPool(isa), s, src.data(), got.data(), 0, s.numOutputPixels());
      INFO(getIsaName(isa) << " round " << round);
      CHECK(sameBits(want, got));
    }
  }
}

TEMPLATE_TEST_CASE("average pooling of codes follows both layouts' rules", "[float][pool]", uint8_t, int8_t) {
  using T = TestType;
  for (int round = 0; round < 80; ++round) {
    Random random(round);
    PoolShape s = randomShape(random, false);
    s.countIncludePad = random.below(2);
    s.divisorOverride = random.below(4) == 0 ? 1 + random.below(9) : 0;
    if (random.below(3) == 0) {
      s.adaptive = true;
      s.divisorOverride = 0;
      for (int d = 0; d < 3; ++d)
        s.out[d] = 1 + random.below(s.in[d]);
    }
    const int32_t z = CodeRange<T>::lo + static_cast<int32_t>(random.below(256));
    const MemoryFormat format = random.below(2) ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
    std::vector<T> src = random.codes<T>(s.batch * s.numInputPixels() * s.channels);
    std::vector<T> want(s.numOutputPixels() * s.channels), got(want.size());
    for (int64_t p = 0; p < s.numOutputPixels(); ++p)
      for (int64_t c = 0; c < s.channels; ++c) {
        int32_t sum = 0, size = 0;
        naiveTaps(s, p, [&](int64_t i) {
          sum += src[i * s.channels + c];
          ++size;
        });
        const int64_t n = naiveDivisor(s, p);
        float v;
        if (format == MemoryFormat::ChannelsLast && s.adaptive)
          v = std::nearbyint(
              std::fma(static_cast<float>(sum - size * z), 1.0f / static_cast<float>(n), static_cast<float>(z)));
        else if (format == MemoryFormat::ChannelsLast)
          v = std::nearbyint(static_cast<float>(sum - size * z) * (1.0f / static_cast<float>(n))) + z;
        else if (!s.adaptive)
          v = std::nearbyint(static_cast<float>(sum - size * z) * static_cast<float>(1.0 / static_cast<double>(n)) + z);
        else {
          float r = 1;
          int64_t rest = p;
          int64_t k[3];
          for (int d = 2; d >= 0; rest /= s.out[d], --d)
            k[d] = getPoolWindow(s, d, rest % s.out[d]).count;
          for (int d = 0; d < 3; ++d)
            r = r / static_cast<float>(k[d]);
          v = std::nearbyint(static_cast<float>(sum) * r);
        }
        want[p * s.channels + c] =
            static_cast<T>(std::min<float>(std::max<float>(v, CodeRange<T>::lo), CodeRange<T>::hi));
      }
    for (Isa isa : allIsas()) {
      avgPool(selectPool(isa), s, z, format, src.data(), got.data(), 0, s.numOutputPixels());
      INFO(getIsaName(isa) << " round " << round);
      CHECK((want == got));
    }
  }
}

using Codes = std::vector<uint8_t>;

/// A single-channel (or channels-innermost) 2-d pooling of codes.
static Codes pool2d(Codes src, int64_t channels, int64_t h, int64_t w, int64_t k, int64_t stride, int64_t padding,
                    bool ceilMode, bool includePad, int64_t divisor, int32_t z, MemoryFormat format) {
  PoolShape s;
  s.channels = channels;
  int64_t in[] = {h, w};
  for (int d = 1; d < 3; ++d) {
    s.in[d] = in[d - 1];
    s.kernel[d] = k;
    s.stride[d] = stride;
    s.padding[d] = padding;
    s.out[d] = getPooledSize(s.in[d], k, stride, padding, 1, ceilMode);
  }
  s.countIncludePad = includePad;
  s.divisorOverride = divisor;
  Codes out(s.numOutputPixels() * channels);
  avgPool(selectPool(), s, z, format, src.data(), out.data(), 0, s.numOutputPixels());
  return out;
}

TEST_CASE("pooling: worked examples X48-X57", "[float][pool]") {
  const Codes m = {10, 20, 30, 40, 55, 60, 70, 80, 91};
  const auto contiguous = MemoryFormat::Contiguous, last = MemoryFormat::ChannelsLast;
  // one channel counts as channels last (operators.md 2.4)
  CHECK(pool2d(m, 1, 3, 3, 2, 2, 1, false, true, 0, 7, last) == Codes{8, 16, 31, 71});
  CHECK(pool2d(m, 1, 3, 3, 2, 2, 1, false, false, 0, 7, last) == Codes{10, 25, 55, 71});
  CHECK(pool2d(m, 1, 3, 3, 2, 1, 0, false, true, 3, 7, last) == Codes{39, 53, 79, 93});
  CHECK(pool2d(m, 1, 3, 3, 2, 2, 0, true, true, 0, 7, last) == Codes{31, 45, 75, 91});
  const Codes d = {1, 2, 2, 3, 1, 2, 2, 3}; // D: channel 0 = 1 2 1 2, channel 1 = 2 3 2 3, innermost
  CHECK(pool2d(d, 2, 2, 2, 2, 2, 0, false, true, 0, 1, contiguous) == Codes{2, 2});
  CHECK(pool2d(d, 2, 2, 2, 2, 2, 0, false, true, 0, 1, last) == Codes{1, 3});
  PoolShape s;
  s.adaptive = true;
  s.in[1] = s.in[2] = 3;
  s.out[1] = s.out[2] = 2;
  Codes out(4);
  avgPool(selectPool(), s, 7, last, m.data(), out.data(), 0, 4);
  CHECK(out == Codes{31, 41, 61, 72}); // X54 says 71, from torch 1.13; torch 2.13 gives 72 (docs/Differences.md)
  PoolShape t;
  t.in[1] = t.in[2] = 3;
  t.kernel[1] = t.kernel[2] = t.stride[1] = t.stride[2] = 2;
  t.padding[1] = t.padding[2] = 1;
  t.out[1] = t.out[2] = 2;
  maxPool(selectPool(), t, m.data(), out.data(), 0, 4);
  CHECK(out == Codes{10, 30, 70, 91});
  const Codes pairs = {1, 2, 2, 3, 3, 4}; // X56: mean over the inner dimension
  Codes three(3);
  meanPositions(selectPool(), 3, 2, 1, {.1, 1}, contiguous, pairs.data(), three.data());
  CHECK(three == Codes{2, 2, 4});
  const Codes rows = {1, 2, 3, 2, 3, 4}; // X57: over the outer one
  meanPositions(selectPool(), 1, 2, 3, {.1, 1}, last, rows.data(), three.data());
  CHECK(three == Codes{1, 3, 3});
}

TEST_CASE("pooled sizes", "[float][pool]") {
  CHECK(getPooledSize(112, 3, 2, 1, 1, false) == 56);
  CHECK(getPooledSize(5, 2, 2, 1, 1, true) == 3); // the window that would start in the padding is dropped
  CHECK(getPooledSize(6, 3, 2, 0, 1, true) == 3);
  CHECK(getPooledSize(2, 3, 1, 0, 1, false) == 0);
  CHECK(getPooledSize(7, 3, 1, 0, 2, false) == 3);
}
