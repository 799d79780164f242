// Quantized convolution on every instruction set against the plain sums of the specification.
#include "Catch.h"
#include "kernels/conv/Conv.h"
#include "kernels/int8/Int8Cases.h"
#include "kernels/int8/TestedRows.h"

using namespace qfx::kernels;
using namespace qfx::test;

namespace {
struct ConvProblem {
  ConvShape shape;
  ConvSizes sizes;
  int64_t lds, ldd;
  std::vector<uint8_t> src;
  std::vector<int8_t> weight;
  std::unique_ptr<Scales> scales;

  ConvProblem(uint32_t seed, const ConvShape &shape, int64_t batch, const int64_t (&in)[3], Codes codes,
              const ScaleOptions &options, int64_t extraLds = 0)
      : shape(shape), sizes(shape, batch, in), lds(shape.inChannels + extraLds), ldd(shape.outChannels + 3) {
    std::mt19937 random(seed);
    // Exactly the bytes of the tensor: a sanitizer sees any read behind them.
    int64_t pixels = batch * in[0] * in[1] * in[2];
    src = randomCodes(random, std::max<int64_t>(0, (pixels - 1) * lds + shape.inChannels), codes);
    weight = randomWeights(random, shape.outChannels * shape.reduction(), seed % 6 == 0);
    scales = randomScales(random, shape.outChannels, shape.reduction(), options);
  }

  int64_t accumulator(int64_t image, const int64_t (&at)[3], int64_t o) const {
    const int64_t channels = shape.groupInChannels(), firstChannel = o / shape.groupOutChannels() * channels;
    int64_t acc = 0, t = 0;
    for (int64_t kd = 0; kd < shape.kernel[0]; ++kd)
      for (int64_t kh = 0; kh < shape.kernel[1]; ++kh)
        for (int64_t kw = 0; kw < shape.kernel[2]; ++kw, ++t) {
          int64_t d = at[0] * shape.stride[0] - shape.padding[0] + kd * shape.dilation[0];
          int64_t h = at[1] * shape.stride[1] - shape.padding[1] + kh * shape.dilation[1];
          int64_t w = at[2] * shape.stride[2] - shape.padding[2] + kw * shape.dilation[2];
          if (d < 0 || d >= sizes.in[0] || h < 0 || h >= sizes.in[1] || w < 0 || w >= sizes.in[2])
            continue;
          int64_t pixel = ((image * sizes.in[0] + d) * sizes.in[1] + h) * sizes.in[2] + w;
          for (int64_t i = 0; i < channels; ++i)
            acc += (int64_t(src[pixel * lds + firstChannel + i]) - scales->spec.srcZeroPoint) *
                   (weight[(o * channels + i) * shape.taps() + t] - weightZeroPointOf(scales->spec, o));
        }
    return acc;
  }
};

void check(const ConvProblem &problem, const ConvKernels &kernels, int threads) {
  const ConvShape &shape = problem.shape;
  const ConvSizes &sizes = problem.sizes;
  Memory packedMemory(getPackedConvBytes(shape, kernels));
  PackedConv packed = packConv(shape, kernels, problem.weight.data(), packedMemory.data());
  Memory tables(getRequantBytes(shape.outChannels));
  RequantParams params = prepareRequant(problem.scales->spec, packed.weightSum, tables.data());
  ConvPlan plan = planConv(packed, sizes.batch, sizes.in, threads);
  Memory scratch(getConvScratchBytes(plan));
  std::vector<uint8_t> dst(sizes.outPixels() * problem.ldd, 77);
  int64_t step = threads > 1 ? 1 : std::max<int64_t>(plan.units(), 1);
  for (int64_t unit = 0; unit < plan.units(); unit += step)
    runConv(plan, params, TileOutput::Code, problem.scales->spec.srcZeroPoint, problem.src.data(), problem.lds,
            dst.data(), problem.ldd, scratch.data(), unit, std::min(unit + step, plan.units()));
  REQUIRE(packedMemory.isIntact());
  REQUIRE(tables.isIntact());
  REQUIRE(scratch.isIntact());
  const uint8_t *out = dst.data();
  for (int64_t image = 0; image < sizes.batch; ++image)
    for (int64_t d = 0; d < sizes.out[0]; ++d)
      for (int64_t h = 0; h < sizes.out[1]; ++h)
        for (int64_t w = 0; w < sizes.out[2]; ++w, out += problem.ldd)
          for (int64_t o = 0; o < problem.ldd; ++o) {
            int expected =
                o < shape.outChannels
                    ? expectedCode(problem.scales->spec, o, problem.accumulator(image, {d, h, w}, o))
                    : 77;
            if (out[o] != expected) {
              INFO(kernels.gemm->name << " ic " << shape.inChannels << " oc " << shape.outChannels << " groups "
                                   << shape.groups << " kernel " << shape.kernel[1] << "x" << shape.kernel[2] << " at "
                                   << d << "," << h << "," << w << " channel " << o);
              REQUIRE(int(out[o]) == expected);
            }
          }
}

template <class Check> void forEachRow(Check check) {
  for (const ConvKernels &kernels : getTestedRows())
    check(kernels);
}

ConvShape makeShape(int64_t ic, int64_t oc, int64_t groups, int64_t kernel, int64_t stride, int64_t padding,
                    int64_t dilation) {
  ConvShape shape;
  shape.inChannels = ic;
  shape.outChannels = oc;
  shape.groups = groups;
  for (int axis = 1; axis < 3; ++axis) {
    shape.kernel[axis] = kernel;
    shape.stride[axis] = stride;
    shape.padding[axis] = padding;
    shape.dilation[axis] = dilation;
  }
  return shape;
}

ScaleOptions optionsOf(uint32_t seed) {
  ScaleOptions options;
  options.relu = seed % 2;
  options.perChannel = seed % 5 != 0;
  options.bias = seed % 7 != 0;
  options.weightZeroPoint = seed % 11 == 0;
  options.stage = seed % 4 == 0 ? OutputStage::Q : OutputStage::F;
  return options;
}
} // namespace

