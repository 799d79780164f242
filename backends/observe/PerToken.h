// Parameters of each token (vector along the last dimension), as PyTorch's decomposed operators choose them (numerics 1.9).
#ifndef BACKENDS_OBSERVE_PERTOKEN_H
#define BACKENDS_OBSERVE_PERTOKEN_H

#include "ir/Tensor.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// One scale and zero point per token: the input's shape with a last dimension of 1.
struct TokenQParams {
  Tensor scale, zeroPoint; ///< float64 and int64; the symmetric form's are float32
};

/// choose_qparams_per_token_asymmetric: codes -128..127; n = min(min, 0), p = max(max, 0), scale = max((p - n) / 255, 2^-23); the zero point
/// is the one of qmin - n / scale and qmax - p / scale that (qmin + n / scale) + (qmax + p / scale) > 0 chooses, clipped, then rounded to even.
/// \param input  float32, rank >= 1, last dimension not empty; else an error (`per_token_shape`).
llvm::Expected<TokenQParams> chooseQParamsPerTokenAsymmetric(const Tensor &input);

/// choose_qparams_per_token for int8: scale = max(largest magnitude, 1e-5) / 127, zero point 0.  Errors as above.
llvm::Expected<TokenQParams> chooseQParamsPerToken(const Tensor &input);

} // namespace qfx

#endif // BACKENDS_OBSERVE_PERTOKEN_H
