// nn.MultiheadAttention in float: projections, scores, weights and their average.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/CopyStep.h"
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"
#include "kernels/reduce/Reduce.h"

#include <cmath>

namespace qfx::runtime {

using kernels::PointwiseKind;

namespace {

/// A matrix's transpose as a view.
View turned(const View &matrix) { return permuted(matrix, {1, 0}); }

View rowsOf(View view, int64_t start, int64_t count) {
  view.offset += start * view.strides[0];
  view.sizes[0] = count;
  view.type = withSizes(view, view.sizes);
  return view;
}

class Multihead {
public:
  Multihead(BindContext &context, int64_t heads) : context(context), heads(heads) {}

  /// x [N, T, F] W^T + b.
  View project(const View &x, const View &weight, const View &bias) {
    View y = emitMatmul(context, x, turned(weight), withSizes(x, {x.sizes[0], x.sizes[1], weight.sizes[0]}));
    return bias ? emitPointwise(context, PointwiseKind::Add, {y, bias}, y.sizes) : y;
  }
  /// [N, T, E] as [N, heads, T, E / heads].
  View split(const View &x) {
    return permuted(reshaped(context, x, {x.sizes[0], x.sizes[1], heads, x.sizes[2] / heads}), {0, 2, 1, 3});
  }
  /// One more time step behind x [N, T, E]: `row` repeated.
  View append(const View &x, const View &row) {
    View dst = context.allocate(withSizes(x, {x.sizes[0], x.sizes[1] + 1, x.sizes[2]}), StorageOrder::RowMajor);
    View head = dst, tail = dst;
    head.sizes[1] = x.sizes[1];
    tail.sizes[1] = 1;
    tail.offset += x.sizes[1] * dst.strides[1];
    head.type = withSizes(head, head.sizes);
    tail.type = withSizes(tail, tail.sizes);
    context.copy(x, head);
    copyBeside(x, broadcasted(row, tail.sizes), tail);
    return dst;
  }
  /// A mask of bools (true: excluded) or floats as numbers to add; `extra` more keys are never excluded.
  llvm::Expected<View> toAdded(const View &mask, int64_t extra) {
    View added = mask;
    if (mask.getDType() == DType::Bool)
      added = emitPointwise(context, PointwiseKind::Select,
                            {mask, makeScalar(DType::Float32, -INFINITY), makeScalar(DType::Float32, 0)}, mask.sizes);
    llvm::Expected<View> floats = castTo(context, added, DType::Float32);
    if (!floats || !extra)
      return floats;
    Sizes sizes = floats->sizes;
    sizes.back() += extra;
    View dst = context.allocate(withSizes(*floats, sizes), StorageOrder::RowMajor);
    View head = dst, tail = dst;
    head.sizes.back() -= extra;
    tail.sizes.back() = extra;
    tail.offset += floats->sizes.back();
    context.copy(*floats, head);
    copyBeside(*floats, broadcasted(makeScalar(DType::Float32, 0), tail.sizes), tail);
    return dst;
  }
  View softmaxRows(const View &scores) {
    View src = context.toOrder(scores, StorageOrder::RowMajor);
    View dst = context.allocate(withSizes(src, src.sizes), StorageOrder::RowMajor);
    int64_t n = src.sizes.back(), rows = n ? src.getNumElements() / n : 0;
    const kernels::ReduceKernels &kernels = kernels::selectReduce();
    context.emit({&src}, {&dst}, [src, dst, n, rows, &kernels](RunContext &run) {
      run.parallelFor(rows, kElementGrain / std::max<int64_t>(n, 1) + 1, [&](int64_t begin, int64_t end, void *) {
        for (int64_t row = begin; row < end; ++row)
          kernels.softmax(src.getData<float>() + row * n, dst.getData<float>() + row * n, n);
      });
    });
    return dst;
  }
  /// [N, heads, L, S] averaged over heads.
  View average(const View &weights) {
    View first = context.toOrder(weights, StorageOrder::RowMajor);
    View dst = context.allocate(withSizes(first, {first.sizes[0], first.sizes[2], first.sizes[3]}), StorageOrder::RowMajor);
    int64_t batch = first.sizes[0], matrix = first.sizes[2] * first.sizes[3], count = heads;
    context.emit({&first}, {&dst}, [=](RunContext &run) {
      run.parallelFor(batch * matrix, kElementGrain, [&](int64_t begin, int64_t end, void *) {
        for (int64_t i = begin; i < end; ++i) {
          const float *from = first.getData<float>() + i / matrix * count * matrix + i % matrix;
          float sum = 0;
          for (int64_t h = 0; h < count; ++h)
            sum = sum + from[h * matrix];
          dst.getData<float>()[i] = sum / static_cast<float>(count);
        }
      });
    });
    return dst;
  }

private:
  /// Copies into a part of the buffer that `other` is copied into: a step that reads constants alone would run once, when the plan is made,
  /// and take the whole buffer for a constant.
  void copyBeside(const View &other, const View &src, const View &dst) {
    context.emit({&other, &src}, {&dst}, [src, dst](RunContext &run) { runCopy(run, src, dst); });
  }

