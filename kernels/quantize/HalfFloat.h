// float16 and bfloat16 to float32 and back.
#ifndef KERNELS_QUANTIZE_HALFFLOAT_H
#define KERNELS_QUANTIZE_HALFFLOAT_H

#include <cstdint>

namespace qfx::kernels {

/// IEEE binary16 bits to f32, exact; signalling NaNs come out quiet.
void convertF16ToF32(const uint16_t *src, float *dst, int64_t n);

/// f32 to IEEE binary16, round half to even, overflow to infinity; NaNs keep sign and upper payload, quiet.
void convertF32ToF16(const float *src, uint16_t *dst, int64_t n);

/// bfloat16 bits to f32, exact.
void convertBf16ToF32(const uint16_t *src, float *dst, int64_t n);

/// f32 to bfloat16, round half to even; every NaN gives 0x7fc0, as c10::BFloat16 does.
void convertF32ToBf16(const float *src, uint16_t *dst, int64_t n);

} // namespace qfx::kernels

#endif // KERNELS_QUANTIZE_HALFFLOAT_H
