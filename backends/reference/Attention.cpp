// Scaled dot-product attention: scores, softmax and the weighted values of a block of queries at a time.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/elementwise/Binary.h"
#include "kernels/elementwise/Unary.h"
#include "kernels/reduce/Reduce.h"
#include "kernels/sgemm/Sgemm.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

namespace qfx::runtime {

namespace {

/// Queries whose scores are held at once.
constexpr int64_t kQueryBlock = 128;

struct AttentionPlan {
  View query, key, value, mask, dst; ///< all of the result's rank; mask may be empty
  Sizes batch;                       ///< broadcast leading sizes
  int64_t queries, keys, depth, width, keyGroup = 1;
  float scale;
  bool isCausal;

  int64_t countBatches() const {
    int64_t n = 1;
    for (int64_t size : batch)
      n *= size;
    return n;
  }
  /// Elements from the start of `view` to the matrix of one batch.  \param shared  query heads that share a head of the view.
  int64_t getOffset(const View &view, int64_t index, int64_t shared) const {
    int64_t offset = 0;
    for (size_t d = batch.size(); d-- > 0; index /= batch[d]) {
      int64_t at = index % batch[d];
      if (d + 1 == batch.size())
        at /= shared;
      offset += view.sizes[d] == 1 ? 0 : at * view.strides[d];
    }
    return offset;
  }
};

/// The row functions of scores.
struct AttentionKernels {
  const kernels::SgemmKernel &product = kernels::selectSgemm();
  const kernels::ReduceKernels &reduce = kernels::selectReduce();
  kernels::UnaryFn scale = kernels::selectUnary(kernels::UnaryKind::MulScalar);
  kernels::BinaryFn add = kernels::selectBinary(kernels::BinaryKind::Add);
};

/// Adds the mask's row (false: excluded), cuts off what lies behind a causal query, and turns scores into weights.  A row that excludes
/// everything gives zeros, as PyTorch's safe softmax.
void weigh(const AttentionPlan &plan, const AttentionKernels &functions, float *scores, int64_t query,
           const std::byte *maskRow, int64_t maskStep) {
  if (maskRow && plan.mask.getDType() == DType::Bool) {
    const bool keepsAll = maskStep == 1 && !std::memchr(maskRow, 0, static_cast<size_t>(plan.keys));
    for (int64_t j = 0; !keepsAll && j < plan.keys; ++j)
      if (maskRow[j * maskStep] == std::byte(0))
        scores[j] = -__builtin_inff();
  } else if (maskRow && maskStep <= 1) {
    functions.add(scores, 1, reinterpret_cast<const float *>(maskRow), static_cast<int>(maskStep), scores, plan.keys, {});
  } else if (maskRow) {
    const float *added = reinterpret_cast<const float *>(maskRow);
    for (int64_t j = 0; j < plan.keys; ++j)
      scores[j] = scores[j] + added[j * maskStep];
  }
  int64_t reach = plan.isCausal ? std::min(query + 1, plan.keys) : plan.keys;
  std::fill(scores + reach, scores + plan.keys, -__builtin_inff());
  if (plan.keys > 0 && functions.reduce.max(scores, plan.keys) == -__builtin_inff())
    std::fill_n(scores, plan.keys, 0.0f);
  else if (plan.keys > 0)
    functions.reduce.softmax(scores, scores, plan.keys);
}

/// Queries [first, last) of one batch.
void attend(const AttentionPlan &plan, const AttentionKernels &functions, int64_t index, int64_t first, int64_t last, float *panels,
            float *scores) {
  const View &q = plan.query, &k = plan.key, &v = plan.value;
  const size_t rank = q.getRank();
  int64_t rows = last - first;
  kernels::SgemmArgs args = {};
  args.lo = -__builtin_inff();
  args.hi = __builtin_inff();
  args.n = plan.keys;
  args.k = plan.depth;
  args.a = q.getData<float>() + plan.getOffset(q, index, 1) + first * q.strides[rank - 2];
  args.lda = q.strides[rank - 2];
  args.c = scores;
  args.ldc = plan.keys;
  kernels::sgemmUnpacked(functions.product, args, k.getData<float>() + plan.getOffset(k, index, plan.keyGroup), k.strides[rank - 2],
                         k.strides[rank - 1], 0, rows, panels);
  for (int64_t i = 0; i < rows; ++i) {
    float *row = scores + i * plan.keys;
    functions.scale(row, row, plan.keys, {plan.scale});
    const std::byte *maskRow = nullptr;
    int64_t maskStep = 0;
    if (plan.mask) {
      const View &mask = plan.mask;
      int64_t line = mask.sizes[rank - 2] == 1 ? 0 : (first + i) * mask.strides[rank - 2];
      maskRow = mask.getBytes() + (plan.getOffset(mask, index, 1) + line) * mask.getElemBytes();
      maskStep = mask.sizes[rank - 1] == 1 ? 0 : mask.strides[rank - 1];
    }
    weigh(plan, functions, row, first + i, maskRow, maskStep);
  }
  args.n = plan.width;
  args.k = plan.keys;
  args.a = scores;
  args.lda = plan.keys;
  args.c = plan.dst.getData<float>() + plan.getOffset(plan.dst, index, 1) + first * plan.dst.strides[rank - 2];
  args.ldc = plan.dst.strides[rank - 2];
  kernels::sgemmUnpacked(functions.product, args, v.getData<float>() + plan.getOffset(v, index, plan.keyGroup), v.strides[rank - 1],
                         v.strides[rank - 2], 0, rows, panels);
}

/// With leading dimensions of size 1 up to `rank`.
View padRank(View view, size_t rank) {
  while (view.getRank() < rank)
    view = unsqueezed(view, 0);
  return view;
}

} // namespace

llvm::Expected<RuntimeValue> bindAttention(BindContext &context) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  size_t rank = std::max<size_t>(type->getRank(), 3);
  std::vector<View> operands;
  for (llvm::StringRef slot : {"query", "key", "value"}) {
    llvm::Expected<View> view = context.getTensor(slot);
    if (!view)
      return view.takeError();
    if (view->getDType() == DType::Float64)
      return context.fail("takes float32, float16 or bfloat16, got {0}", toString(view->type));
    llvm::Expected<View> converted = castTo(context, *view, DType::Float32);
    if (!converted)
      return converted.takeError();
    operands.push_back(padRank(*converted, rank));
  }
  AttentionPlan plan;
  plan.query = operands[0];
  if (plan.query.strides[rank - 1] != 1 && plan.query.sizes[rank - 1] != 1)
    plan.query = context.toOrder(plan.query, StorageOrder::RowMajor);
  plan.key = operands[1];
  plan.value = operands[2];
  llvm::Expected<View> mask = context.getOptionalTensor("attn_mask");
  if (!mask)
    return mask.takeError();
  if (*mask) {
    llvm::Expected<View> typed = castTo(context, *mask, (*mask).getDType() == DType::Bool ? DType::Bool : DType::Float32);
    if (!typed)
      return typed.takeError();
    plan.mask = padRank(*typed, rank);
  }
  llvm::Expected<bool> causal = context.attrs().getBool("is_causal");
  if (!causal)
    return causal.takeError();
  plan.isCausal = *causal;
  Sizes sizes;
  for (int64_t size : type->getSizes())
    sizes.push_back(size);
  sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  plan.batch.assign(sizes.begin(), sizes.end() - 2);
  plan.queries = sizes[rank - 2];
  plan.width = sizes[rank - 1];
  plan.depth = plan.query.sizes[rank - 1];
  plan.keys = plan.key.sizes[rank - 2];
  llvm::Expected<bool> grouped = context.attrs().getBool("enable_gqa");
  if (!grouped)
    return grouped.takeError();
  if (*grouped && plan.key.sizes[rank - 3] != plan.value.sizes[rank - 3])
    return context.fail("takes keys and values of equally many heads, got {0} and {1}", plan.key.sizes[rank - 3],
                        plan.value.sizes[rank - 3]);
  if (*grouped)
    plan.keyGroup = plan.query.sizes[rank - 3] / plan.key.sizes[rank - 3];
  plan.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(plan.depth)));
  if (context.has("scale")) {
    llvm::Expected<double> scale = context.attrs().getNumber("scale");
    if (!scale)
      return scale.takeError();
    plan.scale = static_cast<float>(*scale);
  }
  // Heads stand inside positions in memory: what follows usually joins them again.
  llvm::SmallVector<size_t, 8> order;
  for (size_t i = 0; i < rank; ++i)
    order.push_back(i);
  std::swap(order[rank - 3], order[rank - 2]);
  Sizes stored = sizes;
  std::swap(stored[rank - 3], stored[rank - 2]);
  plan.dst = permuted(context.allocate(withSizes(plan.query, stored), StorageOrder::RowMajor), order);
  const AttentionKernels functions;
  int64_t panels = kernels::getSgemmScratchSize(functions.product, std::max(plan.depth, plan.keys));
  panels = (panels + 15) / 16 * 16;
  int64_t blocks = (plan.queries + kQueryBlock - 1) / kQueryBlock;
  int64_t grain = getProductGrain(std::min(kQueryBlock, plan.queries) * plan.keys * (plan.depth + plan.width));
  StepTraits traits;
  traits.scratchBytes =
      (panels + std::min(kQueryBlock, plan.queries) * plan.keys) * static_cast<int64_t>(sizeof(float));
  std::vector<const View *> reads{&plan.query, &plan.key, &plan.value};
  if (plan.mask)
    reads.push_back(&plan.mask);
  context.emit(
      reads, {&plan.dst},
      [plan, panels, blocks, grain, functions](RunContext &run) {
        run.parallelFor(plan.countBatches() * blocks, grain, [&](int64_t begin, int64_t end, void *scratch) {
          float *memory = static_cast<float *>(scratch);
          for (int64_t unit = begin; unit < end; ++unit) {
            int64_t first = unit % blocks * kQueryBlock;
            attend(plan, functions, unit / blocks, first, std::min(first + kQueryBlock, plan.queries), memory,
                   memory + panels);
          }
        });
      },
      traits);
  View result = plan.dst;
  while (result.getRank() > type->getRank())
    result = squeezed(result, 0);
  llvm::Expected<View> converted = castTo(context, result, type->dtype);
  if (!converted)
    return converted.takeError();
  return RuntimeValue(*converted);
}

} // namespace qfx::runtime
