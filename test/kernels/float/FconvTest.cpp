// Float convolution against the definition: one fma chain per output over (tap, channel), zeros in the padding.
#include "kernels/fconv/Fconv.h"
#include "kernels/fconv/Fdepthwise.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

static std::vector<float> naiveConv(const ConvShape &s, const ConvSizes &z, const float *src, int64_t srcStride,
                                    const float *weight, const float *bias, float lo, float hi) {
  std::vector<float> dst(z.outPixels() * s.outChannels);
  const int64_t channels = s.groupInChannels();
  for (int64_t p = 0; p < z.outPixels(); ++p)
    for (int64_t o = 0; o < s.outChannels; ++o) {
      int64_t pos[3], rest = p;
      for (int d = 2; d >= 0; rest /= z.out[d], --d)
        pos[d] = rest % z.out[d];
      float acc = bias ? bias[o] : 0.0f;
      for (int64_t t = 0; t < s.taps(); ++t) {
        const int64_t k[] = {t / (s.kernel[1] * s.kernel[2]), t / s.kernel[2] % s.kernel[1], t % s.kernel[2]};
        int64_t pixel = rest;
        bool inside = true;
        for (int d = 0; d < 3; ++d) {
          int64_t i = pos[d] * s.stride[d] - s.padding[d] + k[d] * s.dilation[d];
          inside = inside && i >= 0 && i < z.in[d];
          pixel = pixel * z.in[d] + i;
        }
        for (int64_t c = 0; c < channels; ++c) {
          float x = inside ? src[pixel * srcStride + o / s.groupOutChannels() * channels + c] : 0.0f;
          acc = std::fma(x, weight[(o * channels + c) * s.taps() + t], acc);
        }
      }
      dst[p * s.outChannels + o] = acc < lo ? lo : acc > hi ? hi : acc;
    }
  return dst;
}

/// Runs one shape on every kernel, split in two, into a wider destination.
static void checkConv(const ConvShape &s, const ConvSizes &z, uint64_t seed) {
  Random random(seed);
  const int64_t srcStride = s.inChannels + (seed % 3 ? 0 : 2), dstStride = s.outChannels + seed % 2;
  std::vector<float> src = random.floats(z.batch * z.in[0] * z.in[1] * z.in[2] * srcStride);
  std::vector<float> weight = random.floats(s.outChannels * s.reduction(), -1, 1), bias = random.floats(s.outChannels);
  const float *biasOrNull = seed % 4 ? bias.data() : nullptr;
  const float lo = seed % 5 ? -INFINITY : 0.0f, hi = seed % 5 ? INFINITY : 6.0f;
  std::vector<float> want = naiveConv(s, z, src.data(), srcStride, weight.data(), biasOrNull, lo, hi);
  std::vector<float> got(z.outPixels() * dstStride);
  FconvArgs args = {src.data(), srcStride, nullptr, biasOrNull, lo, hi, got.data(), dstStride};
  const int64_t cut = random.below(z.outPixels() + 1);
  auto matches = [&] {
    bool same = true;
    for (int64_t p = 0; p < z.outPixels(); ++p)
      same = same && sameBits(&want[p * s.outChannels], &got[p * dstStride], s.outChannels);
    return same;
  };
  for (const SgemmKernel &kernel : getSgemmKernels()) {
    if (!isIsaSupported(kernel.isa))
      continue;
    std::vector<float> packed(getFconvPackedSize(kernel, s));
    std::vector<char> scratch(getFconvScratchBytes(kernel, s) + 64);
    packFconv(kernel, s, weight.data(), packed.data());
    args.packed = packed.data();
    std::fill(got.begin(), got.end(), 0.0f);
    fconv(kernel, s, z, args, 0, cut, scratch.data());
    fconv(kernel, s, z, args, cut, z.outPixels(), scratch.data());
    INFO(kernel.name << " seed " << seed);
    CHECK(matches());
  }
  if (!isFdepthwise(s))
    return;
  std::vector<float> packed(getFdepthwisePackedSize(s));
  packFdepthwise(s, weight.data(), packed.data());
  args.packed = packed.data();
  std::vector<char> scratch(getFdepthwiseScratchBytes(s) + 64);
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  for (Isa isa : isas) {
    std::fill(got.begin(), got.end(), 0.0f);
    fdepthwise(selectFdepthwise(isa), s, z, args, 0, cut, scratch.data());
    fdepthwise(selectFdepthwise(isa), s, z, args, cut, z.outPixels(), scratch.data());
    INFO("depthwise " << getIsaName(isa) << " seed " << seed);
    CHECK(matches());
  }
}

TEST_CASE("float convolution equals the naive chain for random geometries", "[float][fconv]") {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed + 1);
    ConvShape s;
    s.groups = random.below(3) == 0 ? 1 + random.below(5) : 1;
    s.inChannels = s.groups * (1 + random.below(seed % 2 ? 40 : 5));
    s.outChannels = s.groups * (1 + random.below(40));
    if (seed % 6 == 0) { // depthwise
      s.groups = s.inChannels = s.outChannels = 2 + random.below(70);
    }
    int64_t in[3] = {1, 1, 1};
    for (int d = seed % 7 == 0 ? 0 : static_cast<int>(1 + random.below(2)); d < 3; ++d) {
      s.kernel[d] = 1 + random.below(4);
      s.stride[d] = 1 + random.below(3);
      s.dilation[d] = 1 + random.below(2);
      s.padding[d] = random.below(4);
      in[d] = 1 + s.dilation[d] * (s.kernel[d] - 1) + random.below(9);
    }
    ConvSizes z(s, 1 + random.below(2), in);
    checkConv(s, z, seed);
  }
}

TEST_CASE("float convolution: a deep K is cut into blocks without changing bits", "[float][fconv]") {
  ConvShape s;
  s.inChannels = 300;
  s.outChannels = 20;
  s.kernel[1] = s.kernel[2] = 3;
  s.padding[1] = s.padding[2] = 1;
  checkConv(s, ConvSizes(s, 1, {1, 5, 4}), 3);
  s.inChannels = 24; // several taps per block
  checkConv(s, ConvSizes(s, 2, {1, 7, 6}), 4);
}
