// Keeps a copy of every batch, for people who look at activations (numerics 3.10).
#include "backends/observe/ObserverRowsDetail.h"
#include "ir/Module.h"

namespace qfx {

/// A container child, so that the state dict has no more keys than PyTorch's.
static constexpr llvm::StringLiteral kRecords = "tensor_val";

static Module &getRecords(Module &observer) {
  if (!observer.findChild(kRecords))
    observer.setChild(kRecords, std::make_shared<Module>());
  return *observer.findChild(kRecords);
}

static void append(Module &records, Tensor tensor) {
  records.setBuffer(std::to_string(records.getBuffers().size()), std::move(tensor));
}

/// Row-major values of a tensor that is dense in the order of its strides.
static Tensor toRowMajor(const ObservedTensor &input) {
  return Tensor::build(DType::Float32, input.sizes, [&](MutableBytes bytes) {
    float *values = reinterpret_cast<float *>(bytes.data());
    llvm::SmallVector<int64_t, 4> index(input.sizes.size(), 0);
    for (int64_t i = 0, n = input.getNumElements(); i < n; ++i) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d)
        offset += index[d] * input.strides[d];
      values[i] = input.getData()[offset];
      for (size_t d = index.size(); d > 0 && ++index[d - 1] == input.sizes[d - 1]; --d)
        index[d - 1] = 0;
    }
  });
}

llvm::Error observeRecording(Module &observer, const ObservedTensor &input) {
  append(getRecords(observer), toRowMajor(input));
  return llvm::Error::success();
}

llvm::Error mergeRecording(Module &observer, const Module &other) {
  for (Tensor &tensor : getRecordedTensors(other))
    append(getRecords(observer), std::move(tensor));
  return llvm::Error::success();
}

std::vector<Tensor> getRecordedTensors(const Module &observer) {
  std::vector<Tensor> tensors;
  if (ModuleRef records = observer.findChild(kRecords))
    for (const auto &entry : records->getBuffers())
      tensors.push_back(entry.second);
  return tensors;
}

} // namespace qfx
