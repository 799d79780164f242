// Fake quantization, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/fake_quantize/FakeQuantizeTile.inc.h"

const qfx::kernels::FakeQuantizeKernels qfx::kernels::fake_quantize_scalar =
    qfx::kernels::makeFakeQuantizeKernels<qfx::kernels::ScalarOps>();
