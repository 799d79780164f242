// The questions on ranges and parameters that torch.ao.quantization.utils answers (numerics 2.1 - 2.4, 6).
#ifndef BACKENDS_OBSERVE_OBSERVERUTILS_H
#define BACKENDS_OBSERVE_OBSERVERUTILS_H

#include "backends/observe/Observer.h"

#include <optional>
#include <utility>

namespace qfx {

/// calculate_qmin_qmax (numerics 2.1): the codes that an observer uses.
/// \param quantMin, quantMax     both given and `hasCustomizedQRange`: that range, halved by floor under `reduceRange`.
/// Errors: a customized range that is empty or of more codes than qint8 (256) or qint32 (2^32) has; other dtypes are not checked.
llvm::Expected<std::pair<int64_t, int64_t>> calculateQMinQMax(std::optional<int64_t> quantMin, std::optional<int64_t> quantMax,
                                                              bool hasCustomizedQRange, DType dtype, bool reduceRange);

/// validate_qmin_qmax: an error unless quantMin <= 0 <= quantMax and quantMin < quantMax.
llvm::Error validateQMinQMax(int64_t quantMin, int64_t quantMax);

/// check_min_max_valid: false if nothing was seen (no values, or +inf and -inf); an error if a minimum exceeds its maximum.
/// \param mins, maxs  one value per channel; `isScalar` says that they are one value per tensor.  NaN passes.
llvm::Expected<bool> checkMinMaxValid(llvm::ArrayRef<float> mins, llvm::ArrayRef<float> maxs, bool isScalar);

/// What determine_qparams yields: doubles and int64; float zero points are cut toward zero.
struct DeterminedQParams {
  std::vector<double> scales;
  std::vector<int64_t> zeroPoints;
};
/// determine_qparams (numerics 2.4): scale and zero point of each (min, max), computed in float32.
/// \param eps  least scale.
/// Errors: those of checkMinMaxValid.
llvm::Expected<DeterminedQParams> determineQParams(llvm::ArrayRef<float> mins, llvm::ArrayRef<float> maxs, int64_t quantMin,
                                                   int64_t quantMax, DType dtype, float eps, bool hasCustomizedQRange,
                                                   QScheme scheme = QScheme::PerTensorAffine);

/// get_qparam_dict: what convert needs of an observer.  Placeholders and observers without a scheme have dtype only; symmetric schemes
/// are reported as affine.
struct QParamDict {
  DType dtype = DType::QUInt8;
  std::optional<QScheme> scheme;
  std::optional<int64_t> axis;
  std::vector<float> scales;
  std::vector<int64_t> zeroPoints;
  std::vector<float> floatZeroPoints;
  std::optional<int64_t> quantMin, quantMax;
};
llvm::Expected<QParamDict> getQParamDict(const Module &observer);

} // namespace qfx

#endif // BACKENDS_OBSERVE_OBSERVERUTILS_H
