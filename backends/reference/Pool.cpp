// Max and average pooling of floats and of codes, whose parameters stay.
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/pool/Pool.h"
#include "ir/OpKind.h"

#include <algorithm>

namespace qfx::runtime {

namespace {

/// What every pooling has: an input with batch and channels, its result, and the shape between them.
struct Pooling {
  View src, dst;
  kernels::PoolShape shape;
  bool isBatched = true;
  kernels::MemoryFormat format = kernels::MemoryFormat::Contiguous;
  kernels::QParams params;
};

size_t getSpatial(OpKind op) {
  switch (op) {
  case OpKind::MaxPool1d:
  case OpKind::AvgPool1d:
  case OpKind::AdaptiveAvgPool1d:
    return 1;
  case OpKind::MaxPool3d:
  case OpKind::AvgPool3d:
  case OpKind::AdaptiveAvgPool3d:
    return 3;
  default:
    return 2;
  }
}

/// PyTorch's format decides the rounding; a tensor contiguous in both senses counts as channels-last (operators 2.4).
kernels::MemoryFormat getPoolFormat(const View &src) {
  bool isAmbiguous = src.sizes[1] == 1;
  int64_t positions = 1;
  for (size_t i = 2; i < src.getRank(); ++i)
    positions *= src.sizes[i];
  isAmbiguous |= positions == 1;
  return isAmbiguous || src.type.format != MemoryFormat::Contiguous ? kernels::MemoryFormat::ChannelsLast
                                                                    : kernels::MemoryFormat::Contiguous;
}

llvm::Expected<Pooling> startPooling(BindContext &context, bool takesWide = false) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  DType dtype = input->getDType();
  if (dtype != DType::Float32 && dtype != DType::QUInt8 && dtype != DType::QInt8 && !(takesWide && dtype == DType::QInt32))
    return context.fail("takes float32, quint8{0} qint8{1}, got {2}", takesWide ? "," : " or", takesWide ? " or qint32" : "",
                        toString(input->type));
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  Pooling pooling;
  if (isQuantized(dtype)) {
    llvm::Expected<QuantizerRef> quantizer = context.getQuantizer(*input);
    if (!quantizer)
      return quantizer.takeError();
    pooling.params = toQParams(**quantizer);
  }
  size_t spatial = getSpatial(context.getOp().kind);
  pooling.isBatched = input->getRank() == spatial + 2;
  if (!pooling.isBatched && input->getRank() != spatial + 1)
    return context.fail("takes rank {0} or {1}, got {2}", spatial + 1, spatial + 2, toString(input->type));
  View batched = pooling.isBatched ? *input : unsqueezed(*input, 0);
  pooling.src = context.toOrder(batched, StorageOrder::ChannelsLast);
  pooling.format = getPoolFormat(pooling.src);
  if (!pooling.isBatched)
    type->shape.insert(type->shape.begin(), Dim(1));
  pooling.dst = context.allocate(*type, StorageOrder::ChannelsLast);
  kernels::PoolShape &shape = pooling.shape;
  shape.batch = pooling.src.sizes[0];
  shape.channels = pooling.src.sizes[1];
  for (size_t i = 0; i < spatial; ++i) {
    shape.in[3 - spatial + i] = pooling.src.sizes[2 + i];
    shape.out[3 - spatial + i] = pooling.dst.sizes[2 + i];
  }
  return pooling;
}

/// Kernel, stride (None or empty: the kernel), padding and dilation of window pooling.
llvm::Error readWindow(BindContext &context, kernels::PoolShape &shape) {
  size_t spatial = getSpatial(context.getOp().kind), first = 3 - spatial;
  struct Field {
    const char *slot;
    int64_t *values;
  };
  for (Field field : {Field{"kernel_size", shape.kernel}, Field{"stride", shape.stride},
                      Field{"padding", shape.padding}, Field{"dilation", shape.dilation}}) {
    if (!context.getCall().find(field.slot))
      continue;
    llvm::SmallVector<int64_t, 4> numbers;
    if (context.attrs().hasValue(field.slot)) {
      llvm::Expected<llvm::SmallVector<int64_t, 4>> given = context.attrs().getInts(field.slot);
      if (!given)
        return given.takeError();
      numbers = *given;
    }
    for (size_t i = 0; i < spatial; ++i)
      field.values[first + i] =
          numbers.empty() ? shape.kernel[first + i] : numbers[std::min(i, numbers.size() - 1)];
  }
  return llvm::Error::success();
}

template <class T> int64_t getGrain(const kernels::PoolShape &shape) {
  int64_t taps = shape.adaptive ? shape.numInputPixels() / std::max<int64_t>(1, shape.out[0] * shape.out[1] * shape.out[2])
                                : shape.kernel[0] * shape.kernel[1] * shape.kernel[2];
  return kElementGrain * 2 / std::max<int64_t>(1, taps * shape.channels * static_cast<int64_t>(sizeof(T))) + 1;
}

RuntimeValue finish(const Pooling &pooling) {
  return RuntimeValue(pooling.isBatched ? pooling.dst : squeezed(pooling.dst, 0));
}

template <class T> void emitMax(BindContext &context, const Pooling &pooling) {
  const kernels::PoolKernels &kernels = kernels::selectPool();
  const View &src = pooling.src, &dst = pooling.dst;
  context.emit({&src}, {&dst}, [src, dst, &kernels, shape = pooling.shape](RunContext &run) {
    run.parallelFor(shape.numOutputPixels(), getGrain<T>(shape), [&](int64_t begin, int64_t end, void *) {
      kernels::maxPool(kernels, shape, src.getData<T>(), dst.getData<T>(), begin, end);
    });
  });
}

/// Windows of 32-bit codes (operators 8.3: any dtype), one after the other.
void emitWideMax(BindContext &context, const Pooling &pooling) {
  const View &src = pooling.src, &dst = pooling.dst;
  context.emit({&src}, {&dst}, [src, dst, shape = pooling.shape](RunContext &run) {
    run.parallelFor(shape.numOutputPixels(), getGrain<int32_t>(shape), [&](int64_t begin, int64_t end, void *) {
      for (int64_t pixel = begin; pixel < end; ++pixel) {
        kernels::PoolWindow window[3];
        int64_t rest = pixel;
        for (int dim = 2; dim >= 0; --dim) {
          window[dim] = kernels::getPoolWindow(shape, dim, rest % shape.out[dim]);
          rest /= shape.out[dim];
        }
        int32_t *to = dst.getData<int32_t>() + pixel * shape.channels;
        std::fill_n(to, shape.channels, INT32_MIN);
        for (int64_t i = 0; i < window[0].count; ++i)
          for (int64_t j = 0; j < window[1].count; ++j)
            for (int64_t k = 0; k < window[2].count; ++k) {
              const int64_t z = window[0].start + i * window[0].step, y = window[1].start + j * window[1].step,
                            x = window[2].start + k * window[2].step;
              const int32_t *from =
                  src.getData<int32_t>() + (((rest * shape.in[0] + z) * shape.in[1] + y) * shape.in[2] + x) * shape.channels;
              for (int64_t c = 0; c < shape.channels; ++c)
                to[c] = std::max(to[c], from[c]);
            }
      }
    });
  });
}

template <class T> void emitAverage(BindContext &context, const Pooling &pooling) {
  const kernels::PoolKernels &kernels = kernels::selectPool();
  context.emit({&pooling.src}, {&pooling.dst}, [&kernels, pooling](RunContext &run) {
    const kernels::PoolShape &shape = pooling.shape;
    run.parallelFor(shape.numOutputPixels(), getGrain<T>(shape), [&](int64_t begin, int64_t end, void *) {
      const T *src = pooling.src.getData<T>();
      T *dst = pooling.dst.getData<T>();
      if constexpr (std::is_same_v<T, float>)
        kernels::avgPool(kernels, shape, src, dst, begin, end);
      else
        kernels::avgPool(kernels, shape, pooling.params.zeroPoint, pooling.format, src, dst, begin, end);
    });
  });
}

template <class T> void emitMean(BindContext &context, const Pooling &pooling) {
  const kernels::PoolKernels &kernels = kernels::selectPool();
  const View &src = pooling.src, &dst = pooling.dst;
  const int64_t channels = pooling.shape.channels, positions = pooling.shape.numInputPixels();
  context.emit({&src}, {&dst}, [=, &kernels, params = pooling.params, format = pooling.format](RunContext &run) {
    const int64_t grain = kElementGrain / std::max<int64_t>(1, positions * channels) + 1;
    run.parallelFor(src.sizes[0], grain, [&](int64_t begin, int64_t end, void *) {
      kernels::meanPositions(kernels, end - begin, positions, channels, params, format,
                             src.getData<T>() + begin * positions * channels, dst.getData<T>() + begin * channels);
    });
  });
}

void emitAverageByType(BindContext &context, const Pooling &pooling) {
  switch (pooling.src.getDType()) {
  case DType::QUInt8:
    return emitAverage<uint8_t>(context, pooling);
  case DType::QInt8:
    return emitAverage<int8_t>(context, pooling);
  default:
    return emitAverage<float>(context, pooling);
  }
}

} // namespace

