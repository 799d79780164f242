// torch.ao.quantization.quantize_fx as functions: each takes a model by value and returns the changed one.
#ifndef PASSES_QUANTIZEFX_H
#define PASSES_QUANTIZEFX_H

#include "ir/GraphModule.h"
#include "passes/Pass.h"
#include "passes/calibrate/Calibrate.h"
#include "passes/lower/Lower.h"
#include "passes/prepare/Prepare.h"

namespace qfx {

// Backend, engine, custom config, strictness and the callbacks for warnings, remarks, coverage and progress are those of the context;
// `context.customConfig.prepare` counts unless `options.custom` says otherwise.  Clone a model first to keep it.

/// fuse_fx: fuses with is_qat=false.  The model must be in eval mode where a batch norm is folded.
llvm::Expected<GraphModule> fuseFx(GraphModule model, PassContext &context);

/// prepare_fx: fuse, then prepare.
llvm::Expected<GraphModule> prepareFx(GraphModule model, const PrepareOptions &options, PassContext &context);

/// prepare_qat_fx: fuse with is_qat=true, swap in QAT modules, insert fake-quantizers.  `options.isQat` is set here.
llvm::Expected<GraphModule> prepareQatFx(GraphModule model, PrepareOptions options, PassContext &context);

/// convert_to_reference_fx: observers become quantize/dequantize pairs, weighted modules reference modules.
llvm::Expected<GraphModule> convertToReferenceFx(GraphModule model, PassContext &context);

/// convert_fx: the reference model lowered to the quantized operators of context.engine.
llvm::Expected<GraphModule> convertFx(GraphModule model, PassContext &context, const LowerOptions &options = {});

/// The whole road of static quantization: prepareFx, the batches of `source` through it, convertFx.  Errors: those of the three.
llvm::Expected<GraphModule> quantizeStaticFx(GraphModule model, const PrepareOptions &options, const BatchSource &source,
                                             PassContext &context);

} // namespace qfx

#endif // PASSES_QUANTIZEFX_H
