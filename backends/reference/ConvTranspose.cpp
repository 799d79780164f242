// Float transposed convolutions: a matrix product per group whose columns are added into the result.
#include "backends/reference/Emit.h"
#include "backends/reference/ReferenceModules.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/sgemm/Sgemm.h"

namespace qfx::runtime {

namespace {

struct Geometry {
  size_t spatial;
  int64_t batch, inChannels, outPerGroup, groups, positions, outPositions, taps;
  llvm::SmallVector<int64_t, 4> in, out, kernel, stride, padding, dilation;
};

/// Adds the products of one sample to its channels-first result: columns [outPerGroup * taps, positions] per group.
void scatterColumns(const Geometry &g, const float *columns, int64_t group, float *dst) {
  for (int64_t row = 0; row < g.outPerGroup * g.taps; ++row) {
    int64_t channel = group * g.outPerGroup + row / g.taps, tap = row % g.taps;
    llvm::SmallVector<int64_t, 4> at(g.spatial);
    for (size_t d = g.spatial; d-- > 0; tap /= g.kernel[d])
      at[d] = tap % g.kernel[d] * g.dilation[d] - g.padding[d];
    for (int64_t position = 0; position < g.positions; ++position) {
      int64_t rest = position, offset = 0, factor = 1;
      bool inside = true;
      for (size_t d = g.spatial; d-- > 0; rest /= g.in[d]) {
        int64_t target = rest % g.in[d] * g.stride[d] + at[d];
        inside &= target >= 0 && target < g.out[d];
        offset += target * factor;
        factor *= g.out[d];
      }
      if (inside)
        dst[channel * g.outPositions + offset] += columns[row * g.positions + position];
    }
  }
}

} // namespace

/// y[o, s*i + d*k - p] += w[c, o, k] * x[c, i]: one matrix product per group, its columns added in place.
llvm::Expected<RuntimeValue> bindConvTranspose(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<View> rawWeight = getWeightOperand(context);
  if (!rawWeight)
    return rawWeight.takeError();
  llvm::Expected<View> bias = context.getOptionalTensor("bias");
  if (!bias)
    return bias.takeError();
  if (*bias && (*bias).getDType() != DType::Float32)
    return context.fail("bias must be float32, got {0}", toString((*bias).type));
  const BoundSlot *mode = context.getCall().find("padding_mode");
  if (mode && mode->arg.isString() && mode->arg.getString() != "zeros")
    return context.fail("takes padding_mode 'zeros' only, got '{0}'", mode->arg.getString());
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View weight = context.toOrder(*rawWeight, StorageOrder::RowMajor);
  Geometry g;
  g.spatial = weight.getRank() - 2;
  bool isBatched = input->getRank() == weight.getRank();
  View src = context.toOrder(isBatched ? *input : unsqueezed(*input, 0), StorageOrder::RowMajor);
  for (auto [slot, into] : {std::pair<llvm::StringRef, llvm::SmallVector<int64_t, 4> *>{"stride", &g.stride},
                            {"padding", &g.padding},
                            {"dilation", &g.dilation}}) {
    llvm::Expected<llvm::SmallVector<int64_t, 4>> given = context.attrs().getInts(slot, g.spatial);
    if (!given)
      return given.takeError();
    *into = *given;
  }
  llvm::Expected<int64_t> groups = context.attrs().getInt("groups");
  if (!groups)
    return groups.takeError();
  g.groups = *groups;
  g.batch = src.sizes[0];
  g.inChannels = src.sizes[1];
  g.outPerGroup = weight.sizes[1];
  llvm::SmallVector<int64_t, 4> dstSizes = type->getSizes();
  if (!isBatched)
    dstSizes.insert(dstSizes.begin(), 1);
  g.positions = g.outPositions = g.taps = 1;
  for (size_t d = 0; d < g.spatial; ++d) {
    g.in.push_back(src.sizes[d + 2]);
    g.out.push_back(dstSizes[d + 2]);
    g.kernel.push_back(weight.sizes[d + 2]);
    g.positions *= g.in[d];
    g.outPositions *= g.out[d];
    g.taps *= g.kernel[d];
  }
  View dst = context.allocate(withSizes(src, dstSizes), StorageOrder::RowMajor);
  const kernels::SgemmKernel &kernel = kernels::selectSgemm();
  int64_t depth = g.inChannels / g.groups, rows = g.outPerGroup * g.taps;
  // Weights [depth, rows] of a group turned over once, so that its rows are the product's.
  View turned = context.toOrder(permuted(reshaped(context, weight, {g.groups, depth, rows}), {0, 2, 1}), StorageOrder::RowMajor);
  int64_t panels = (kernels::getSgemmScratchSize(kernel, depth) * 4 + 63) / 64 * 64;
  StepTraits traits;
  traits.scratchBytes = panels + rows * g.positions * static_cast<int64_t>(sizeof(float));
  std::vector<const View *> reads{&src, &turned};
  View biasView = *bias ? context.toOrder(*bias, StorageOrder::RowMajor) : View();
  if (biasView)
    reads.push_back(&biasView);
  context.emit(
      reads, {&dst},
      [src, turned, biasView, dst, g, depth, rows, panels, &kernel](RunContext &run) {
        run.parallelFor(g.batch * g.groups, getProductGrain(rows * g.positions * depth), [&](int64_t begin, int64_t end, void *scratch) {
          float *columns = reinterpret_cast<float *>(static_cast<std::byte *>(scratch) + panels);
          for (int64_t unit = begin; unit < end; ++unit) {
            int64_t sample = unit / g.groups, group = unit % g.groups;
            float *image = dst.getData<float>() + sample * g.groups * g.outPerGroup * g.outPositions;
            for (int64_t c = group * g.outPerGroup; c < (group + 1) * g.outPerGroup; ++c)
              std::fill_n(image + c * g.outPositions, g.outPositions, biasView ? biasView.getData<float>()[c] : 0.0f);
            kernels::SgemmArgs args = {};
            args.n = g.positions;
            args.k = depth;
            args.a = turned.getData<float>() + group * rows * depth;
            args.lda = depth;
            args.lo = -__builtin_inff();
            args.hi = __builtin_inff();
            args.c = columns;
            args.ldc = g.positions;
            kernels::sgemmUnpacked(kernel, args,
                                   src.getData<float>() + (sample * g.inChannels + group * depth) * g.positions, 1,
                                   g.positions, 0, rows, static_cast<float *>(scratch));
            scatterColumns(g, columns, group, image);
          }
        });
      },
      traits);
  return RuntimeValue(isBatched ? dst : squeezed(dst, 0));
}

} // namespace qfx::runtime
