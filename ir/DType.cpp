// Lookups over the dtype, qscheme and memory format tables.
#include "ir/DType.h"

#include <iterator>

namespace qfx {

static constexpr DTypeInfo kDTypes[] = {
#define QFX_DTYPE(Name, text, torchName, bits, codeMin, codeMax, kind)                                                  \
  {DType::Name, text, torchName, bits, codeMin, codeMax, DTypeKind::kind},
#include "ir/DType.def"
};

const DTypeInfo &getDTypeInfo(DType dtype) { return kDTypes[static_cast<unsigned>(dtype)]; }

std::optional<DType> parseDTypeText(llvm::StringRef text) {
  for (const DTypeInfo &info : kDTypes)
    if (info.text == text)
      return info.dtype;
  return std::nullopt;
}

std::optional<DType> parseTorchDType(llvm::StringRef name) {
  name.consume_front("torch.");
  if (name == "float")
    return DType::Float32;
  if (name == "half")
    return DType::Float16;
  if (name == "double")
    return DType::Float64;
  for (const DTypeInfo &info : kDTypes)
    if (info.torchName == name)
      return info.dtype;
  return std::nullopt;
}

uint64_t getStorageBytes(DType dtype, uint64_t numElements) {
  unsigned bits = getDTypeInfo(dtype).bits;
  return bits >= 8 ? numElements * (bits / 8) : (numElements * bits + 7) / 8;
}

DType toUnderlyingDType(DType dtype) {
  switch (dtype) {
  case DType::QUInt8:
  case DType::QUInt4x2:
  case DType::QUInt2x4:
    return DType::UInt8;
  case DType::QInt8:
    return DType::Int8;
  case DType::QInt32:
    return DType::Int32;
  default:
    return dtype;
  }
}

static constexpr llvm::StringLiteral kQSchemes[] = {"per_tensor_affine", "per_tensor_symmetric", "per_channel_affine",
                                                    "per_channel_symmetric", "per_channel_affine_float_qparams"};
static constexpr llvm::StringLiteral kMemoryFormats[] = {"contiguous_format", "channels_last", "channels_last_3d",
                                                         "preserve_format"};

template <class Enum, size_t N>
static std::optional<Enum> findName(const llvm::StringLiteral (&names)[N], llvm::StringRef name) {
  name.consume_front("torch.");
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name)
      return static_cast<Enum>(i);
  return std::nullopt;
}

llvm::StringRef getQSchemeName(QScheme scheme) { return kQSchemes[static_cast<unsigned>(scheme)]; }
std::optional<QScheme> parseQScheme(llvm::StringRef name) { return findName<QScheme>(kQSchemes, name); }
llvm::StringRef getMemoryFormatName(MemoryFormat format) { return kMemoryFormats[static_cast<unsigned>(format)]; }
std::optional<MemoryFormat> parseMemoryFormat(llvm::StringRef name) {
  return findName<MemoryFormat>(kMemoryFormats, name);
}

} // namespace qfx
