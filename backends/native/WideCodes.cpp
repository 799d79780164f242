// Rows of 32-bit codes: read as floats or integers, changed, written back.
#include "backends/native/WideCodes.h"

#include "backends/reference/Emit.h"
#include "backends/runtime/Kernels.h"
#include "kernels/quantize/Quantize.h"

#include <algorithm>
#include <cmath>

namespace qfx::runtime {

namespace {

constexpr int64_t kChunk = 1024;
constexpr int64_t kLow = INT32_MIN, kHigh = INT32_MAX;

int32_t toCode(int64_t value) { return static_cast<int32_t>(std::clamp(value, kLow, kHigh)); }

/// VDQ (operators 3.2).
float toReal(int32_t code, const kernels::QParams &params) {
  const float scale = static_cast<float>(params.scale);
  return std::fma(scale, static_cast<float>(code), -(scale * static_cast<float>(params.zeroPoint)));
}

/// RNE(f32(f32(c) * multiplier)) + zeroPoint (operators 3.4).
int32_t requantize(int64_t c, float multiplier, int64_t zeroPoint) {
  const double rounded = std::nearbyint(static_cast<float>(c) * multiplier);
  return toCode(static_cast<int64_t>(std::clamp(rounded, -0x1p40, 0x1p40)) + zeroPoint);
}

llvm::Expected<CodeOperand> getWide(BindContext &context, llvm::StringRef slot) {
  llvm::Expected<View> view = context.getTensor(slot);
  if (!view)
    return view.takeError();
  if (!hasWideCodes(*view))
    return context.fail("operand '{0}' must be qint32 as the other one, got {1}", slot, toString(view->type));
  llvm::Expected<QuantizerRef> quantizer = context.getQuantizer(*view);
  if (!quantizer)
    return quantizer.takeError();
  return CodeOperand{*view, toQParams(**quantizer)};
}

/// One step that maps n codes to n codes, position by position.
template <class Fn> View emitMap(BindContext &context, const View &view, const TensorType &type, Fn map) {
  View src = context.toDense(view);
  View dst = context.allocate(type, src.strides);
  context.emit({&src}, {&dst}, [src, dst, map](RunContext &run) {
    run.parallelFor(src.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      map(src.getData<int32_t>() + begin, dst.getData<int32_t>() + begin, end - begin);
    });
  });
  return dst;
}

/// Number added: the addend snaps to a step and moves the zero point; the scale widens where that leaves the range.
View emitAddNumber(BindContext &context, const CodeOperand &input, const TensorType &type, double number,
                   const kernels::QParams &output, bool relu) {
  const double steps = std::nearbyint(number / input.params.scale);
  const double moved = static_cast<double>(input.params.zeroPoint) - steps;
  const bool isKept = moved >= static_cast<double>(kLow) && moved <= static_cast<double>(kHigh);
  const int64_t shift = static_cast<int64_t>(std::clamp(steps, -0x1p40, 0x1p40)) - input.params.zeroPoint;
  const float multiplier = static_cast<float>(input.params.scale) * (1.0f / static_cast<float>(output.scale));
  const int32_t low = relu ? output.zeroPoint : INT32_MIN, zeroPoint = output.zeroPoint;
  return emitMap(context, input.view, type, [=](const int32_t *src, int32_t *dst, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      dst[i] = std::max(isKept ? src[i] : requantize(src[i] + shift, multiplier, zeroPoint), low);
  });
}

/// Number multiplied: codes stay, or are mirrored, or all become 0.
View emitMultiplyNumber(BindContext &context, const CodeOperand &input, const TensorType &type, double number,
                        const kernels::QParams &output, bool relu) {
  const int32_t low = relu ? output.zeroPoint : INT32_MIN;
  return emitMap(context, input.view, type, [=](const int32_t *src, int32_t *dst, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      dst[i] = std::max(number > 0 ? src[i] : number < 0 ? toCode(kLow + kHigh - src[i]) : 0, low);
  });
}

} // namespace

View emitWideDequantize(BindContext &context, const View &view, const kernels::QParams &params) {
  View src = context.toDense(view);
  TensorType type = src.type;
  type.dtype = DType::Float32;
  type.quantizer = nullptr;
  View dst = context.allocate(type, src.strides);
  context.emit({&src}, {&dst}, [src, dst, params](RunContext &run) {
    run.parallelFor(src.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      kernels::dequantizeS32(src.getData<int32_t>() + begin, dst.getData<float>() + begin, end - begin, params);
    });
  });
  return dst;
}

View emitWideRequantize(BindContext &context, const View &view, const kernels::QParams &params, const TensorType &type,
                        const kernels::QParams &output, bool relu) {
  return emitMap(context, view, type, [=](const int32_t *src, int32_t *dst, int64_t n) {
    float reals[kChunk];
    for (int64_t first = 0; first < n; first += kChunk) {
      const int64_t count = std::min(kChunk, n - first);
      kernels::dequantizeS32(src + first, reals, count, params);
      kernels::quantizeS32(reals, dst + first, count, output);
      for (int64_t i = first; relu && i < first + count; ++i)
        dst[i] = std::max(dst[i], output.zeroPoint);
    }
  });
}

