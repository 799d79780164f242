// Checks of quantized weights, and the output stage they lead to.
#include "backends/native/QuantizedWeights.h"

#include "ir/Module.h"
#include "kernels/elementwise/CodeLut.h"

#include <cmath>

namespace qfx::runtime {

llvm::Expected<QuantizedWeights> getQuantizedWeights(BindContext &context) {
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
  return checkQuantizedWeights(context, std::move(weights));
}

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

llvm::Expected<RequantTables> makeRequantTables(BindContext &context, const QuantizedWeights &weights,
                                                const CodeOperand &input, const kernels::QParams &output, bool relu,
                                                int64_t depth, const int32_t *weightSum) {
  kernels::RequantSpec spec;
  spec.channels = weights.getChannels();
  spec.depth = depth;
  spec.srcScale = input.params.scale;
  spec.srcZeroPoint = input.params.zeroPoint;
  spec.weightScale = weights.scale.data();
  spec.weightZeroPoint = weights.zeroPoint.data();
  spec.perChannel = !weights.weight.getQuantizer()->isPerTensor();
  spec.bias = weights.bias ? weights.bias.getData<float>().data() : nullptr;
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
