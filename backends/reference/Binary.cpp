// Float arithmetic of two operands with broadcasting; either may be a number.
#include "kernels/elementwise/Binary.h"
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"

namespace qfx::runtime {

namespace {

struct RowContext {
  kernels::BinaryFn kernel;
  kernels::BinaryParams params;
};

void runRow(const void *a, int aStep, const void *b, int bStep, void *dst, int64_t n, const void *context) {
  const RowContext &row = *static_cast<const RowContext *>(context);
  row.kernel(static_cast<const float *>(a), aStep, static_cast<const float *>(b), bStep, static_cast<float *>(dst), n,
             row.params);
}

/// A tensor, converted to float32, or a number as a tensor of rank 0.
llvm::Expected<View> getOperand(BindContext &context, llvm::StringRef slot) {
  if (std::optional<double> number = context.getScalar(slot))
    return viewConstant(Tensor::of<float>(DType::Float32, {}, {static_cast<float>(*number)}));
  llvm::Expected<View> view = getTensorOrNumber(context, slot);
  if (!view)
    return view.takeError();
  llvm::Expected<DType> dtype = getComputeDType(context, *view);
  if (!dtype)
    return dtype.takeError();
  return castTo(context, *view, DType::Float32);
}

kernels::PointwiseKind getPlainKind(kernels::BinaryKind kind) {
  switch (kind) {
  case kernels::BinaryKind::Add:
    return kernels::PointwiseKind::Add;
  case kernels::BinaryKind::Sub:
    return kernels::PointwiseKind::Sub;
  case kernels::BinaryKind::Mul:
    return kernels::PointwiseKind::Mul;
  case kernels::BinaryKind::Minimum:
    return kernels::PointwiseKind::Minimum;
  case kernels::BinaryKind::Maximum:
    return kernels::PointwiseKind::Maximum;
  case kernels::BinaryKind::Div:
    return kernels::PointwiseKind::TruncDiv;
  }
  llvm_unreachable("all kinds are listed");
}

/// Integers and bools, computed in int64.
llvm::Expected<RuntimeValue> bindIntegers(BindContext &context, kernels::BinaryKind kind, bool swap,
                                          const TensorType &type) {
  std::vector<View> operands;
  for (llvm::StringRef slot : {swap ? "other" : "input", swap ? "input" : "other"}) {
    llvm::Expected<View> view = getTensorOrNumber(context, slot);
    if (!view)
      return view.takeError();
    llvm::Expected<View> wide = castTo(context, *view, DType::Int64);
    if (!wide)
      return wide.takeError();
    operands.push_back(*wide);
  }
  kernels::PointwiseParams params;
  if (context.getCall().find("alpha")) {
    llvm::Expected<double> alpha = context.attrs().getNumber("alpha");
    if (!alpha)
      return alpha.takeError();
    params.alpha = *alpha;
  }
  View result = emitPointwise(context, getPlainKind(kind), operands, type.getSizes(), params);
  llvm::Expected<View> narrow = castTo(context, result, type.dtype);
  if (!narrow)
    return narrow.takeError();
  return RuntimeValue(*narrow);
}

llvm::Expected<RuntimeValue> bindBinary(BindContext &context, kernels::BinaryKind kind, bool swap = false) {
  llvm::Expected<TensorType> resultType = context.getResultTensor();
  if (!resultType)
    return resultType.takeError();
  if (!isFloat(resultType->dtype))
    return bindIntegers(context, kind, swap, *resultType);
  llvm::Expected<View> first = getOperand(context, "input");
  if (!first)
    return first.takeError();
  llvm::Expected<View> second = getOperand(context, "other");
  if (!second)
    return second.takeError();
  RowContext row{kernels::selectBinary(kind), {}};
  if (context.attrs().getCall().find("alpha")) {
    llvm::Expected<double> alpha = context.attrs().getNumber("alpha");
    if (!alpha)
      return alpha.takeError();
    row.params.alpha = static_cast<float>(*alpha);
  }
  TensorType floatType = *resultType, *type = &floatType;
  floatType.dtype = DType::Float32;
  ClampRange clamp = resultType->dtype == DType::Float32 ? context.absorbClamp() : ClampRange();
  row.params.lo = clamp.lo;
  row.params.hi = clamp.hi;
  View a = swap ? *second : *first, b = swap ? *first : *second;
  View dst = context.allocate(*type, chooseLayout(*type, a, b));
  kernels::BroadcastPlan plan = makeBroadcast(dst, a, b);
  StepTraits traits;
  if (hasSameLayout(a, dst) && (a.buffer != b.buffer || hasSameLayout(a, b)))
    traits.inPlaceSrc = &a;
  else if (hasSameLayout(b, dst) && a.buffer != b.buffer)
    traits.inPlaceSrc = &b;
  context.emit(
      {&a, &b}, {&dst},
      [a, b, dst, plan, row](RunContext &run) {
        run.parallelFor(plan.numElements, kElementGrain, [&](int64_t begin, int64_t end, void *) {
          kernels::runBroadcast(plan, sizeof(float), begin, end, a.getBytes(), b.getBytes(), dst.getBytes(), runRow,
                                &row);
        });
      },
      traits);
  llvm::Expected<View> result = castTo(context, dst, resultType->dtype);
  if (!result)
    return result.takeError();
  return RuntimeValue(*result);
}

} // namespace

llvm::Expected<RuntimeValue> bindAdd(BindContext &context) { return bindBinary(context, kernels::BinaryKind::Add); }
llvm::Expected<RuntimeValue> bindSub(BindContext &context) { return bindBinary(context, kernels::BinaryKind::Sub); }
llvm::Expected<RuntimeValue> bindRsub(BindContext &context) {
  return bindBinary(context, kernels::BinaryKind::Sub, /*swap=*/true);
}
llvm::Expected<RuntimeValue> bindMul(BindContext &context) { return bindBinary(context, kernels::BinaryKind::Mul); }
llvm::Expected<RuntimeValue> bindMaximum(BindContext &context) {
  return bindBinary(context, kernels::BinaryKind::Maximum);
}
llvm::Expected<RuntimeValue> bindMinimum(BindContext &context) {
  return bindBinary(context, kernels::BinaryKind::Minimum);
}

llvm::Expected<RuntimeValue> bindDiv(BindContext &context) {
  if (context.has("rounding_mode"))
    return bindPlainDiv(context);
  return bindBinary(context, kernels::BinaryKind::Div);
}

} // namespace qfx::runtime
