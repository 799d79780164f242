// Float layer, group, instance, RMS and local response norms, F.normalize.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/reduce/Reduce.h"
#include "kernels/rowwise/Rowwise.h"

#include <cmath>

namespace qfx::runtime {

using kernels::PointwiseKind;

namespace {

/// The input in float32, whatever float it is.
llvm::Expected<View> getInput(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  if (!isFloat(input->getDType()) || input->getDType() == DType::Float64)
    return context.fail("takes float32, float16 or bfloat16, got {0}", toString(input->type));
  return castTo(context, *input, DType::Float32);
}

llvm::Expected<RuntimeValue> finish(BindContext &context, const View &view) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<View> converted = castTo(context, view, type->dtype);
  if (!converted)
    return converted.takeError();
  return RuntimeValue(*converted);
}

/// A per-element or per-channel tensor in float32, dense; empty if None.
llvm::Expected<View> getFactor(BindContext &context, llvm::StringRef slot) {
  if (!context.getCall().find(slot) || !context.has(slot))
    return View();
  llvm::Expected<View> view = context.getTensor(slot);
  if (!view)
    return view.takeError();
  llvm::Expected<View> converted = castTo(context, *view, DType::Float32);
  if (!converted)
    return converted.takeError();
  return context.toOrder(*converted, StorageOrder::RowMajor);
}

llvm::Expected<double> getEps(BindContext &context, double fallback) {
  if (!context.has("eps"))
    return fallback;
  return context.attrs().getNumber("eps");
}

/// Normalizes each row of `length` elements of a row-major tensor; weight and bias are per element of the row, or null.
View emitRowNorm(BindContext &context, const View &src, int64_t length, const View &weight, const View &bias, double eps) {
  View dst = context.allocate(withSizes(src, src.sizes), StorageOrder::RowMajor);
  int64_t rows = length ? src.getNumElements() / length : 0;
  const kernels::ReduceKernels &kernels = kernels::selectReduce();
  std::vector<const View *> reads{&src};
  for (const View *factor : {&weight, &bias})
    if (*factor)
      reads.push_back(factor);
  StepTraits traits;
  traits.inPlaceSrc = &src;
  context.emit(
      reads, {&dst},
      [src, dst, weight, bias, rows, length, eps, &kernels](RunContext &run) {
        run.parallelFor(rows, kElementGrain / std::max<int64_t>(length, 1) + 1, [&](int64_t begin, int64_t end, void *) {
          for (int64_t row = begin; row < end; ++row)
            kernels.layerNorm(src.getData<float>() + row * length, dst.getData<float>() + row * length, length,
                              weight ? weight.getData<float>() : nullptr, bias ? bias.getData<float>() : nullptr, eps);
        });
      },
      traits);
  return dst;
}

/// value * weight + bias with one factor per channel (dimension 1).
View applyPerChannel(BindContext &context, View value, const View &weight, const View &bias) {
  Sizes sizes(value.getRank(), 1);
  sizes[1] = value.sizes[1];
  if (weight)
    value = emitPointwise(context, PointwiseKind::Mul, {value, reshaped(context, weight, sizes)}, value.sizes);
  if (bias)
    value = emitPointwise(context, PointwiseKind::Add, {value, reshaped(context, bias, sizes)}, value.sizes);
  return value;
}

} // namespace

