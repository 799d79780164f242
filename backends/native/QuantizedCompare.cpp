// Comparisons of quantized tensors with tensors and numbers: by their real values (operators 12).
#include "backends/native/CodeSteps.h"
#include "backends/native/WideCodes.h"
#include "backends/runtime/Kernels.h"
#include "ir/OpKind.h"

namespace qfx::runtime {

namespace {

bool compare(OpKind kind, float a, float b) {
  switch (kind) {
  case OpKind::Eq:
    return a == b;
  case OpKind::Ne:
    return a != b;
  case OpKind::Lt:
    return a < b;
  case OpKind::Le:
    return a <= b;
  case OpKind::Gt:
    return a > b;
  default:
    return a >= b;
  }
}

/// The real values of an operand seen under the result's sizes, in its row-major order; or a number.
struct RealOperand {
  View view; ///< empty for a number
  float number = 0;
};

llvm::Expected<RealOperand> getReal(BindContext &context, llvm::StringRef slot, const TensorType &result) {
  RealOperand operand;
  if (std::optional<double> number = context.getScalar(slot)) {
    operand.number = static_cast<float>(*number);
    return operand;
  }
  llvm::Expected<View> view = context.getTensor(slot);
  if (!view)
    return view.takeError();
  View real = *view;
  if (hasWideCodes(*view)) {
    llvm::Expected<QuantizerRef> quantizer = context.getQuantizer(*view);
    if (!quantizer)
      return quantizer.takeError();
    real = emitWideDequantize(context, *view, toQParams(**quantizer));
  } else if (isQuantized(view->getDType())) {
    llvm::Expected<CodeOperand> codes = toCodeOperand(context, *view, slot);
    if (!codes)
      return codes.takeError();
    real = emitDequantize(context, *codes, codes->params);
  } else if (view->getDType() != DType::Float32) {
    return context.fail("operand '{0}' must be quantized or float32, got {1}", slot, toString(view->type));
  }
  llvm::SmallVector<int64_t, 4> sizes = result.getSizes();
  View wide = real;
  const size_t missing = sizes.size() - real.getRank();
  wide.sizes.assign(sizes.begin(), sizes.end());
  wide.strides.assign(sizes.size(), 0);
  wide.type.shape = result.shape;
  for (size_t i = missing; i < sizes.size(); ++i)
    wide.strides[i] = real.sizes[i - missing] == 1 ? 0 : real.strides[i - missing];
  operand.view = context.toOrder(wide, StorageOrder::RowMajor);
  return operand;
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedCompare(BindContext &context) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<RealOperand> a = getReal(context, "input", *type);
  if (!a)
    return a.takeError();
  llvm::Expected<RealOperand> b = getReal(context, "other", *type);
  if (!b)
    return b.takeError();
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  llvm::SmallVector<const View *, 2> reads;
  for (const RealOperand *operand : {&*a, &*b})
    if (operand->view)
      reads.push_back(&operand->view);
  const OpKind kind = context.getOp().kind;
  context.emit(reads, {&dst}, [a = *a, b = *b, dst, kind](RunContext &run) {
    run.parallelFor(dst.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      const float *left = a.view ? a.view.getData<float>() : nullptr,
                  *right = b.view ? b.view.getData<float>() : nullptr;
      for (int64_t i = begin; i < end; ++i)
        dst.getData<uint8_t>()[i] = compare(kind, left ? left[i] : a.number, right ? right[i] : b.number);
    });
  });
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
