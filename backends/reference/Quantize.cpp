// Quantize and dequantize, per tensor, per channel and with parameters found while running.
#include "kernels/quantize/Quantize.h"
#include "backends/observe/ChooseQuantizationParams.h"
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "ir/Diagnostics.h"
#include "kernels/histogram/Histogram.h"

#include <cmath>
#include <limits>
#include <vector>

namespace qfx::runtime {

namespace {

/// A row function per 8-bit code type, and the rule of qint32.
void quantizeRows(const kernels::QuantizeKernels &kernels, const View &dst, const float *src, int64_t begin, int64_t n,
                  const kernels::QParams &params) {
  switch (dst.getDType()) {
  case DType::QUInt8:
    return kernels.quantizeU8(src + begin, dst.getData<uint8_t>() + begin, n, params);
  case DType::QInt8:
    return kernels.quantizeS8(src + begin, dst.getData<int8_t>() + begin, n, params);
  default:
    return kernels::quantizeS32(src + begin, dst.getData<int32_t>() + begin, n, params);
  }
}

void dequantizeRows(const kernels::QuantizeKernels &kernels, const View &src, float *dst, int64_t begin, int64_t n,
                    const kernels::QParams &params) {
  switch (src.getDType()) {
  case DType::QUInt8:
    return kernels.dequantizeU8(src.getData<uint8_t>() + begin, dst + begin, n, params);
  case DType::QInt8:
    return kernels.dequantizeS8(src.getData<int8_t>() + begin, dst + begin, n, params);
  default:
    return kernels::dequantizeS32(src.getData<int32_t>() + begin, dst + begin, n, params);
  }
}

bool hasCodes(DType dtype) { return dtype == DType::QUInt8 || dtype == DType::QInt8 || dtype == DType::QInt32; }

/// Parameters per channel as the kernels read them.
struct ChannelParams {
  std::vector<double> scale;
  std::vector<int32_t> zeroPoint;
  std::vector<float> floatZeroPoint; ///< in the place of zeroPoint, where zero points are real numbers (operators 3.3)
  size_t axis;
  int64_t outer = 1, channels = 1, inner = 1;
};

/// q = clamp(RNE(f32(f32(x * (1 / s)) + z)), low, high) for rows [begin, end) of `outer` (operators 3.3): the zero point is added first.
template <class T>
void quantizeFloatZeroPoints(const float *src, T *dst, int64_t begin, int64_t end, const ChannelParams &params) {
  constexpr float kLow = static_cast<float>(std::numeric_limits<T>::min()), kHigh = static_cast<float>(std::numeric_limits<T>::max());
  for (int64_t row = begin * params.channels; row < end * params.channels; ++row) {
    const auto c = static_cast<size_t>(row % params.channels);
    const auto scale = static_cast<float>(params.scale[c]);
    const float inverse = scale == 0 ? 1.0f : 1.0f / scale;
    for (int64_t i = row * params.inner; i < (row + 1) * params.inner; ++i) {
      const float code = std::nearbyint(src[i] * inverse + params.floatZeroPoint[c]);
      dst[i] = code >= kHigh ? std::numeric_limits<T>::max() : code > kLow ? static_cast<T>(code) : std::numeric_limits<T>::min();
    }
  }
}

/// x = f32(f32(q) - z) * s.
template <class T>
void dequantizeFloatZeroPoints(const T *src, float *dst, int64_t begin, int64_t end, const ChannelParams &params) {
  for (int64_t row = begin * params.channels; row < end * params.channels; ++row) {
    const auto c = static_cast<size_t>(row % params.channels);
    for (int64_t i = row * params.inner; i < (row + 1) * params.inner; ++i)
      dst[i] = (static_cast<float>(src[i]) - params.floatZeroPoint[c]) * static_cast<float>(params.scale[c]);
  }
}

llvm::Expected<ChannelParams> getChannelParams(BindContext &context, const TensorType &type, const View &rowMajor) {
  const Quantizer &quantizer = *type.quantizer;
  ChannelParams params;
  if (quantizer.getScheme() == QScheme::PerChannelAffineFloatQParams)
    params.floatZeroPoint.assign(quantizer.getFloatZeroPoints().begin(), quantizer.getFloatZeroPoints().end());
  else if (quantizer.getScheme() != QScheme::PerChannelAffine)
    return context.fail("scheme {0} is not supported", getQSchemeName(quantizer.getScheme()));
  params.scale.assign(quantizer.getScales().begin(), quantizer.getScales().end());
  for (int64_t zeroPoint : quantizer.getZeroPoints())
    params.zeroPoint.push_back(static_cast<int32_t>(zeroPoint));
  params.axis = static_cast<size_t>(quantizer.getAxis());
  for (size_t i = 0; i < rowMajor.getRank(); ++i)
    (i < params.axis ? params.outer : i == params.axis ? params.channels : params.inner) *= rowMajor.sizes[i];
  if (static_cast<int64_t>(params.scale.size()) != params.channels)
    return context.fail("{0} scales do not fit dimension {1} of {2}", params.scale.size(), params.axis, toString(type));
  return params;
}

/// Codes of f32 values by parameters per channel.
llvm::Expected<View> emitPerChannel(BindContext &context, const View &values, const TensorType &type) {
  View src = context.toOrder(values, StorageOrder::RowMajor);
  View dst = context.allocate(type, StorageOrder::RowMajor);
  llvm::Expected<ChannelParams> params = getChannelParams(context, type, dst);
  if (!params)
    return params.takeError();
  context.emit({&src}, {&dst}, [src, dst, params = *params](RunContext &run) {
    run.parallelFor(params.outer, getElementGrain(params.channels * params.inner), [&](int64_t begin, int64_t end, void *) {
      int64_t offset = begin * params.channels * params.inner;
      auto quantize = [&](auto *codes) {
        if (!params.floatZeroPoint.empty())
          return quantizeFloatZeroPoints(src.getData<float>(), codes, begin, end, params);
        kernels::quantizePerChannel(src.getData<float>() + offset, codes + offset, end - begin, params.channels,
                                    params.inner, params.scale.data(), params.zeroPoint.data());
      };
      if (dst.getDType() == DType::QUInt8)
        quantize(dst.getData<uint8_t>());
      else if (dst.getDType() == DType::QInt8)
        quantize(dst.getData<int8_t>());
      else
        quantize(dst.getData<int32_t>());
    });
  });
  return dst;
}

/// Codes by parameters that are found when the graph runs and stay with them.
View emitOpen(BindContext &context, const View &values, const TensorType &type, llvm::ArrayRef<const View *> numbers,
              std::function<llvm::Expected<RuntimeQParams>(const View &)> find) {
  View src = context.toDense(values);
  View dst = context.allocate(type, src.strides);
  dst.dynamicQParams = std::make_shared<Buffer>();
  dst.dynamicQParams->sizeBytes = sizeof(RuntimeQParams);
  const kernels::QuantizeKernels &kernels = kernels::selectQuantize();
  llvm::SmallVector<const View *, 3> reads(numbers.begin(), numbers.end());
  reads.push_back(&src);
  context.emit(reads, {&dst}, [src, dst, &kernels, find](RunContext &run) {
    llvm::Expected<RuntimeQParams> found = find(src);
    if (!found)
      return run.fail(found.takeError());
    *reinterpret_cast<RuntimeQParams *>(dst.dynamicQParams->data) = *found;
    const kernels::QParams params{found->scale, static_cast<int32_t>(found->zeroPoint)};
    run.parallelFor(src.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      quantizeRows(kernels, dst, src.getData<float>(), begin, end - begin, params);
    });
  });
  return dst;
}

/// Parameters of an f32 tensor's range (operators 3.8).
llvm::Expected<RuntimeQParams> chooseParams(const View &src, const DTypeInfo &info, const ChooseOptions &options) {
  kernels::MinMax range = kernels::selectHistogram().minMax(src.getData<float>(), src.getNumElements());
  llvm::Expected<ChosenQParams> chosen = chooseQuantizationParams(range.min, range.max, static_cast<int32_t>(info.codeMin),
                                                                  static_cast<int32_t>(info.codeMax), options);
  if (!chosen)
    return chosen.takeError();
  return RuntimeQParams{chosen->scale, chosen->zeroPoint};
}

/// Codes by a scale and a zero point of which one is known only when the graph runs.
llvm::Expected<View> quantizeByNumbers(BindContext &context, const View &values, const TensorType &type) {
  llvm::Expected<View> scale = getNumber(context, "scale", DType::Float64);
  if (!scale)
    return scale.takeError();
  llvm::Expected<View> zeroPoint = getNumber(context, "zero_point", DType::Int64);
  if (!zeroPoint)
    return zeroPoint.takeError();
  const DTypeInfo &info = getDTypeInfo(type.dtype);
  return emitOpen(context, values, type, {&*scale, &*zeroPoint},
                  [scale = *scale, zeroPoint = *zeroPoint, &info, loc = context.getCall().loc](const View &) -> llvm::Expected<RuntimeQParams> {
                    const RuntimeQParams params{*scale.getData<double>(), *zeroPoint.getData<int64_t>()};
                    if (!(params.scale > 0 && std::isfinite(params.scale)) || params.zeroPoint < info.codeMin || params.zeroPoint > info.codeMax)
                      return error(loc, "cannot quantize to {0} with scale {1} and zero point {2}", info.text, params.scale, params.zeroPoint)
                          .code("run_quantize");
                    return params;
                  });
}

} // namespace

