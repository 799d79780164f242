// Elementwise operators without a SIMD row function, and integer forms of those that have one.
#include "backends/reference/Emit.h"
#include "backends/runtime/Kernels.h"
#include "ir/OpKind.h"

#include <cmath>
#include <limits>

namespace qfx::runtime {

using kernels::PointwiseKind;

namespace {

/// The operands in these slots, converted to one compute type; `skipFirst` leaves the first (a mask) as it is.
llvm::Expected<std::vector<View>> getOperands(BindContext &context, llvm::ArrayRef<llvm::StringRef> slots,
                                              bool skipFirst = false) {
  std::vector<View> operands;
  for (llvm::StringRef slot : slots) {
    llvm::Expected<View> view = getTensorOrNumber(context, slot);
    if (!view)
      return view.takeError();
    operands.push_back(std::move(*view));
  }
  llvm::ArrayRef<View> computed = operands;
  llvm::Expected<DType> dtype = getComputeDType(context, computed.drop_front(skipFirst));
  if (!dtype)
    return dtype.takeError();
  for (View &operand : llvm::MutableArrayRef<View>(operands).drop_front(skipFirst)) {
    llvm::Expected<View> converted = castTo(context, operand, *dtype);
    if (!converted)
      return converted.takeError();
    operand = *converted;
  }
  return operands;
}

/// Runs the kind on the operands and gives the result the node's dtype.
llvm::Expected<RuntimeValue> finish(BindContext &context, PointwiseKind kind, const std::vector<View> &operands,
                                    const kernels::PointwiseParams &params = {}) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  const kernels::PointwiseInfo &info = kernels::getPointwise(kind);
  std::vector<View> typed = operands;
  bool needsFloat = !info.onInt || (typed.back().getDType() == DType::Int64 && isFloat(type->dtype));
  for (View &operand : llvm::MutableArrayRef<View>(typed).drop_front(kind == PointwiseKind::Select))
    if (needsFloat) {
      llvm::Expected<View> converted = castTo(context, operand, DType::Float32);
      if (!converted)
        return converted.takeError();
      operand = *converted;
    }
  View result = emitPointwise(context, kind, typed, type->getSizes(), params);
  llvm::Expected<View> converted = castTo(context, result, type->dtype);
  if (!converted)
    return converted.takeError();
  return RuntimeValue(*converted);
}

} // namespace

llvm::Expected<RuntimeValue> bindPointwise(BindContext &context) {
  const PointwiseRow &row = *findPointwiseRow(context.getOp().kind);
  llvm::SmallVector<llvm::StringRef, 3> slots;
  row.slots.split(slots, ' ');
  llvm::Expected<std::vector<View>> operands = getOperands(context, slots, row.kind == PointwiseKind::Select);
  if (!operands)
    return operands.takeError();
  kernels::PointwiseParams params;
  for (llvm::StringRef slot : {"alpha", "value"}) {
    const BoundSlot *factor = context.getCall().find(slot);
    if (!factor || row.kind == PointwiseKind::Select)
      continue;
    llvm::Expected<double> number = context.attrs().getNumber(slot);
    if (!number)
      return number.takeError();
    params.alpha = *number;
  }
  if (row.kind == PointwiseKind::Select && (*operands)[0].getDType() != DType::Bool)
    return context.fail("the mask must be bool, got {0}", toString((*operands)[0].type));
  PointwiseKind kind = row.kind;
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (kind == PointwiseKind::BitNot && type->dtype == DType::Bool)
    kind = PointwiseKind::LogicalNot;
  return finish(context, kind, *operands, params);
}

/// div with a rounding mode, or of integers.
llvm::Expected<RuntimeValue> bindPlainDiv(BindContext &context) {
  llvm::Expected<std::vector<View>> operands = getOperands(context, {"input", "other"});
  if (!operands)
    return operands.takeError();
  if (!context.has("rounding_mode"))
    return finish(context, PointwiseKind::Div, *operands);
  const Argument &mode = context.getCall().get("rounding_mode").arg;
  if (!mode.isString() || (mode.getString() != "floor" && mode.getString() != "trunc"))
    return context.fail("takes rounding_mode None, 'floor' or 'trunc', got {0}", toString(mode, ArgumentStyle::Qfx));
  return finish(context, mode.getString() == "floor" ? PointwiseKind::FloorDiv : PointwiseKind::TruncDiv, *operands);
}

