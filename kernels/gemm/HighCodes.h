// Codes of 128 and more, for instruction sets whose u8 x s8 products are exact only below.
//
// Calibrated activations mostly stay below 128 (reduce_range), but outliers do not.  A tile with few of them is cut: each
// code a becomes min(a, 127), and the rest, at most 128, goes into a small matrix of its own, whose products are added
// separately.  A tile with many is multiplied by the kernel's slower exact sequence instead.
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
};

#if defined(__x86_64__)
int64_t findHighCodes_avx2(const uint8_t *a, int64_t rows, int64_t steps, int64_t ldaElems, int64_t capacity,
                           int32_t *found);
void cutHighCodes_avx2(uint8_t *a, int64_t rows, int64_t ldaElems, const int32_t *found, int64_t count, uint8_t *high,
                       int64_t ldhElems);
inline constexpr HighCodes kHighCodesAvx2 = {findHighCodes_avx2, cutHighCodes_avx2};
#endif

} // namespace qfx::kernels

#endif // KERNELS_GEMM_HIGHCODES_H