llvm::Expected<View> quantizeTo(BindContext &context, const View &values, const TensorType &type) {
  if (!hasCodes(type.dtype))
    return context.fail("quantizes to quint8, qint8 or qint32, got {0}", getDTypeInfo(type.dtype).text);
  if (type.quantizer && !type.quantizer->isPerTensor())
    return emitPerChannel(context, values, type);
  llvm::Expected<kernels::QParams> params = getResultParams(context, type);
  if (!params)
    return params.takeError();
  View src = context.toDense(values);
  View dst = context.allocate(type, src.strides);
  const kernels::QuantizeKernels &kernels = kernels::selectQuantize();
  int64_t n = src.getNumElements();
  context.emit({&src}, {&dst}, [src, dst, &kernels, params = *params, n](RunContext &run) {
    run.parallelFor(n, kElementGrain, [&](int64_t begin, int64_t end, void *) {
      quantizeRows(kernels, dst, src.getData<float>(), begin, end - begin, params);
    });
  });
  return dst;
}

llvm::Expected<RuntimeValue> bindQuantizePerTensor(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  const bool isOpen = context.getValue("scale").isNumber() || context.getValue("zero_point").isNumber();
  llvm::Expected<View> codes = isOpen && hasCodes(type->dtype) ? quantizeByNumbers(context, *input, *type) : quantizeTo(context, *input, *type);
  if (!codes)
    return codes.takeError();
  return RuntimeValue(*codes);
}

