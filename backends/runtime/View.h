// Where a value of a running graph lies: a buffer of the plan, and a strided view into it.
#ifndef BACKENDS_RUNTIME_VIEW_H
#define BACKENDS_RUNTIME_VIEW_H

#include "ir/Tensor.h"
#include "ir/TensorType.h"

#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace qfx::runtime {

using Sizes = llvm::SmallVector<int64_t, 6>;
using Strides = llvm::SmallVector<int64_t, 6>; ///< in elements

/// Memory of one value.  A constant has its bytes from the start; any other gets them when its plan is attached to an
/// arena.
struct Buffer {
  std::byte *data = nullptr;
  int64_t sizeBytes = 0;
  std::shared_ptr<const Storage> owner; ///< of a constant's bytes
  bool isConstant = false;
  int firstStep = -1, lastStep = -1; ///< steps that use it, by position; -1: none
  int64_t arenaOffset = 0;
  std::shared_ptr<Buffer> inPlaceOf; ///< lies exactly where that buffer lies
};
using BufferRef = std::shared_ptr<Buffer>;

/// Quantization parameters found while running (quantize_per_tensor_dynamic).
struct RuntimeQParams {
  double scale;
  int64_t zeroPoint;
};

/// A tensor as a step sees it: element (i0, i1, ...) is at offset + sum i * stride.
struct View {
  TensorType type; ///< static; its format is PyTorch's memory format, not this storage's
  Sizes sizes;
  Strides strides;
  BufferRef buffer;
  int64_t offset = 0;       ///< elements
  BufferRef dynamicQParams; ///< holds a RuntimeQParams, or null

  explicit operator bool() const { return buffer != nullptr; }
  DType getDType() const { return type.dtype; }
  size_t getRank() const { return sizes.size(); }
  int64_t getElemBytes() const { return getDTypeInfo(type.dtype).bits / 8; }
  int64_t getNumElements() const {
    int64_t n = 1;
    for (int64_t size : sizes)
      n *= size;
    return n;
  }
  bool isConstant() const { return buffer->isConstant; }
  /// Valid while the plan runs (constants: always).
  template <class T> T *getData() const { return reinterpret_cast<T *>(buffer->data) + offset; }
  std::byte *getBytes() const { return buffer->data + offset * getElemBytes(); }
};

/// The order in which a dense tensor's dimensions lie in memory.
enum class StorageOrder : uint8_t { RowMajor, ChannelsLast };

/// Dense strides; channels-last means N, spatial..., C and needs rank >= 3 (below that it is row-major).
Strides getDenseStrides(llvm::ArrayRef<int64_t> sizes, StorageOrder order);

/// Our storage of a tensor that no operator has wishes for: channels-last for images and volumes, else row-major.
StorageOrder getDefaultOrder(size_t rank);

/// Do these strides address memory like a dense tensor in `order`?  Strides of dimensions of size 1 do not matter.
bool hasOrder(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides, StorageOrder order);

/// Is every element of one contiguous block addressed exactly once, in whatever order of dimensions?
bool isDenseStorage(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides);

/// Do both address their elements alike (sizes equal, strides equal where they matter)?
bool hasSameLayout(const View &a, const View &b);

/// Strides that show the same elements in the same row-major order under `newSizes`; none if that needs a copy.
std::optional<Strides> getReshapedStrides(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                                          llvm::ArrayRef<int64_t> newSizes);

/// A view of a constant tensor.
View viewConstant(const Tensor &tensor);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_VIEW_H
