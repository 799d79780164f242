// Sampling images and volumes at points of a grid.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/resample/GridSample.h"

namespace qfx::runtime {

/// PyTorch's number of a mode: bilinear, nearest, bicubic; zeros, border, reflection.
static int getMode(BindContext &context, llvm::StringRef slot, llvm::ArrayRef<llvm::StringRef> names) {
  const Argument &mode = context.getCall().get(slot).arg;
  if (mode.isInt())
    return static_cast<int>(mode.getInt());
  return static_cast<int>(llvm::find(names, llvm::StringRef(mode.getString())) - names.begin());
}

llvm::Expected<RuntimeValue> bindGridSample(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<View> points = getFloatTensor(context, "grid");
  if (!points)
    return points.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  kernels::GridSampleParams params;
  if (context.has("align_corners")) {
    llvm::Expected<bool> aligns = context.attrs().getBool("align_corners");
    if (!aligns)
      return aligns.takeError();
    params.alignCorners = *aligns;
  }
  params.mode = static_cast<kernels::GridMode>(getMode(context, "mode", {"bilinear", "nearest", "bicubic"}));
  params.padding = static_cast<kernels::GridPadding>(getMode(context, "padding_mode", {"zeros", "border", "reflection"}));
  View src = context.toOrder(*input, StorageOrder::RowMajor), grid = context.toOrder(*points, StorageOrder::RowMajor);
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  const size_t axes = src.getRank() - 2;
  params.axes = static_cast<int>(axes);
  int64_t places = 1;
  for (size_t i = 0; i < axes; ++i) {
    params.sizes[i] = src.sizes[i + 2];
    places *= dst.sizes[i + 2];
  }
  const int64_t batch = src.sizes[0], channels = src.sizes[1];
  context.emit({&src, &grid}, {&dst}, [=](RunContext &run) {
    run.parallelFor(batch * places, kElementGrain / 64, [&](int64_t begin, int64_t end, void *) {
      kernels::gridSample(params, channels, places, src.getData<float>(), grid.getData<float>(), dst.getData<float>(),
                          begin, end);
    });
  });
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
