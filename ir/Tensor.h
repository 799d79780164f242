// A tensor value: shared immutable bytes plus shape, strides, dtype and quantizer.
#ifndef IR_TENSOR_H
#define IR_TENSOR_H

#include "ir/DType.h"
#include "ir/Quantizer.h"
#include "ir/TensorType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace qfx {

using MutableBytes = std::span<std::byte>;

/// Bytes owned by somebody: heap memory, a mapped file, or a function that computes them when they are read.  Shared and immutable once
/// a Tensor holds it.
class Storage {
public:
  virtual ~Storage() = default;
  const std::byte *getData() const {
    const std::byte *bytes = data.load(std::memory_order_acquire);
    return bytes ? bytes : materialize();
  }
  size_t getSizeBytes() const { return sizeBytes; }
  /// Calls `look` with bytes [begin, end) in ascending pieces, whose bytes may be gone after the call: one piece where they lie in memory,
  /// else pieces of kComputedPiece bytes that are computed for the call.
  virtual void visit(size_t begin, size_t end, llvm::function_ref<void(size_t offset, std::span<const std::byte> bytes)> look) const;
  /// Are the bytes a read-only file mapping, whose pages may be dropped because the file brings them back?
  virtual bool isFileMapping() const { return false; }

  /// On the stack of whoever reads, and still in the level 2 cache when it is read.
  static constexpr size_t kComputedPiece = size_t(32) << 10;

protected:
  std::atomic<const std::byte *> data = nullptr;
  size_t sizeBytes = 0;

private:
  /// Brings all bytes into memory, where they stay; called while `data` is null.
  virtual const std::byte *materialize() const;
};

/// Writes bytes [offset, offset + out.size()) of a tensor: any range of whole elements, the same bytes each time, from several threads.
using ComputeBytes = std::function<void(size_t offset, MutableBytes out)>;

/// 64-byte aligned heap storage of `sizeBytes` bytes, zeroed; `bytes` receives the writable view.
std::shared_ptr<Storage> allocateStorage(size_t sizeBytes, MutableBytes &bytes);

/// A value type; copies share the storage.  A default-constructed Tensor is null.
/// Data is row-major over `getStrides()` (in elements; sub-byte dtypes are always dense).
class Tensor {
public:
  Tensor() = default;

  /// A dense tensor whose bytes `fill` writes once.  Sizes >= 0; the quantizer must fit (asserted).
  static Tensor build(DType dtype, llvm::ArrayRef<int64_t> sizes, llvm::function_ref<void(MutableBytes)> fill,
                      QuantizerRef quantizer = nullptr);
  /// A dense tensor whose bytes `compute` gives when they are read: piece by piece to visitBytes, which keeps none of them, and all at once,
  /// and kept, to everybody else.  What is small is computed here.  The same bytes as build(), without memory for them meanwhile.
  static Tensor computed(DType dtype, llvm::ArrayRef<int64_t> sizes, ComputeBytes compute, QuantizerRef quantizer = nullptr);
  /// A dense tensor that reads `storage` from byte `offset` on; the range must lie inside (asserted).
  static Tensor view(std::shared_ptr<const Storage> storage, size_t offset, DType dtype, llvm::ArrayRef<int64_t> sizes,
                     QuantizerRef quantizer = nullptr);
  /// A dense tensor holding a copy of `values`, which must have as many elements as `sizes` says (asserted).
  template <class T>
  static Tensor of(DType dtype, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<T> values,
                   QuantizerRef quantizer = nullptr);

  explicit operator bool() const { return static_cast<bool>(storage); }
  DType getDType() const { return dtype; }
  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }
  llvm::ArrayRef<int64_t> getStrides() const { return strides; }
  size_t getRank() const { return sizes.size(); }
  int64_t getNumElements() const;
  size_t getSizeBytes() const { return getStorageBytes(dtype, static_cast<uint64_t>(getNumElements())); }
  const QuantizerRef &getQuantizer() const { return quantizer; }
  TensorType getType() const;

  const std::byte *getBytes() const { return storage->getData() + offset; }
  /// Storage::visit of bytes [begin, end) of a dense tensor; offsets count from the tensor's first byte.
  void visitBytes(size_t begin, size_t end, llvm::function_ref<void(size_t offset, std::span<const std::byte> bytes)> look) const;
  /// The elements of a dense tensor as T; sizeof(T) must be the dtype's size (asserted).
  template <class T> llvm::ArrayRef<T> getData() const {
    assert(sizeof(T) * 8 == getDTypeInfo(dtype).bits && "element type has another size");
    return llvm::ArrayRef<T>(reinterpret_cast<const T *>(getBytes()), static_cast<size_t>(getNumElements()));
  }
  const std::shared_ptr<const Storage> &getStorage() const { return storage; }
  size_t getOffset() const { return offset; }
  /// Where the elements begin: equal for tensors that share them.
  using Place = std::pair<const Storage *, size_t>;
  Place getPlace() const { return {storage.get(), offset}; }
  bool isDense() const;

  /// The same bytes under another shape of as many elements (dense tensors only).
  Tensor reshaped(llvm::ArrayRef<int64_t> newSizes) const;
  /// The same bytes with other quantization parameters and dtype of the same size (quint8 <-> uint8).
  Tensor withType(DType newDType, QuantizerRef newQuantizer) const;
  /// The element at row-major position `index` as a double (f16 and bf16 converted; codes of quantized dtypes).
  double getElementAsDouble(int64_t index) const;
  /// Same dtype, sizes, quantizer and bytes.
  bool equals(const Tensor &other) const;

private:
  std::shared_ptr<const Storage> storage;
  size_t offset = 0;
  DType dtype = DType::Float32;
  llvm::SmallVector<int64_t, 4> sizes, strides;
  QuantizerRef quantizer;
};

template <class T>
Tensor Tensor::of(DType dtype, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<T> values, QuantizerRef quantizer) {
  return build(
      dtype, sizes,
      [&](MutableBytes bytes) {
        assert(bytes.size() == values.size() * sizeof(T) && "values do not fill the tensor");
        std::copy_n(reinterpret_cast<const std::byte *>(values.data()), bytes.size(), bytes.data());
      },
      std::move(quantizer));
}

/// Strides in elements of a dense row-major tensor of these sizes.
llvm::SmallVector<int64_t, 4> getContiguousStrides(llvm::ArrayRef<int64_t> sizes);

/// Product of sizes; std::nullopt if negative or more than 2^62.
std::optional<int64_t> checkedNumElements(llvm::ArrayRef<int64_t> sizes);

/// IEEE half and bfloat16 bits to and from float32, round to nearest even.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloat16ToFloat(uint16_t bits);
uint16_t floatToBFloat16(float value);

} // namespace qfx

#endif // IR_TENSOR_H
