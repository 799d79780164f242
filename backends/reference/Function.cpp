// Elementwise functions of one tensor: parameters from the call, and the float form.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/ClampRules.h"
#include "backends/runtime/Kernels.h"
#include "ir/GraphModule.h"
#include "ir/OpKind.h"

#include <cmath>

namespace qfx::runtime {

/// The value of one parameter text of a row; `none` is what an operand that is None means.
static llvm::Expected<float> readParam(const InferContext &attrs, llvm::StringRef text, float none) {
  if (text[0] == '=') {
    double number = 0;
    bool bad = text.drop_front().getAsDouble(number);
    assert(!bad && "row of Kernels.def has a malformed number");
    (void)bad;
    return static_cast<float>(number);
  }
  bool isInverse = text[0] == '/';
  llvm::StringRef slot = isInverse ? text.drop_front() : text;
  if (!attrs.hasValue(slot))
    return none;
  llvm::Expected<double> number = attrs.getNumber(slot);
  if (!number)
    return number.takeError();
  return static_cast<float>(isInverse ? 1.0 / *number : *number);
}

static llvm::Expected<BoundFunction> bindParams(const InferContext &attrs, const FunctionRow &row) {
  BoundFunction function{row.kind, {}};
  float *fields[] = {&function.params.a, &function.params.b, &function.params.c};
  for (int i = 0; i < 3; ++i) {
    if (row.params[i].empty())
      continue;
    float none = i == 0 ? -INFINITY : INFINITY;
    llvm::Expected<float> value = readParam(attrs, row.params[i], none);
    if (!value)
      return value.takeError();
    *fields[i] = *value;
  }
  if (row.kind == kernels::UnaryKind::Gelu) {
    const BoundSlot *approximate = attrs.getCall().find("approximate");
    if (approximate && approximate->arg.isString() && approximate->arg.getString() == "tanh")
      function.kind = kernels::UnaryKind::GeluTanh;
  }
  return function;
}

llvm::Expected<BoundFunction> bindFunction(BindContext &context, const FunctionRow &row) {
  return bindParams(context.attrs(), row);
}

std::optional<ClampRange> getClampRange(const Node &user, const Node *input, const GraphModule &model) {
  const TargetInfo *target = user.getTarget();
  if (user.is(Opcode::CallModule)) {
    ModuleRef module = model.getModule(user);
    target = module ? module->getClass() : nullptr;
  }
  const FunctionRow *row = target ? findFunctionRow(target->op) : nullptr;
  if (!row || row->codeRule != CodeRule::Clamp)
    return std::nullopt;
  llvm::Expected<BoundCall> call = bindCall(user, model);
  if (!call) {
    llvm::consumeError(call.takeError()); // reported when the user itself is bound
    return std::nullopt;
  }
  const BoundSlot *slot = call->find("input");
  if (!slot || slot->arg.getNodeOrNull() != input)
    return std::nullopt;
  auto lookup = [](const Node *) { return ValueType(); };
  InferContext attrs(*call, lookup, &model);
  llvm::Expected<BoundFunction> function = bindParams(attrs, *row);
  if (!function) {
    llvm::consumeError(function.takeError());
    return std::nullopt;
  }
  if (function->kind == kernels::UnaryKind::Relu)
    return ClampRange{0, INFINITY};
  if (!(function->params.a <= function->params.b))
    return std::nullopt;
  return ClampRange{function->params.a, function->params.b};
}

/// Is a bound of clamp a tensor, or a number that is known only when the graph runs?
static bool hasOpenBound(BindContext &context) {
  for (llvm::StringRef slot : {"min", "max"})
    if (context.getCall().find(slot) && context.getValue(slot).kind != RuntimeValue::Kind::Host)
      return true;
  return false;
}

/// float16 and bfloat16 are computed in float32 and rounded; functions whose result keeps an integer dtype are computed in int64.
llvm::Expected<RuntimeValue> bindFloatFunction(BindContext &context) {
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  llvm::Expected<TensorType> resultType = context.getResultTensor();
  if (!resultType)
    return resultType.takeError();
  if (!isFloat(resultType->dtype))
    return bindIntegerFunction(context);
  if (context.getOp().kind == OpKind::Clamp && hasOpenBound(context))
    return bindPlainClamp(context);
  llvm::Expected<DType> dtype = getComputeDType(context, *given);
  if (!dtype)
    return dtype.takeError();
  llvm::Expected<View> input = castTo(context, *given, DType::Float32);
  if (!input)
    return input.takeError();
  llvm::Expected<BoundFunction> function = bindFunction(context, *findFunctionRow(context.getOp().kind));
  if (!function)
    return function.takeError();
  TensorType type = *resultType;
  type.dtype = DType::Float32;
  View src = context.toDense(*input);
  View dst = context.allocate(type, src.strides);
  kernels::UnaryFn kernel = kernels::selectUnary(function->kind);
  kernels::UnaryParams params = function->params;
  int64_t n = src.getNumElements();
  StepTraits traits;
  traits.inPlaceSrc = &src;
  context.emit(
      {&src}, {&dst},
      [src, dst, kernel, params, n](RunContext &run) {
        run.parallelFor(n, kElementGrain, [&](int64_t begin, int64_t end, void *) {
          kernel(src.getData<float>() + begin, dst.getData<float>() + begin, end - begin, params);
        });
      },
      traits);
  llvm::Expected<View> result = castTo(context, dst, resultType->dtype);
  if (!result)
    return result.takeError();
  return RuntimeValue(*result);
}

} // namespace qfx::runtime
