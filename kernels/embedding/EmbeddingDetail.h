// The embedding tables that each instruction set's file fills.
#ifndef KERNELS_EMBEDDING_EMBEDDINGDETAIL_H
#define KERNELS_EMBEDDING_EMBEDDINGDETAIL_H

#include "kernels/embedding/Embedding.h"

namespace qfx::kernels {

#define QFX_EMBEDDING_TABLE(IsaName, Table) extern const EmbeddingKernels Table;
#include "kernels/embedding/EmbeddingKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_EMBEDDING_EMBEDDINGDETAIL_H