llvm::Expected<RuntimeValue> bindLayerNorm(BindContext &context) {
  llvm::Expected<View> input = getInput(context);
  if (!input)
    return input.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> shape = context.attrs().getInts("normalized_shape");
  if (!shape)
    return shape.takeError();
  llvm::Expected<View> weight = getFactor(context, "weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<View> bias = getFactor(context, "bias");
  if (!bias)
    return bias.takeError();
  llvm::Expected<double> eps = getEps(context, 1e-5);
  if (!eps)
    return eps.takeError();
  int64_t length = 1;
  for (int64_t size : *shape)
    length *= size;
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  return finish(context, emitRowNorm(context, src, length, *weight, *bias, *eps));
}

/// x / sqrt(mean(x^2) + eps) * weight; eps None is float32's epsilon.
llvm::Expected<RuntimeValue> bindRmsNorm(BindContext &context) {
  llvm::Expected<View> input = getInput(context);
  if (!input)
    return input.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> shape = context.attrs().getInts("normalized_shape");
  if (!shape)
    return shape.takeError();
  llvm::Expected<View> weight = getFactor(context, "weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<double> eps = getEps(context, 0x1p-23);
  if (!eps)
    return eps.takeError();
  int64_t length = 1;
  for (int64_t size : *shape)
    length *= size;
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  View dst = context.allocate(withSizes(src, src.sizes), StorageOrder::RowMajor);
  int64_t rows = length ? src.getNumElements() / length : 0;
  std::vector<const View *> reads{&src};
  if (*weight)
    reads.push_back(&*weight);
  context.emit(reads, {&dst}, [src, dst, weight = *weight, rows, length, eps = *eps](RunContext &run) {
    run.parallelFor(rows, kElementGrain / std::max<int64_t>(length, 1) + 1, [&](int64_t begin, int64_t end, void *) {
      for (int64_t row = begin; row < end; ++row) {
        const float *x = src.getData<float>() + row * length;
        float *y = dst.getData<float>() + row * length;
        double squares = 0;
        for (int64_t i = 0; i < length; ++i)
          squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        double factor = 1 / std::sqrt(squares / static_cast<double>(length) + eps);
        for (int64_t i = 0; i < length; ++i)
          y[i] = static_cast<float>(static_cast<double>(x[i]) * factor *
                                    static_cast<double>(weight ? weight.getData<float>()[i] : 1.0f));
      }
    });
  });
  return finish(context, dst);
}

/// Groups of channels of one sample are rows.
static llvm::Expected<RuntimeValue> emitGroups(BindContext &context, const View &input, int64_t groups) {
  llvm::Expected<View> weight = getFactor(context, "weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<View> bias = getFactor(context, "bias");
  if (!bias)
    return bias.takeError();
  llvm::Expected<double> eps = getEps(context, 1e-5);
  if (!eps)
    return eps.takeError();
  View src = context.toOrder(input, StorageOrder::RowMajor);
  int64_t rows = src.sizes[0] * groups;
  View value = emitRowNorm(context, src, rows ? src.getNumElements() / rows : 0, View(), View(), *eps);
  return RuntimeValue(applyPerChannel(context, value, *weight, *bias));
}

llvm::Expected<RuntimeValue> bindGroupNorm(BindContext &context) {
  llvm::Expected<View> input = getInput(context);
  if (!input)
    return input.takeError();
  llvm::Expected<int64_t> groups = context.attrs().getInt("num_groups");
  if (!groups)
    return groups.takeError();
  llvm::Expected<RuntimeValue> value = emitGroups(context, *input, *groups);
  if (!value)
    return value.takeError();
  return finish(context, value->view);
}

/// Statistics of each sample and channel, or the running ones when use_input_stats is off.
llvm::Expected<RuntimeValue> bindInstanceNorm(BindContext &context) {
  llvm::Expected<View> input = getInput(context);
  if (!input)
    return input.takeError();
  bool isModule = context.getCall().module;
  bool tracks = context.has("running_mean");
  bool usesInput = !isModule || !tracks;
  if (!isModule) {
    llvm::Expected<bool> given = context.attrs().getBool("use_input_stats");
    if (!given)
      return given.takeError();
    usesInput = *given;
  }
  // A module without a batch dimension: rank 2, 3 or 4 by its class.
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View value = *input;
  bool isUnbatched = false;
  if (isModule) {
    llvm::StringRef name = context.getCall().module->getClassName();
    size_t spatial = name.contains("1d") ? 1 : name.contains("2d") ? 2 : 3;
    isUnbatched = value.getRank() == spatial + 1;
  }
  if (isUnbatched)
    value = unsqueezed(value, 0);
  if (usesInput) {
    llvm::Expected<RuntimeValue> normalized = emitGroups(context, value, value.sizes[1]);
    if (!normalized)
      return normalized.takeError();
    value = normalized->view;
  } else {
    std::vector<View> factors;
    for (llvm::StringRef slot : {"running_mean", "running_var", "weight", "bias"}) {
      llvm::Expected<View> factor = getFactor(context, slot);
      if (!factor)
        return factor.takeError();
      factors.push_back(*factor);
    }
    if (!factors[0] || !factors[1])
      return context.fail("needs running_mean and running_var when use_input_stats is off");
    llvm::Expected<double> eps = getEps(context, 1e-5);
    if (!eps)
      return eps.takeError();
    int64_t channels = value.sizes[1];
    View scale = context.allocate(withSizes(factors[0], {channels}), StorageOrder::RowMajor);
    View shift = context.allocate(withSizes(factors[0], {channels}), StorageOrder::RowMajor);
    std::vector<const View *> reads;
    for (const View &factor : factors)
      if (factor)
        reads.push_back(&factor);
    context.emit(reads, {&scale, &shift}, [factors, scale, shift, channels, eps = static_cast<float>(*eps)](RunContext &) {
      auto data = [&](size_t i) { return factors[i] ? factors[i].getData<float>() : nullptr; };
      kernels::foldBatchNorm(channels, data(2), data(3), data(0), data(1), eps, scale.getData<float>(),
                             shift.getData<float>());
    });
    value = applyPerChannel(context, value, scale, shift);
  }
  return finish(context, isUnbatched ? squeezed(value, 0) : value);
}

/// x / (k + alpha * mean of the window's squares)^beta, the window running over channels, zeros outside.
llvm::Expected<RuntimeValue> bindLocalResponseNorm(BindContext &context) {
  llvm::Expected<View> input = getInput(context);
  if (!input)
    return input.takeError();
  if (input->getRank() < 3)
    return context.fail("takes tensors of rank 3 or more, got {0}", toString(input->type));
  llvm::Expected<int64_t> size = context.attrs().getInt("size");
  if (!size)
    return size.takeError();
  double numbers[3];
  const char *names[] = {"alpha", "beta", "k"};
  for (int i = 0; i < 3; ++i) {
    llvm::Expected<double> number = context.attrs().getNumber(names[i]);
    if (!number)
      return number.takeError();
    numbers[i] = *number;
  }
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  View dst = context.allocate(withSizes(src, src.sizes), StorageOrder::RowMajor);
  int64_t channels = src.sizes[1], batch = src.sizes[0], window = *size;
  int64_t inner = batch && channels ? src.getNumElements() / (batch * channels) : 0;
  double alpha = numbers[0], beta = numbers[1], k = numbers[2];
  context.emit({&src}, {&dst}, [=](RunContext &run) {
    run.parallelFor(batch * channels, getElementGrain(inner * (window + 8)), [&](int64_t begin, int64_t end, void *) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t c = row % channels;
        const float *sample = src.getData<float>() + (row - c) * inner;
        int64_t from = std::max<int64_t>(c - window / 2, 0), to = std::min(c + (window - 1) / 2 + 1, channels);
        for (int64_t i = 0; i < inner; ++i) {
          double sum = 0;
          for (int64_t j = from; j < to; ++j)
            sum += static_cast<double>(sample[j * inner + i]) * static_cast<double>(sample[j * inner + i]);
          double divisor = std::pow(k + alpha * (sum / static_cast<double>(window)), beta);
          dst.getData<float>()[row * inner + i] =
              static_cast<float>(static_cast<double>(sample[c * inner + i]) / divisor);
        }
      }
    });
  });
  return finish(context, dst);
}

/// x / max(|x|_p, eps) along a dimension.
llvm::Expected<RuntimeValue> bindNormalize(BindContext &context) {
  llvm::Expected<View> input = getInput(context);
  if (!input)
    return input.takeError();
  llvm::Expected<double> p = context.attrs().getNumber("p");
  if (!p)
    return p.takeError();
  llvm::Expected<double> eps = getEps(context, 1e-12);
  if (!eps)
    return eps.takeError();
  llvm::Expected<size_t> dim = getDimSlot(context, "dim", input->getRank());
  if (!dim)
    return dim.takeError();
  llvm::SmallVector<size_t, 8> order;
  Sizes kept = input->sizes;
  for (size_t i = 0; i < input->getRank(); ++i)
    if (i != *dim)
      order.push_back(i);
  if (input->getRank()) {
    order.push_back(*dim);
    kept[*dim] = 1;
  }
  View rows = context.toOrder(permuted(*input, order), StorageOrder::RowMajor);
  int64_t length = rows.getRank() ? rows.sizes.back() : 1, count = length ? rows.getNumElements() / length : 0;
  View norms = context.allocate(withSizes(rows, kept), StorageOrder::RowMajor);
  kernels::RowwiseFn norm = kernels::getRowwise(kernels::RowwiseKind::NormOf).onFloat;
  kernels::RowwiseParams params;
  params.p = *p;
  float least = static_cast<float>(*eps);
  context.emit({&rows}, {&norms}, [=](RunContext &run) {
    run.parallelFor(count, kElementGrain / std::max<int64_t>(length, 1) + 1, [&](int64_t begin, int64_t end, void *) {
      for (int64_t row = begin; row < end; ++row) {
        float *value = norms.getData<float>() + row;
        norm(rows.getData<float>() + row * length, length, value, nullptr, params);
        *value = std::max(*value, least);
      }
    });
  });
  return finish(context, emitPointwise(context, PointwiseKind::Div, {*input, norms}, input->sizes));
}

} // namespace qfx::runtime
