// Float matrix product with PyTorch's rules for vectors and batches.
#include "backends/reference/Emit.h"
#include "backends/reference/FloatMatmul.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/sgemm/Sgemm.h"

namespace qfx::runtime {

namespace {

/// Every pair of matrices of a batch.
struct MatmulPlan {
  int64_t m, n, k, batch;
  llvm::SmallVector<int64_t, 8> aOffsets, bOffsets; ///< elements, by batch index
  int64_t bStrideN, bStrideK;
};

} // namespace

View emitMatmul(BindContext &context, const View &first, const View &second, const TensorType &type) {
  View a = context.toOrder(first, StorageOrder::RowMajor);
  View b = second; // any strides will do
  MatmulPlan plan;
  size_t ra = a.getRank(), rb = b.getRank();
  plan.m = a.sizes[ra - 2];
  plan.k = a.sizes[ra - 1];
  plan.n = b.sizes[rb - 1];
  plan.bStrideN = b.strides[rb - 1];
  plan.bStrideK = b.strides[rb - 2];
  // Walk the broadcast batch dimensions.
  size_t batchRank = std::max(ra, rb) - 2;
  Sizes batchSizes(batchRank, 1);
  for (size_t i = 0; i < batchRank; ++i)
    for (const View *view : {&a, &b}) {
      size_t missing = batchRank - (view->getRank() - 2);
      if (i >= missing && view->sizes[i - missing] != 1)
        batchSizes[i] = view->sizes[i - missing];
    }
  plan.batch = 1;
  for (int64_t size : batchSizes)
    plan.batch *= size;
  for (int64_t index = 0; index < plan.batch; ++index) {
    for (const View *view : {&a, &b}) {
      int64_t rest = index, offset = 0;
      size_t missing = batchRank - (view->getRank() - 2);
      for (size_t i = batchRank; i-- > 0; rest /= batchSizes[i])
        if (i >= missing && view->sizes[i - missing] != 1)
          offset += rest % batchSizes[i] * view->strides[i - missing];
      (view == &a ? plan.aOffsets : plan.bOffsets).push_back(offset);
    }
  }
  View dst = context.allocate(type, StorageOrder::RowMajor);
  const kernels::SgemmKernel &kernel = kernels::selectSgemm();
  StepTraits traits;
  traits.scratchBytes = kernels::getSgemmScratchSize(kernel, plan.k) * static_cast<int64_t>(sizeof(float));
  int64_t tiles = (plan.m + kernel.rows - 1) / kernel.rows;
  int64_t tilesPerUnit = std::max<int64_t>(1, std::min<int64_t>(tiles, 16));
  int64_t unitsPerMatrix = (tiles + tilesPerUnit - 1) / tilesPerUnit;
  int64_t grain = getProductGrain(tilesPerUnit * kernel.rows * plan.n * plan.k);
  context.emit(
      {&a, &b}, {&dst},
      [a, b, dst, plan, &kernel, tilesPerUnit, unitsPerMatrix, grain](RunContext &run) {
        run.parallelFor(plan.batch * unitsPerMatrix, grain, [&](int64_t begin, int64_t end, void *scratch) {
          for (int64_t unit = begin; unit < end; ++unit) {
            size_t index = static_cast<size_t>(unit / unitsPerMatrix);
            int64_t row = unit % unitsPerMatrix * tilesPerUnit * kernel.rows;
            kernels::SgemmArgs args = {};
            args.n = plan.n;
            args.k = plan.k;
            args.a = a.getData<float>() + plan.aOffsets[index];
            args.lda = plan.k;
            args.lo = -__builtin_inff();
            args.hi = __builtin_inff();
            args.c = dst.getData<float>() + static_cast<int64_t>(index) * plan.m * plan.n;
            args.ldc = plan.n;
            kernels::sgemmUnpacked(kernel, args, b.getData<float>() + plan.bOffsets[index], plan.bStrideN,
                                   plan.bStrideK, row, std::min(row + tilesPerUnit * kernel.rows, plan.m),
                                   static_cast<float *>(scratch));
          }
        });
      },
      traits);
  return dst;
}

View emitFloatMatmul(BindContext &context, const View &first, const View &second, const TensorType &type) {
  View a = first.getRank() == 1 ? unsqueezed(first, 0) : first;
  View b = second.getRank() == 1 ? unsqueezed(second, 1) : second;
  // Vectors get a temporary axis, which the result does not have.
  Sizes sizes;
  for (int64_t size : type.getSizes())
    sizes.push_back(size);
  if (second.getRank() == 1)
    sizes.push_back(1);
  if (first.getRank() == 1)
    sizes.insert(sizes.end() - 1, 1);
  return reshaped(context, emitMatmul(context, a, b, withSizes(a, sizes)), type.getSizes());
}

llvm::Expected<RuntimeValue> bindMatmul(BindContext &context) {
  llvm::Expected<View> first = getFloatTensor(context, "input");
  if (!first)
    return first.takeError();
  llvm::Expected<View> second = getFloatTensor(context, context.getCall().find("other") ? "other" : "mat2");
  if (!second)
    return second.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  return RuntimeValue(emitFloatMatmul(context, *first, *second, *type));
}

} // namespace qfx::runtime
