// Fake quantization per tensor and per channel, and the forward of fake-quantizer modules.
#include "backends/observe/FakeQuantize.h"

#include "backends/observe/BuffersDetail.h"
#include "backends/observe/FakeQuantizeDetail.h"
#include "backends/observe/ObserverSettings.h"
#include "backends/observe/PerChannelMinMaxDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "kernels/fake_quantize/FakeQuantize.h"


#include <cmath>

namespace qfx {

/// Largest magnitude of codes for which float32 arithmetic on codes is exact.
static constexpr int64_t kExactCodes = 1 << 23;

static llvm::Error checkBounds(int64_t quantMin, int64_t quantMax) {
  if (quantMin <= quantMax && quantMin >= INT32_MIN && quantMax <= INT32_MAX)
    return llvm::Error::success();
  return error({}, "fake quantization needs 32-bit quant_min at most quant_max, got {0} and {1}", quantMin, quantMax)
      .code("fake_quantize_range");
}

static llvm::Error checkZeroPoint(int64_t zeroPoint, int64_t quantMin, int64_t quantMax) {
  if (quantMin <= zeroPoint && zeroPoint <= quantMax)
    return llvm::Error::success();
  return error({}, "fake quantization needs a zero point within {0}..{1}, got {2}", quantMin, quantMax, zeroPoint)
      .code("fake_quantize_zero_point");
}

namespace {
/// A row of values that share their parameters; mask may be null.
void runRow(const float *src, float *dst, uint8_t *mask, int64_t n, const kernels::FakeQuantizeParams &params) {
  auto isSmall = [](int64_t code) { return -kExactCodes < code && code < kExactCodes; };
  if (isSmall(params.zeroPoint) && isSmall(params.quantMin) && isSmall(params.quantMax)) {
    const kernels::FakeQuantizeKernels &kernels = kernels::selectFakeQuantize();
    if (mask)
      kernels.fakeQuantizeMask(src, mask, n, params);
    kernels.fakeQuantize(src, dst, n, params);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    bool inMask;
    dst[i] = kernels::fakeQuantizeWide(src[i], params, inMask);
    if (mask)
      mask[i] = inMask;
  }
}

struct Bounds {
  int32_t min, max;
};

llvm::Error runChannels(const ObservedTensor &input, float *dst, uint8_t *mask, llvm::ArrayRef<float> scales,
                        ChannelZeroPoints zeroPoints, int64_t axis, Bounds bounds) {
  const int64_t rank = static_cast<int64_t>(input.sizes.size());
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis >= rank)
    return error({}, "fake quantization's axis {0} is outside a tensor of rank {1}", axis, rank).code("fake_quantize_axis");
  const size_t channels = static_cast<size_t>(input.sizes[static_cast<size_t>(axis)]);
  const size_t numZeroPoints = std::visit([](auto values) { return values.size(); }, zeroPoints);
  if (scales.size() != channels || numZeroPoints != channels)
    return error({}, "fake quantization of {0} channels got {1} scales and {2} zero points", channels, scales.size(), numZeroPoints)
        .code("fake_quantize_channels");
  const auto *integers = std::get_if<llvm::ArrayRef<int32_t>>(&zeroPoints);
  if (integers)
    for (int32_t zeroPoint : *integers)
      if (llvm::Error err = checkZeroPoint(zeroPoint, bounds.min, bounds.max))
        return err;
  if (input.getNumElements() == 0)
    return llvm::Error::success();
  const ChannelLayout layout = getChannelLayout(input, axis);
  for (int64_t block = 0; block < layout.outer * layout.channels; ++block) {
    const size_t c = static_cast<size_t>(block % layout.channels);
    const float *src = input.getData() + block * layout.inner;
    float *out = dst + block * layout.inner;
    uint8_t *outMask = mask ? mask + block * layout.inner : nullptr;
    if (integers) {
      runRow(src, out, outMask, layout.inner, {scales[c], (*integers)[c], bounds.min, bounds.max});
      continue;
    }
    const float zeroPoint = std::get<llvm::ArrayRef<float>>(zeroPoints)[c];
    for (int64_t i = 0; i < layout.inner; ++i) {
      bool inMask;
      out[i] = kernels::fakeQuantizeFloatZeroPoint(src[i], scales[c], zeroPoint, bounds.min, bounds.max, inMask);
      if (outMask)
        outMask[i] = inMask;
    }
  }
  return llvm::Error::success();
}

/// float64 and half inputs, one element at a time.
struct WideElement {
  double value;
  bool inMask;
};

WideElement quantizeDouble(double value, const kernels::FakeQuantizeParams &params) {
  // ATen takes the rounded product to float32 when it adds the zero point; the result is a float32 product.
  const double code = params.zeroPoint + std::nearbyint(value * static_cast<double>(1.0f / params.scale));
  const double clamped = std::fmin(std::fmax(code, params.quantMin), params.quantMax);
  return {static_cast<double>(static_cast<float>(static_cast<int64_t>(clamped) - params.zeroPoint) * params.scale),
          params.quantMin <= code && code <= params.quantMax};
}
} // namespace

