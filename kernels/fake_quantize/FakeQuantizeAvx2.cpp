// Fake quantization with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/fake_quantize/FakeQuantizeTile.inc.h"

const qfx::kernels::FakeQuantizeKernels qfx::kernels::fake_quantize_avx2 =
    qfx::kernels::makeFakeQuantizeKernels<qfx::kernels::Avx2Ops>();
