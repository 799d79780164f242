// Quantized add and mul of two tensors, or of a tensor and a number.
#include "kernels/elementwise/QuantizedBinary.h"
#include "backends/native/CodeSteps.h"
#include "backends/native/WideCodes.h"
#include "backends/runtime/Kernels.h"
#include "kernels/elementwise/FixedPointAdd.h"

namespace qfx::runtime {

namespace {

enum class Arithmetic : uint8_t { Add, Mul };

/// A row function with its constants, for runBroadcast.
template <class T, class Params> struct RowContext {
  void (*kernel)(const T *, int, const T *, int, T *, int64_t, const Params &);
  Params params;

  static void run(const void *a, int aStep, const void *b, int bStep, void *dst, int64_t n, const void *context) {
    const RowContext &row = *static_cast<const RowContext *>(context);
    row.kernel(static_cast<const T *>(a), aStep, static_cast<const T *>(b), bStep, static_cast<T *>(dst), n,
               row.params);
  }
};

template <class T, class Params>
RuntimeValue emitRows(BindContext &context, const View &a, const View &b, const TensorType &type,
                      void (*kernel)(const T *, int, const T *, int, T *, int64_t, const Params &),
                      const Params &params) {
  View dst = context.allocate(type, chooseLayout(type, a, b));
  kernels::BroadcastPlan plan = makeBroadcast(dst, a, b);
  RowContext<T, Params> row{kernel, params};
  StepTraits traits;
  if (hasSameLayout(a, dst) && (a.buffer != b.buffer || hasSameLayout(a, b)))
    traits.inPlaceSrc = &a;
  else if (hasSameLayout(b, dst) && a.buffer != b.buffer)
    traits.inPlaceSrc = &b;
  context.emit(
      {&a, &b}, {&dst},
      [a, b, dst, plan, row](RunContext &run) {
        run.parallelFor(plan.numElements, kElementGrain, [&](int64_t begin, int64_t end, void *) {
          kernels::runBroadcast(plan, 1, begin, end, a.getBytes(), b.getBytes(), dst.getBytes(),
                                RowContext<T, Params>::run, &row);
        });
      },
      traits);
  return RuntimeValue(dst);
}

/// qnnpack adds quint8 tensors of one shape in fixed point (operators 6).
View emitFixedPointAdd(BindContext &context, const View &a, const View &b, const TensorType &type,
                       const kernels::FixedPointAddParams &params) {
  View dst = context.allocate(type, chooseLayout(type, a, b));
  View left = a, right = b;
  for (View *operand : {&left, &right})
    if (!hasSameLayout(*operand, dst)) {
      View copy = context.allocate(operand->type, dst.strides);
      context.copy(*operand, copy);
      *operand = copy;
    }
  context.emit({&left, &right}, {&dst}, [left, right, dst, params](RunContext &run) {
    run.parallelFor(dst.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      kernels::addFixedPoint(left.getData<uint8_t>() + begin, right.getData<uint8_t>() + begin,
                             dst.getData<uint8_t>() + begin, end - begin, params);
    });
  });
  return dst;
}

/// The result's parameters follow from the input's and the number (operators 6, add_scalar and mul_scalar).
llvm::Expected<RuntimeValue> bindScalar(BindContext &context, Arithmetic arithmetic, bool relu,
                                        const CodeOperand &input, double number) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  auto table = std::make_shared<kernels::CodeLut>();
  kernels::CodeType code = input.isSigned() ? kernels::CodeType::S8 : kernels::CodeType::U8;
  kernels::QParams output;
  if (arithmetic == Arithmetic::Add)
    kernels::buildAddScalarLut(code, input.params, number, relu, output, *table);
  else
    kernels::buildMulScalarLut(code, input.params, number, relu, output, *table);
  if (type->quantizer &&
      (type->quantizer->getScale() != output.scale || type->quantizer->getZeroPoint() != output.zeroPoint))
    return context.fail("its result has scale {0} and zero point {1}, but its type says {2}", output.scale,
                        output.zeroPoint, toString(*type));
  return RuntimeValue(emitTable(context, input.view, *type, table));
}

llvm::Expected<RuntimeValue> bindArithmetic(BindContext &context, Arithmetic arithmetic, bool relu) {
  for (llvm::StringRef slot : {"input", "other"})
    if (RuntimeValue value = context.getValue(slot); value.isTensor() && hasWideCodes(value.view))
      return bindWideArithmetic(context, arithmetic == Arithmetic::Add, relu);
  for (auto [tensor, number] : {std::pair{"input", "other"}, std::pair{"other", "input"}})
    if (std::optional<double> scalar = context.getScalar(number)) {
      llvm::Expected<CodeOperand> input = getCodeTensor(context, tensor);
      if (!input)
        return input.takeError();
      return bindScalar(context, arithmetic, relu, *input, *scalar);
    }
  llvm::Expected<CodeOperand> a = getCodeTensor(context, "input");
  if (!a)
    return a.takeError();
  llvm::Expected<CodeOperand> b = getCodeTensor(context, "other");
  if (!b)
    return b.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (a->isSigned() != b->isSigned() || type->dtype != a->view.getDType())
    return context.fail("both operands and the result must have one dtype, got {0} and {1} to {2}",
                        toString(a->view.type), toString(b->view.type), toString(*type));
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  const kernels::QuantizedBinaryKernels &kernels = kernels::selectQuantizedBinary();
  if (arithmetic == Arithmetic::Add && context.getBuilder().usesStageQ() && !a->isSigned() &&
      a->view.sizes == b->view.sizes)
    if (auto params = kernels::makeFixedPointAddParams(a->params, b->params, *output, relu))
      return RuntimeValue(emitFixedPointAdd(context, a->view, b->view, *type, *params));
  if (arithmetic == Arithmetic::Add) {
    kernels::QuantizedAddParams params = kernels::makeQuantizedAddParams(a->params, b->params, *output, relu);
    return a->isSigned() ? emitRows(context, a->view, b->view, *type, kernels.addS8, params)
                         : emitRows(context, a->view, b->view, *type, kernels.addU8, params);
  }
  kernels::QuantizedMulParams params = kernels::makeQuantizedMulParams(a->params, b->params, *output, relu);
  return a->isSigned() ? emitRows(context, a->view, b->view, *type, kernels.mulS8, params)
                       : emitRows(context, a->view, b->view, *type, kernels.mulU8, params);
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedAdd(BindContext &context) {
  return bindArithmetic(context, Arithmetic::Add, false);
}
llvm::Expected<RuntimeValue> bindQuantizedAddRelu(BindContext &context) {
  return bindArithmetic(context, Arithmetic::Add, true);
}
llvm::Expected<RuntimeValue> bindQuantizedMul(BindContext &context) {
  return bindArithmetic(context, Arithmetic::Mul, false);
}
llvm::Expected<RuntimeValue> bindQuantizedMulRelu(BindContext &context) {
  return bindArithmetic(context, Arithmetic::Mul, true);
}

} // namespace qfx::runtime