llvm::Expected<RuntimeValue> bindWideFunction(BindContext &context, const FunctionRow &row,
                                              const BoundFunction &function) {
  llvm::Expected<CodeOperand> input = getWide(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  const kernels::QParams in = input->params;
  if (row.codeRule == CodeRule::Clamp) {
    int32_t low = INT32_MIN, high = INT32_MAX;
    if (function.kind == kernels::UnaryKind::Relu) {
      low = in.zeroPoint;
    } else {
      for (auto [bound, into] : {std::pair(function.params.a, &low), std::pair(function.params.b, &high)})
        if (std::isfinite(bound))
          kernels::quantizeS32(&bound, into, 1, in);
    }
    return RuntimeValue(emitMap(context, input->view, *type, [=](const int32_t *src, int32_t *dst, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        dst[i] = std::min(std::max(src[i], low), high);
    }));
  }
  const kernels::UnaryFn unary = kernels::selectUnary(function.kind);
  return RuntimeValue(emitMap(
      context, input->view, *type,
      [unary, params = function.params, in, out = *output](const int32_t *src, int32_t *dst, int64_t n) {
        float reals[kChunk];
        for (int64_t first = 0; first < n; first += kChunk) {
          const int64_t count = std::min(kChunk, n - first);
          for (int64_t i = 0; i < count; ++i)
            reals[i] = src[first + i] == in.zeroPoint ? 0.0f : toReal(src[first + i], in);
          unary(reals, reals, count, params);
          kernels::quantizeS32(reals, dst + first, count, out);
        }
      }));
}

llvm::Expected<RuntimeValue> bindWideArithmetic(BindContext &context, bool isAdd, bool relu) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  for (auto [tensor, other] : {std::pair{"input", "other"}, std::pair{"other", "input"}})
    if (std::optional<double> number = context.getScalar(other)) {
      llvm::Expected<CodeOperand> input = getWide(context, tensor);
      if (!input)
        return input.takeError();
      auto emit = isAdd ? emitAddNumber : emitMultiplyNumber;
      return RuntimeValue(emit(context, *input, *type, *number, *output, relu));
    }
  llvm::Expected<CodeOperand> first = getWide(context, "input");
  if (!first)
    return first.takeError();
  llvm::Expected<CodeOperand> second = getWide(context, "other");
  if (!second)
    return second.takeError();
  llvm::SmallVector<int64_t, 4> sizes = type->getSizes();
  View a = context.toOrder(broadcasted(first->view, sizes), StorageOrder::RowMajor);
  View b = context.toOrder(broadcasted(second->view, sizes), StorageOrder::RowMajor);
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  const kernels::QParams pa = first->params, pb = second->params, out = *output;
  const float multiplier = static_cast<float>(pa.scale) * static_cast<float>(pb.scale) * (1.0f / static_cast<float>(out.scale));
  context.emit({&a, &b}, {&dst}, [=](RunContext &run) {
    run.parallelFor(dst.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      const int32_t *left = a.getData<int32_t>(), *right = b.getData<int32_t>();
      int32_t *to = dst.getData<int32_t>();
      for (int64_t i = begin; i < end; ++i) {
        if (isAdd) {
          float sum = toReal(left[i], pa) + toReal(right[i], pb);
          sum = relu ? std::max(sum, 0.0f) : sum;
          kernels::quantizeS32(&sum, to + i, 1, out);
          continue;
        }
        const int64_t product = (int64_t{left[i]} - pa.zeroPoint) * (int64_t{right[i]} - pb.zeroPoint);
        to[i] = requantize(product, multiplier, out.zeroPoint);
        to[i] = relu ? std::max(to[i], out.zeroPoint) : to[i];
      }
    });
  });
  return RuntimeValue(dst);
}

llvm::Expected<RuntimeValue> bindWidePrelu(BindContext &context) {
  llvm::Expected<CodeOperand> input = getWide(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  if (weight->getDType() != DType::QInt32 || !weight->getQuantizer() || !weight->getQuantizer()->isPerTensor())
    return context.fail("the slopes must be qint32 quantized per tensor, got {0}", toString(weight->getType()));
  const View view = context.toOrder(input->view, StorageOrder::RowMajor);
  const int64_t slopes = weight->getNumElements();
  if (view.getRank() == 0 || (slopes != 1 && (view.getRank() < 2 || slopes != view.sizes[1])))
    return context.fail("{0} slopes do not fit the channels of {1}", slopes, toString(view.type));
  int64_t inner = 1; // elements behind each other that share a channel
  for (size_t i = 2; i < view.getRank(); ++i)
    inner *= view.sizes[i];
  const kernels::QParams in = input->params, out = *output, slope = toQParams(*weight->getQuantizer());
  const int64_t one = std::llrint(1.0f / static_cast<float>(slope.scale));
  const float multiplier = static_cast<float>(in.scale) * static_cast<float>(slope.scale) * (1.0f / static_cast<float>(out.scale));
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  context.emit({&view}, {&dst}, [=, weight = *weight](RunContext &run) {
    run.parallelFor(view.getNumElements(), kElementGrain, [&](int64_t begin, int64_t end, void *) {
      const int32_t *codes = weight.getData<int32_t>().data();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t steps = int64_t{view.getData<int32_t>()[i]} - in.zeroPoint;
        const int64_t channel = slopes == 1 ? 0 : i / inner % slopes;
        const int64_t factor = steps > 0 ? one : int64_t{codes[channel]} - slope.zeroPoint;
        dst.getData<int32_t>()[i] = requantize(steps * factor, multiplier, out.zeroPoint);
      }
    });
  });
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
