// Float arithmetic of two operands with broadcasting; either may be a number.
#include "kernels/elementwise/Binary.h"
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

/// A float tensor, or a number as a tensor of rank 0.
llvm::Expected<View> getOperand(BindContext &context, llvm::StringRef slot) {
  if (std::optional<double> number = context.getScalar(slot))
    return viewConstant(Tensor::of<float>(DType::Float32, {}, {static_cast<float>(*number)}));
  return getFloatTensor(context, slot);
}

llvm::Expected<RuntimeValue> bindBinary(BindContext &context, kernels::BinaryKind kind, bool swap = false) {
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
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (type->dtype != DType::Float32)
    return context.fail("computes float32 only, but its result is {0}", toString(*type));
  ClampRange clamp = context.absorbClamp();
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
  return RuntimeValue(dst);
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
    return context.fail("rounding_mode is not supported, only true division is");
  return bindBinary(context, kernels::BinaryKind::Div);
}

} // namespace qfx::runtime