static ObservedTensor view(const Tensor &tensor) { return ObservedTensor(tensor); }

/// Allocates both results and lets `fill(values, mask)` write them.
static llvm::Expected<FakeQuantized> makeResult(const Tensor &input, llvm::function_ref<llvm::Error(float *, uint8_t *)> fill) {
  FakeQuantized result;
  llvm::Error failure = llvm::Error::success();
  result.mask = Tensor::build(DType::Bool, input.getSizes(), [&](MutableBytes mask) {
    result.output = Tensor::build(DType::Float32, input.getSizes(), [&](MutableBytes values) {
      failure = llvm::joinErrors(std::move(failure), fill(reinterpret_cast<float *>(values.data()), reinterpret_cast<uint8_t *>(mask.data())));
    });
  });
  if (failure)
    return failure;
  return result;
}

static FakeQuantized runWide(const Tensor &input, const kernels::FakeQuantizeParams &params) {
  FakeQuantized result;
  const int64_t n = input.getNumElements();
  result.mask = Tensor::build(DType::Bool, input.getSizes(), [&](MutableBytes mask) {
    result.output = Tensor::build(input.getDType(), input.getSizes(), [&](MutableBytes bytes) {
      for (int64_t i = 0; i < n; ++i) {
        const double value = input.getElementAsDouble(i);
        bool inMask;
        if (input.getDType() == DType::Float64) {
          WideElement element = quantizeDouble(value, params);
          inMask = element.inMask;
          reinterpret_cast<double *>(bytes.data())[i] = element.value;
        } else {
          float element = kernels::fakeQuantizeWide(static_cast<float>(value), params, inMask);
          reinterpret_cast<uint16_t *>(bytes.data())[i] =
              input.getDType() == DType::Float16 ? floatToHalf(element) : floatToBFloat16(element);
        }
        mask[static_cast<size_t>(i)] = static_cast<std::byte>(inMask);
      }
    });
  });
  return result;
}

llvm::Expected<FakeQuantized> fakeQuantizePerTensor(const Tensor &input, float scale, int64_t zeroPoint, int64_t quantMin, int64_t quantMax,
                                                    bool checksZeroPoint) {
  if (llvm::Error err = checkBounds(quantMin, quantMax))
    return err;
  if (checksZeroPoint)
    if (llvm::Error err = checkZeroPoint(zeroPoint, quantMin, quantMax))
      return err;
  const kernels::FakeQuantizeParams params{scale, static_cast<int32_t>(zeroPoint), static_cast<int32_t>(quantMin),
                                           static_cast<int32_t>(quantMax)};
  switch (input.getDType()) {
  case DType::Float32:
    return makeResult(input, [&](float *values, uint8_t *mask) {
      runRow(input.getData<float>().data(), values, mask, input.getNumElements(), params);
      return llvm::Error::success();
    });
  case DType::Float16:
  case DType::BFloat16:
  case DType::Float64:
    return runWide(input, params);
  default:
    return error({}, "fake quantization takes floats, got {0}", getDTypeInfo(input.getDType()).torchName).code("fake_quantize_dtype");
  }
}

llvm::Expected<FakeQuantized> fakeQuantizePerChannel(const Tensor &input, llvm::ArrayRef<float> scales, ChannelZeroPoints zeroPoints,
                                                     int64_t axis, int64_t quantMin, int64_t quantMax) {
  if (llvm::Error err = checkBounds(quantMin, quantMax))
    return err;
  if (input.getDType() != DType::Float32)
    return error({}, "fake quantization per channel takes float32, got {0}", getDTypeInfo(input.getDType()).torchName)
        .code("fake_quantize_dtype");
  return makeResult(input, [&](float *values, uint8_t *mask) {
    return runChannels(view(input), values, mask, scales, zeroPoints, axis,
                       {static_cast<int32_t>(quantMin), static_cast<int32_t>(quantMax)});
  });
}

