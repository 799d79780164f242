// Plain elementwise functions of one to three operands with any strides: for what no SIMD row function covers.
#ifndef KERNELS_POINTWISE_POINTWISE_H
#define KERNELS_POINTWISE_POINTWISE_H

#include <cstddef>
#include <cstdint>

namespace qfx::kernels {

/// The functions of PointwiseKinds.def.
enum class PointwiseKind : uint8_t {
#define QFX_POINTWISE(Kind, ...) Kind,
#define QFX_POINTWISE_FLOAT(Kind, ...) Kind,
#define QFX_POINTWISE_INT(Kind, ...) Kind,
#include "kernels/pointwise/PointwiseKinds.def"
};

inline constexpr int kMaxPointwiseOperands = 3;
inline constexpr int kMaxPointwiseRank = 8;

struct PointwiseParams {
  double alpha = 1;            ///< a factor, where the row has one
  double p[3] = {};            ///< further numbers
};

/// One row: n results from operands that advance by `steps` bytes each; `dst` is dense.
using PointwiseFn = void (*)(const std::byte *const *src, const int64_t *steps, std::byte *dst, int64_t n,
                             const PointwiseParams &params);

struct PointwiseInfo {
  int operands;         ///< 1 to 3
  bool givesBool;       ///< the result is one byte, 0 or 1
  PointwiseFn onFloat;  ///< null if it has no f32 form
  PointwiseFn onInt;    ///< null if it has no i64 form
};

/// Transcendental functions are the C library's of double, rounded to f32 once.
const PointwiseInfo &getPointwise(PointwiseKind kind);

/// A dense result of these sizes in storage order (outermost first) and its operands' strides, made once per shape.
struct PointwisePlan {
  int rank = 0;
  int64_t sizes[kMaxPointwiseRank] = {};
  int64_t steps[kMaxPointwiseOperands][kMaxPointwiseRank] = {}; ///< bytes; 0 where an operand repeats
  int64_t dstBytes = 0;                                         ///< of one result
};

/// Result elements [begin, end) in storage order; how the range is split changes nothing.  `dst` may equal an operand that is laid out like it.
void runPointwise(const PointwisePlan &plan, int operands, const std::byte *const *src, std::byte *dst, int64_t begin,
                  int64_t end, PointwiseFn row, const PointwiseParams &params);

/// Element types that Convert knows.
enum class ElementType : uint8_t { F32, F16, BF16, F64, I8, U8, I16, U16, I32, I64, Bool };

/// dst[i] = src[i * step bytes] as another type: floats to integers towards zero (NaN gives 0, out of range the nearer bound of int64, then the
/// low bits), integers keep their low bits, anything but 0 is true, floats round half to even.
void convertRow(ElementType from, const std::byte *src, int64_t stepBytes, ElementType to, std::byte *dst, int64_t n);

} // namespace qfx::kernels

#endif // KERNELS_POINTWISE_POINTWISE_H
