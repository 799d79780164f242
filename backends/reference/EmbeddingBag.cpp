// Float embedding bags: sums, means and maxima of rows of a table.
#include "backends/reference/Emit.h"
#include "backends/reference/ReferenceModules.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "ir/Diagnostics.h"

namespace qfx::runtime {

namespace {

struct Bags {
  View table, indices, offsets, weights, dst; ///< offsets and weights may be empty
  int64_t count, width, rows, total, perBag;
  std::string mode;
  int64_t padding = -1; ///< a row that does not count
  Location loc;

  int64_t getStart(int64_t bag) const { return offsets ? offsets.getData<int64_t>()[bag] : bag * perBag; }
  int64_t getEnd(int64_t bag) const {
    if (!offsets)
      return (bag + 1) * perBag;
    return bag + 1 < offsets.sizes[0] ? offsets.getData<int64_t>()[bag + 1] : total;
  }
  /// The first thing that is wrong, or nothing.
  std::string check() const {
    for (int64_t bag = 0; bag < count; ++bag)
      if (getStart(bag) < 0 || getStart(bag) > getEnd(bag) || getEnd(bag) > total)
        return "offsets of bag " + std::to_string(bag) + " do not lie in order within the indices";
    for (int64_t i = 0; i < total; ++i)
      if (indices.getData<int64_t>()[i] < 0 || indices.getData<int64_t>()[i] >= rows)
        return "index " + std::to_string(indices.getData<int64_t>()[i]) + " is out of range for " + std::to_string(rows) + " rows";
    return "";
  }
  void run(int64_t bag) const {
    float *to = dst.getData<float>() + bag * width;
    std::fill_n(to, width, 0.0f);
    int64_t seen = 0;
    for (int64_t i = getStart(bag); i < getEnd(bag); ++i) {
      int64_t row = indices.getData<int64_t>()[i];
      if (row == padding)
        continue;
      const float *from = table.getData<float>() + row * width;
      float factor = weights ? weights.getData<float>()[i] : 1.0f;
      for (int64_t j = 0; j < width; ++j)
        to[j] = mode == "max" ? (seen && to[j] > from[j] ? to[j] : from[j]) : to[j] + from[j] * factor;
      ++seen;
    }
    if (mode == "mean" && seen)
      for (int64_t j = 0; j < width; ++j)
        to[j] = to[j] / static_cast<float>(seen);
  }
};

} // namespace

llvm::Expected<RuntimeValue> bindEmbeddingBag(BindContext &context) {
  if (context.has("max_norm"))
    return context.fail("takes max_norm=None only: it would change the weight");
  Bags bags;
  llvm::Expected<View> table = getWeightOperand(context);
  if (!table)
    return table.takeError();
  bags.table = context.toOrder(*table, StorageOrder::RowMajor);
  for (auto [slot, into] : {std::pair<llvm::StringRef, View *>{"input", &bags.indices}, {"offsets", &bags.offsets}}) {
    llvm::Expected<View> view = context.getOptionalTensor(slot);
    if (!view)
      return view.takeError();
    if (!*view)
      continue;
    llvm::Expected<View> wide = castTo(context, *view, DType::Int64);
    if (!wide)
      return wide.takeError();
    *into = context.toOrder(*wide, StorageOrder::RowMajor);
  }
  llvm::Expected<View> weights = context.getOptionalTensor("per_sample_weights");
  if (!weights)
    return weights.takeError();
  if (*weights && weights->getDType() != DType::Float32)
    return context.fail("per_sample_weights must be float32, got {0}", toString(weights->type));
  if (*weights)
    bags.weights = context.toOrder(*weights, StorageOrder::RowMajor);
  if (context.has("padding_idx")) {
    llvm::Expected<int64_t> padding = context.attrs().getInt("padding_idx");
    if (!padding)
      return padding.takeError();
    bags.padding = *padding < 0 ? *padding + bags.table.sizes[0] : *padding;
  }
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  bags.mode = context.getCall().get("mode").arg.getString();
  bags.dst = context.allocate(*type, StorageOrder::RowMajor);
  bags.count = bags.dst.sizes[0];
  bags.width = bags.table.sizes[1];
  bags.rows = bags.table.sizes[0];
  bags.total = bags.indices.getNumElements();
  bags.perBag = bags.indices.getRank() == 2 ? bags.indices.sizes[1] : 0;
  bags.loc = context.getCall().loc;
  std::vector<const View *> reads{&bags.table, &bags.indices};
  for (const View *view : {&bags.offsets, &bags.weights})
    if (*view)
      reads.push_back(view);
  context.emit(reads, {&bags.dst}, [bags](RunContext &run) {
    std::string problem = bags.check();
    if (!problem.empty())
      return run.fail(error(bags.loc, "'EmbeddingBag': {0}", problem).code("run_index"));
    run.parallelFor(bags.count, kElementGrain / std::max<int64_t>(bags.width, 1) + 1, [&](int64_t begin, int64_t end, void *) {
      for (int64_t bag = begin; bag < end; ++bag)
        bags.run(bag);
    });
  });
  return RuntimeValue(bags.dst);
}

} // namespace qfx::runtime
