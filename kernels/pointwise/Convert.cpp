// Conversion between element types, through double for floats and through int64 for integers.
#include "kernels/pointwise/Pointwise.h"
#include "kernels/quantize/HalfFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qfx::kernels {

namespace {

constexpr int64_t kChunk = 256;

bool isFloat(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F16 || type == ElementType::BF16 || type == ElementType::F64;
}

template <class T, class Wide> void load(const std::byte *src, int64_t step, Wide *wide, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, src + i * step, sizeof(T));
    wide[i] = static_cast<Wide>(value);
  }
}

template <class T, class Wide> void store(const Wide *wide, std::byte *dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T value = static_cast<T>(wide[i]);
    std::memcpy(dst + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

void loadHalf(bool isBrain, const std::byte *src, int64_t step, double *wide, int64_t n) {
  uint16_t bits[kChunk];
  float floats[kChunk];
  load<uint16_t>(src, step, bits, n);
  (isBrain ? convertBf16ToF32 : convertF16ToF32)(bits, floats, n);
  std::copy_n(floats, n, wide);
}

template <class Wide> void storeHalf(bool isBrain, const Wide *wide, std::byte *dst, int64_t n) {
  uint16_t bits[kChunk];
  float floats[kChunk];
  for (int64_t i = 0; i < n; ++i)
    floats[i] = static_cast<float>(wide[i]);
  (isBrain ? convertF32ToBf16 : convertF32ToF16)(floats, bits, n);
  std::memcpy(dst, bits, static_cast<size_t>(n) * sizeof(uint16_t));
}

void loadFloats(ElementType type, const std::byte *src, int64_t step, double *wide, int64_t n) {
  if (type == ElementType::F32)
    load<float>(src, step, wide, n);
  else if (type == ElementType::F64)
    load<double>(src, step, wide, n);
  else
    loadHalf(type == ElementType::BF16, src, step, wide, n);
}

void loadInts(ElementType type, const std::byte *src, int64_t step, int64_t *wide, int64_t n) {
  switch (type) {
  case ElementType::I8:
    return load<int8_t>(src, step, wide, n);
  case ElementType::I16:
    return load<int16_t>(src, step, wide, n);
  case ElementType::U16:
    return load<uint16_t>(src, step, wide, n);
  case ElementType::I32:
    return load<int32_t>(src, step, wide, n);
  case ElementType::I64:
    return load<int64_t>(src, step, wide, n);
  default: // U8, Bool
    return load<uint8_t>(src, step, wide, n);
  }
}

template <class Wide> void storeFloats(ElementType type, const Wide *wide, std::byte *dst, int64_t n) {
  if (type == ElementType::F32)
    store<float>(wide, dst, n);
  else if (type == ElementType::F64)
    store<double>(wide, dst, n);
  else
    storeHalf(type == ElementType::BF16, wide, dst, n);
}

void storeInts(ElementType type, const int64_t *wide, std::byte *dst, int64_t n) {
  switch (type) {
  case ElementType::I8:
  case ElementType::U8:
    return store<uint8_t>(wide, dst, n);
  case ElementType::I16:
  case ElementType::U16:
    return store<uint16_t>(wide, dst, n);
  case ElementType::I32:
    return store<uint32_t>(wide, dst, n);
  default:
    return store<int64_t>(wide, dst, n);
  }
}

int64_t truncate(double value) {
  if (value != value)
    return 0;
  if (value >= 0x1p63)
    return INT64_MAX;
  return value < -0x1p63 ? INT64_MIN : static_cast<int64_t>(value);
}

} // namespace

void convertRow(ElementType from, const std::byte *src, int64_t stepBytes, ElementType to, std::byte *dst, int64_t n) {
  static constexpr int64_t kBytes[] = {4, 2, 2, 8, 1, 1, 2, 2, 4, 8, 1};
  const int64_t dstBytes = kBytes[static_cast<size_t>(to)];
  for (int64_t at = 0; at < n; at += kChunk, src += kChunk * stepBytes, dst += kChunk * dstBytes) {
    const int64_t count = std::min(kChunk, n - at);
    int64_t ints[kChunk];
    if (isFloat(from)) {
      double floats[kChunk];
      loadFloats(from, src, stepBytes, floats, count);
      if (isFloat(to)) {
        storeFloats(to, floats, dst, count);
        continue;
      }
      for (int64_t i = 0; i < count; ++i)
        ints[i] = to == ElementType::Bool ? floats[i] != 0 : truncate(floats[i]);
    } else {
      loadInts(from, src, stepBytes, ints, count);
      if (isFloat(to)) {
        storeFloats(to, ints, dst, count);
        continue;
      }
    }
    if (to == ElementType::Bool) {
      for (int64_t i = 0; i < count; ++i)
        dst[i] = static_cast<std::byte>(ints[i] != 0);
      continue;
    }
    storeInts(to, ints, dst, count);
  }
}

} // namespace qfx::kernels