Tensor fakeQuantizeBackward(const Tensor &gradOutput, const Tensor &mask) {
  assert(gradOutput.getSizes() == mask.getSizes() && "gradient and mask of different shapes");
  return Tensor::build(DType::Float32, gradOutput.getSizes(), [&](MutableBytes bytes) {
    float *gradient = reinterpret_cast<float *>(bytes.data());
    llvm::ArrayRef<float> incoming = gradOutput.getData<float>();
    llvm::ArrayRef<uint8_t> passes = mask.getData<uint8_t>();
    for (size_t i = 0; i < incoming.size(); ++i)
      gradient[i] = incoming[i] * static_cast<float>(passes[i]);
  });
}

bool isFakeQuantize(const Module &module) {
  return isObserver(module) && module.findTensor("fake_quant_enabled") && module.findChild("activation_post_process");
}

static bool isFused(const Module &module) { return module.getClass()->getBaseName() == "FusedMovingAvgObsFakeQuantize"; }

static void passThrough(const ObservedTensor &input, float *output, uint8_t *mask) {
  const int64_t n = input.getNumElements();
  if (output != input.getData())
    std::copy_n(input.getData(), n, output);
  if (mask)
    std::fill_n(mask, n, uint8_t(1));
}

llvm::Error forwardFakeQuantize(Module &module, const ObservedTensor &input, float *output, uint8_t *mask, bool mayObserve) {
  assert(isFakeQuantize(module) && "not a fake-quantizer");
  if (mayObserve)
    if (llvm::Error err = observe(module, input))
      return err;
  if (input.getNumElements() == 0)
    return llvm::Error::success();
  if (!isEnabled(module, "fake_quant_enabled")) {
    passThrough(input, output, mask);
    return llvm::Error::success();
  }
  const ObserverSettings settings = readObserverSettings(*getInnerObserver(module));
  if (llvm::Error err = checkBounds(settings.quantMin, settings.quantMax))
    return err;
  const Bounds bounds{static_cast<int32_t>(settings.quantMin), static_cast<int32_t>(settings.quantMax)};
  FusedQParams fused;
  llvm::ArrayRef<float> scales = getFloats(module, "scale");
  const Tensor &stored = module.getTensor("zero_point");
  ChannelZeroPoints zeroPoints = llvm::ArrayRef<int32_t>();
  if (isFused(module) && !mayObserve) {
    llvm::Expected<FusedQParams> chosen = chooseFusedQParams(module);
    if (!chosen)
      return chosen.takeError();
    fused = std::move(*chosen);
    scales = fused.scales;
    zeroPoints = llvm::ArrayRef<int32_t>(fused.zeroPoints);
  } else if (stored.getDType() == DType::Float32) {
    zeroPoints = stored.getData<float>();
  } else {
    zeroPoints = stored.getData<int32_t>();
  }
  if (isPerChannel(settings.scheme))
    return runChannels(input, output, mask, scales, zeroPoints, settings.axis, bounds);
  runRow(input.getData(), output, mask, input.getNumElements(),
         {scales[0], std::get<llvm::ArrayRef<int32_t>>(zeroPoints)[0], bounds.min, bounds.max});
  return llvm::Error::success();
}

llvm::Expected<FakeQuantized> forwardFakeQuantize(Module &module, const Tensor &input, bool mayObserve) {
  if (input.getDType() != DType::Float32)
    return error(module.getLoc(), "'{0}' takes float32, got {1}", module.getClass()->getBaseName(), getDTypeInfo(input.getDType()).torchName)
        .code("fake_quantize_dtype");
  return makeResult(input, [&](float *values, uint8_t *mask) { return forwardFakeQuantize(module, view(input), values, mask, mayObserve); });
}

static void setFlag(Module &module, llvm::StringRef flag, bool enabled) {
  if (!isFakeQuantize(module))
    return;
  if (module.getTensor(flag).getDType() == DType::Int64)
    module.setBuffer(flag, Tensor::of<int64_t>(DType::Int64, {1}, int64_t(enabled)));
  else
    module.setBuffer(flag, Tensor::of<uint8_t>(DType::UInt8, {1}, uint8_t(enabled)));
}

void enableFakeQuant(Module &module, bool enabled) { setFlag(module, "fake_quant_enabled", enabled); }
void disableFakeQuant(Module &module) { enableFakeQuant(module, false); }
void enableObserver(Module &module, bool enabled) { setFlag(module, "observer_enabled", enabled); }
void disableObserver(Module &module) { enableObserver(module, false); }

} // namespace qfx
