// Element types: storage, code ranges and spellings, one row of DType.def each.
#ifndef IR_DTYPE_H
#define IR_DTYPE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace qfx {

enum class DType : uint8_t {
#define QFX_DTYPE(Name, ...) Name,
#include "ir/DType.def"
};

enum class DTypeKind : uint8_t { Float, Integer, Bool, Quantized };

struct DTypeInfo {
  DType dtype;
  llvm::StringRef text;      ///< in types: f32, quint8
  llvm::StringRef torchName; ///< without the `torch.` prefix: float32, quint8
  unsigned bits;             ///< per element; 4 and 2 for the packed dtypes
  int64_t codeMin, codeMax;  ///< integer code range, both 0 for floats
  DTypeKind kind;
};

const DTypeInfo &getDTypeInfo(DType dtype);

/// The row whose type spelling is `text` (f32, quint8, ...).
std::optional<DType> parseDTypeText(llvm::StringRef text);

/// The row whose torch spelling is `name`, with or without `torch.`; `float`, `half`, `double` are accepted as PyTorch does.
std::optional<DType> parseTorchDType(llvm::StringRef name);

inline bool isQuantized(DType dtype) { return getDTypeInfo(dtype).kind == DTypeKind::Quantized; }
inline bool isFloat(DType dtype) { return getDTypeInfo(dtype).kind == DTypeKind::Float; }

/// Bytes that hold `numElements` codes of `dtype`, the sub-byte dtypes packed over the whole tensor (numerics 1.7).
uint64_t getStorageBytes(DType dtype, uint64_t numElements);

/// The plain integer dtype that stores a quantized dtype's codes (quint8 -> uint8); any other dtype is itself.
DType toUnderlyingDType(DType dtype);

enum class QScheme : uint8_t {
  PerTensorAffine,
  PerTensorSymmetric,
  PerChannelAffine,
  PerChannelSymmetric,
  PerChannelAffineFloatQParams,
};

/// Torch spelling without the prefix: per_tensor_affine, ...
llvm::StringRef getQSchemeName(QScheme scheme);
std::optional<QScheme> parseQScheme(llvm::StringRef name);
inline bool isPerChannel(QScheme scheme) { return scheme >= QScheme::PerChannelAffine; }
inline bool isSymmetric(QScheme scheme) {
  return scheme == QScheme::PerTensorSymmetric || scheme == QScheme::PerChannelSymmetric;
}

enum class MemoryFormat : uint8_t { Contiguous, ChannelsLast, ChannelsLast3d, Preserve };

/// Torch spelling without the prefix: contiguous_format, channels_last, channels_last_3d, preserve_format.
llvm::StringRef getMemoryFormatName(MemoryFormat format);
std::optional<MemoryFormat> parseMemoryFormat(llvm::StringRef name);

} // namespace qfx

#endif // IR_DTYPE_H
