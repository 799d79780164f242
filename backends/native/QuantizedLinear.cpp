// Quantized linear layers with code output.
#include "backends/native/CodeSteps.h"
#include "backends/native/PackedLinear.h"
#include "backends/native/QuantizedWeights.h"
#include "backends/runtime/Kernels.h"
#include "kernels/gemm/Gemm.h"

namespace qfx::runtime {

namespace {

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
  auto cached = packLinear(context, "linear", weights->weight);
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
  const int64_t rows = dst.getNumElements() / std::max<int64_t>(n, 1);
  kernels::GemmPlan plan = kernels::planGemm(packed->packed, rows, getUsefulThreads(context.getThreads(), rows * k * n));
  const int64_t grain = getProductGrain(rows * k * n / std::max<int64_t>(plan.units(), 1));
  StepTraits traits;
  traits.scratchBytes = kernels::getGemmScratchBytes(plan);
  context.emit(
      {&src}, {&dst},
      [src, dst, packed, plan, tables = *tables, k, n, grain](RunContext &run) {
        run.parallelFor(plan.units(), grain, [&](int64_t begin, int64_t end, void *scratch) {
          kernels::runGemm(plan, tables.params, kernels::TileOutput::Code, src.getData<uint8_t>(), k, dst.getBytes(), n,
                           scratch, begin, end);
        });
      },
      traits);
  return RuntimeValue(dst);
}

/// A function of the float result behind the bias, quantized once: onednn's fused forms (operators 4, 18).
llvm::Expected<RuntimeValue> emitLinearFunction(BindContext &context, kernels::UnaryKind kind,
                                                const kernels::UnaryParams &function) {
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
  auto cached = packLinear(context, "linear", weights->weight);
  if (!cached)
    return cached.takeError();
  std::shared_ptr<PackedLinear> packed = *cached;
  int64_t k = packed->packed.depth, n = packed->packed.columns;
  View src = context.toOrder(input->view, StorageOrder::RowMajor);
  if (src.sizes.empty() || src.sizes.back() != k)
    return context.fail("the input's last dimension must be {0}, got {1}", k, toString(input->view.type));
  RequantTables tables = makeDequantTables(context, *weights, input->params, k, packed->packed.weightSum);
  TensorType floatType = *type;
  floatType.dtype = DType::Float32;
  floatType.quantizer = nullptr;
  View sums = context.allocate(floatType, StorageOrder::RowMajor),
       dst = context.allocate(*type, StorageOrder::RowMajor);
  const int64_t rows = sums.getNumElements() / std::max<int64_t>(n, 1);
  kernels::GemmPlan plan =
      kernels::planGemm(packed->packed, rows, getUsefulThreads(context.getThreads(), rows * k * n));
  const int64_t grain = getProductGrain(rows * k * n / std::max<int64_t>(plan.units(), 1));
  StepTraits traits;
  traits.scratchBytes = kernels::getGemmScratchBytes(plan);
  context.emit(
      {&src}, {&sums},
      [src, sums, packed, plan, tables, k, n, grain](RunContext &run) {
        run.parallelFor(plan.units(), grain, [&](int64_t begin, int64_t end, void *scratch) {
          kernels::runGemm(plan, tables.params, kernels::TileOutput::Float, src.getData<uint8_t>(), k, sums.getBytes(),
                           n, scratch, begin, end);
        });
      },
      traits);
  kernels::UnaryFn kernel = kernels::selectUnary(kind);
  emitFromFloats(context, {&sums}, sums, dst, *output, [kernel, function](int64_t, float *values, int64_t count) {
    kernel(values, values, count, function);
  });
  return RuntimeValue(dst);
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedLinear(BindContext &context) { return emitQuantizedLinear(context, false); }
llvm::Expected<RuntimeValue> bindQuantizedLinearRelu(BindContext &context) {
  return emitQuantizedLinear(context, true);
}
llvm::Expected<RuntimeValue> bindQuantizedLinearTanh(BindContext &context) {
  return emitLinearFunction(context, kernels::UnaryKind::Tanh, {});
}
llvm::Expected<RuntimeValue> bindQuantizedLinearLeakyRelu(BindContext &context) {
  llvm::Expected<double> slope = context.attrs().getNumber("negative_slope");
  if (!slope)
    return slope.takeError();
  kernels::UnaryParams params = {};
  params.a = static_cast<float>(*slope);
  return emitLinearFunction(context, kernels::UnaryKind::LeakyRelu, params);
}

} // namespace qfx::runtime
