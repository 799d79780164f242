// Sequences of different length in one tensor: zeros behind each row's end, and back.
#include "backends/reference/RecurrentDetail.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "ir/Diagnostics.h"

#include <algorithm>
#include <cstring>

namespace qfx::runtime {

namespace {

/// A tensor's rows by time and item: elements of a row, and the distance between steps and items in rows.
struct RowOrder {
  int64_t row, step, item;
  RowOrder(const View &view, bool isBatchFirst) {
    const int64_t count = view.sizes[0] * view.sizes[1];
    row = count ? view.getNumElements() / count : 0;
    step = isBatchFirst ? 1 : view.sizes[1];
    item = isBatchFirst ? view.sizes[1] : 1;
  }
  int64_t at(int64_t t, int64_t n) const { return (t * step + n * item) * row; }
};

} // namespace

/// [T, N, ...] with zeros from each row's end on.  Running fails (`run_index`) where a length is not within 1..T, or where lengths rise
/// though enforce_sorted says that they do not.
llvm::Expected<RuntimeValue> bindPackSequence(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<View> given = context.getTensor("lengths");
  if (!given)
    return given.takeError();
  llvm::Expected<bool> isBatchFirst = context.attrs().getBool("batch_first");
  llvm::Expected<bool> isSorted = context.attrs().getBool("enforce_sorted");
  if (!isBatchFirst || !isSorted)
    return llvm::joinErrors(isBatchFirst.takeError(), isSorted.takeError());
  View src = context.toOrder(*input, StorageOrder::RowMajor), lengths = context.toOrder(*given, StorageOrder::RowMajor);
  TensorType type = src.type;
  if (*isBatchFirst)
    std::swap(type.shape[0], type.shape[1]);
  View dst = context.allocate(type, StorageOrder::RowMajor);
  const RowOrder from(src, *isBatchFirst), to(dst, false);
  context.emit({&src, &lengths}, {&dst}, [=, sorted = *isSorted, loc = context.getCall().loc](RunContext &run) {
    const int64_t *counts = lengths.getData<int64_t>();
    const int64_t steps = dst.sizes[0], items = dst.sizes[1];
    for (int64_t n = 0; n < items; ++n) {
      if (counts[n] < 1 || counts[n] > steps)
        return run.fail(error(loc, "row {0} has the length {1}, outside 1..{2}", n, counts[n], steps).code("run_index"));
      if (sorted && n && counts[n] > counts[n - 1])
        return run.fail(error(loc, "row {0} is longer than the row before it: sort the rows, or pass enforce_sorted=False", n).code("run_index"));
    }
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t n = 0; n < items; ++n) {
        float *row = dst.getData<float>() + to.at(t, n);
        if (t < counts[n])
          std::copy_n(src.getData<float>() + from.at(t, n), to.row, row);
        else
          std::fill_n(row, to.row, 0.0f);
      }
  });
  return makePackedSequence(dst, lengths);
}

/// (padded rows, lengths).  Shapes are fixed before a graph runs: without total_length running fails (`run_index`) if no row has all T steps,
/// where PyTorch gives a shorter tensor.
llvm::Expected<RuntimeValue> bindPadSequence(BindContext &context) {
  const RuntimeValue packed = context.getValue("sequence");
  llvm::Expected<bool> isBatchFirst = context.attrs().getBool("batch_first");
  if (!isBatchFirst)
    return isBatchFirst.takeError();
  llvm::Expected<double> padding = context.attrs().getNumber("padding_value");
  if (!padding)
    return padding.takeError();
  const View src = context.toOrder(packed.elements[0].view, StorageOrder::RowMajor), lengths = packed.elements[1].view;
  const TensorType *type = context.getResult().getSequence()->elements[0].getTensor();
  if (!type || !type->isStatic())
    return context.fail("the shape of its result is not known before it runs");
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  const RowOrder from(src, false), to(dst, *isBatchFirst);
  context.emit({&src, &lengths}, {&dst},
               [=, value = static_cast<float>(*padding), isTotal = context.has("total_length"), loc = context.getCall().loc,
                total = type->shape[*isBatchFirst ? 1 : 0].getValue()](RunContext &run) {
                 const int64_t *counts = lengths.getData<int64_t>();
                 const int64_t steps = src.sizes[0], items = src.sizes[1];
                 const int64_t longest = items ? *std::max_element(counts, counts + items) : steps;
                 if (!isTotal && longest != steps)
                   return run.fail(error(loc, "the longest of the packed rows has {0} of {1} steps: cut the input of pack_padded_sequence to it, or pass "
                                              "total_length={1}", longest, steps)
                                       .code("run_index"));
                 for (int64_t t = 0; t < total; ++t)
                   for (int64_t n = 0; n < items; ++n) {
                     float *row = dst.getData<float>() + to.at(t, n);
                     if (t < counts[n])
                       std::copy_n(src.getData<float>() + from.at(t, n), to.row, row);
                     else
                       std::fill_n(row, to.row, value);
                   }
               });
  return RuntimeValue::ofSequence({dst, lengths});
}

} // namespace qfx::runtime
