// Sums of embedding rows with NEON.
#include "kernels/simd/NeonOps.h"

#include "kernels/embedding/EmbeddingTile.inc.h"

const qfx::kernels::EmbeddingKernels qfx::kernels::embedding_neon =
    qfx::kernels::makeEmbeddingKernels<qfx::kernels::NeonOps>();
