// Affine quantization by blocks: parameters, codes and values (torchao's primitives; numerics 3.13).
#ifndef BACKENDS_OBSERVE_AFFINEQUANTIZE_H
#define BACKENDS_OBSERVE_AFFINEQUANTIZE_H

#include "backends/observe/Granularity.h"
#include "ir/Tensor.h"

namespace qfx {

/// What codes are stored as, and their bounds: uint8, int8, int16, int32, uint1 - uint7, int1 - int7 (stored in 8 bits), float8_e5m2,
/// float8_e4m3fn (bounds are those of the format, values are not rounded to integers).
struct AffineTarget {
  DType storage = DType::Int8;
  int64_t codeMin = -128, codeMax = 127;
  bool isFloat8() const { return storage == DType::Float8E5M2 || storage == DType::Float8E4M3FN; }
};
/// With or without `torch.`.  Errors: `affine_dtype`.
llvm::Expected<AffineTarget> parseAffineTarget(llvm::StringRef name);

struct AffineOptions {
  MappingType mapping = MappingType::Asymmetric;
  AffineTarget target;
  std::optional<int64_t> quantMin, quantMax; ///< unset: the target's
  std::optional<double> eps;                 ///< least scale; unset: finfo(dtype of the range).eps, 2^-23, 2^-10 or 2^-7
  std::optional<DType> scaleDType;           ///< unset: the dtype of the range
  std::optional<DType> zeroPointDType;       ///< unset: the dtype of the range
  bool preserveZero = true;                  ///< the range is widened to contain 0, which then has an exact code
  ZeroPointDomain domain = ZeroPointDomain::Int;
};

/// One scale and zero point per block, in the shape of BlockLayout::getParameterShape.
struct AffineQParams {
  Tensor scale;
  Tensor zeroPoint; ///< null in the domain NONE with an asymmetric mapping
};

/// float32, float16 or bfloat16: what the family takes and gives.
bool isAffineValue(DType dtype);
/// The result of one operation on float32s (or halves) as the floating-point `dtype` holds it.  double has more than twice the digits of float32,
/// so that rounding to float32 here is what float32 arithmetic does; PyTorch rounds the halves from float32.
double roundTo(DType dtype, double value);
/// The same numbers in another floating-point dtype, rounded.
Tensor castFloats(const Tensor &values, DType dtype);

/// Smallest and largest value of each block, both in the dtype of the values; NaN sticks.
struct AffineRange {
  Tensor min, max;
};
/// \param input  float32, float16 or bfloat16.
llvm::Expected<AffineRange> findAffineRange(const Tensor &input, llvm::ArrayRef<int64_t> blockSize);

/// choose_qparams_affine, in the dtype of the input with one rounding per operation (float16 and bfloat16: the float32 result is rounded):
///   n = min(min, 0), p = max(max, 0) if preserveZero, else min and max
///   SYMMETRIC: scale = max(-n, p) / ((qmax - qmin) / 2), NO_CLIPPING_ERR: the larger of n / qmin and p / qmax; both: at least eps,
///     zero point (qmax + qmin + 1) / 2 cut to an integer
///   ASYMMETRIC: scale = (p - n) / (qmax - qmin), at least eps; zero point clamp(qmin - RNE(n / scale)) with preserveZero, else in the
///     domain FLOAT n + scale * (qmax + qmin + 1) / 2
/// \param input  float32, float16 or bfloat16.
/// Errors (`affine_options`): bounds outside the target, int32's bounds for float16 input, float8 that is not SYMMETRIC, a symmetric mapping
/// without preserveZero or in the domain FLOAT, an integer zero point without preserveZero; those of BlockLayout::get.
llvm::Expected<AffineQParams> chooseQParamsAffine(const Tensor &input, llvm::ArrayRef<int64_t> blockSize, const AffineOptions &options);
/// The same from the ranges of the blocks.
llvm::Expected<AffineQParams> chooseQParamsAffineWithMinMax(const AffineRange &range, const AffineOptions &options);

/// quantize_affine: INT clamp(RNE(x * (1 / scale)) + zeroPoint), NONE without the zero point, FLOAT clamp(RNE((x - (zeroPoint - scale * mid))
/// / scale)) with mid = (qmax + qmin + 1) / 2; float8 clamp(x * (1 / scale)) rounded to the format, ties to even.  NaN gives qmin.
/// Each operation is rounded to the dtype that torch.promote_types gives of its operands; integer zero points do not count.
/// \param input  float32, float16 or bfloat16.
llvm::Expected<Tensor> quantizeAffine(const Tensor &input, llvm::ArrayRef<int64_t> blockSize, const AffineQParams &qparams,
                                      const AffineOptions &options);

/// dequantize_affine: INT (q - zeroPoint) * scale, FLOAT (q - mid) * scale + zeroPoint, NONE and float8 q * scale.  The difference is rounded
/// to `output`, a product or sum to the promoted dtype and then to `output`.
/// \param output  float32, float16 or bfloat16.
llvm::Expected<Tensor> dequantizeAffine(const Tensor &codes, llvm::ArrayRef<int64_t> blockSize, const AffineQParams &qparams,
                                        const AffineOptions &options, DType output = DType::Float32);

} // namespace qfx

#endif // BACKENDS_OBSERVE_AFFINEQUANTIZE_H
