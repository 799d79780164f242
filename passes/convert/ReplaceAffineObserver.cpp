// The call of an affine observer becomes quantize_affine and dequantize_affine (numerics 3.13, convert).
#include "backends/observe/AffineObserver.h"

#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/convert/ConvertDetail.h"

namespace qfx {

/// A dtype, or the name of one of fewer than 8 bits, which the IR has no dtype for.
static Argument getTarget(const Module &observer) {
  llvm::StringRef name = observer.getAttribute("target_dtype").getString();
  name.consume_front("torch.");
  if (std::optional<DType> dtype = parseTorchDType(name))
    return *dtype;
  return name;
}

static Argument getOptional(const Module &observer, llvm::StringRef name) {
  const Argument *value = observer.findAttribute(name);
  return value ? *value : Argument::none();
}

llvm::Error replaceAffineObserver(ConvertState &state, Node &observerCall) {
  ModuleRef observer = getObserver(state.model, observerCall);
  const std::optional<DType> originalDType = getOriginalDType(*observer);
  if (!originalDType)
    return error(observerCall.getLoc(), "observer '{0}' of '{1}' has no block_size and no original_dtype: it saw no data; calibrate first (--calibrate=DATA)",
                 observerCall.getTargetText(), observerCall.getArg(0).getNode()->getName())
        .code("convert_uncalibrated");
  llvm::Expected<AffineOptions> options = getAffineOptions(*observer);
  if (!options)
    return options.takeError();
  Graph &graph = state.model.getGraph();
  auto insertPoint = Graph::InsertPoint::before(&observerCall);
  Node *observed = observerCall.getArg(0).getNode();
  const Argument blockSize = Argument::ints(getObservedBlockSize(*observer)), target = getTarget(*observer);
  const Argument low = getOptional(*observer, "quant_min"), high = getOptional(*observer, "quant_max");
  const Argument domain = getZeroPointDomainName(options->domain);

  llvm::SmallVector<Node *, 5> made;
  Argument scale, zeroPoint;
  if (isObserverDynamic(*observer)) {
    Node *chosen = graph.callFunction(requireFunction("torch.ops.pt2e_quant.choose_qparams_affine"),
                                      {observed, observer->getAttribute("mapping_type"), blockSize, target, low, high, getOptional(*observer, "eps"),
                                       getOptional(*observer, "scale_dtype"), getOptional(*observer, "zero_point_dtype"), options->preserveZero, domain});
    Node *scaleNode = graph.callFunction(requireFunction("operator.getitem"), {chosen, 0});
    Node *zeroPointNode = graph.callFunction(requireFunction("operator.getitem"), {chosen, 1});
    made.append({chosen, scaleNode, zeroPointNode});
    scale = scaleNode;
    zeroPoint = zeroPointNode;
  } else {
    llvm::Expected<AffineQParams> qparams = calculateAffineQParams(*observer);
    if (!qparams)
      return qparams.takeError();
    scale = createGetAttrFromTensor(state.model, state.attrNames, "_scale", qparams->scale);
    made.push_back(scale.getNode());
    if (qparams->zeroPoint) {
      zeroPoint = createGetAttrFromTensor(state.model, state.attrNames, "_zero_point", qparams->zeroPoint);
      made.push_back(zeroPoint.getNode());
    }
  }
  Node *quantize = graph.callFunction(requireFunction("torch.ops.pt2e_quant.quantize_affine"),
                                      {observed, blockSize, scale, zeroPoint, target, low, high, domain});
  Node *dequantize = graph.callFunction(requireFunction("torch.ops.pt2e_quant.dequantize_affine"),
                                        {quantize, blockSize, scale, zeroPoint, target, low, high, domain}, {{"output_dtype", *originalDType}});
  made.append({quantize, dequantize});
  for (Node *node : made)
    node->setLoc(observed->getLoc());
  observerCall.replaceAllUsesWith(dequantize);
  graph.erase(&observerCall);
  return llvm::Error::success();
}

} // namespace qfx
