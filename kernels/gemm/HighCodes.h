// Codes of 128 and more, for instruction sets whose u8 x s8 products are exact only below.
//
// Calibrated activations mostly stay below 128 (reduce_range), but outliers do not.  A tile with few of them is cut: each
// code a becomes min(a, 127), and the rest, at most 128, goes into a small matrix of its own, whose products are added
// separately.  The codes of a tile with many are split into a sign and a magnitude of at most 128: with a - 128 = -m, (a - 128) * w = m * ~w + m, and a
// pair of products of such an m fits int16; the sum of these m, and 128 times the sum of the weights, are added separately.
#ifndef KERNELS_GEMM_HIGHCODES_H
#define KERNELS_GEMM_HIGHCODES_H

#include <cstdint>

namespace qfx::kernels {

/// The loops over codes, per instruction set.  A step is 8 neighbouring codes of a row.
struct HighCodes {
  /// Lists the steps (index, ascending) in which one of `rows` rows of 8 * steps codes has a code >= 128.
  /// \returns how many there are, or capacity + 1 when there are more than `capacity`.
  int64_t (*find)(const uint8_t *a, int64_t rows, int64_t steps, int64_t ldaElems, int64_t capacity, int32_t *found);
  /// Cuts the codes of the `count` steps in `found` to 127 and writes what was cut to high [rows, 8 * count].
  void (*cut)(uint8_t *a, int64_t rows, int64_t ldaElems, const int32_t *found, int64_t count, uint8_t *high,
              int64_t ldhElems);
  /// Writes each step of the rows as the 8 magnitudes |a - 128| and 8 bytes of sign, 255 where a < 128 and else 0: split [rows, 16 * steps];
  /// and the sums of the magnitudes whose sign is 255: sum [rows].
  void (*split)(const uint8_t *a, int64_t rows, int64_t steps, int64_t ldaElems, uint8_t *split, int64_t ldSplitElems, int32_t *sum);
};

#if defined(__x86_64__)
int64_t findHighCodes_avx2(const uint8_t *a, int64_t rows, int64_t steps, int64_t ldaElems, int64_t capacity,
                           int32_t *found);
void cutHighCodes_avx2(uint8_t *a, int64_t rows, int64_t ldaElems, const int32_t *found, int64_t count, uint8_t *high,
                       int64_t ldhElems);
void splitCodes_avx2(const uint8_t *a, int64_t rows, int64_t steps, int64_t ldaElems, uint8_t *split, int64_t ldSplitElems,
                     int32_t *sum);
inline constexpr HighCodes kHighCodesAvx2 = {findHighCodes_avx2, cutHighCodes_avx2, splitCodes_avx2};
#endif

} // namespace qfx::kernels

#endif // KERNELS_GEMM_HIGHCODES_H
