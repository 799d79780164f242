// The x86 intrinsics for instruction set files; a test builds the same files over SIMDe, where any CPU can run them.
#ifndef KERNELS_ISA_INTRINSICS_H
#define KERNELS_ISA_INTRINSICS_H

#ifdef QFX_SIMDE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>
#else
#include <immintrin.h>
#endif

#endif // KERNELS_ISA_INTRINSICS_H
