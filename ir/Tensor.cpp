// Tensor construction, views, element access and half-precision conversion.
#include "ir/Tensor.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace qfx {

namespace {
/// Zeroed heap memory for small tensors.
class HeapStorage final : public Storage {
public:
  explicit HeapStorage(size_t size) {
    block = std::calloc(size + kAlignment, 1);
    if (!block)
      throw std::bad_alloc();
    auto address = reinterpret_cast<uintptr_t>(block);
    bytes = static_cast<std::byte *>(block) + (kAlignment - address % kAlignment);
    data = bytes;
    sizeBytes = size;
  }
  ~HeapStorage() override { std::free(block); }

  std::byte *bytes;

private:
  static constexpr size_t kAlignment = 64;
  void *block;
};

/// Fresh zero pages for large tensors, which are written at once: in huge pages where the system has them (a fault per 2 MB instead
/// of one per 4 KB), the smaller ones mapped in one call.
class PageStorage final : public Storage {
public:
  static constexpr size_t kLeastBytes = size_t(128) << 10;

  explicit PageStorage(size_t size) : mappedBytes(size + kHugePage) {
    mapped = mmap(nullptr, mappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      throw std::bad_alloc();
    auto address = reinterpret_cast<uintptr_t>(mapped);
    bytes = static_cast<std::byte *>(mapped) + (kHugePage - address % kHugePage) % kHugePage;
    // Advice: a refusal changes nothing but speed.
    size_t hugeBytes = size / kHugePage * kHugePage;
#ifdef MADV_HUGEPAGE
    madvise(bytes, hugeBytes, MADV_HUGEPAGE);
#endif
#ifdef MADV_POPULATE_WRITE
    if (hugeBytes == 0)
      madvise(bytes, size, MADV_POPULATE_WRITE);
#endif
    data = bytes;
    sizeBytes = size;
  }
  ~PageStorage() override { munmap(mapped, mappedBytes); }

  std::byte *bytes;

private:
  static constexpr size_t kHugePage = size_t(2) << 20;
  void *mapped;
  size_t mappedBytes;
};

/// Bytes that a function gives, once they are all there the bytes themselves.
class ComputedStorage final : public Storage {
public:
  ComputedStorage(size_t size, ComputeBytes compute) : compute(std::make_shared<const ComputeBytes>(std::move(compute))) { sizeBytes = size; }

  void visit(size_t begin, size_t end, llvm::function_ref<void(size_t, std::span<const std::byte>)> look) const override {
    std::shared_ptr<const ComputeBytes> known = getCompute();
    if (!known)
      return Storage::visit(begin, end, look);
    alignas(64) std::array<std::byte, kComputedPiece> piece;
    for (; begin < end; begin += piece.size()) {
      MutableBytes out = MutableBytes(piece).first(std::min(end - begin, piece.size()));
      (*known)(begin, out);
      look(begin, out);
    }
  }

private:
  std::shared_ptr<const ComputeBytes> getCompute() const {
    std::lock_guard lock(mutex);
    return compute;
  }

  const std::byte *materialize() const override {
    std::lock_guard lock(mutex);
    if (compute) {
      MutableBytes bytes;
      kept = allocateStorage(sizeBytes, bytes);
      (*compute)(0, bytes);
      compute = nullptr; // and what it read from
      const_cast<ComputedStorage *>(this)->data.store(kept->getData(), std::memory_order_release);
    }
    return kept->getData();
  }

  mutable std::mutex mutex;
  mutable std::shared_ptr<const ComputeBytes> compute; ///< null once the bytes are kept
  mutable std::shared_ptr<Storage> kept;
};
} // namespace

void Storage::visit(size_t begin, size_t end, llvm::function_ref<void(size_t, std::span<const std::byte>)> look) const {
  if (begin < end)
    look(begin, {getData() + begin, end - begin});
}

const std::byte *Storage::materialize() const { return nullptr; }

template <typename StorageClass>
static std::shared_ptr<Storage> allocateIn(size_t sizeBytes, MutableBytes &bytes) {
  auto storage = std::make_shared<StorageClass>(sizeBytes);
  bytes = MutableBytes(storage->bytes, sizeBytes);
  return storage;
}

std::shared_ptr<Storage> allocateStorage(size_t sizeBytes, MutableBytes &bytes) {
  return sizeBytes < PageStorage::kLeastBytes ? allocateIn<HeapStorage>(sizeBytes, bytes) : allocateIn<PageStorage>(sizeBytes, bytes);
}

llvm::SmallVector<int64_t, 4> getContiguousStrides(llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<int64_t, 4> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i > 1; --i)
    strides[i - 2] = strides[i - 1] * (sizes[i - 1] > 0 ? sizes[i - 1] : 1);
  return strides;
}

std::optional<int64_t> checkedNumElements(llvm::ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0)
      return std::nullopt;
    if (size == 0)
      empty = true;
    else if (product > (int64_t(1) << 62) / size)
      return std::nullopt;
    else
      product *= size;
  }
  return empty ? 0 : product;
}

