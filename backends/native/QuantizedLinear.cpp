// Quantized linear layers, static and dynamic.
#include "backends/native/QuantizedWeights.h"
#include "backends/observe/ChooseQuantizationParams.h"
#include "backends/reference/FloatLinear.h"
#include "backends/runtime/Kernels.h"
#include "kernels/gemm/Gemm.h"
#include "kernels/histogram/Histogram.h"
#include "kernels/quantize/HalfFloat.h"
#include "kernels/quantize/Quantize.h"

#include <vector>

namespace qfx::runtime {

namespace {

struct PackedLinear {
  kernels::PackedGemm packed;
  std::shared_ptr<std::byte> memory;
};

constexpr int64_t kPackedAtOnce = 4 << 20; ///< bytes

llvm::Expected<std::shared_ptr<PackedLinear>> packLinear(BindContext &context, const Tensor &weight) {
  return context.getCached<PackedLinear>("linear", [&]() -> llvm::Expected<std::shared_ptr<PackedLinear>> {
    if (weight.getRank() != 2)
      return context.fail("weight must be a matrix, got {0}", toString(weight.getType()));
    const kernels::GemmKernel &kernel = kernels::selectGemm(kernels::getCurrentIsa());
    kernels::GemmWeights weights;
    weights.data = weight.getData<int8_t>().data();
    weights.columns = weight.getSizes()[0];
    weights.innerCount = weights.columnStride = weight.getSizes()[1];
    auto made = std::make_shared<PackedLinear>();
    made->memory = context.allocatePacked(kernels::getPackedGemmBytes(kernel, weights.columns, weights.depth()));
    made->packed = kernels::viewPackedGemm(kernel, weights.columns, weights.depth(), made->memory.get());
    // In parts, so that of a mapped file of weights only the part in work is in memory.
    int64_t panelBytes = kernel.columns * weights.depth(), step = std::max<int64_t>(1, kPackedAtOnce / std::max<int64_t>(panelBytes, 1));
    for (int64_t panel = 0, count = made->packed.panelCount(); panel < count; panel += step) {
      kernels::packGemmPanels(kernel, weights, panel, std::min(panel + step, count), made->memory.get());
      releasePages(weight, panel * panelBytes, std::min(panel + step, count) * panelBytes);
    }
    return made;
  });
}

llvm::Expected<RuntimeValue> emitQuantizedLinear(BindContext &context, bool relu) {
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  if (input->view.getDType() != DType::QUInt8)
    return context.fail("the input must be quint8, got {0}", toString(input->view.type));
  llvm::Expected<QuantizedWeights> weights = getQuantizedWeights(context);
  if (!weights)
    return weights.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  auto cached = packLinear(context, weights->weight);
  if (!cached)
    return cached.takeError();
  std::shared_ptr<PackedLinear> packed = *cached;
  int64_t k = packed->packed.depth, n = packed->packed.columns;
  View src = context.toOrder(input->view, StorageOrder::RowMajor);
  if (src.sizes.empty() || src.sizes.back() != k)
    return context.fail("the input's last dimension must be {0}, got {1}", k, toString(input->view.type));
  llvm::Expected<RequantTables> tables =
      makeRequantTables(context, *weights, *input, *output, relu, k, packed->packed.weightSum);
  if (!tables)
    return tables.takeError();
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  int64_t rows = dst.getNumElements() / std::max<int64_t>(n, 1);
  kernels::GemmPlan plan = kernels::planGemm(packed->packed, rows, context.getThreads());
  StepTraits traits;
  traits.scratchBytes = kernels::getGemmScratchBytes(plan);
  context.emit(
      {&src}, {&dst},
      [src, dst, packed, plan, tables = *tables, k, n](RunContext &run) {
        run.parallelFor(plan.units(), 1, [&](int64_t begin, int64_t end, void *scratch) {
          kernels::runGemm(plan, tables.params, kernels::TileOutput::Code, src.getData<uint8_t>(), k, dst.getBytes(), n,
                           scratch, begin, end);
        });
      },
      traits);
  return RuntimeValue(dst);
}

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

/// Dynamic: the whole input's range gives its parameters, the result is float (operators 11.1).
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
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<bool> reduceRange = context.attrs().getBool("reduce_range");
  if (!reduceRange)
    return reduceRange.takeError();
  auto cached = packLinear(context, weights->weight);
  if (!cached)
    return cached.takeError();
  std::shared_ptr<PackedLinear> packed = *cached;
  int64_t k = packed->packed.depth, n = packed->packed.columns;
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  if (src.sizes.empty() || src.sizes.back() != k)
    return context.fail("the input's last dimension must be {0}, got {1}", k, toString(input->type));
  TensorType codeType = src.type;
  codeType.dtype = DType::QUInt8;
  View codes = context.allocate(codeType, StorageOrder::RowMajor);
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  int64_t rows = dst.getNumElements() / std::max<int64_t>(n, 1), count = src.getNumElements();
  kernels::GemmPlan plan = kernels::planGemm(packed->packed, rows, context.getThreads());
  std::shared_ptr<std::byte> tables = context.allocatePacked(kernels::getRequantBytes(n));
  auto owned = std::make_shared<QuantizedWeights>(std::move(*weights));
  const kernels::HistogramKernels &ranges = kernels::selectHistogram();
  const kernels::QuantizeKernels &quantize = kernels::selectQuantize();
  ChooseOptions options;
  options.reduceRange = *reduceRange && !context.getBuilder().usesStageQ(); // qnnpack ignores it
  StepTraits traits;
  traits.scratchBytes = kernels::getGemmScratchBytes(plan);
  context.emit(
      {&src}, {&dst, &codes},
      [=, &ranges, &quantize](RunContext &run) {
        kernels::MinMax range = ranges.minMax(src.getData<float>(), count);
        llvm::Expected<ChosenQParams> chosen = chooseQuantizationParams(range.min, range.max, 0, 255, options);
        if (!chosen)
          return run.fail(chosen.takeError());
        kernels::QParams params{chosen->scale, chosen->zeroPoint};
        run.parallelFor(count, kElementGrain, [&](int64_t begin, int64_t end, void *) {
          quantize.quantizeU8(src.getData<float>() + begin, codes.getData<uint8_t>() + begin, end - begin, params);
        });
        kernels::RequantSpec spec;
        spec.channels = n;
        spec.depth = k;
        spec.srcScale = params.scale;
        spec.srcZeroPoint = params.zeroPoint;
        spec.weightScale = owned->scale.data();
        spec.weightZeroPoint = owned->zeroPoint.data();
        spec.perChannel = !owned->weight.getQuantizer()->isPerTensor();
        spec.bias = owned->bias ? owned->bias.getData<float>().data() : nullptr;
        spec.relu = relu;
        kernels::RequantParams stage = kernels::prepareDequant(spec, packed->packed.weightSum, tables.get());
        run.parallelFor(plan.units(), 1, [&](int64_t begin, int64_t end, void *scratch) {
          kernels::runGemm(plan, stage, kernels::TileOutput::Float, codes.getData<uint8_t>(), k, dst.getBytes(), n,
                           scratch, begin, end);
        });
      },
      traits);
  return RuntimeValue(dst);
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedLinear(BindContext &context) { return emitQuantizedLinear(context, false); }
llvm::Expected<RuntimeValue> bindQuantizedLinearRelu(BindContext &context) {
  return emitQuantizedLinear(context, true);
}
llvm::Expected<RuntimeValue> bindDynamicLinear(BindContext &context) { return emitDynamicLinear(context, false); }
llvm::Expected<RuntimeValue> bindDynamicLinearRelu(BindContext &context) { return emitDynamicLinear(context, true); }

} // namespace qfx::runtime
