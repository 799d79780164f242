// Linear layers that quantize float activations themselves, and those with float16 weights.
#include "backends/native/DynamicProduct.h"
#include "backends/native/QuantizedWeights.h"
#include "backends/reference/FloatLinear.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/quantize/HalfFloat.h"

#include <cmath>
#include <optional>

namespace qfx::runtime {

namespace {

/// The weight and bias of a dynamic linear, where its weight is float16; null tensors otherwise.
struct HalfWeights {
  Tensor weight, bias;
};
llvm::Expected<HalfWeights> getHalfWeights(BindContext &context) {
  HalfWeights half;
  if (context.has("packed")) {
    llvm::Expected<std::shared_ptr<const Module>> packed = context.getPacked("packed");
    if (!packed)
      return packed.takeError();
    const Tensor *weight = (*packed)->findTensor("weight"), *bias = (*packed)->findTensor("bias");
    if (weight && weight->getDType() == DType::Float16)
      half = {*weight, bias ? *bias : Tensor()};
    return half;
  }
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  if (weight->getDType() != DType::Float16)
    return half;
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  return HalfWeights{*weight, *bias};
}

Tensor toFloat(const Tensor &half) {
  return Tensor::build(DType::Float32, half.getSizes(), [&](MutableBytes bytes) {
    kernels::convertF16ToF32(reinterpret_cast<const uint16_t *>(half.getBytes()), reinterpret_cast<float *>(bytes.data()),
                             half.getNumElements());
  });
}

/// The step of a product, with parameters from the input's range, or `given` ones.
llvm::Expected<RuntimeValue> emitProduct(BindContext &context, const View &input, std::shared_ptr<DynamicProduct> product, bool relu,
                                         std::optional<kernels::QParams> given) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  const int64_t k = product->getInputs(), n = product->getOutputs();
  View src = context.toOrder(input, StorageOrder::RowMajor);
  if (src.sizes.empty() || src.sizes.back() != k)
    return context.fail("the input's last dimension must be {0}, got {1}", k, toString(input.type));
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  int64_t rows = dst.getNumElements() / std::max<int64_t>(n, 1);
  TensorType bytes;
  bytes.dtype = DType::UInt8;
  bytes.shape = {Dim(product->getSharedBytes(rows))};
  View shared = context.allocate(bytes, StorageOrder::RowMajor);
  StepTraits traits;
  traits.scratchBytes = product->getScratchBytes(rows, context.getThreads());
  context.emit(
      {&src}, {&dst, &shared},
      [src, dst, shared, product, rows, relu, given](RunContext &run) {
        if (given)
          product->multiplyBy(run, src.getData<float>(), rows, dst.getData<float>(), shared.getBytes(), relu, *given);
        else
          product->multiplyRelu(run, src.getData<float>(), rows, dst.getData<float>(), shared.getBytes(), relu);
      },
      traits);
  return RuntimeValue(dst);
}

/// Dynamic: the input's range gives its parameters, the result is float (operators 11.1).
llvm::Expected<RuntimeValue> emitDynamicLinear(BindContext &context, bool relu) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<HalfWeights> half = getHalfWeights(context);
  if (!half)
    return half.takeError();
  if (half->weight)
    return emitFloatLinear(context, *input, toFloat(half->weight), half->bias, relu); // operators 11.2
  llvm::Expected<QuantizedWeights> weights = getQuantizedWeights(context);
  if (!weights)
    return weights.takeError();
  llvm::Expected<bool> reduceRange = context.attrs().getBool("reduce_range");
  if (!reduceRange)
    return reduceRange.takeError();
  llvm::Expected<std::shared_ptr<DynamicProduct>> product =
      DynamicProduct::make(context, "dynamic", weights->weight, weights->bias, *reduceRange);
  if (!product)
    return product.takeError();
  return emitProduct(context, *input, *product, relu, std::nullopt);
}

/// Parameters of the activations are given, the result is float (operators 4).
llvm::Expected<RuntimeValue> emitQdqLinear(BindContext &context, bool relu) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<QuantizedWeights> weights = getQuantizedWeights(context);
  if (!weights)
    return weights.takeError();
  llvm::Expected<double> scale = context.attrs().getNumber("input_scale");
  if (!scale)
    return scale.takeError();
  llvm::Expected<int64_t> zeroPoint = context.attrs().getInt("input_zero_point");
  if (!zeroPoint)
    return zeroPoint.takeError();
  if (!(*scale > 0) || !std::isfinite(*scale) || *zeroPoint < 0 || *zeroPoint > 255)
    return context.fail("wants a scale above 0 and a zero point in 0..255, got {0} and {1}", *scale, *zeroPoint);
  llvm::Expected<std::shared_ptr<DynamicProduct>> product =
      DynamicProduct::make(context, "dynamic", weights->weight, weights->bias, /*reduceRange=*/false);
  if (!product)
    return product.takeError();
  return emitProduct(context, *input, *product, relu, kernels::QParams{*scale, static_cast<int32_t>(*zeroPoint)});
}

} // namespace

llvm::Expected<RuntimeValue> bindDynamicLinear(BindContext &context) { return emitDynamicLinear(context, false); }
llvm::Expected<RuntimeValue> bindDynamicLinearRelu(BindContext &context) { return emitDynamicLinear(context, true); }
llvm::Expected<RuntimeValue> bindQdqLinear(BindContext &context) { return emitQdqLinear(context, false); }
llvm::Expected<RuntimeValue> bindQdqLinearRelu(BindContext &context) { return emitQdqLinear(context, true); }

} // namespace qfx::runtime
