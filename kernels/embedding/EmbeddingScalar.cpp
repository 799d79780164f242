// Sums of embedding rows, one element at a time.
#include "kernels/simd/ScalarOps.h"

#include "kernels/embedding/EmbeddingTile.inc.h"

const qfx::kernels::EmbeddingKernels qfx::kernels::embedding_scalar =
    qfx::kernels::makeEmbeddingKernels<qfx::kernels::ScalarOps>();
