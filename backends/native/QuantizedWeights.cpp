// Checks of quantized weights, and the output stage they lead to.
#include "backends/native/QuantizedWeights.h"

#include "ir/Module.h"
#include "kernels/elementwise/CodeLut.h"

#include <cmath>

namespace qfx::runtime {

/// Weight, bias and where they stand, unchecked.
static llvm::Expected<QuantizedWeights> readWeights(BindContext &context) {
  QuantizedWeights weights;
  if (context.has("packed")) {
    llvm::Expected<std::shared_ptr<const Module>> packed = context.getPacked("packed");
    if (!packed)
      return packed.takeError();
    weights.packed = *packed;
    const Tensor *weight = (*packed)->findTensor("weight"), *bias = (*packed)->findTensor("bias");
    if (!weight)
      return context.fail("its packed weights hold no weight");
    weights.weight = *weight;
    if (bias)
      weights.bias = *bias;
  } else {
    llvm::Expected<Tensor> weight = context.getConstant("weight");
    if (!weight)
      return weight.takeError();
    llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
    if (!bias)
      return bias.takeError();
    weights.weight = *weight;
    weights.bias = *bias;
  }
  return weights;
}

/// Output channels first, per tensor or per output channel.
llvm::Expected<QuantizedWeights> checkQuantizedWeights(BindContext &context, QuantizedWeights weights) {
  const Tensor &weight = weights.weight;
  if (weight.getDType() != DType::QInt8 || !weight.getQuantizer() || weight.getRank() < 2)
    return context.fail("weight must be a qint8 tensor of rank 2 or more, got {0}", toString(weight.getType()));
  const Quantizer &quantizer = *weight.getQuantizer();
  if (quantizer.getScheme() != QScheme::PerTensorAffine &&
      (quantizer.getScheme() != QScheme::PerChannelAffine || quantizer.getAxis() != 0))
    return context.fail("weight must be quantized per tensor or per output channel, got {0}",
                        toString(weight.getType()));
  int64_t channels = weights.getChannels();
  if (weights.bias && (weights.bias.getDType() != DType::Float32 || weights.bias.getNumElements() != channels))
    return context.fail("bias must be {0} float32 numbers, got {1}", channels, toString(weights.bias.getType()));
  weights.scale.assign(quantizer.getScales().begin(), quantizer.getScales().end());
  for (int64_t zeroPoint : quantizer.getZeroPoints())
    weights.zeroPoint.push_back(static_cast<int32_t>(zeroPoint));
  if (!quantizer.isPerTensor() && static_cast<int64_t>(weights.scale.size()) != channels)
    return context.fail("{0} weight scales do not fit {1} channels", weights.scale.size(), channels);
  return weights;
}

llvm::Expected<QuantizedWeights> getQuantizedWeights(BindContext &context) {
  llvm::Expected<QuantizedWeights> weights = readWeights(context);
  if (!weights)
    return weights.takeError();
  return checkQuantizedWeights(context, std::move(*weights));
}

/// [in, out / groups, k...] as [out, in / groups, k reversed...].
static Tensor turnWeight(const Tensor &weight, int64_t groups, QuantizerRef quantizer) {
  llvm::SmallVector<int64_t, 5> sizes(weight.getSizes().begin(), weight.getSizes().end());
  const int64_t in = sizes[0] / groups, out = sizes[1];
  int64_t taps = 1;
  for (size_t i = 2; i < sizes.size(); ++i)
    taps *= sizes[i];
  sizes[0] = out * groups;
  sizes[1] = in;
  const int8_t *from = weight.getData<int8_t>().data();
  return Tensor::build(
      DType::QInt8, sizes,
      [&](MutableBytes bytes) {
        auto *to = reinterpret_cast<int8_t *>(bytes.data());
        for (int64_t g = 0; g < groups; ++g)
          for (int64_t o = 0; o < out; ++o)
            for (int64_t i = 0; i < in; ++i)
              for (int64_t t = 0; t < taps; ++t)
                *to++ = from[((g * in + i) * out + o) * taps + taps - 1 - t];
      },
      std::move(quantizer));
}

llvm::Expected<QuantizedWeights> getTransposedWeights(BindContext &context, int64_t groups) {
  llvm::Expected<QuantizedWeights> weights = readWeights(context);
  if (!weights)
    return weights.takeError();
  const Tensor &weight = weights->weight;
  if (weight.getDType() != DType::QInt8 || !weight.getQuantizer() || weight.getRank() < 3)
    return context.fail("weight must be a qint8 tensor of rank 3 or more, got {0}", toString(weight.getType()));
  if (groups < 1 || weight.getSizes()[0] % groups != 0)
    return context.fail("{0} input channels do not fall into {1} groups", weight.getSizes()[0], groups);
  QuantizerRef quantizer = weight.getQuantizer();
  if (!quantizer->isPerTensor()) {
    if (quantizer->getScheme() != QScheme::PerChannelAffine || quantizer->getAxis() != 1)
      return context.fail("weight must be quantized per tensor or along axis 1, got {0}", toString(weight.getType()));
    std::vector<double> scales;
    std::vector<int64_t> zeroPoints;
    for (int64_t g = 0; g < groups; ++g) { // each group reuses the entries (operators 5.3)
      scales.insert(scales.end(), quantizer->getScales().begin(), quantizer->getScales().end());
      zeroPoints.insert(zeroPoints.end(), quantizer->getZeroPoints().begin(), quantizer->getZeroPoints().end());
    }
    quantizer = std::make_shared<const Quantizer>(Quantizer::perChannel(std::move(scales), std::move(zeroPoints), 0));
  }
  weights->weight = turnWeight(weight, groups, quantizer);
  return checkQuantizedWeights(context, std::move(*weights));
}

static kernels::RequantSpec makeSpec(const QuantizedWeights &weights, const kernels::QParams &input, int64_t depth) {
  kernels::RequantSpec spec;
  spec.channels = weights.getChannels();
  spec.depth = depth;
  spec.srcScale = input.scale;
  spec.srcZeroPoint = input.zeroPoint;
  spec.weightScale = weights.scale.data();
  spec.weightZeroPoint = weights.zeroPoint.data();
  spec.perChannel = !weights.weight.getQuantizer()->isPerTensor();
  spec.bias = weights.bias ? weights.bias.getData<float>().data() : nullptr;
  return spec;
}

RequantTables makeDequantTables(BindContext &context, const QuantizedWeights &weights, const kernels::QParams &input,
                                int64_t depth, const int32_t *weightSum) {
  RequantTables tables;
  tables.memory = context.allocatePacked(kernels::getRequantBytes(weights.getChannels()));
  tables.params = kernels::prepareDequant(makeSpec(weights, input, depth), weightSum, tables.memory.get());
  return tables;
}

kernels::RequantParams prepareDynamicRequant(const QuantizedWeights &weights, const kernels::QParams &params,
                                             int64_t depth, const int32_t *weightSum, void *memory) {
  kernels::RequantSpec spec = makeSpec(weights, params, depth);
  spec.dstScale = params.scale;
  spec.dstZeroPoint = params.zeroPoint;
  return kernels::prepareRequant(spec, weightSum, memory);
}

llvm::Expected<RequantTables> makeRequantTables(BindContext &context, const QuantizedWeights &weights,
                                                const CodeOperand &input, const kernels::QParams &output, bool relu,
                                                int64_t depth, const int32_t *weightSum) {
  kernels::RequantSpec spec = makeSpec(weights, input.params, depth);
  spec.dstScale = output.scale;
  spec.dstZeroPoint = output.zeroPoint;
  spec.relu = relu;
  if (context.getBuilder().usesStageQ()) {
    bool badMultiplier = false;
    if (kernels::canUseStageQ(spec, badMultiplier))
      spec.stage = kernels::OutputStage::Q;
    else if (badMultiplier)
      return context.fail("the ratio of its scales, input times weight over output, must be a normal float > 0");
  }
  ClampRange clamp = context.absorbClamp(DType::QUInt8);
  RequantTables tables;
  tables.memory = context.allocatePacked(kernels::getRequantBytes(spec.channels));
  tables.params = kernels::prepareRequant(spec, weightSum, tables.memory.get());
  // A clamp of codes behind the output stage's own is one clamp (relu6 on the result of a convolution).
  kernels::CodeType code = kernels::CodeType::U8;
  int32_t low = std::isfinite(clamp.lo) ? kernels::quantizeValue(clamp.lo, code, output) : 0;
  int32_t high = std::isfinite(clamp.hi) ? kernels::quantizeValue(clamp.hi, code, output) : 255;
  tables.params.low = std::min(std::max(tables.params.low, low), high);
  tables.params.high = std::min(std::max(tables.params.high, low), high);
  return tables;
}

} // namespace qfx::runtime
