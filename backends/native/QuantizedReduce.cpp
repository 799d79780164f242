// Mean and softmax of codes.
#include "backends/reference/Reduce.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/pool/Pool.h"
#include "kernels/quantize/Quantize.h"
#include "kernels/reduce/Reduce.h"

namespace qfx::runtime {

namespace {

template <class T>
void dequantizeRow(const kernels::QuantizeKernels &kernels, const T *src, float *dst, int64_t n,
                   const kernels::QParams &params) {
  if constexpr (std::is_signed_v<T>)
    kernels.dequantizeS8(src, dst, n, params);
  else
    kernels.dequantizeU8(src, dst, n, params);
}

template <class T>
void quantizeRow(const kernels::QuantizeKernels &kernels, const float *src, T *dst, int64_t n,
                 const kernels::QParams &params) {
  if constexpr (std::is_signed_v<T>)
    kernels.quantizeS8(src, dst, n, params);
  else
    kernels.quantizeU8(src, dst, n, params);
}

template <class T>
void emitMean(BindContext &context, const ReductionView &reduction, const View &dst, const kernels::QParams &params,
              kernels::MemoryFormat format) {
  View src = reduction.src;
  int64_t outer = reduction.outer, reduced = reduction.reduced, inner = reduction.inner;
  const kernels::PoolKernels &kernels = kernels::selectPool();
  context.emit({&src}, {&dst}, [src, dst, outer, reduced, inner, params, format, &kernels](RunContext &run) {
    run.parallelFor(
        outer, kElementGrain / std::max<int64_t>(1, reduced * inner) + 1, [&](int64_t begin, int64_t end, void *) {
          kernels::meanPositions(kernels, end - begin, reduced, inner, params, format,
                                 src.getData<T>() + begin * reduced * inner, dst.getData<T>() + begin * inner);
        });
  });
}

} // namespace

/// operators 8.5: on contiguous input with innermost dimensions the mean is taken on raw codes, else on floats.
llvm::Expected<RuntimeValue> bindQuantizedMean(BindContext &context) {
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (type->dtype != input->view.getDType())
    return context.fail("dtype must be the input's, got {0}", toString(*type));
  llvm::Expected<ReductionView> reduction = arrangeReduction(context, input->view);
  if (!reduction)
    return reduction.takeError();
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  bool isRaw = reduction->innermost && input->view.type.format == MemoryFormat::Contiguous;
  kernels::MemoryFormat format = isRaw ? kernels::MemoryFormat::Contiguous : kernels::MemoryFormat::ChannelsLast;
  if (input->isSigned())
    emitMean<int8_t>(context, *reduction, dst, input->params, format);
  else
    emitMean<uint8_t>(context, *reduction, dst, input->params, format);
  return RuntimeValue(dst);
}

/// operators 9.3: dequantize, float softmax, quantize.
llvm::Expected<RuntimeValue> bindQuantizedSoftmax(BindContext &context) {
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  int64_t rank = static_cast<int64_t>(input->view.getRank());
  int64_t dim = rank == 0 || rank == 1 || rank == 3 ? 0 : 1;
  if (context.attrs().hasValue("dim")) {
    llvm::Expected<int64_t> given = context.attrs().getInt("dim");
    if (!given)
      return given.takeError();
    dim = *given < 0 ? *given + rank : *given;
  }
  View src = context.toOrder(input->view, StorageOrder::RowMajor);
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  TensorType floatType = *type;
  floatType.dtype = DType::Float32;
  floatType.quantizer = nullptr;
  View values = context.allocate(floatType, StorageOrder::RowMajor),
       results = context.allocate(floatType, StorageOrder::RowMajor);
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t i = 0; i < rank; ++i)
    (i < dim ? outer : i == dim ? n : inner) *= src.sizes[static_cast<size_t>(i)];
  const kernels::ReduceKernels &kernels = kernels::selectReduce();
  const kernels::QuantizeKernels &quantize = kernels::selectQuantize();
  StepTraits traits;
  traits.scratchBytes = inner == 1 ? 0 : n * static_cast<int64_t>(sizeof(float));
  context.emit(
      {&src}, {&dst, &values, &results},
      [=, &kernels, &quantize, in = input->params, out = *output, isSigned = input->isSigned()](RunContext &run) {
        int64_t step = n * inner;
        run.parallelFor(
            outer, kElementGrain / std::max<int64_t>(1, step) + 1, [&](int64_t begin, int64_t end, void *scratch) {
              int64_t first = begin * step, count = (end - begin) * step;
              if (isSigned)
                dequantizeRow(quantize, src.getData<int8_t>() + first, values.getData<float>() + first, count, in);
              else
                dequantizeRow(quantize, src.getData<uint8_t>() + first, values.getData<float>() + first, count, in);
              kernels::softmaxMiddle(kernels, values.getData<float>(), results.getData<float>(), n, inner,
                                     /*log=*/false, begin, end, static_cast<float *>(scratch));
              if (isSigned)
                quantizeRow(quantize, results.getData<float>() + first, dst.getData<int8_t>() + first, count, out);
              else
                quantizeRow(quantize, results.getData<float>() + first, dst.getData<uint8_t>() + first, count, out);
            });
      },
      traits);
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
