// Resizing of codes: nearest copies pixels, bilinear mixes four of them (operators 8.4).
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/resize/Bilinear.h"

#include <array>
#include <cstring>
#include <vector>

namespace qfx::runtime {

namespace {

/// The scale factors given and to be used as they are; empty: ratios of sizes.
llvm::Expected<std::vector<double>> readFactors(BindContext &context, size_t spatial) {
  std::vector<double> factors;
  if (!context.attrs().hasValue("scale_factor"))
    return factors;
  if (context.attrs().hasValue("recompute_scale_factor")) {
    llvm::Expected<bool> recompute = context.attrs().getBool("recompute_scale_factor");
    if (!recompute)
      return recompute.takeError();
    if (*recompute)
      return factors;
  }
  std::optional<Argument> given = context.attrs().getValue("scale_factor").getConstant();
  if (!given)
    return context.fail("scale_factor must be known before the graph runs");
  if (given->isNumber())
    factors.assign(spatial, given->getNumber());
  else if (given->isSequence())
    for (const Argument &factor : given->getElements())
      factors.push_back(factor.getNumber());
  if (factors.size() == 1)
    factors.resize(spatial, factors[0]);
  return factors;
}

float getRatio(int64_t in, int64_t out, const std::vector<double> &factors, size_t axis, bool align) {
  if (align)
    return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0f;
  if (!factors.empty() && factors[axis] > 0)
    return static_cast<float>(1.0 / factors[axis]);
  return static_cast<float>(in) / static_cast<float>(out);
}

/// Pixels of `dst` are copies of those at `sources` along each axis (depth, height, width).
void emitNearest(BindContext &context, const View &src, const View &dst, std::array<std::vector<int64_t>, 3> sources,
                 const int64_t (&in)[3]) {
  const int64_t channels = src.sizes[1] * src.getElemBytes(), batch = src.sizes[0], inPixels = in[0] * in[1] * in[2]; // bytes of a pixel
  const int64_t height = in[1], width = in[2];
  context.emit({&src}, {&dst}, [=, sources = std::move(sources)](RunContext &run) {
    const auto planes = static_cast<int64_t>(sources[0].size()), rows = static_cast<int64_t>(sources[1].size()),
               columns = static_cast<int64_t>(sources[2].size());
    const int64_t lines = batch * planes * rows;
    run.parallelFor(lines, kElementGrain / (columns * channels) + 1, [&](int64_t begin, int64_t end, void *) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t y = sources[1][static_cast<size_t>(line % rows)],
                      z = sources[0][static_cast<size_t>(line / rows % planes)], n = line / rows / planes;
        const std::byte *from = src.getBytes() + (n * inPixels + (z * height + y) * width) * channels;
        std::byte *to = dst.getBytes() + line * columns * channels;
        for (int64_t x : sources[2]) {
          std::memcpy(to, from + x * channels, static_cast<size_t>(channels));
          to += channels;
        }
      }
    });
  });
}

template <class T>
void emitBilinear(BindContext &context, const View &src, const View &dst, std::vector<kernels::ResizeSource> rows,
                  std::vector<kernels::ResizeSource> columns, int32_t zeroPoint) {
  auto kernel = [] {
    if constexpr (std::is_signed_v<T>)
      return kernels::selectBilinear().pixelS8;
    else
      return kernels::selectBilinear().pixelU8;
  }();
  const int64_t channels = src.sizes[1], batch = src.sizes[0], height = src.sizes[2], width = src.sizes[3];
  context.emit({&src}, {&dst}, [=, rows = std::move(rows), columns = std::move(columns)](RunContext &run) {
    const auto outRows = static_cast<int64_t>(rows.size()), outColumns = static_cast<int64_t>(columns.size());
    run.parallelFor(
        batch * outRows, kElementGrain / (outColumns * channels) + 1, [&](int64_t begin, int64_t end, void *) {
          for (int64_t line = begin; line < end; ++line) {
            const kernels::ResizeSource &y = rows[static_cast<size_t>(line % outRows)];
            const T *image = src.getData<T>() + line / outRows * height * width * channels;
            const T *top = image + y.first * width * channels, *bottom = image + y.second * width * channels;
            T *to = dst.getData<T>() + line * outColumns * channels;
            for (const kernels::ResizeSource &x : columns) {
              kernel({top + x.first * channels, top + x.second * channels, bottom + x.first * channels,
                      bottom + x.second * channels, y.w0, y.w1, x.w0, x.w1},
                     channels, zeroPoint, to);
              to += channels;
            }
          }
        });
  });
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedInterpolate(BindContext &context) {
  llvm::Expected<View> given = context.getTensor("input");
  if (!given)
    return given.takeError();
  const std::string &mode = context.getCall().get("mode").arg.getString();
  const bool isNearest = mode == "nearest" || mode == "nearest-exact";
  if (isNearest && given->getDType() == DType::QInt32) { // codes are copied, whatever their width
    if (llvm::Expected<QuantizerRef> quantizer = context.getQuantizer(*given); !quantizer)
      return quantizer.takeError();
  }
  llvm::Expected<CodeOperand> input =
      isNearest && given->getDType() == DType::QInt32 ? llvm::Expected<CodeOperand>(CodeOperand{*given, {}}) : toCodeOperand(context, *given, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  const size_t spatial = input->view.getRank() - 2;
  llvm::Expected<std::vector<double>> factors = readFactors(context, spatial);
  if (!factors)
    return factors.takeError();
  bool align = false;
  if (context.attrs().hasValue("align_corners")) {
    llvm::Expected<bool> given = context.attrs().getBool("align_corners");
    if (!given)
      return given.takeError();
    align = *given;
  }
  View src = context.toOrder(input->view, StorageOrder::ChannelsLast);
  View dst = context.allocate(*type, StorageOrder::ChannelsLast);
  if (mode == "bilinear") {
    std::vector<kernels::ResizeSource> sources[2];
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t in = src.sizes[2 + axis], out = dst.sizes[2 + axis];
      const float ratio = getRatio(in, out, *factors, axis, align);
      const bool isCopy = src.sizes == dst.sizes; // equal sizes copy, whatever the factor
      for (int64_t i = 0; i < out; ++i)
        sources[axis].push_back(isCopy ? kernels::ResizeSource{i, i, 1.0f, 0.0f}
                                       : kernels::getBilinearSource(i, in, ratio, align));
    }
    if (input->isSigned())
      emitBilinear<int8_t>(context, src, dst, sources[0], sources[1], input->params.zeroPoint);
    else
      emitBilinear<uint8_t>(context, src, dst, sources[0], sources[1], input->params.zeroPoint);
    return RuntimeValue(dst);
  }
  if (!isNearest)
    return context.fail("mode '{0}' has no kernel for codes", mode);
  std::array<std::vector<int64_t>, 3> sources;
  int64_t in[3] = {1, 1, 1};
  for (size_t axis = 0; axis < 3; ++axis) {
    if (axis < 3 - spatial) {
      sources[axis] = {0};
      continue;
    }
    const size_t dim = axis - (3 - spatial);
    in[axis] = src.sizes[2 + dim];
    const float ratio = getRatio(in[axis], dst.sizes[2 + dim], *factors, dim, /*align=*/false);
    for (int64_t i = 0; i < dst.sizes[2 + dim]; ++i)
      sources[axis].push_back(kernels::getNearestSource(i, in[axis], ratio, mode == "nearest-exact"));
  }
  emitNearest(context, src, dst, std::move(sources), in);
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