llvm::Expected<RuntimeValue> bindMaxPool(BindContext &context) {
  const BoundSlot *indices = context.getCall().find("return_indices");
  if (indices && indices->arg.isBool() && indices->arg.getBool())
    return bindIndexedMaxPool(context);
  llvm::Expected<Pooling> pooling = startPooling(context, /*takesWide=*/true);
  if (!pooling)
    return pooling.takeError();
  if (llvm::Error err = readWindow(context, pooling->shape))
    return err;
  switch (pooling->src.getDType()) {
  case DType::QInt32:
    emitWideMax(context, *pooling);
    break;
  case DType::QUInt8:
    emitMax<uint8_t>(context, *pooling);
    break;
  case DType::QInt8:
    emitMax<int8_t>(context, *pooling);
    break;
  default:
    emitMax<float>(context, *pooling);
  }
  return finish(*pooling);
}

llvm::Expected<RuntimeValue> bindAvgPool(BindContext &context) {
  llvm::Expected<Pooling> pooling = startPooling(context);
  if (!pooling)
    return pooling.takeError();
  if (llvm::Error err = readWindow(context, pooling->shape))
    return err;
  llvm::Expected<bool> countPad = context.attrs().getBool("count_include_pad");
  if (!countPad)
    return countPad.takeError();
  pooling->shape.countIncludePad = *countPad;
  if (context.attrs().hasValue("divisor_override")) {
    llvm::Expected<int64_t> divisor = context.attrs().getInt("divisor_override");
    if (!divisor)
      return divisor.takeError();
    if (*divisor == 0)
      return context.fail("divisor_override must not be 0");
    pooling->shape.divisorOverride = *divisor;
  }
  if (context.getOp().kind == OpKind::AvgPool3d) // PyTorch 2.13 works on a channels-last copy, whatever the input
    pooling->format = kernels::MemoryFormat::ChannelsLast;
  emitAverageByType(context, *pooling);
  return finish(*pooling);
}

/// In PyTorch a 3-D pooling of codes to one position is `mean` (operators 8.5), whose format rule is a plain one.
llvm::Expected<RuntimeValue> bindAdaptiveAvgPool(BindContext &context) {
  llvm::Expected<Pooling> pooling = startPooling(context);
  if (!pooling)
    return pooling.takeError();
  kernels::PoolShape &shape = pooling->shape;
  shape.adaptive = true;
  bool isMean = context.getOp().kind == OpKind::AdaptiveAvgPool3d && shape.out[0] * shape.out[1] * shape.out[2] == 1 &&
                shape.numInputPixels() > 0;
  if (isMean && pooling->src.type.format == MemoryFormat::Contiguous)
    pooling->format = kernels::MemoryFormat::Contiguous;
  if (isMean && pooling->src.getDType() == DType::QUInt8)
    emitMean<uint8_t>(context, *pooling);
  else if (isMean && pooling->src.getDType() == DType::QInt8)
    emitMean<int8_t>(context, *pooling);
  else
    emitAverageByType(context, *pooling);
  return finish(*pooling);
}

} // namespace qfx::runtime
