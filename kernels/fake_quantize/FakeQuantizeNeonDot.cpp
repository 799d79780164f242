// Fake quantization with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/fake_quantize/FakeQuantizeTile.inc.h"

const qfx::kernels::FakeQuantizeKernels qfx::kernels::fake_quantize_neon =
    qfx::kernels::makeFakeQuantizeKernels<qfx::kernels::NeonOps>();