/// One slope, or one per channel (dimension 1).
llvm::Expected<RuntimeValue> bindPrelu(BindContext &context) {
  llvm::Expected<std::vector<View>> operands = getOperands(context, {"input", "weight"});
  if (!operands)
    return operands.takeError();
  View &weight = (*operands)[1];
  Sizes sizes((*operands)[0].getRank(), 1);
  if (weight.getNumElements() > 1)
    sizes[1] = weight.getNumElements();
  weight = reshaped(context, weight, sizes);
  return finish(context, PointwiseKind::Prelu, *operands);
}

/// A tensor clamped by tensors or numbers, or integers.
llvm::Expected<RuntimeValue> bindPlainClamp(BindContext &context) {
  std::vector<llvm::StringRef> slots{"input"};
  std::vector<PointwiseKind> kinds;
  for (auto [slot, kind] : {std::pair<llvm::StringRef, PointwiseKind>{"min", PointwiseKind::Maximum},
                            {"max", PointwiseKind::Minimum}})
    if (context.has(slot)) {
      slots.push_back(slot);
      kinds.push_back(kind);
    }
  llvm::Expected<std::vector<View>> operands = getOperands(context, slots);
  if (!operands)
    return operands.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View value = (*operands)[0];
  for (size_t i = 0; i < kinds.size(); ++i)
    value = emitPointwise(context, kinds[i], {value, (*operands)[i + 1]}, type->getSizes());
  llvm::Expected<View> converted = castTo(context, value, type->dtype);
  if (!converted)
    return converted.takeError();
  return RuntimeValue(*converted);
}

llvm::Expected<RuntimeValue> bindNanToNum(BindContext &context) {
  llvm::Expected<std::vector<View>> operands = getOperands(context, {"input"});
  if (!operands)
    return operands.takeError();
  if ((*operands)[0].getDType() == DType::Int64)
    return context.getTensor("input");
  kernels::PointwiseParams params;
  const float largest = std::numeric_limits<float>::max();
  const double defaults[] = {0, largest, -largest};
  const char *names[] = {"nan", "posinf", "neginf"};
  for (int i = 0; i < 3; ++i) {
    params.p[i] = defaults[i];
    if (!context.has(names[i]))
      continue;
    llvm::Expected<double> given = context.attrs().getNumber(names[i]);
    if (!given)
      return given.takeError();
    params.p[i] = *given;
  }
  return finish(context, PointwiseKind::NanToNum, *operands, params);
}

/// In evaluation a leaky relu with the mean of both slopes.
llvm::Expected<RuntimeValue> bindRrelu(BindContext &context) {
  llvm::Expected<bool> training = context.attrs().getBool("training");
  if (!training)
    return training.takeError();
  if (*training)
    return context.fail("training=True is not supported: it would be random");
  llvm::Expected<double> lower = context.attrs().getNumber("lower");
  if (!lower)
    return lower.takeError();
  llvm::Expected<double> upper = context.attrs().getNumber("upper");
  if (!upper)
    return upper.takeError();
  llvm::Expected<std::vector<View>> operands = getOperands(context, {"input"});
  if (!operands)
    return operands.takeError();
  operands->push_back(makeScalar(DType::Float32, (*lower + *upper) / 2));
  return finish(context, PointwiseKind::Prelu, *operands);
}

/// abs, neg, sign, square, relu and clamps of integers; floor and its kin leave them as they are.
llvm::Expected<RuntimeValue> bindIntegerFunction(BindContext &context) {
  llvm::Expected<std::vector<View>> operands = getOperands(context, {"input"});
  if (!operands)
    return operands.takeError();
  switch (context.getOp().kind) {
  case OpKind::Abs:
    return finish(context, PointwiseKind::Absolute, *operands);
  case OpKind::Neg:
    return finish(context, PointwiseKind::Negate, *operands);
  case OpKind::Sign:
    return finish(context, PointwiseKind::Signum, *operands);
  case OpKind::Square:
    return finish(context, PointwiseKind::Square, *operands);
  case OpKind::Clamp:
    return bindPlainClamp(context);
  case OpKind::Relu:
    operands->push_back(makeScalar(DType::Int64, 0));
    return finish(context, PointwiseKind::Maximum, *operands);
  case OpKind::Floor:
  case OpKind::Ceil:
  case OpKind::Round:
  case OpKind::Trunc:
    return context.getTensor("input");
  default:
    return context.fail("takes floating-point tensors, got {0}", toString((*operands)[0].type));
  }
}

} // namespace qfx::runtime
