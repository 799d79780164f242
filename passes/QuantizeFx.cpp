// The phases chained as PyTorch's functions chain them.
#include "passes/QuantizeFx.h"

#include "passes/Pass.h"
#include "passes/convert/Convert.h"
#include "passes/fuse/Fuse.h"

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

llvm::Expected<GraphModule> prepareQatFx(GraphModule model, PrepareOptions options, PassContext &context) {
  options.isQat = true;
  return prepareFx(std::move(model), options, context);
}

llvm::Expected<GraphModule> convertToReferenceFx(GraphModule model, PassContext &context) {
  if (llvm::Error err = convertToReference(model, {context.convertQConfigMapping}, context))
    return err;
  return model;
}

llvm::Expected<GraphModule> convertFx(GraphModule model, PassContext &context, const LowerOptions &options) {
  if (llvm::Error err = convertToReference(model, {context.convertQConfigMapping}, context))
    return err;
  if (llvm::Error err = lower(model, context, options))
    return err;
  return model;
}

llvm::Expected<GraphModule> quantizeStaticFx(GraphModule model, const PrepareOptions &options, const BatchSource &source,
                                             PassContext &context) {
  auto prepared = prepareFx(std::move(model), options, context);
  if (!prepared)
    return prepared;
  if (llvm::Error err = calibrate(*prepared, source, context))
    return err;
  return convertFx(std::move(*prepared), context);
}

} // namespace qfx