llvm::Expected<RuntimeValue> bindQuantizePerChannel(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (!type->quantizer)
    return context.fail("the parameters of its result, {0}, must be known before the graph runs", toString(*type));
  llvm::Expected<View> codes = quantizeTo(context, *input, *type);
  if (!codes)
    return codes.takeError();
  return RuntimeValue(*codes);
}

/// Parameters by the whole tensor's range, then quantize (operators 2.3, 3.8).
llvm::Expected<RuntimeValue> bindQuantizeDynamic(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (type->dtype == DType::Float16) { // half precision has no parameters
    llvm::Expected<View> half = castTo(context, *input, DType::Float16);
    return half ? llvm::Expected<RuntimeValue>(*half) : half.takeError();
  }
  if (type->dtype != DType::QUInt8 && type->dtype != DType::QInt8)
    return context.fail("quantizes to quint8 or qint8, got {0}", getDTypeInfo(type->dtype).text);
  llvm::Expected<bool> reduceRange = context.attrs().getBool("reduce_range");
  if (!reduceRange)
    return reduceRange.takeError();
  ChooseOptions options;
  options.reduceRange = *reduceRange;
  const DTypeInfo &info = getDTypeInfo(type->dtype);
  return RuntimeValue(emitOpen(context, *input, *type, {}, [&info, options](const View &src) { return chooseParams(src, info, options); }));
}

/// The scale and zero point of quint8 codes as numbers; qnnpack halves no range (numerics 2.6).
llvm::Expected<RuntimeValue> bindChooseQparams(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<bool> reduceRange = context.attrs().getBool("reduce_range");
  if (!reduceRange)
    return reduceRange.takeError();
  llvm::Expected<View> values = castTo(context, *input, DType::Float32);
  if (!values)
    return values.takeError();
  ChooseOptions options;
  options.reduceRange = *reduceRange && !context.getBuilder().usesStageQ();
  View src = context.toDense(*values);
  View scale = context.allocate(withSizes(src, {}, DType::Float64), StorageOrder::RowMajor);
  View zeroPoint = context.allocate(withSizes(src, {}, DType::Int64), StorageOrder::RowMajor);
  const DTypeInfo &info = getDTypeInfo(DType::QUInt8);
  context.emit({&src}, {&scale, &zeroPoint}, [src, scale, zeroPoint, &info, options](RunContext &run) {
    llvm::Expected<RuntimeQParams> params = chooseParams(src, info, options);
    if (!params)
      return run.fail(params.takeError());
    *scale.getData<double>() = params->scale;
    *zeroPoint.getData<int64_t>() = params->zeroPoint;
  });
  return RuntimeValue::ofSequence({RuntimeValue::ofNumber(scale), RuntimeValue::ofNumber(zeroPoint)});
}

