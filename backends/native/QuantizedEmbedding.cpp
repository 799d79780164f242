// Lookups in embedding tables of packed rows, and sums of such rows (operators 10).
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"
#include "kernels/embedding/Embedding.h"

#include <algorithm>
#include <mutex>

namespace qfx::runtime {

namespace {

/// A table ready to be looked up.
struct PackedTable {
  kernels::PackedRows layout;
  int64_t numRows = 0;
  std::shared_ptr<std::byte> memory;
};

/// Packs a float-qparams tensor: bias = f32(f32(zero_point * scale) * -1), both rounded to float16 with 4-bit codes.
/// Rows start on a byte of their own, also with an odd number of 4-bit columns (known_traps B105).
llvm::Expected<std::shared_ptr<PackedTable>> packTable(BindContext &context, const Tensor &weight) {
  return context.getCached<PackedTable>("table", [&]() -> llvm::Expected<std::shared_ptr<PackedTable>> {
    const bool isByte = weight.getDType() == DType::QUInt8;
    if ((!isByte && weight.getDType() != DType::QUInt4x2) || weight.getRank() != 2 || !weight.getQuantizer() ||
        weight.getQuantizer()->getScheme() != QScheme::PerChannelAffineFloatQParams ||
        weight.getQuantizer()->getAxis() != 0)
      return context.fail("weight must be a quint8 or quint4x2 matrix with float qparams along axis 0, got {0}",
                          toString(weight.getType()));
    auto table = std::make_shared<PackedTable>();
    table->layout.bits = isByte ? 8 : 4;
    table->layout.columns = weight.getSizes()[1];
    table->numRows = weight.getSizes()[0];
    table->memory = context.allocatePacked(std::max<int64_t>(1, table->numRows * table->layout.rowBytes()));
    const auto *codes = reinterpret_cast<const uint8_t *>(weight.getBytes());
    auto *row = reinterpret_cast<uint8_t *>(table->memory.get());
    const Quantizer &quantizer = *weight.getQuantizer();
    for (int64_t r = 0; r < table->numRows; ++r, row += table->layout.rowBytes()) {
      for (int64_t c = 0; c < table->layout.columns; ++c) {
        const int64_t at = r * table->layout.columns + c;
        if (isByte)
          row[c] = codes[at];
        else
          row[c / 2] = static_cast<uint8_t>(row[c / 2] | (codes[at / 2] >> (at % 2 * 4) & 15) << (c % 2 * 4));
      }
      const float scale = static_cast<float>(quantizer.getScales()[static_cast<size_t>(r)]);
      const float zeroPoint = quantizer.getFloatZeroPoints()[static_cast<size_t>(r)];
      kernels::writeRowParams(table->layout, {scale, zeroPoint * scale * -1.0f}, row);
    }
    return table;
  });
}

llvm::Expected<std::shared_ptr<PackedTable>> getTable(BindContext &context) {
  if (!context.has("packed")) {
    llvm::Expected<Tensor> weight = context.getConstant("weight");
    if (!weight)
      return weight.takeError();
    return packTable(context, *weight);
  }
  llvm::Expected<std::shared_ptr<const Module>> packed = context.getPacked("packed");
  if (!packed)
    return packed.takeError();
  const Tensor *weight = (*packed)->findTensor("weight");
  if (!weight)
    return context.fail("its packed weights hold no weight");
  return packTable(context, *weight);
}

/// An int32 or int64 tensor, dense.
llvm::Expected<View> getIndexTensor(BindContext &context, const View &given, llvm::StringRef slot) {
  if (given.getDType() != DType::Int32 && given.getDType() != DType::Int64)
    return context.fail("'{0}' must be int32 or int64, got {1}", slot, toString(given.type));
  return context.toOrder(given, StorageOrder::RowMajor);
}

int64_t readIndex(const View &view, int64_t i) {
  return view.getDType() == DType::Int32 ? view.getData<int32_t>()[i] : view.getData<int64_t>()[i];
}

/// Rows to sum per result row, and what can go wrong with them.
struct BagCall {
  View indices, offsets, weights, mapping; ///< all but the indices may be missing
  bool hasEnd = false;                     ///< the last offset is the end of the last bag
  bool isPruned = false;
  Location loc;
  std::string node;

