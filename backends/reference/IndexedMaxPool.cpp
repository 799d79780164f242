// Max pooling that says where each largest value stood, and adaptive max pooling: one walk over windows.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"

namespace qfx::runtime {

namespace {

/// The elements that one result takes along an axis.
struct Window {
  int64_t start, count, step;
};

/// Windows of each axis, three of them: missing ones come first with one window of one element.
struct Windows {
  std::vector<Window> axes[3];
  int64_t in[3] = {1, 1, 1};

  int64_t countResults() const {
    return static_cast<int64_t>(axes[0].size() * axes[1].size() * axes[2].size());
  }
  int64_t countInputs() const { return in[0] * in[1] * in[2]; }

  /// One channel: the largest value of each window (NaN if any is) and its flat place, the first of equal ones.
  void run(const float *src, float *values, int64_t *places) const {
    for (const Window &d : axes[0])
      for (const Window &h : axes[1])
        for (const Window &w : axes[2]) {
          float best = -__builtin_inff();
          int64_t place = (d.start * in[1] + h.start) * in[2] + w.start;
          for (int64_t i = 0; i < d.count; ++i)
            for (int64_t j = 0; j < h.count; ++j)
              for (int64_t k = 0; k < w.count; ++k) {
                int64_t at = ((d.start + i * d.step) * in[1] + h.start + j * h.step) * in[2] + w.start + k * w.step;
                if (src[at] > best || src[at] != src[at]) {
                  best = src[at];
                  place = at;
                }
              }
          *values++ = best;
          *places++ = place;
        }
  }
};

/// The part of [start, start + count * step) that lies inside [0, size).
Window clip(Window window, int64_t size) {
  while (window.count > 0 && window.start < 0) {
    window.start += window.step;
    --window.count;
  }
  while (window.count > 0 && window.start + (window.count - 1) * window.step >= size)
    --window.count;
  return window;
}

llvm::Expected<Windows> makeWindows(BindContext &context, llvm::ArrayRef<int64_t> in, llvm::ArrayRef<int64_t> out) {
  Windows windows;
  for (std::vector<Window> &axis : windows.axes)
    axis.push_back({0, 1, 1});
  size_t spatial = in.size(), first = 3 - spatial;
  bool isAdaptive = !context.getCall().find("kernel_size");
  llvm::SmallVector<int64_t, 4> numbers[4];
  const char *slots[] = {"kernel_size", "stride", "padding", "dilation"};
  for (int k = 0; !isAdaptive && k < 4; ++k) {
    if (k == 1 && !context.attrs().hasValue("stride")) {
      numbers[1] = numbers[0];
      continue;
    }
    llvm::Expected<llvm::SmallVector<int64_t, 4>> given = context.attrs().getInts(slots[k]);
    if (!given)
      return given.takeError();
    numbers[k] = given->empty() ? numbers[0] : *given;
    if (numbers[k].size() == 1)
      numbers[k].assign(spatial, numbers[k][0]);
  }
  for (size_t i = 0; i < spatial; ++i) {
    windows.in[first + i] = in[i];
    std::vector<Window> &axis = windows.axes[first + i];
    axis.clear();
    for (int64_t o = 0; o < out[i]; ++o) {
      int64_t begin = o * in[i] / std::max<int64_t>(out[i], 1), end = ((o + 1) * in[i] + out[i] - 1) / std::max<int64_t>(out[i], 1);
      axis.push_back(isAdaptive ? Window{begin, end - begin, 1}
                                : clip({o * numbers[1][i] - numbers[2][i], numbers[0][i], numbers[3][i]}, in[i]));
    }
  }
  return windows;
}

} // namespace

llvm::Expected<RuntimeValue> bindIndexedMaxPool(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  const ValueType::Sequence *pair = context.getResult().getSequence();
  llvm::Expected<TensorType> type = getStaticType(context, pair ? pair->elements[0] : context.getResult());
  if (!type)
    return type.takeError();
  llvm::StringRef name = context.getOp().name;
  size_t spatial = name.contains("1d") ? 1 : name.contains("2d") ? 2 : 3;
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  llvm::SmallVector<int64_t, 4> sizes = type->getSizes();
  llvm::ArrayRef<int64_t> in = src.sizes, out = sizes;
  llvm::Expected<Windows> windows = makeWindows(context, in.take_back(spatial), out.take_back(spatial));
  if (!windows)
    return windows.takeError();
  View values = context.allocate(*type, StorageOrder::RowMajor);
  View places = context.allocate(withSizes(values, sizes, DType::Int64), StorageOrder::RowMajor);
  int64_t inputs = windows->countInputs(), results = windows->countResults();
  int64_t channels = inputs ? src.getNumElements() / inputs : 0;
  auto shared = std::make_shared<const Windows>(std::move(*windows));
  context.emit({&src}, {&values, &places}, [=](RunContext &run) {
    run.parallelFor(channels, kElementGrain / std::max<int64_t>(inputs, 1) + 1, [&](int64_t begin, int64_t end, void *) {
      for (int64_t c = begin; c < end; ++c)
        shared->run(src.getData<float>() + c * inputs, values.getData<float>() + c * results,
                    places.getData<int64_t>() + c * results);
    });
  });
  if (!pair)
    return RuntimeValue(values);
  return RuntimeValue::ofSequence({RuntimeValue(values), RuntimeValue(places)});
}

} // namespace qfx::runtime
