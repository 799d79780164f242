// Linear layers with 8- or 4-bit weights and float arithmetic.
#include "backends/native/WeightOnlyLinear.h"

#include "backends/runtime/BindHelpers.h"
#include "kernels/weightonly/WeightOnly.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace qfx::runtime {

namespace {

struct PackedWeightOnly {
  kernels::WeightOnlyPacked weights;
  kernels::WeightOnlyFn run;
  std::shared_ptr<std::byte> memory;
  Tensor bias;
};

/// Products below which handing panels to another thread costs more than it saves.
constexpr int64_t kPanelProducts = 1 << 17;

/// Operands of the call, checked.
struct WeightOnlyOperands {
  Tensor weight, scale, bias;
  std::vector<int32_t> zeroPoint; ///< [N, groups]
  kernels::WeightOnlySource source;
};

} // namespace

/// Zero points as int32, or the default of the width: 0 for signed bytes, 8 for nibbles.
static llvm::Error readZeroPoints(BindContext &context, WeightOnlyOperands &operands) {
  auto count = static_cast<size_t>(operands.scale.getNumElements());
  operands.zeroPoint.assign(count, operands.source.bits == 4 ? 8 : 0);
  llvm::Expected<Tensor> given = context.getOptionalConstant("weight_zero_point");
  if (!given)
    return given.takeError();
  if (!*given)
    return llvm::Error::success();
  for (size_t i = 0; i < count; ++i) {
    double value = given->getElementAsDouble(static_cast<int64_t>(i));
    if (!(std::abs(value) < (1 << 23)))
      return context.fail("zero point {0} is out of range", value);
    operands.zeroPoint[i] = static_cast<int32_t>(value);
  }
  return llvm::Error::success();
}

static llvm::Expected<WeightOnlyOperands> getOperands(BindContext &context) {
  WeightOnlyOperands operands;
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<Tensor> scale = context.getConstant("weight_scale");
  if (!scale)
    return scale.takeError();
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  llvm::Expected<int64_t> bits = context.attrs().getInt("bits");
  if (!bits)
    return bits.takeError();
  llvm::Expected<int64_t> groupSize = context.attrs().getInt("group_size");
  if (!groupSize)
    return groupSize.takeError();
  llvm::Expected<int64_t> features = context.attrs().getInt("in_features");
  if (!features)
    return features.takeError();
  operands.weight = *weight;
  operands.scale = *scale;
  operands.bias = *bias;
  if (*bias && bias->getDType() != DType::Float32)
    return context.fail("bias must be float32, got {0}", toString(bias->getType()));
  kernels::WeightOnlySource &source = operands.source;
  source.bits = static_cast<int>(*bits);
  source.columns = weight->getSizes()[0];
  source.depth = *features ? *features : weight->getSizes()[1];
  source.groupSize = *groupSize ? *groupSize : std::max<int64_t>(source.depth, 1);
  source.scale = operands.scale.getData<float>().data();
  if (source.bits == 8)
    source.bytes = operands.weight.getData<int8_t>().data();
  else
    source.nibbles = operands.weight.getData<uint8_t>().data();
  if (llvm::Error err = readZeroPoints(context, operands))
    return err;
  source.zeroPoint = operands.zeroPoint.data();
  return operands;
}

llvm::Expected<RuntimeValue> emitWeightOnlyLinear(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  auto packed =
      context.getCached<PackedWeightOnly>("weight_only", [&]() -> llvm::Expected<std::shared_ptr<PackedWeightOnly>> {
        llvm::Expected<WeightOnlyOperands> operands = getOperands(context);
        if (!operands)
          return operands.takeError();
        auto made = std::make_shared<PackedWeightOnly>();
        made->memory = context.allocatePacked(kernels::getWeightOnlyPackedBytes(operands->source));
        made->weights = kernels::packWeightOnly(operands->source, made->memory.get());
        made->run = kernels::selectWeightOnly(operands->source.bits);
        made->bias = operands->bias;
        return made;
      });
  if (!packed)
    return packed.takeError();
  std::shared_ptr<PackedWeightOnly> weights = *packed;
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  int64_t columns = weights->weights.columns, depth = weights->weights.depth;
  int64_t rows = columns ? dst.getNumElements() / columns : 0;
  context.emit({&src}, {&dst}, [src, dst, weights, rows, depth](RunContext &run) {
    kernels::WeightOnlyArgs args;
    args.weights = weights->weights;
    args.src = src.getData<float>();
    args.bias = weights->bias ? weights->bias.getData<float>().data() : nullptr;
    args.dst = dst.getData<float>();
    // Panels are shared out: each thread turns its own codes into floats.
    int64_t products = std::max<int64_t>(1, rows * depth * kernels::kWeightOnlyColumns);
    int64_t grain = std::max<int64_t>(1, kPanelProducts / products);
    run.parallelFor(args.weights.panels(), grain,
                    [&](int64_t begin, int64_t end, void *) { weights->run(args, 0, rows, begin, end); });
  });
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
