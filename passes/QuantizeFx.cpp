// The phases chained as PyTorch's functions chain them.
#include "passes/QuantizeFx.h"

#include "passes/Pass.h"
#include "passes/convert/Convert.h"
#include "passes/fuse/Fuse.h"
#include "passes/lower/Lower.h"

namespace qfx {

llvm::Expected<GraphModule> fuseFx(GraphModule model, PassContext &context) {
  auto changed = fuse(model, FuseOptions(), context);
  if (!changed)
    return changed.takeError();
  return model;
}

llvm::Expected<GraphModule> prepareFx(GraphModule model, const PrepareOptions &options, PassContext &context) {
  auto fused = fuse(model, FuseOptions{options.isQat}, context);
  if (!fused)
    return fused.takeError();
  auto prepared = prepare(model, options, context);
  if (!prepared)
    return prepared.takeError();
  return model;
}

llvm::Expected<GraphModule> convertToReferenceFx(GraphModule model, PassContext &context) {
  if (llvm::Error err = convertToReference(model, {context.convertQConfigMapping}, context))
    return err;
  return model;
}

llvm::Expected<GraphModule> convertFx(GraphModule model, PassContext &context) {
  if (llvm::Error err = convertToReference(model, {context.convertQConfigMapping}, context))
    return err;
  if (llvm::Error err = lower(model, context))
    return err;
  return model;
}

} // namespace qfx
