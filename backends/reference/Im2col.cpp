// unfold and fold: image patches as columns, and columns added back into an image.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"

namespace qfx::runtime {

namespace {

/// Patches of an image [channels, height, width]: column l of row (c, i, j) is the pixel at position l.
struct Patches {
  int64_t channels, height, width, rows, columns; ///< rows, columns: positions of the window
  llvm::SmallVector<int64_t, 4> kernel, dilation, padding, stride;

  /// Calls fn(patch element, pixel or -1 in the padding) for all of one channel.
  template <class Fn> void forChannel(int64_t channel, Fn fn) const {
    for (int64_t i = 0; i < kernel[0]; ++i)
      for (int64_t j = 0; j < kernel[1]; ++j) {
        int64_t row = (channel * kernel[0] + i) * kernel[1] + j;
        for (int64_t y = 0; y < rows; ++y)
          for (int64_t x = 0; x < columns; ++x) {
            int64_t h = y * stride[0] + i * dilation[0] - padding[0], w = x * stride[1] + j * dilation[1] - padding[1];
            bool inside = h >= 0 && h < height && w >= 0 && w < width;
            fn((row * rows + y) * columns + x, inside ? (channel * height + h) * width + w : int64_t(-1));
          }
      }
  }
};

llvm::Expected<Patches> getPatches(BindContext &context, int64_t channels, int64_t height, int64_t width) {
  Patches patches;
  patches.channels = channels;
  patches.height = height;
  patches.width = width;
  for (auto [slot, into] : {std::pair<llvm::StringRef, llvm::SmallVector<int64_t, 4> *>{"kernel_size", &patches.kernel},
                            {"dilation", &patches.dilation},
                            {"padding", &patches.padding},
                            {"stride", &patches.stride}}) {
    llvm::Expected<llvm::SmallVector<int64_t, 4>> given = context.attrs().getInts(slot, 2);
    if (!given)
      return given.takeError();
    *into = *given;
  }
  auto count = [&](int64_t size, size_t d) {
    return (size + 2 * patches.padding[d] - patches.dilation[d] * (patches.kernel[d] - 1) - 1) / patches.stride[d] + 1;
  };
  patches.rows = count(height, 0);
  patches.columns = count(width, 1);
  return patches;
}

} // namespace

llvm::Expected<RuntimeValue> bindUnfold(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  size_t rank = src.getRank();
  llvm::Expected<Patches> patches = getPatches(context, src.sizes[rank - 3], src.sizes[rank - 2], src.sizes[rank - 1]);
  if (!patches)
    return patches.takeError();
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  int64_t image = src.sizes[rank - 3] * src.sizes[rank - 2] * src.sizes[rank - 1], batch = rank == 4 ? src.sizes[0] : 1;
  int64_t matrix = batch ? dst.getNumElements() / batch : 0;
  context.emit({&src}, {&dst}, [src, dst, batch, image, matrix, patches = *patches](RunContext &run) {
    run.parallelFor(batch * patches.channels, getElementGrain(matrix / std::max<int64_t>(patches.channels, 1)), [&](int64_t begin, int64_t end, void *) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const float *from = src.getData<float>() + unit / patches.channels * image;
        float *to = dst.getData<float>() + unit / patches.channels * matrix;
        patches.forChannel(unit % patches.channels,
                           [&](int64_t element, int64_t pixel) { to[element] = pixel < 0 ? 0.0f : from[pixel]; });
      }
    });
  });
  return RuntimeValue(dst);
}

llvm::Expected<RuntimeValue> bindFold(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  size_t rank = dst.getRank();
  llvm::Expected<Patches> patches = getPatches(context, dst.sizes[rank - 3], dst.sizes[rank - 2], dst.sizes[rank - 1]);
  if (!patches)
    return patches.takeError();
  int64_t image = dst.sizes[rank - 3] * dst.sizes[rank - 2] * dst.sizes[rank - 1], batch = rank == 4 ? dst.sizes[0] : 1;
  int64_t matrix = batch ? src.getNumElements() / batch : 0;
  context.emit({&src}, {&dst}, [src, dst, batch, image, matrix, patches = *patches](RunContext &run) {
    run.parallelFor(batch * patches.channels, getElementGrain(matrix / std::max<int64_t>(patches.channels, 1)), [&](int64_t begin, int64_t end, void *) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const float *from = src.getData<float>() + unit / patches.channels * matrix;
        float *to = dst.getData<float>() + unit / patches.channels * image;
        int64_t channel = unit % patches.channels, pixels = patches.height * patches.width;
        std::fill_n(to + channel * pixels, pixels, 0.0f);
        patches.forChannel(channel, [&](int64_t element, int64_t pixel) {
          if (pixel >= 0)
            to[pixel] += from[element];
        });
      }
    });
  });
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
