// Stride arithmetic of views.
#include "backends/runtime/View.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx::runtime {

Strides getDenseStrides(llvm::ArrayRef<int64_t> sizes, StorageOrder order) {
  size_t rank = sizes.size();
  Strides strides(rank, 1);
  int64_t step = 1;
  bool channelsLast = order == StorageOrder::ChannelsLast && rank >= 3;
  if (channelsLast) {
    strides[1] = 1;
    step = sizes[1];
  }
  for (size_t i = rank; i-- > 0;) {
    if (channelsLast && i == 1)
      continue;
    strides[i] = step;
    step *= sizes[i];
  }
  return strides;
}

StorageOrder getDefaultOrder(size_t rank) {
  return rank == 4 || rank == 5 ? StorageOrder::ChannelsLast : StorageOrder::RowMajor;
}

bool hasOrder(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides, StorageOrder order) {
  Strides wanted = getDenseStrides(sizes, order);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1 && strides[i] != wanted[i])
      return false;
  return true;
}

bool isDenseStorage(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides) {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 6> dims;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1)
      dims.push_back({strides[i], sizes[i]});
  llvm::sort(dims);
  int64_t step = 1;
  for (auto [stride, size] : dims) {
    if (stride != step)
      return false;
    step *= size;
  }
  return true;
}

bool hasSameLayout(const View &a, const View &b) {
  if (a.sizes != b.sizes)
    return false;
  for (size_t i = 0; i < a.sizes.size(); ++i)
    if (a.sizes[i] > 1 && a.strides[i] != b.strides[i])
      return false;
  return true;
}

std::optional<Strides> getReshapedStrides(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                                          llvm::ArrayRef<int64_t> newSizes) {
  int64_t numElements = 1;
  for (int64_t size : sizes)
    numElements *= size;
  if (numElements == 0)
    return getDenseStrides(newSizes, StorageOrder::RowMajor);
  // The old dimensions fall into runs that step through memory evenly; each run must be covered by whole new
  // dimensions.
  Strides result(newSizes.size(), 1);
  int64_t runSize = 1, covered = 1;
  int64_t runStride = sizes.empty() ? 1 : strides.back();
  size_t next = newSizes.size();
  for (size_t i = sizes.size(); i-- > 0;) {
    runSize *= sizes[i];
    bool runEnds = i == 0 || (sizes[i - 1] != 1 && strides[i - 1] != runSize * runStride);
    if (!runEnds)
      continue;
    while (next > 0 && (covered < runSize || newSizes[next - 1] == 1)) {
      --next;
      result[next] = covered * runStride;
      covered *= newSizes[next];
    }
    if (covered != runSize)
      return std::nullopt;
    if (i > 0) {
      runStride = strides[i - 1];
      runSize = covered = 1;
    }
  }
  while (next > 0)
    result[--next] = covered * runStride;
  return result;
}

View viewConstant(const Tensor &tensor) {
  View view;
  view.type = tensor.getType();
  view.sizes.assign(tensor.getSizes().begin(), tensor.getSizes().end());
  view.strides.assign(tensor.getStrides().begin(), tensor.getStrides().end());
  view.buffer = std::make_shared<Buffer>();
  view.buffer->owner = tensor.getStorage();
  view.buffer->isConstant = true;
  view.buffer->sizeBytes = static_cast<int64_t>(tensor.getSizeBytes());
  // Steps never write to constants: allocation hands out fresh buffers only.
  view.buffer->data = const_cast<std::byte *>(tensor.getBytes());
  return view;
}

} // namespace qfx::runtime
