// Float means and sums over any dimensions.
#include "backends/reference/Reduce.h"

#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/reduce/Reduce.h"

#include "llvm/ADT/STLExtras.h"
#include "ir/OpKind.h"

namespace qfx::runtime {

llvm::Expected<ReductionView> arrangeReduction(BindContext &context, const View &input) {
  size_t rank = input.getRank();
  llvm::SmallVector<bool, 8> isReduced(rank, false);
  bool any = false;
  if (context.attrs().hasValue("dim")) {
    llvm::Expected<llvm::SmallVector<int64_t, 4>> dims = context.attrs().getInts("dim");
    if (!dims)
      return dims.takeError();
    for (int64_t dim : *dims) {
      int64_t index = dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
      if (index < 0 || index >= static_cast<int64_t>(rank))
        return context.fail("dimension {0} is out of range for {1}", dim, toString(input.type));
      isReduced[static_cast<size_t>(index)] = any = true;
    }
  }
  if (!any)
    isReduced.assign(rank, true);
  ReductionView reduction;
  bool seenReduced = false;
  reduction.innermost = true;
  for (size_t i = 0; i < rank; ++i) {
    if (isReduced[i]) {
      reduction.reduced *= input.sizes[i];
      seenReduced = true;
    } else {
      reduction.keptSizes.push_back(input.sizes[i]);
      reduction.innermost &= !seenReduced;
    }
  }
  // Channels-last images reduced over their positions.
  bool overPositions = rank >= 3 && !isReduced[0] && !isReduced[1];
  for (size_t i = 2; i < rank; ++i)
    overPositions &= isReduced[i];
  if (overPositions && hasOrder(input.sizes, input.strides, StorageOrder::ChannelsLast)) {
    reduction.src = input;
    reduction.outer = input.sizes[0];
    reduction.inner = input.sizes[1];
    return reduction;
  }
  // Otherwise the reduced dimensions go last.
  View permuted = input;
  permuted.sizes.clear();
  permuted.strides.clear();
  permuted.type.shape.clear();
  for (bool pass : {false, true})
    for (size_t i = 0; i < rank; ++i)
      if (isReduced[i] == pass) {
        permuted.sizes.push_back(input.sizes[i]);
        permuted.strides.push_back(input.strides[i]);
        permuted.type.shape.push_back(input.type.shape[i]);
      }
  reduction.src = context.toOrder(permuted, StorageOrder::RowMajor);
  for (int64_t size : reduction.keptSizes)
    reduction.outer *= size;
  return reduction;
}

llvm::Expected<RuntimeValue> bindMean(BindContext &context) {
  llvm::Expected<TensorType> resultType = context.getResultTensor();
  if (!resultType)
    return resultType.takeError();
  if (!isFloat(resultType->dtype))
    return bindIntegerSum(context);
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  llvm::Expected<DType> dtype = getComputeDType(context, *given);
  if (!dtype)
    return dtype.takeError();
  llvm::Expected<View> input = castTo(context, *given, DType::Float32);
  if (!input)
    return input.takeError();
  TensorType floatType = *resultType, *type = &floatType;
  floatType.dtype = DType::Float32;
  llvm::Expected<ReductionView> reduction = arrangeReduction(context, *input);
  if (!reduction)
    return reduction.takeError();
  View src = reduction->src, dst = context.allocate(*type, StorageOrder::RowMajor);
  const kernels::ReduceKernels &kernels = kernels::selectReduce();
  bool isMean = context.getOp().kind == OpKind::Mean;
  int64_t outer = reduction->outer, reduced = reduction->reduced, inner = reduction->inner;
  int64_t grain = kElementGrain / std::max<int64_t>(1, reduced * inner) + 1;
  context.emit({&src}, {&dst}, [src, dst, &kernels, isMean, outer, reduced, inner, grain](RunContext &run) {
    run.parallelFor(outer, grain, [&](int64_t begin, int64_t end, void *) {
      kernels::reduceMiddle(kernels, src.getData<float>(), dst.getData<float>(), reduced, inner, isMean, begin, end);
    });
  });
  llvm::Expected<View> result = castTo(context, dst, resultType->dtype);
  if (!result)
    return result.takeError();
  return RuntimeValue(*result);
}

llvm::Expected<RuntimeValue> emitSoftmax(BindContext &context, const View &input, bool isLog) {
  llvm::Expected<TensorType> resultType = context.getResultTensor();
  if (!resultType)
    return resultType.takeError();
  TensorType type = *resultType;
  type.dtype = DType::Float32;
  int64_t rank = static_cast<int64_t>(input.getRank());
  int64_t dim = rank == 0 || rank == 1 || rank == 3 ? 0 : 1; // PyTorch's rule for dim=None
  if (context.attrs().hasValue("dim")) {
    llvm::Expected<int64_t> given = context.attrs().getInt("dim");
    if (!given)
      return given.takeError();
    dim = *given < 0 ? *given + rank : *given;
  }
  View src = context.toOrder(input, StorageOrder::RowMajor);
  View dst = context.allocate(type, StorageOrder::RowMajor);
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t i = 0; i < rank; ++i)
    (i < dim ? outer : i == dim ? n : inner) *= src.sizes[static_cast<size_t>(i)];
  const kernels::ReduceKernels &kernels = kernels::selectReduce();
  StepTraits traits;
  traits.scratchBytes = inner == 1 ? 0 : n * static_cast<int64_t>(sizeof(float));
  int64_t grain = kElementGrain / std::max<int64_t>(1, n * inner) + 1;
  context.emit(
      {&src}, {&dst},
      [src, dst, &kernels, isLog, outer, n, inner, grain](RunContext &run) {
        run.parallelFor(outer, grain, [&](int64_t begin, int64_t end, void *scratch) {
          kernels::softmaxMiddle(kernels, src.getData<float>(), dst.getData<float>(), n, inner, isLog, begin, end,
                                 static_cast<float *>(scratch));
        });
      },
      traits);
  llvm::Expected<View> result = castTo(context, dst, resultType->dtype);
  if (!result)
    return result.takeError();
  return RuntimeValue(*result);
}

llvm::Expected<RuntimeValue> bindSoftmax(BindContext &context) {
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  llvm::Expected<DType> dtype = getComputeDType(context, *given);
  if (!dtype)
    return dtype.takeError();
  llvm::Expected<View> input = castTo(context, *given, DType::Float32);
  if (!input)
    return input.takeError();
  return emitSoftmax(context, *input, context.getOp().kind == OpKind::LogSoftmax);
}

} // namespace qfx::runtime
