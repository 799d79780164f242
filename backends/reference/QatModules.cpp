// Modules of quantization-aware training (operators 17) outside of training: the float operator on a fake-quantized weight.
#include "backends/observe/FakeQuantize.h"
#include "backends/reference/FloatConv.h"
#include "backends/reference/FloatLinear.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"

#include <cmath>

namespace qfx::runtime {

namespace {

/// gamma / sqrt(var + eps) and beta of the child `bn`, as PyTorch's running statistics have them.
struct BatchNormScale {
  std::vector<float> factor, mean, beta;
};

llvm::Expected<std::optional<BatchNormScale>> getBatchNorm(BindContext &context, const Module &module, int64_t channels) {
  ModuleRef norm = module.findChild("bn");
  if (!norm)
    return std::nullopt;
  const Tensor *mean = norm->findTensor("running_mean"), *variance = norm->findTensor("running_var");
  const Argument *eps = norm->findAttribute("eps");
  if (!mean || !variance || !eps || !eps->isNumber() || mean->getNumElements() != channels || variance->getNumElements() != channels)
    return context.fail("its batch norm has no running statistics of {0} channels", channels);
  BatchNormScale scale;
  const Tensor *gamma = norm->findTensor("weight"), *beta = norm->findTensor("bias");
  for (int64_t c = 0; c < channels; ++c) {
    auto read = [&](const Tensor *tensor, double otherwise) { return static_cast<float>(tensor ? tensor->getElementAsDouble(c) : otherwise); };
    const float deviation = std::sqrt(read(variance, 1) + static_cast<float>(eps->getNumber()));
    scale.factor.push_back(read(gamma, 1) / deviation);
    scale.mean.push_back(read(mean, 0));
    scale.beta.push_back(read(beta, 0));
  }
  return scale;
}

/// Weight and bias of the float operator.
struct QatWeights {
  Tensor weight, bias;
};

/// With a batch norm: conv(x, fq(w * f)) / f + bias, normalized with f = gamma / deviation, is conv(x, fq(w * f)) + (bias - mean) * f + beta.
llvm::Expected<QatWeights> getQatWeights(BindContext &context) {
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  const Module *module = context.getCall().module;
  ModuleRef fake = module ? module->findChild("weight_fake_quant") : nullptr;
  if (!fake || weight->getDType() != DType::Float32 || weight->getRank() == 0)
    return context.fail("needs a float32 weight and a child 'weight_fake_quant'");
  const int64_t channels = weight->getSizes()[0];
  llvm::Expected<std::optional<BatchNormScale>> norm = getBatchNorm(context, *module, channels);
  if (!norm)
    return norm.takeError();
  QatWeights result{*weight, *bias};
  if (*norm) {
    const BatchNormScale &scale = **norm;
    const int64_t inner = channels ? weight->getNumElements() / channels : 0;
    result.weight = Tensor::build(DType::Float32, weight->getSizes(), [&](MutableBytes bytes) {
      float *scaled = reinterpret_cast<float *>(bytes.data());
      for (int64_t i = 0; i < weight->getNumElements(); ++i)
        scaled[i] = weight->getData<float>()[static_cast<size_t>(i)] * scale.factor[static_cast<size_t>(i / inner)];
    });
    std::vector<float> shift;
    for (size_t c = 0; c < scale.factor.size(); ++c) {
      const float before = *bias ? bias->getData<float>()[c] : 0.0f;
      shift.push_back((before - scale.mean[c]) * scale.factor[c] + scale.beta[c]);
    }
    result.bias = Tensor::of<float>(DType::Float32, {channels}, shift);
  }
  if (!isFakeQuantize(*fake)) // Identity: activations only
    return result;
  llvm::Expected<FakeQuantized> quantized = forwardFakeQuantize(*fake, result.weight, context.observes());
  if (!quantized)
    return quantized.takeError();
  result.weight = quantized->output;
  return result;
}

} // namespace

llvm::Expected<RuntimeValue> bindQatLinear(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<QatWeights> weights = getQatWeights(context);
  if (!weights)
    return weights.takeError();
  return emitFloatLinear(context, *input, weights->weight, weights->bias);
}

llvm::Expected<RuntimeValue> bindQatConv(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<QatWeights> weights = getQatWeights(context);
  if (!weights)
    return weights.takeError();
  return emitFloatConv(context, *input, weights->weight, weights->bias);
}

} // namespace qfx::runtime
