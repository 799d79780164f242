// Elementwise functions of 8-bit codes: clamps on codes, everything else as a table of 256 entries.
#include "backends/native/CodeSteps.h"
#include "backends/native/WideCodes.h"
#include "backends/runtime/Kernels.h"

#include <algorithm>
#include <cmath>

namespace qfx::runtime {

static kernels::CodeType toCodeType(DType dtype) {
  return dtype == DType::QInt8 ? kernels::CodeType::S8 : kernels::CodeType::U8;
}

View emitTable(BindContext &context, const View &input, const TensorType &type,
               std::shared_ptr<const kernels::CodeLut> table) {
  View src = context.toDense(input);
  View dst = context.allocate(type, src.strides);
  const kernels::CodeMapKernels &kernels = kernels::selectCodeMap();
  int64_t n = src.getNumElements();
  StepTraits traits;
  traits.inPlaceSrc = &src;
  context.emit(
      {&src}, {&dst},
      [src, dst, table, &kernels, n](RunContext &run) {
        run.parallelFor(n, kElementGrain, [&](int64_t begin, int64_t end, void *) {
          kernels.applyLut(src.getData<uint8_t>() + begin, dst.getData<uint8_t>() + begin, end - begin, *table);
        });
      },
      traits);
  return dst;
}

View emitCodeClamp(BindContext &context, const View &input, const TensorType &type, int32_t low, int32_t high) {
  View src = context.toDense(input);
  View dst = context.allocate(type, src.strides);
  const kernels::CodeMapKernels &kernels = kernels::selectCodeMap();
  int64_t n = src.getNumElements();
  StepTraits traits;
  traits.inPlaceSrc = &src;
  bool isSigned = src.getDType() == DType::QInt8;
  context.emit(
      {&src}, {&dst},
      [src, dst, &kernels, n, low, high, isSigned](RunContext &run) {
        run.parallelFor(n, kElementGrain, [&](int64_t begin, int64_t end, void *) {
          if (isSigned)
            kernels.clampS8(src.getData<int8_t>() + begin, dst.getData<int8_t>() + begin, end - begin,
                            static_cast<int8_t>(low), static_cast<int8_t>(high));
          else
            kernels.clampU8(src.getData<uint8_t>() + begin, dst.getData<uint8_t>() + begin, end - begin,
                            static_cast<uint8_t>(low), static_cast<uint8_t>(high));
        });
      },
      traits);
  return dst;
}

View emitDequantize(BindContext &context, const CodeOperand &operand, const kernels::QParams &params) {
  View src = context.toDense(operand.view);
  TensorType type = src.type;
  type.dtype = DType::Float32;
  type.quantizer = nullptr;
  View dst = context.allocate(type, src.strides);
  const kernels::QuantizeKernels &kernels = kernels::selectQuantize();
  context.emit({&src}, {&dst}, [src, dst, params, isSigned = operand.isSigned(), &kernels](RunContext &run) {
    run.parallelFor(src.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      if (isSigned)
        kernels.dequantizeS8(src.getData<int8_t>() + begin, dst.getData<float>() + begin, end - begin, params);
      else
        kernels.dequantizeU8(src.getData<uint8_t>() + begin, dst.getData<float>() + begin, end - begin, params);
    });
  });
  return dst;
}

void emitFromFloats(BindContext &context, llvm::ArrayRef<const View *> reads, const View &values, const View &dst,
                    const kernels::QParams &output, std::function<void(int64_t, float *, int64_t)> rework) {
  const kernels::QuantizeKernels &kernels = kernels::selectQuantize();
  context.emit(reads, {&dst}, [values, dst, output, rework = std::move(rework), &kernels](RunContext &run) {
    run.parallelFor(values.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      float chunk[kFloatChunk];
      for (int64_t first = begin; first < end; first += kFloatChunk) {
        const int64_t n = std::min(end - first, kFloatChunk);
        std::copy_n(values.getData<float>() + first, n, chunk);
        rework(first, chunk, n);
        if (dst.getDType() == DType::QInt8)
          kernels.quantizeS8(chunk, dst.getData<int8_t>() + first, n, output);
        else
          kernels.quantizeU8(chunk, dst.getData<uint8_t>() + first, n, output);
      }
    });
  });
}

llvm::Expected<RuntimeValue> emitTableFunction(BindContext &context, const BoundFunction &function) {
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (type->dtype != input->view.getDType())
    return context.fail("its result must have the input's dtype, got {0}", toString(*type));
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  auto table = std::make_shared<kernels::CodeLut>();
  kernels::CodeType code = toCodeType(type->dtype);
  kernels::buildUnaryLut(function.kind, function.params, code, input->params, code, *output, *table);
  return RuntimeValue(emitTable(context, input->view, *type, table));
}

llvm::Expected<RuntimeValue> bindCodeFunction(BindContext &context) {
  const FunctionRow &row = *findFunctionRow(context.getOp().kind);
  llvm::Expected<BoundFunction> function = bindFunction(context, row);
  if (!function)
    return function.takeError();
  llvm::Expected<View> operand = context.getTensor("input");
  if (!operand)
    return operand.takeError();
  if (hasWideCodes(*operand))
    return bindWideFunction(context, row, *function);
  if (row.codeRule == CodeRule::Table)
    return emitTableFunction(context, *function);
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  kernels::CodeType code = toCodeType(input->view.getDType());
  const DTypeInfo &info = getDTypeInfo(input->view.getDType());
  int32_t low = static_cast<int32_t>(info.codeMin), high = static_cast<int32_t>(info.codeMax);
  if (function->kind == kernels::UnaryKind::Relu) {
    low = input->params.zeroPoint;
  } else {
    if (std::isfinite(function->params.a))
      low = kernels::quantizeValue(function->params.a, code, input->params);
    if (std::isfinite(function->params.b))
      high = kernels::quantizeValue(function->params.b, code, input->params);
  }
  return RuntimeValue(emitCodeClamp(context, input->view, *type, low, high));
}

} // namespace qfx::runtime
