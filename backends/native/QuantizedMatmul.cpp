// Matrix product of two quantized tensors: products of shifted codes in float32, exact up to K = 258, scaled once
// (operators 9.4).
#include "backends/native/CodeSteps.h"
#include "backends/reference/FloatMatmul.h"
#include "backends/runtime/Kernels.h"

namespace qfx::runtime {

llvm::Expected<RuntimeValue> bindQuantizedMatmul(BindContext &context) {
  llvm::Expected<CodeOperand> a = getCodeTensor(context, "input");
  if (!a)
    return a.takeError();
  llvm::Expected<CodeOperand> b = getCodeTensor(context, "other");
  if (!b)
    return b.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  if (a->isSigned() != b->isSigned())
    return context.fail("both operands must have one dtype, got {0} and {1}", toString(a->view.type),
                        toString(b->view.type));
  TensorType floatType = *type;
  floatType.dtype = DType::Float32;
  floatType.quantizer = nullptr;
  View left = emitDequantize(context, *a, {1.0, a->params.zeroPoint}),
       right = emitDequantize(context, *b, {1.0, b->params.zeroPoint});
  View sums = emitFloatMatmul(context, left, right, floatType);
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  const float scale = static_cast<float>(a->params.scale) * static_cast<float>(b->params.scale);
  emitFromFloats(context, {&sums}, sums, dst, *output, [scale](int64_t, float *values, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      values[i] *= scale;
  });
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
