// Order, extremes and deviation of quantized tensors (operators 8.5, 12): codes are sorted as integers, std is that of real values.
#include "backends/native/CodeSteps.h"
#include "backends/native/WideCodes.h"
#include "backends/reference/Emit.h"
#include "backends/reference/Rowwise.h"
#include "backends/runtime/Kernels.h"
#include "ir/OpKind.h"

namespace qfx::runtime {

using kernels::RowwiseKind;

/// The same memory under another dtype of the same size.
static View relabelled(View view, DType dtype, QuantizerRef quantizer) {
  view.type.dtype = dtype;
  view.type.quantizer = std::move(quantizer);
  return view;
}

/// sort, topk, max and min: int64 order of the codes, values with the input's parameters.
llvm::Expected<RuntimeValue> bindCodeOrder(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  const DType dtype = input->getDType(), plain = toUnderlyingDType(dtype);
  if (getDTypeInfo(dtype).bits < 8)
    return context.fail("takes quint8, qint8 and qint32, got {0}", toString(input->type));
  llvm::Expected<View> codes = castTo(context, relabelled(*input, plain, nullptr), DType::Int64);
  if (!codes)
    return codes.takeError();
  const OpKind op = context.getOp().kind;
  RowwiseKind kind = op == OpKind::Max ? RowwiseKind::Largest : op == OpKind::Min ? RowwiseKind::Smallest : RowwiseKind::Order;
  llvm::Expected<RowResults> rows = computeRows(context, kind, *codes);
  if (!rows)
    return rows.takeError();
  const ValueType::Sequence *pair = context.getResult().getSequence();
  llvm::Expected<TensorType> type = getStaticType(context, pair ? pair->elements[0] : context.getResult());
  if (!type)
    return type.takeError();
  llvm::Expected<View> narrow = castTo(context, rows->first, plain);
  if (!narrow)
    return narrow.takeError();
  View values = relabelled(reshaped(context, *narrow, type->getSizes()), dtype, type->quantizer);
  if (!pair)
    return RuntimeValue(values);
  return RuntimeValue::ofSequence({values, reshaped(context, rows->second, type->getSizes())});
}

/// The deviation of the real values, quantized with the input's parameters: a deviation of 0 is the zero point.
llvm::Expected<RuntimeValue> bindCodeDeviation(BindContext &context) {
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  llvm::Expected<RowResults> rows =
      computeRows(context, RowwiseKind::Deviation, emitDequantize(context, *input, input->params));
  if (!rows)
    return rows.takeError();
  View values = context.toOrder(reshaped(context, rows->first, type->getSizes()), StorageOrder::RowMajor);
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  emitFromFloats(context, {&values}, values, dst, *output, [](int64_t, float *, int64_t) {});
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
