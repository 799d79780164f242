// What the transforms of signals share: the waves of a discrete Fourier transform and windows.
#ifndef IR_COMPOSE_SIGNALDETAIL_H
#define IR_COMPOSE_SIGNALDETAIL_H

#include "ir/compose/Composer.h"

namespace qfx {

/// Transforms are products with a matrix of waves: longer ones would fill the memory.
constexpr int64_t kMaxTransform = 8192;

/// cos or sin (`wave`: torch.cos, torch.sin) of 2 pi f t / n as f32 [n, bins], t down and f across.
Node *makeBasis(Composer &composer, llvm::StringRef wave, int64_t n, int64_t bins);

/// The numbers of a short-time transform's call.
struct StftNumbers {
  int64_t n, hop, length; ///< n_fft, hop_length (n / 4), win_length (n)
  bool isCentered, isNormalized, isOneSided;
};
/// Rule `<op>_geometry`: 1 <= n_fft <= 8192, hop_length >= 1, 1 <= win_length <= n_fft.
llvm::Expected<StftNumbers> readStft(const InferContext &context);

/// The call's window with zeros on both sides up to n elements; null if every element is 1.  Rule `<op>_window`: float32 [win_length].
llvm::Expected<Node *> makeWindow(Composer &composer, const StftNumbers &numbers);

/// The signal of a one-sided spectrum: parts f32 [..., n / 2 + 1] -> f32 [..., n], times `scale`.
Node *invertOneSided(Composer &composer, Node *real, Node *imag, int64_t n, double scale);

} // namespace qfx

#endif // IR_COMPOSE_SIGNALDETAIL_H
