// glu and softmin: compositions of other functions.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/elementwise/Unary.h"

namespace qfx::runtime {

static View emitUnary(BindContext &context, const View &view, kernels::UnaryKind kind) {
  View src = context.toDense(view);
  View dst = context.allocate(withSizes(src, src.sizes), src.strides);
  kernels::UnaryFn fn = kernels::selectUnary(kind);
  context.emit({&src}, {&dst}, [src, dst, fn](RunContext &run) {
    run.parallelFor(src.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      fn(src.getData<float>() + begin, dst.getData<float>() + begin, end - begin, {});
    });
  });
  return dst;
}

/// a * sigmoid(b) of the two halves.
llvm::Expected<RuntimeValue> bindGlu(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<size_t> dim = getDimSlot(context, "dim", input->getRank());
  if (!dim)
    return dim.takeError();
  View a = *input, b = *input;
  int64_t half = input->sizes[*dim] / 2;
  a.sizes[*dim] = b.sizes[*dim] = half;
  b.offset += half * input->strides[*dim];
  a.type = withSizes(a, a.sizes);
  b.type = withSizes(b, b.sizes);
  View gate = emitUnary(context, b, kernels::UnaryKind::Sigmoid);
  return RuntimeValue(emitPointwise(context, kernels::PointwiseKind::Mul, {a, gate}, a.sizes));
}

llvm::Expected<RuntimeValue> bindSoftmin(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  return emitSoftmax(context, emitUnary(context, *input, kernels::UnaryKind::Neg), /*isLog=*/false);
}

} // namespace qfx::runtime