  /// Which rows result row `bag` of `bags` sums.
  std::pair<int64_t, int64_t> getRange(int64_t bag, int64_t bags) const {
    const int64_t count = indices.getNumElements();
    if (!offsets)
      return {bag * (count / bags), (bag + 1) * (count / bags)};
    const int64_t next = bag + 1 < bags || hasEnd ? readIndex(offsets, bag + 1) : count;
    return {readIndex(offsets, bag), next};
  }
};

/// Sums into row `bag` of dst; an error for an index or offset out of range.
llvm::Error sumBag(const BagCall &call, const kernels::PackedRows &layout, const uint8_t *rows, int64_t numRows,
                   int64_t bag, int64_t bags, float *dst, uint8_t *scratch) {
  const kernels::EmbeddingKernels &kernels = kernels::selectEmbedding();
  auto [begin, end] = call.getRange(bag, bags);
  const int64_t count = call.indices.getNumElements();
  if (begin < 0 || end < begin || end > count)
    return error(call.loc, "node '{0}': offsets {1} and {2} do not delimit indices 0..{3}", call.node, begin, end,
                 count)
        .code("embedding_offsets");
  std::fill_n(dst, layout.columns, 0.0f);
  for (int64_t i = begin; i < end; ++i) {
    int64_t index = readIndex(call.indices, i);
    if (call.isPruned) {
      if (index < 0 || index >= call.mapping.getNumElements())
        return error(call.loc, "node '{0}': index {1} is outside the mapping of {2} rows", call.node, index,
                     call.mapping.getNumElements())
            .code("embedding_index");
      index = call.mapping.getData<int32_t>()[index];
      if (index == -1)
        continue;
    }
    if (index < 0 || index >= numRows)
      return error(call.loc, "node '{0}': index {1} is outside the table of {2} rows", call.node, index, numRows)
          .code("embedding_index");
    const float weight = call.weights ? call.weights.getData<float>()[i] : 1.0f;
    kernels::addPackedRow(kernels, layout, rows + index * layout.rowBytes(), weight, dst, scratch);
  }
  return llvm::Error::success();
}

llvm::Expected<BagCall> readBag(BindContext &context) {
  BagCall call;
  call.loc = context.getCall().loc;
  call.node = context.getNode().getName();
  llvm::Expected<View> indices = context.getTensor("input");
  if (!indices)
    return indices.takeError();
  llvm::Expected<View> dense = getIndexTensor(context, *indices, "indices");
  if (!dense)
    return dense.takeError();
  call.indices = *dense;
  if (context.getCall().find("offsets") && context.has("offsets")) {
    llvm::Expected<View> offsets = context.getTensor("offsets");
    if (!offsets)
      return offsets.takeError();
    dense = getIndexTensor(context, *offsets, "offsets");
    if (!dense)
      return dense.takeError();
    call.offsets = *dense;
  }
  if (context.getCall().find("include_last_offset")) {
    llvm::Expected<bool> hasEnd = context.attrs().getBool("include_last_offset");
    if (!hasEnd)
      return hasEnd.takeError();
    call.hasEnd = *hasEnd;
  }
  if (context.getCall().find("per_sample_weights") && context.has("per_sample_weights")) {
    llvm::Expected<View> weights = getFloatTensor(context, "per_sample_weights");
    if (!weights)
      return weights.takeError();
    if (weights->getNumElements() != call.indices.getNumElements())
      return context.fail("{0} per-sample weights do not fit {1} indices", weights->getNumElements(),
                          call.indices.getNumElements());
    call.weights = context.toOrder(*weights, StorageOrder::RowMajor);
  }
  if (context.getCall().find("pruned_weights")) {
    llvm::Expected<bool> pruned = context.attrs().getBool("pruned_weights");
    if (!pruned)
      return pruned.takeError();
    if (*pruned && context.has("compressed_indices_mapping")) {
      llvm::Expected<View> mapping = context.getTensor("compressed_indices_mapping");
      if (!mapping)
        return mapping.takeError();
      if (mapping->getDType() != DType::Int32)
        return context.fail("compressed_indices_mapping must be int32, got {0}", toString(mapping->type));
      call.mapping = context.toOrder(*mapping, StorageOrder::RowMajor);
      // A single 0 stands for no pruning; it is known before running or not at all.
      call.isPruned =
          !(call.mapping.isConstant() && call.mapping.getNumElements() == 1 && call.mapping.getData<int32_t>()[0] == 0);
    }
  }
  return call;
}

/// \param rows  bytes of the packed rows, valid while the plan runs.
View emitBags(BindContext &context, const BagCall &call, const TensorType &type, const kernels::PackedRows &layout,
              int64_t numRows, const View *table, std::function<const uint8_t *()> rows) {
  View dst = context.allocate(type, StorageOrder::RowMajor);
  const int64_t bags = dst.getNumElements() / std::max<int64_t>(layout.columns, 1);
  llvm::SmallVector<const View *, 5> reads = {&call.indices};
  for (const View *view : {&call.offsets, &call.weights, &call.mapping, table})
    if (view && *view)
      reads.push_back(view);
  StepTraits traits;
  traits.scratchBytes = layout.columns;
  context.emit(
      reads, {&dst},
      [=, rows = std::move(rows)](RunContext &run) {
        // The first bad bag is what is told, however the bags are split.
        std::mutex mutex;
        int64_t firstBad = bags;
        llvm::Error failure = llvm::Error::success();
        run.parallelFor(bags, kElementGrain / std::max<int64_t>(layout.columns, 1) + 1,
                        [&](int64_t begin, int64_t end, void *scratch) {
                          for (int64_t bag = begin; bag < end; ++bag)
                            if (llvm::Error err = sumBag(call, layout, rows(), numRows, bag, bags,
                                                         dst.getData<float>() + bag * layout.columns,
                                                         static_cast<uint8_t *>(scratch))) {
                              std::lock_guard<std::mutex> lock(mutex);
                              if (bag < firstBad) {
                                firstBad = bag;
                                std::swap(failure, err);
                              }
                              llvm::consumeError(std::move(err));
                              return;
                            }
                        });
        if (failure)
          run.fail(std::move(failure));
      },
      traits);
  return dst;
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedEmbedding(BindContext &context) {
  llvm::Expected<std::shared_ptr<PackedTable>> table = getTable(context);
  if (!table)
    return table.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<BagCall> call = readBag(context);
  if (!call)
    return call.takeError();
  return RuntimeValue(emitBags(context, *call, *type, (*table)->layout, (*table)->numRows, nullptr,
                               [table = *table] { return reinterpret_cast<const uint8_t *>(table->memory.get()); }));
}

llvm::Expected<RuntimeValue> bindRowwiseBag(BindContext &context) {
  llvm::Expected<View> weight = context.getTensor("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<int64_t> bits = context.attrs().getInt("bits");
  if (!bits)
    return bits.takeError();
  llvm::Expected<BagCall> call = readBag(context);
  if (!call)
    return call.takeError();
  View table = context.toOrder(*weight, StorageOrder::RowMajor);
  kernels::PackedRows layout{static_cast<int>(*bits), type->shape.back().getValue()};
  const int64_t numRows = table.getNumElements() / std::max<int64_t>(layout.rowBytes(), 1);
  return RuntimeValue(emitBags(context, *call, *type, layout, numRows, &table,
                               [table] { return static_cast<const uint8_t *>(table.getData<uint8_t>()); }));
}

/// The table as it is, in a module of its own: rows are packed where it is looked up.
llvm::Expected<RuntimeValue> bindEmbeddingPrepack(BindContext &context) {
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  auto packed = std::make_shared<Module>(requireModuleClass("torch.classes.quantized.EmbeddingPackedParamsBase"));
  packed->setParameter("weight", *weight);
  return RuntimeValue::ofPacked(std::move(packed));
}

/// Rows of floats to rows of codes and back.
static llvm::Expected<RuntimeValue> bindRows(BindContext &context, bool packs) {
  llvm::Expected<View> weight = context.getTensor("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<int64_t> bits = context.attrs().getInt("bits");
  if (!bits)
    return bits.takeError();
  int64_t bins = 0; // of the search for ranges; 0: the rows' own
  double ratio = 0;
  if (packs && context.attrs().getCall().find("optimized_qparams")) {
    llvm::Expected<bool> searches = context.attrs().getBool("optimized_qparams");
    if (!searches)
      return searches.takeError();
    if (*searches) {
      llvm::Expected<int64_t> givenBins = context.attrs().getInt("nbins");
      if (!givenBins)
        return givenBins.takeError();
      llvm::Expected<double> givenRatio = context.attrs().getNumber("ratio");
      if (!givenRatio)
        return givenRatio.takeError();
      bins = *givenBins;
      ratio = *givenRatio;
    }
  }
  View src = context.toOrder(*weight, StorageOrder::RowMajor), dst = context.allocate(*type, StorageOrder::RowMajor), ranges = src;
  const bool isGiven = packs && context.has("rowwise_min_max");
  if (isGiven) {
    llvm::Expected<View> given = context.getTensor("rowwise_min_max");
    if (!given)
      return given.takeError();
    ranges = context.toOrder(*given, StorageOrder::RowMajor);
  }
  kernels::PackedRows layout{static_cast<int>(*bits), (packs ? src : dst).sizes.back()};
  const int64_t rows = (packs ? src : dst).getNumElements() / std::max<int64_t>(layout.columns, 1);
  context.emit({&src, &ranges}, {&dst}, [=](RunContext &run) {
    run.parallelFor(rows, kElementGrain / std::max<int64_t>(layout.columns, 1) + 1,
                    [&](int64_t begin, int64_t end, void *) {
                      for (int64_t r = begin; r < end; ++r) {
                        if (!packs) {
                          kernels::unpackRow(layout, src.getData<uint8_t>() + r * layout.rowBytes(),
                                             dst.getData<float>() + r * layout.columns);
                          continue;
                        }
                        const float *row = src.getData<float>() + r * layout.columns;
                        uint8_t *packed = dst.getData<uint8_t>() + r * layout.rowBytes();
                        if (isGiven)
                          kernels::packRow(layout, row, {ranges.getData<float>()[2 * r], ranges.getData<float>()[2 * r + 1]}, packed);
                        else if (bins && layout.bits != 8)
                          kernels::packRow(layout, row, kernels::searchRowRange(layout, row, bins, static_cast<float>(ratio)), packed);
                        else
                          kernels::packFloatRow(layout, row, packed);
                      }
                    });
  });
  return RuntimeValue(dst);
}

llvm::Expected<RuntimeValue> bindRowwisePrepack(BindContext &context) { return bindRows(context, /*packs=*/true); }
llvm::Expected<RuntimeValue> bindRowwiseUnpack(BindContext &context) { return bindRows(context, /*packs=*/false); }

} // namespace qfx::runtime