TEST_CASE("conv2d over kernels, strides, paddings, dilations and groups", "[conv]") {
  forEachRow([](const ConvKernels &kernels) {
    uint32_t seed = 1;
    for (int64_t kernel : {1, 2, 3, 5})
      for (int64_t stride : {1, 2, 3})
        for (int64_t padding : {0, 1, 3})
          for (int64_t dilation : {1, 2})
            for (int64_t groups : {1, 2, 4}) {
              Codes codes = seed % 3 == 0 ? Codes::Any : seed % 3 == 1 ? Codes::Outliers : Codes::Below128;
              int64_t in[3] = {1, 9, 10};
              ConvProblem problem(seed, makeShape(8, 12, groups, kernel, stride, padding, dilation), 2, in, codes,
                                  optionsOf(seed), seed % 2 * 5);
              check(problem, kernels, 1 + seed % 3);
              ++seed;
            }
  });
}

TEST_CASE("conv2d over channel counts", "[conv]") {
  forEachRow([](const ConvKernels &kernels) {
    uint32_t seed = 1;
    for (int64_t ic : {1, 3, 4, 7, 16, 33})
      for (int64_t oc : {1, 5, 16, 17, 64, 72})
        for (int64_t kernel : {1, 3}) {
          int64_t in[3] = {1, 6, 7};
          check(ConvProblem(seed, makeShape(ic, oc, 1, kernel, 1, kernel / 2, 1), 1, in, Codes::Any, optionsOf(seed)),
                kernels, 1);
          ++seed;
        }
  });
}

TEST_CASE("first layer: 3 channels, 7x7, stride 2", "[conv]") {
  forEachRow([](const ConvKernels &kernels) {
    int64_t in[3] = {1, 23, 26};
    check(ConvProblem(3, makeShape(3, 64, 1, 7, 2, 3, 1), 1, in, Codes::Below128, optionsOf(3)), kernels, 2);
  });
}

TEST_CASE("depthwise over kernels, strides, paddings, dilations and channels", "[depthwise]") {
  forEachRow([](const ConvKernels &kernels) {
    uint32_t seed = 1;
    for (int64_t channels : {2, 8, 15, 16, 24, 32, 33, 58, 64, 72, 96, 130})
      for (int64_t kernel : {1, 3, 5})
        for (int64_t stride : {1, 2})
          for (int64_t dilation : {1, 2})
            for (int64_t padding : {int64_t(0), kernel / 2, int64_t(3)}) {
              int64_t in[3] = {1, 9, 11};
              Codes codes = seed % 3 == 0 ? Codes::Extreme : Codes::Any;
              check(ConvProblem(seed, makeShape(channels, channels, channels, kernel, stride, padding, dilation), 2,
                                in, codes, optionsOf(seed), seed % 2 * 7),
                    kernels, 1 + seed % 2);
              ++seed;
            }
  });
}

