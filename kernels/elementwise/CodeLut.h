// Functions of one 8-bit code as 256-entry tables: built by the operator's own rule, then applied to rows.
#ifndef KERNELS_ELEMENTWISE_CODELUT_H
#define KERNELS_ELEMENTWISE_CODELUT_H

#include "kernels/elementwise/Unary.h"
#include "kernels/isa/Isa.h"
#include "kernels/quantize/QParams.h"

#include <cstdint>

namespace qfx::kernels {

/// entry[byte] is the output byte for an input byte; a signed code is indexed by its two's complement byte.
struct CodeLut {
  alignas(64) uint8_t entry[256];
};

/// The 8-bit code types a table may read and write.
enum class CodeType : uint8_t { U8, S8 };

/// How an input code becomes a float (operators.md 3.2).
enum class DequantizeRule : uint8_t {
  Vector,         ///< VDQ: fma(s, q, -f32(s * z)); add, cat of channels-last tensors
  Exact,          ///< DQ: f32(s * f32(q - z)); generic cat, requantize
  VectorZeroExact ///< VDQ but exactly 0 where q = z: the unary operators of section 7 (known_traps B74, B75)
};

/// entry = QZ(f(x)) with x by VectorZeroExact: hardswish, sigmoid, tanh, elu, leaky_relu, gelu, threshold, ...
/// (operators.md 7).  The results do not depend on the instruction set.
void buildUnaryLut(UnaryKind kind, const UnaryParams &params, CodeType inType, const QParams &in, CodeType outType,
                   const QParams &out, CodeLut &lut);

/// entry = QZ(DQ or VDQ of the code), relu: then max(q, zeroPoint).  Requantize and cat (operators.md 6,
/// numerics 1.10).
void buildRequantizeLut(DequantizeRule rule, CodeType inType, const QParams &in, CodeType outType, const QParams &out,
                        bool relu, CodeLut &lut);

/// Quantized x + c, whose output parameters follow from the input's: sets `out` and the table (operators.md 6,
/// add_scalar).  relu: then max(q, out.zeroPoint).
void buildAddScalarLut(CodeType type, const QParams &in, double c, bool relu, QParams &out, CodeLut &lut);

/// Quantized x * c likewise (operators.md 6, mul_scalar): c > 0 copies codes, c < 0 reverses them, c == 0 gives 0.
void buildMulScalarLut(CodeType type, const QParams &in, double c, bool relu, QParams &out, CodeLut &lut);

/// QZ(value; params) of one value: bounds of hardtanh, fill values (operators.md 3.1).
int32_t quantizeValue(float value, CodeType type, const QParams &params);

/// RNE(f32(f32(c) * multiplier)) + zeroPoint clamped to [low, high], any c (operators.md 3.4).
int32_t requantizeCode(int64_t c, float multiplier, int32_t low, int32_t high, int32_t zeroPoint);

/// Row functions of one instruction set; n >= 0 codes, dst may equal src, otherwise no overlap.
struct CodeMapKernels {
  /// dst[i] = lut.entry[src[i]].
  void (*applyLut)(const uint8_t *src, uint8_t *dst, int64_t n, const CodeLut &lut);
  /// dst[i] = min(max(src[i], lo), hi): relu, relu6, hardtanh, clamp on codes; lo > hi gives hi.
  void (*clampU8)(const uint8_t *src, uint8_t *dst, int64_t n, uint8_t lo, uint8_t hi);
  void (*clampS8)(const int8_t *src, int8_t *dst, int64_t n, int8_t lo, int8_t hi);
};

/// \returns the rows for `isa`; ask once and keep the reference.
const CodeMapKernels &selectCodeMap(Isa isa = getCurrentIsa());

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_CODELUT_H
