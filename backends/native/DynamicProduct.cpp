// Choosing parameters, quantizing and multiplying the rows of one call.
#include "backends/native/DynamicProduct.h"

#include "backends/runtime/MemoryPlan.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qfx::runtime {

static int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

bool hasRowParameters(const GraphModule &model) {
  const Argument *dynamic = model.findMeta("dynamic");
  return dynamic && dynamic->isString() && dynamic->getString() == "per-row";
}

llvm::Expected<std::shared_ptr<DynamicProduct>> DynamicProduct::make(BindContext &context, llvm::StringRef tag,
                                                                     const Tensor &weight, const Tensor &bias,
                                                                     bool reduceRange) {
  QuantizedWeights given;
  given.weight = weight;
  given.bias = bias;
  llvm::Expected<QuantizedWeights> checked = checkQuantizedWeights(context, std::move(given));
  if (!checked)
    return checked.takeError();
  llvm::Expected<std::shared_ptr<PackedLinear>> packed = packLinear(context, (tag + " packed").str(), weight);
  if (!packed)
    return packed.takeError();
  Options options;
  options.choose.reduceRange = reduceRange && !context.getBuilder().usesStageQ();
  options.fusesBias = !context.getBuilder().usesStageQ();
  options.perRow = hasRowParameters(context.getBuilder().getModel());
  options.threads = context.getThreads();
  return context.getCached<DynamicProduct>(tag, [&]() -> llvm::Expected<std::shared_ptr<DynamicProduct>> {
    std::shared_ptr<std::byte> tables = context.allocatePacked(kernels::getRequantBytes((*packed)->packed.columns));
    return std::make_shared<DynamicProduct>(std::move(*checked), *packed, std::move(tables), options);
  });
}

DynamicProduct::DynamicProduct(QuantizedWeights weights, std::shared_ptr<PackedLinear> packed,
                               std::shared_ptr<std::byte> tables, const Options &options)
    : Product(packed->packed.depth, packed->packed.columns), weights(std::move(weights)), packed(std::move(packed)),
      tables(std::move(tables)), options(options) {
  units = kernels::prepareDequant(makeSpec({1.0, 0}, false), this->packed->packed.weightSum, this->tables.get());
}

kernels::RequantSpec DynamicProduct::makeSpec(const kernels::QParams &params, bool relu) const {
  kernels::RequantSpec spec;
  spec.channels = getOutputs();
  spec.depth = getInputs();
  spec.srcScale = params.scale;
  spec.srcZeroPoint = params.zeroPoint;
  spec.weightScale = weights.scale.data();
  spec.weightZeroPoint = weights.zeroPoint.data();
  spec.perChannel = !weights.weight.getQuantizer()->isPerTensor();
  spec.bias = weights.bias ? weights.bias.getData<float>().data() : nullptr;
  spec.relu = relu;
  spec.fusesBias = options.fusesBias;
  return spec;
}

kernels::GemmPlan DynamicProduct::plan(int64_t rows) const {
  return kernels::planGemm(packed->packed, rows, getUsefulThreads(options.threads, rows * getInputs() * getOutputs()));
}

int64_t DynamicProduct::getGrain(const kernels::GemmPlan &plan) const {
  return getProductGrain(plan.rows * getInputs() * getOutputs() / std::max<int64_t>(plan.units(), 1));
}

/// The tables of the output stage, the rows' parameters, then the codes; whole vectors behind the last row are readable.
int64_t DynamicProduct::getSharedBytes(int64_t rows) const {
  return alignUp(kernels::getRequantBytes(getOutputs())) + alignUp(rows * static_cast<int64_t>(sizeof(RowParams))) +
         alignUp(rows * getInputs() + kReadSlack);
}

int64_t DynamicProduct::getScratchBytes(int64_t rows, int threads) const {
  int64_t bytes = 0;
  for (int64_t count : {rows, int64_t(1)})
    for (int used = 1; used <= threads; ++used)
      bytes = std::max(bytes, kernels::getGemmScratchBytes(kernels::planGemm(packed->packed, count, used)));
  return bytes;
}

void DynamicProduct::multiplyRelu(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared,
                                  bool relu) const {
  if (options.perRow)
    multiplyByRow(run, src, rows, dst, shared, relu);
  else
    multiplyTogether(run, src, rows, dst, shared, relu);
}

void DynamicProduct::multiplyTogether(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared,
                                      bool relu) const {
  kernels::MinMax range = ranges.minMax(src, rows * getInputs());
  llvm::Expected<ChosenQParams> chosen = chooseQuantizationParams(range.min, range.max, 0, 255, options.choose);
  if (!chosen)
    return run.fail(chosen.takeError());
  multiplyBy(run, src, rows, dst, shared, relu, {chosen->scale, chosen->zeroPoint});
}

