// torch.ao.quantization.quantize_fx as functions: each takes a model by value and returns the changed one.
#ifndef PASSES_QUANTIZEFX_H
#define PASSES_QUANTIZEFX_H

#include "ir/GraphModule.h"
#include "passes/Pass.h"
#include "passes/prepare/Prepare.h"

namespace qfx {

/// fuse_fx: fuses with is_qat=false.  The model must be in eval mode where a batch norm is folded.  Clone the model first to keep it.
llvm::Expected<GraphModule> fuseFx(GraphModule model, PassContext &context);

/// prepare_fx (and prepare_qat_fx, `options.isQat`): fuse, then prepare, with the backend of `context`.
llvm::Expected<GraphModule> prepareFx(GraphModule model, const PrepareOptions &options, PassContext &context);

/// convert_to_reference_fx: observers become quantize/dequantize pairs, weighted modules reference modules.
llvm::Expected<GraphModule> convertToReferenceFx(GraphModule model, PassContext &context);

/// convert_fx: the reference model lowered to the quantized operators of context.engine.
llvm::Expected<GraphModule> convertFx(GraphModule model, PassContext &context);

} // namespace qfx

#endif // PASSES_QUANTIZEFX_H