Tensor Tensor::build(DType dtype, llvm::ArrayRef<int64_t> sizes, llvm::function_ref<void(MutableBytes)> fill,
                     QuantizerRef quantizer) {
  auto numElements = checkedNumElements(sizes);
  assert(numElements && "tensor sizes out of range");
  MutableBytes bytes;
  auto storage = allocateStorage(getStorageBytes(dtype, *numElements), bytes);
  fill(bytes);
  return view(std::move(storage), 0, dtype, sizes, std::move(quantizer));
}

Tensor Tensor::computed(DType dtype, llvm::ArrayRef<int64_t> sizes, ComputeBytes compute, QuantizerRef quantizer) {
  size_t sizeBytes = getStorageBytes(dtype, static_cast<uint64_t>(*checkedNumElements(sizes)));
  if (sizeBytes < PageStorage::kLeastBytes)
    return build(dtype, sizes, [&](MutableBytes bytes) { compute(0, bytes); }, std::move(quantizer));
  return view(std::make_shared<ComputedStorage>(sizeBytes, std::move(compute)), 0, dtype, sizes, std::move(quantizer));
}

void Tensor::visitBytes(size_t begin, size_t end, llvm::function_ref<void(size_t, std::span<const std::byte>)> look) const {
  storage->visit(offset + begin, offset + end, [&](size_t at, std::span<const std::byte> bytes) { look(at - offset, bytes); });
}

Tensor Tensor::view(std::shared_ptr<const Storage> storage, size_t offset, DType dtype, llvm::ArrayRef<int64_t> sizes,
                    QuantizerRef quantizer) {
  Tensor tensor;
  tensor.storage = std::move(storage);
  tensor.offset = offset;
  tensor.dtype = dtype;
  tensor.sizes.assign(sizes.begin(), sizes.end());
  tensor.strides = getContiguousStrides(sizes);
  tensor.quantizer = std::move(quantizer);
  assert(offset + tensor.getSizeBytes() <= tensor.storage->getSizeBytes() && "view outside its storage");
  return tensor;
}

int64_t Tensor::getNumElements() const { return *checkedNumElements(sizes); }

bool Tensor::isDense() const { return llvm::ArrayRef<int64_t>(strides) == llvm::ArrayRef<int64_t>(getContiguousStrides(sizes)); }

TensorType Tensor::getType() const {
  TensorType type;
  type.dtype = dtype;
  type.shape.assign(sizes.begin(), sizes.end());
  type.quantizer = quantizer;
  return type;
}

Tensor Tensor::reshaped(llvm::ArrayRef<int64_t> newSizes) const {
  assert(isDense() && checkedNumElements(newSizes) == getNumElements() && "reshape changes the number of elements");
  return view(storage, offset, dtype, newSizes, quantizer);
}

Tensor Tensor::withType(DType newDType, QuantizerRef newQuantizer) const {
  assert(getDTypeInfo(dtype).bits == getDTypeInfo(newDType).bits && "another element size");
  Tensor result = *this;
  result.dtype = newDType;
  result.quantizer = std::move(newQuantizer);
  return result;
}

double Tensor::getElementAsDouble(int64_t index) const {
  const std::byte *bytes = getBytes();
  auto load = [&](auto zero) {
    decltype(zero) value;
    std::memcpy(&value, bytes + index * sizeof value, sizeof value);
    return value;
  };
  switch (dtype) {
  case DType::Float32:
    return load(0.0f);
  case DType::Float64:
    return load(0.0);
  case DType::Float16:
    return halfToFloat(load(uint16_t()));
  case DType::BFloat16:
    return bfloat16ToFloat(load(uint16_t()));
  case DType::Int8:
  case DType::QInt8:
    return load(int8_t());
  case DType::UInt8:
  case DType::QUInt8:
  case DType::Bool:
  case DType::Float8E5M2:
  case DType::Float8E4M3FN:
    return load(uint8_t());
  case DType::Int16:
    return load(int16_t());
  case DType::UInt16:
    return load(uint16_t());
  case DType::Int32:
  case DType::QInt32:
    return load(int32_t());
  case DType::Int64:
    return static_cast<double>(load(int64_t()));
  case DType::QUInt4x2:
    return (static_cast<unsigned>(bytes[index / 2]) >> (index % 2 * 4)) & 15;
  case DType::QUInt2x4:
    return (static_cast<unsigned>(bytes[index / 4]) >> (index % 4 * 2)) & 3;
  }
  return 0;
}

bool Tensor::equals(const Tensor &other) const {
  if (!*this || !other)
    return !*this && !other;
  return getType() == other.getType() && std::memcmp(getBytes(), other.getBytes(), getSizeBytes()) == 0;
}

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 31, mantissa = bits & 0x3ff;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) // zero and subnormals: mantissa * 2^-24, exact in binary32
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(mantissa) * 0x1p-24f));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  if (magnitude >= 0x477ff000) // rounds to 65536 or above
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // subnormal half: adding 0.5 rounds the mantissa at 2^-24
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded - 0x38000000) >> 13);
}

float bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint16_t floatToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

} // namespace qfx
