// Choosing parameters, quantizing and multiplying the rows of one call.
#include "backends/native/DynamicProduct.h"

#include "backends/runtime/MemoryPlan.h"

#include <algorithm>

namespace qfx::runtime {

/// Products of a call below which handing work to another thread costs more than it saves.
static constexpr int64_t kThreadProducts = 1 << 19;

static int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

llvm::Expected<std::shared_ptr<DynamicProduct>> DynamicProduct::make(BindContext &context, llvm::StringRef tag,
                                                                     const Tensor &weight, const Tensor &bias,
                                                                     bool reduceRange) {
  QuantizedWeights given;
  given.weight = weight;
  given.bias = bias;
  llvm::Expected<QuantizedWeights> checked = checkQuantizedWeights(context, std::move(given));
  if (!checked)
    return checked.takeError();
  if (weight.getRank() != 2)
    return context.fail("weight must be a matrix, got {0}", toString(weight.getType()));
  ChooseOptions choose;
  choose.reduceRange = reduceRange && !context.getBuilder().usesStageQ();
  return context.getCached<DynamicProduct>(tag, [&]() -> llvm::Expected<std::shared_ptr<DynamicProduct>> {
    const kernels::GemmKernel &kernel = kernels::selectGemm(kernels::getCurrentIsa());
    kernels::GemmWeights source;
    source.data = weight.getData<int8_t>().data();
    source.columns = weight.getSizes()[0];
    source.innerCount = source.columnStride = weight.getSizes()[1];
    std::shared_ptr<std::byte> memory =
        context.allocatePacked(kernels::getPackedGemmBytes(kernel, source.columns, source.depth()));
    kernels::PackedGemm packed = kernels::packGemm(kernel, source, memory.get());
    releasePages(weight);
    return std::make_shared<DynamicProduct>(std::move(*checked), packed, std::move(memory), choose,
                                            context.getThreads());
  });
}

DynamicProduct::DynamicProduct(QuantizedWeights weights, const kernels::PackedGemm &packed,
                               std::shared_ptr<std::byte> memory, ChooseOptions choose, int threads)
    : Product(packed.depth, packed.columns), weights(std::move(weights)), packed(packed), memory(std::move(memory)),
      choose(choose), threads(threads) {}

/// The tables of the output stage, then the codes; whole vectors behind the last row are readable.
int64_t DynamicProduct::getSharedBytes(int64_t rows) const {
  return alignUp(kernels::getRequantBytes(getOutputs())) + alignUp(rows * getInputs() + kReadSlack);
}

int64_t DynamicProduct::getScratchBytes(int64_t rows, int threads) const {
  return std::max(kernels::getGemmScratchBytes(kernels::planGemm(packed, rows, threads)),
                  kernels::getGemmScratchBytes(kernels::planGemm(packed, rows, 1)));
}

void DynamicProduct::multiply(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared) const {
  const int64_t count = rows * getInputs();
  auto *codes = reinterpret_cast<uint8_t *>(shared + alignUp(kernels::getRequantBytes(getOutputs())));
  kernels::MinMax range = ranges.minMax(src, count);
  llvm::Expected<ChosenQParams> chosen = chooseQuantizationParams(range.min, range.max, 0, 255, choose);
  if (!chosen)
    return run.fail(chosen.takeError());
  kernels::QParams params{chosen->scale, chosen->zeroPoint};
  run.parallelFor(count, kElementGrain, [&](int64_t begin, int64_t end, void *) {
    quantize.quantizeU8(src + begin, codes + begin, end - begin, params);
  });
  kernels::RequantSpec spec;
  spec.channels = getOutputs();
  spec.depth = getInputs();
  spec.srcScale = params.scale;
  spec.srcZeroPoint = params.zeroPoint;
  spec.weightScale = weights.scale.data();
  spec.weightZeroPoint = weights.zeroPoint.data();
  spec.perChannel = !weights.weight.getQuantizer()->isPerTensor();
  spec.bias = weights.bias ? weights.bias.getData<float>().data() : nullptr;
  kernels::RequantParams stage = kernels::prepareDequant(spec, packed.weightSum, shared);
  bool isSmall = count * getOutputs() < kThreadProducts;
  kernels::GemmPlan plan = kernels::planGemm(packed, rows, isSmall ? 1 : threads);
  run.parallelFor(plan.units(), isSmall ? plan.units() : 1, [&](int64_t begin, int64_t end, void *scratch) {
    kernels::runGemm(plan, stage, kernels::TileOutput::Float, codes, getInputs(), dst, getOutputs(), scratch, begin,
                     end);
  });
}

} // namespace qfx::runtime