TEST_CASE("depthwise with several output channels per input channel", "[depthwise]") {
  forEachRow([](const ConvKernels &kernels) {
    uint32_t seed = 1;
    for (int64_t channels : {2, 3, 17, 40})
      for (int64_t multiplier : {2, 3}) {
        int64_t in[3] = {1, 6, 5};
        check(ConvProblem(seed, makeShape(channels, channels * multiplier, channels, 3, 1, 1, 1), 2, in, Codes::Any,
                          optionsOf(seed)),
              kernels, 1);
        ++seed;
      }
  });
}

TEST_CASE("1-d and 3-d convolution", "[conv]") {
  forEachRow([](const ConvKernels &kernels) {
    ConvShape line = makeShape(6, 10, 2, 1, 1, 0, 1);
    line.kernel[2] = 4;
    line.stride[2] = 2;
    line.padding[2] = 3;
    int64_t length[3] = {1, 1, 17};
    check(ConvProblem(1, line, 3, length, Codes::Any, optionsOf(1)), kernels, 2);
    for (int64_t groups : {1, 6}) {
      ConvShape volume = makeShape(6, 12, groups, 3, 1, 1, 1);
      volume.kernel[0] = 2;
      volume.stride[0] = 2;
      volume.padding[0] = 1;
      int64_t size[3] = {4, 5, 6};
      check(ConvProblem(2, volume, 2, size, Codes::Any, optionsOf(2)), kernels, 2);
    }
  });
}

TEST_CASE("an input smaller than the padding, and an empty batch", "[conv]") {
  forEachRow([](const ConvKernels &kernels) {
    int64_t in[3] = {1, 1, 1};
    check(ConvProblem(1, makeShape(4, 6, 1, 5, 1, 4, 1), 1, in, Codes::Any, optionsOf(1)), kernels, 1);
    check(ConvProblem(1, makeShape(4, 4, 4, 5, 1, 4, 1), 1, in, Codes::Any, optionsOf(1)), kernels, 1);
    check(ConvProblem(1, makeShape(4, 6, 1, 3, 1, 1, 1), 0, in, Codes::Any, optionsOf(1)), kernels, 1);
    check(ConvProblem(1, makeShape(4, 4, 4, 3, 1, 1, 1), 0, in, Codes::Any, optionsOf(1)), kernels, 1);
  });
}

TEST_CASE("known trap B87: padding is the zero point", "[conv]") {
  forEachRow([](const ConvKernels &kernels) {
    int64_t in[3] = {1, 3, 3};
    ConvProblem problem(1, makeShape(1, 1, 1, 3, 1, 1, 1), 1, in, Codes::Any, {});
    std::fill(problem.src.begin(), problem.src.end(), 101); // real 1 with scale 1, zero point 100
    std::fill(problem.weight.begin(), problem.weight.end(), 1);
    RequantSpec &spec = problem.scales->spec;
    double one = 1;
    spec.srcScale = spec.dstScale = 1;
    spec.srcZeroPoint = 100;
    spec.dstZeroPoint = 0;
    spec.weightScale = &one;
    spec.bias = nullptr;
    Memory packedMemory(getPackedConvBytes(problem.shape, kernels)), tables(getRequantBytes(1));
    PackedConv packed = packConv(problem.shape, kernels, problem.weight.data(), packedMemory.data());
    RequantParams params = prepareRequant(spec, packed.weightSum, tables.data());
    ConvPlan plan = planConv(packed, 1, in, 1);
    Memory scratch(getConvScratchBytes(plan));
    std::vector<uint8_t> dst(9);
    runConv(plan, params, TileOutput::Code, 100, problem.src.data(), 1, dst.data(), 1, scratch.data(), 0,
            plan.units());
    CHECK(dst == std::vector<uint8_t>{4, 6, 4, 6, 9, 6, 4, 6, 4});
  });
}

TEST_CASE("known trap B71: a convolution with more products than int32 holds", "[conv]") {
  forEachRow([](const ConvKernels &kernels) {
    int64_t in[3] = {1, 3, 3};
    ConvProblem problem(1, makeShape(7400, 3, 1, 3, 1, 1, 1), 1, in, Codes::Any, {});
    std::fill(problem.src.begin(), problem.src.end(), 255);
    std::fill(problem.weight.begin(), problem.weight.end(), 127);
    problem.scales->spec.srcZeroPoint = 0;
    problem.scales->spec.dstScale = problem.scales->spec.srcScale * 0.01 * 66600 * 255 * 127 / 200;
    check(problem, kernels, 1);
  });
}
