// Folding an eval-mode batch norm into the weighted layer that feeds it.
#ifndef PASSES_FUSE_FOLDBATCHNORM_H
#define PASSES_FUSE_FOLDBATCHNORM_H

#include "ir/Module.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// A copy of `root` (Linear, ConvNd, ConvTransposeNd) that computes bn(root(x)): per output channel r = 1 / sqrt(var +
/// eps),
///   w' = w * (gamma * r),  b' = (b - mean) * r * gamma + beta   (Linear: b' = (b - mean) * (gamma * r) + beta),
/// b = 0, gamma = 1, beta = 0 where absent.  Every operation is rounded to the tensors' common dtype, in this order, so
/// float32 and float64 results equal PyTorch's bit for bit; the results have the dtypes of the layer's weight and bias.
/// The output channel is weight axis 0; of a transposed convolution with G groups element (i, j) belongs to channel g *
/// OC/G + j of i's group g. The copy always has a bias.  Errors: running statistics absent (`fold_stats`), sizes that
/// do not fit or a dtype that is not a float (`fold_shape`), var + eps not positive (`fold_variance`).  A Linear also
/// takes a batch norm of one feature. Source: Jacob et al. 2018 (arXiv 1712.05877) 3.2; order of operations:
/// torch/nn/utils/fusion.py.
/// Large weights are scaled when they are read (Tensor::computed).
llvm::Expected<ModuleRef> foldBatchNorm(const Module &root, const Module &batchNorm, const Location &loc);

} // namespace qfx

#endif // PASSES_FUSE_FOLDBATCHNORM_H