void DynamicProduct::multiplyBy(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared, bool relu,
                                const kernels::QParams &params) const {
  const int64_t count = rows * getInputs();
  auto *codes = reinterpret_cast<uint8_t *>(shared + alignUp(kernels::getRequantBytes(getOutputs())));
  run.parallelFor(count, kElementGrain, [&](int64_t begin, int64_t end, void *) {
    quantize.quantizeU8(src + begin, codes + begin, end - begin, params);
  });
  kernels::RequantParams stage = kernels::prepareDequant(makeSpec(params, relu), packed->packed.weightSum, shared);
  kernels::GemmPlan gemm = plan(rows);
  run.parallelFor(gemm.units(), getGrain(gemm), [&](int64_t begin, int64_t end, void *scratch) {
    kernels::runGemm(gemm, stage, kernels::TileOutput::Float, codes, getInputs(), dst, getOutputs(), scratch, begin, end);
  });
}

/// A row that is not finite gets the scale NaN and codes of 0, so that its results are NaN.
DynamicProduct::RowParams DynamicProduct::quantizeRow(const float *src, uint8_t *codes) const {
  const int64_t count = getInputs();
  kernels::MinMax range = count ? ranges.minMax(src, count) : kernels::MinMax{0, 0};
  if (!std::isfinite(range.min) || !std::isfinite(range.max)) {
    std::fill_n(codes, count, uint8_t(0));
    return {std::numeric_limits<float>::quiet_NaN(), 0};
  }
  ChosenQParams chosen = llvm::cantFail(chooseQuantizationParams(range.min, range.max, 0, 255, options.choose));
  quantize.quantizeU8(src, codes, count, {chosen.scale, chosen.zeroPoint});
  return {static_cast<float>(chosen.scale), chosen.zeroPoint};
}

void DynamicProduct::multiplyByRow(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared,
                                   bool relu) const {
  const int64_t k = getInputs(), n = getOutputs();
  std::byte *behindTables = shared + alignUp(kernels::getRequantBytes(n));
  auto *params = reinterpret_cast<RowParams *>(behindTables);
  auto *codes = reinterpret_cast<uint8_t *>(behindTables + alignUp(rows * static_cast<int64_t>(sizeof(RowParams))));
  run.parallelFor(rows, getElementGrain(k), [&](int64_t begin, int64_t end, void *) {
    for (int64_t row = begin; row < end; ++row)
      params[row] = quantizeRow(src + row * k, codes + row * k);
  });
  if (!units.exact32) { // sums of 64 bits are finished where they are made: row by row
    kernels::GemmPlan gemm = plan(1);
    for (int64_t row = 0; row < rows; ++row) {
      kernels::QParams one{static_cast<double>(params[row].scale), params[row].zeroPoint};
      kernels::RequantParams stage = kernels::prepareDequant(makeSpec(one, relu), packed->packed.weightSum, shared);
      run.parallelFor(gemm.units(), getGrain(gemm), [&](int64_t begin, int64_t end, void *scratch) {
        kernels::runGemm(gemm, stage, kernels::TileOutput::Float, codes + row * k, k, dst + row * n, n, scratch, begin, end);
      });
    }
    return;
  }
  kernels::RowDequant tables{0, 0, packed->packed.weightSum, units.multiplier, units.bias,
                             relu ? 0.0f : -std::numeric_limits<float>::infinity(), options.fusesBias};
  kernels::GemmPlan gemm = plan(rows);
  const int64_t blockColumns = gemm.panelsPerBlock * packed->packed.kernel->columns;
  run.parallelFor(gemm.units(), getGrain(gemm), [&](int64_t begin, int64_t end, void *scratch) {
    for (int64_t unit = begin; unit < end; ++unit) {
      kernels::runGemm(gemm, units, kernels::TileOutput::S32, codes, k, dst, n, scratch, unit, unit + 1);
      int64_t column = unit % gemm.columnBlocks * blockColumns, count = std::min(blockColumns, n - column);
      int64_t first = unit / gemm.columnBlocks * gemm.rowsPerBlock, last = std::min(first + gemm.rowsPerBlock, rows);
      kernels::RowDequant part = tables;
      part.weightSum += column;
      part.weightScale += column;
      part.bias += column;
      for (int64_t row = first; row < last; ++row) {
        part.scale = params[row].scale;
        part.zeroPoint = params[row].zeroPoint;
        rowDequant.finish(dst + row * n + column, count, part);
      }
    }
  });
}

} // namespace qfx::runtime