  BindContext &context;
  int64_t heads;
};

llvm::Expected<View> getWeight(BindContext &context, llvm::StringRef slot) {
  llvm::Expected<View> view = context.getOptionalTensor(slot);
  if (view && *view && view->getDType() != DType::Float32)
    return context.fail("'{0}' must be float32, got {1}", slot, toString(view->type));
  return view;
}

} // namespace

llvm::Expected<RuntimeValue> bindMultihead(BindContext &context) {
  llvm::Expected<int64_t> heads = context.attrs().getInt("num_heads");
  if (!heads)
    return heads.takeError();
  llvm::Expected<int64_t> width = context.attrs().getInt("embed_dim");
  if (!width)
    return width.takeError();
  llvm::Expected<bool> batchFirst = context.attrs().getBool("batch_first");
  if (!batchFirst)
    return batchFirst.takeError();
  Multihead multihead(context, *heads);
  // Inputs as [N, T, E].
  std::vector<View> inputs;
  bool isBatched = true;
  for (llvm::StringRef slot : {"query", "key", "value"}) {
    llvm::Expected<View> view = getFloatTensor(context, slot);
    if (!view)
      return view.takeError();
    isBatched = view->getRank() == 3;
    inputs.push_back(!isBatched ? unsqueezed(*view, 0) : *batchFirst ? *view : permuted(*view, {1, 0, 2}));
  }
  // Projections: one matrix for all, or one for each.
  std::vector<View> projected;
  llvm::Expected<View> joint = getWeight(context, "in_proj_weight");
  if (!joint)
    return joint.takeError();
  llvm::Expected<View> inBias = getWeight(context, "in_proj_bias");
  if (!inBias)
    return inBias.takeError();
  const char *separate[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
  for (int64_t i = 0; i < 3; ++i) {
    llvm::Expected<View> weight = *joint ? llvm::Expected<View>(rowsOf(*joint, i * *width, *width)) : getWeight(context, separate[i]);
    if (!weight)
      return weight.takeError();
    if (!*weight)
      return context.fail("has no '{0}'", separate[i]);
    View bias = *inBias ? rowsOf(*inBias, i * *width, *width) : View();
    projected.push_back(multihead.project(inputs[static_cast<size_t>(i)], *weight, bias));
  }
  int64_t extra = 0;
  llvm::Expected<View> biasK = getWeight(context, "bias_k");
  if (!biasK)
    return biasK.takeError();
  llvm::Expected<View> biasV = getWeight(context, "bias_v");
  if (!biasV)
    return biasV.takeError();
  if (*biasK && *biasV) {
    projected[1] = multihead.append(projected[1], *biasK);
    projected[2] = multihead.append(projected[2], *biasV);
    ++extra;
  }
  llvm::Expected<bool> addsZero = context.attrs().getBool("add_zero_attn");
  if (!addsZero)
    return addsZero.takeError();
  if (*addsZero) {
    for (size_t i : {1, 2})
      projected[i] = multihead.append(projected[i], makeScalar(DType::Float32, 0));
    ++extra;
  }
  View q = multihead.split(projected[0]), k = multihead.split(projected[1]), v = multihead.split(projected[2]);
  Sizes scoreSizes{q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2]};
  double scale = 1.0 / std::sqrt(static_cast<double>(q.sizes[3]));
  View scores = emitMatmul(context, q, permuted(k, {0, 1, 3, 2}), withSizes(q, scoreSizes));
  scores = emitPointwise(context, PointwiseKind::Mul, {scores, makeScalar(DType::Float32, scale)}, scoreSizes);
  for (llvm::StringRef slot : {"attn_mask", "key_padding_mask"}) {
    llvm::Expected<View> mask = context.getOptionalTensor(slot);
    if (!mask)
      return mask.takeError();
    if (!*mask)
      continue;
    llvm::Expected<View> added = multihead.toAdded(*mask, extra);
    if (!added)
      return added.takeError();
    View shaped = *added;
    if (slot == "key_padding_mask")
      shaped = reshaped(context, shaped, {shaped.getRank() == 2 ? shaped.sizes[0] : 1, 1, 1, shaped.sizes.back()});
    else if (shaped.getRank() == 3)
      shaped = reshaped(context, shaped, {q.sizes[0], *heads, shaped.sizes[1], shaped.sizes[2]});
    scores = emitPointwise(context, PointwiseKind::Add, {scores, shaped}, scoreSizes);
  }
  View weights = multihead.softmaxRows(scores);
  View heard = emitMatmul(context, weights, v, withSizes(q, {q.sizes[0], q.sizes[1], q.sizes[2], v.sizes[3]}));
  View joined = reshaped(context, permuted(heard, {0, 2, 1, 3}), {q.sizes[0], q.sizes[2], *width});
  const Module *outProjection = context.getCall().module ? context.getCall().module->findChild("out_proj").get() : nullptr;
  const Tensor *outWeight = outProjection ? outProjection->findTensor("weight") : nullptr;
  const Tensor *outBias = outProjection ? outProjection->findTensor("bias") : nullptr;
  if (!outWeight || outWeight->getDType() != DType::Float32)
    return context.fail("needs a child 'out_proj' with a float32 weight");
  View output = multihead.project(joined, viewConstant(*outWeight), outBias ? viewConstant(*outBias) : View());
  View result = !isBatched ? squeezed(output, 0) : *batchFirst ? output : permuted(output, {1, 0, 2});
  llvm::Expected<bool> needsWeights = context.attrs().getBool("need_weights");
  if (!needsWeights)
    return needsWeights.takeError();
  if (!*needsWeights)
    return RuntimeValue::ofSequence({RuntimeValue(result), RuntimeValue::ofHost(Argument())});
  llvm::Expected<bool> averages = context.attrs().getBool("average_attn_weights");
  if (!averages)
    return averages.takeError();
  View shown = *averages ? multihead.average(weights) : weights;
  return RuntimeValue::ofSequence({RuntimeValue(result), RuntimeValue(isBatched ? shown : squeezed(shown, 0))});
}

} // namespace qfx::runtime
