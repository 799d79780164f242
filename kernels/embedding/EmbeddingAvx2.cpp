// Sums of embedding rows with AVX2.
#include "kernels/simd/Avx2Ops.h"

#include "kernels/embedding/EmbeddingTile.inc.h"

const qfx::kernels::EmbeddingKernels qfx::kernels::embedding_avx2 =
    qfx::kernels::makeEmbeddingKernels<qfx::kernels::Avx2Ops>();
