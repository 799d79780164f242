// Float resizing: one axis after the other.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/resample/Resample.h"

#include "llvm/ADT/StringSwitch.h"

namespace qfx::runtime {

using kernels::ResampleMode;

/// Rows of a row-major tensor resized along dimension `dim`.
static View emitResample(BindContext &context, const View &src, size_t dim, int64_t outSize,
                         const kernels::ResampleTaps &taps) {
  Sizes sizes = src.sizes;
  int64_t inSize = sizes[dim], outer = 1, inner = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (i != dim)
      (i < dim ? outer : inner) *= sizes[i];
  sizes[dim] = outSize;
  View dst = context.allocate(withSizes(src, sizes), StorageOrder::RowMajor);
  auto shared = std::make_shared<const kernels::ResampleTaps>(taps);
  context.emit({&src}, {&dst}, [=](RunContext &run) {
    run.parallelFor(outer, kElementGrain / std::max<int64_t>(outSize * inner, 1) + 1,
                    [&](int64_t begin, int64_t end, void *) {
                      kernels::resample(*shared, src.getData<float>(), inSize, dst.getData<float>(), outSize, inner, begin,
                                        end);
                    });
  });
  return dst;
}

/// Averages over the cells of adaptive_avg_pool along one axis, as taps.
static kernels::ResampleTaps makeAreaTaps(int64_t inSize, int64_t outSize) {
  kernels::ResampleTaps taps;
  auto begin = [&](int64_t o) { return o * inSize / outSize; };
  auto end = [&](int64_t o) { return ((o + 1) * inSize + outSize - 1) / outSize; };
  for (int64_t o = 0; o < outSize; ++o)
    taps.width = std::max(taps.width, end(o) - begin(o));
  for (int64_t o = 0; o < outSize; ++o)
    for (int64_t k = 0; k < taps.width; ++k) {
      bool inside = begin(o) + k < end(o);
      taps.index.push_back(inside ? begin(o) + k : begin(o));
      taps.weight.push_back(inside ? 1.0f / static_cast<float>(end(o) - begin(o)) : 0.0f);
    }
  return taps;
}

/// Inputs per output along a spatial axis: by the given scale factor, unless the sizes are to be used.
static llvm::Expected<double> getScale(BindContext &context, size_t axis, int64_t inSize, int64_t outSize) {
  double bySizes = static_cast<double>(inSize) / static_cast<double>(outSize);
  bool recomputes = context.has("recompute_scale_factor") && context.getValue("recompute_scale_factor").host.isBool() &&
                    context.getValue("recompute_scale_factor").host.getBool();
  if (context.has("size") || !context.has("scale_factor") || recomputes)
    return bySizes;
  RuntimeValue factor = context.getValue("scale_factor");
  if (factor.kind == RuntimeValue::Kind::Sequence && axis < factor.elements.size())
    factor = RuntimeValue(factor.elements[axis]);
  if (factor.kind != RuntimeValue::Kind::Host || !factor.host.isNumber() || !(factor.host.getNumber() > 0))
    return context.fail("takes scale factors > 0 known before the graph runs");
  return 1 / factor.host.getNumber();
}

llvm::Expected<RuntimeValue> bindInterpolate(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::StringRef name = context.getCall().get("mode").arg.getString();
  bool isArea = name == "area";
  auto mode = llvm::StringSwitch<std::optional<ResampleMode>>(name)
                  .Case("nearest", ResampleMode::Nearest)
                  .Case("nearest-exact", ResampleMode::NearestExact)
                  .Cases("linear", "bilinear", "trilinear", "area", ResampleMode::Linear)
                  .Case("bicubic", ResampleMode::Cubic)
                  .Default(std::nullopt);
  if (!mode)
    return context.fail("takes mode nearest, nearest-exact, linear, bilinear, bicubic, trilinear or area, got '{0}'", name);
  auto getFlag = [&](llvm::StringRef slot) {
    const BoundSlot *flag = context.getCall().find(slot);
    return flag && flag->arg.isBool() && flag->arg.getBool();
  };
  bool aligns = getFlag("align_corners"), antialias = getFlag("antialias");
  View value = context.toOrder(*input, StorageOrder::RowMajor);
  llvm::SmallVector<int64_t, 4> sizes = type->getSizes();
  for (size_t dim = value.getRank(); dim-- > 2;) {
    int64_t inSize = value.sizes[dim], outSize = sizes[dim];
    llvm::Expected<double> scale = getScale(context, dim - 2, inSize, outSize);
    if (!scale)
      return scale.takeError();
    if (isArea)
      value = emitResample(context, value, dim, outSize, makeAreaTaps(inSize, outSize));
    else
      value = emitResample(context, value, dim, outSize,
                           kernels::makeResampleTaps(*mode, inSize, outSize, *scale, aligns, antialias));
  }
  return RuntimeValue(value);
}

} // namespace qfx::runtime