llvm::Expected<View> dequantized(BindContext &context, const View &input) {
  if (input.getDType() == DType::Float32 || input.getDType() == DType::Float16)
    return castTo(context, input, DType::Float32);
  if (!hasCodes(input.getDType()))
    return context.fail("takes quint8, qint8, qint32, float16 or float32, got {0}", toString(input.type));
  const TensorType type = withSizes(input, input.sizes, DType::Float32);
  if (input.type.quantizer && !input.type.quantizer->isPerTensor()) {
    View src = context.toOrder(input, StorageOrder::RowMajor);
    View dst = context.allocate(type, StorageOrder::RowMajor);
    llvm::Expected<ChannelParams> params = getChannelParams(context, input.type, src);
    if (!params)
      return params.takeError();
    context.emit({&src}, {&dst}, [src, dst, params = *params](RunContext &run) {
      run.parallelFor(params.outer, getElementGrain(params.channels * params.inner), [&](int64_t begin, int64_t end, void *) {
        int64_t offset = begin * params.channels * params.inner;
        auto dequantize = [&](auto *codes) {
          if (!params.floatZeroPoint.empty())
            return dequantizeFloatZeroPoints(codes, dst.getData<float>(), begin, end, params);
          kernels::dequantizePerChannel(codes + offset, dst.getData<float>() + offset, end - begin, params.channels,
                                        params.inner, params.scale.data(), params.zeroPoint.data());
        };
        if (src.getDType() == DType::QUInt8)
          dequantize(src.getData<uint8_t>());
        else if (src.getDType() == DType::QInt8)
          dequantize(src.getData<int8_t>());
        else
          dequantize(src.getData<int32_t>());
      });
    });
    return dst;
  }
  View src = context.toDense(input);
  View dst = context.allocate(type, src.strides);
  kernels::QParams params;
  if (!src.dynamicQParams) {
    llvm::Expected<QuantizerRef> quantizer = context.getQuantizer(src);
    if (!quantizer)
      return quantizer.takeError();
    params = toQParams(**quantizer);
  }
  const kernels::QuantizeKernels &kernels = kernels::selectQuantize();
  int64_t n = src.getNumElements();
  context.emit({&src}, {&dst}, [src, dst, &kernels, params, n](RunContext &run) {
    kernels::QParams actual = params;
    if (src.dynamicQParams) {
      const auto *found = reinterpret_cast<const RuntimeQParams *>(src.dynamicQParams->data);
      actual = {found->scale, static_cast<int32_t>(found->zeroPoint)};
    }
    run.parallelFor(n, kElementGrain, [&](int64_t begin, int64_t end, void *) {
      dequantizeRows(kernels, src, dst.getData<float>(), begin, end - begin, actual);
    });
  });
  return dst;
}

llvm::Expected<RuntimeValue> bindDequantize(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<View> values = dequantized(context, *input);
  if (!values)
    return values.takeError();
  return RuntimeValue(*values);
}

/// The codes as plain integers: the same memory.
llvm::Expected<RuntimeValue> bindIntRepr(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  if (!hasCodes(input->getDType()))
    return context.fail("takes quint8, qint8 or qint32, got {0}", toString(input->type));
  return RuntimeValue(*input);
}

/// Plain integers as codes: the same memory.
llvm::Expected<RuntimeValue> bindMakeQuantized(BindContext &context) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (!type->quantizer)
    return context.fail("the parameters of its result, {0}, must be known before the graph runs", toString(*type));
  return context.getValue("input");
}

/// Codes 0.
llvm::Expected<RuntimeValue> bindEmptyQuantized(BindContext &context) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (!hasCodes(type->dtype) || !type->quantizer)
    return context.fail("makes quint8, qint8 or qint32 tensors with parameters known before the graph runs, got {0}", toString(*type));
  llvm::Expected<View> zero = castTo(context, makeScalar(DType::Int64, 0), toUnderlyingDType(type->dtype));
  if (!zero)
    return zero.takeError();
  return RuntimeValue(context.toOrder(broadcasted(*zero, type->getSizes()), StorageOrder::RowMajor));
}

} // namespace qfx::runtime
