// An observer call becomes quantize and dequantize (workflow 5.3).
#include "passes/convert/ConvertDetail.h"

#include "backends/observe/AffineObserver.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/GraphUtils.h"

#include <cmath>

namespace qfx {

/// Dtypes that a static observer may ask for in a reference graph.
static bool isStaticQuantizedDType(DType dtype) {
  switch (dtype) {
  case DType::QUInt8:
  case DType::QInt8:
  case DType::QInt32:
  case DType::Float8E5M2:
  case DType::Float8E4M3FN:
    return true;
  default:
    return false;
  }
}

/// uint8 and friends belong to the decomposed representation, which a reference graph of torch.quantize_per_tensor lacks.
static bool isDecomposedOnly(DType dtype) {
  switch (dtype) {
  case DType::UInt8:
  case DType::Int8:
  case DType::UInt16:
  case DType::Int16:
  case DType::Int32:
    return true;
  default:
    return false;
  }
}

/// Path and suffix that name the scale and zero point of an observer (workflow 5.3).
static std::string getQParamPrefix(const ConvertState &state, const Node &observerCall) {
  const Node *observed = observerCall.getArg(0).getNode();
  const Node *named = observed;
  std::string suffix;
  if (state.prepared.isExplicitlyNone(*observed)) {
    suffix = "_input";
    auto users = observerCall.getUsers();
    named = users.empty() ? nullptr : users.front();
    static const TargetInfo &linear = requireFunction("torch.nn.functional.linear");
    for (const Node *user : users)
      if (isFunctionCall(user, linear)) {
        named = user;
        break;
      }
  }
  std::string path = named && named->getScope() ? named->getScope()->path : std::string();
  return path + suffix;
}

/// True if neither the producer nor any consumer is to be quantized.
static bool isUnwanted(const ConvertState &state, const Node &observerCall) {
  if (!state.prepared.isExplicitlyNone(*observerCall.getArg(0).getNode()))
    return false;
  for (const Node *user : observerCall.getUsers())
    if (!state.prepared.isExplicitlyNone(*user))
      return false;
  return true;
}

static void replaceBy(Node &observerCall, Node *replacement) {
  observerCall.replaceAllUsesWith(replacement);
  observerCall.getParent()->erase(&observerCall);
}

/// What quantize would refuse when the model runs (numerics 1.3, known_traps B47).
static llvm::Error checkQParams(const Node &observerCall, const QParams &qparams) {
  const std::string &observed = observerCall.getArg(0).getNode()->getName();
  for (float scale : qparams.scales) {
    if (!std::isfinite(scale))
      return error(observerCall.getLoc(), "observer '{0}' of '{1}' yields the scale {2}: its calibration data was not finite",
                   observerCall.getTargetText(), observed, scale)
          .code("convert_scale");
    if (!(scale > 0))
      return error(observerCall.getLoc(), "observer '{0}' of '{1}' yields the scale {2}; a scale is above 0", observerCall.getTargetText(), observed,
                   formatFloat(scale))
          .code("convert_scale");
  }
  const DTypeInfo &codes = getDTypeInfo(toUnderlyingDType(qparams.dtype));
  if (codes.codeMin == codes.codeMax)
    return llvm::Error::success(); // float8
  for (int64_t zeroPoint : qparams.zeroPoints)
    if (zeroPoint < codes.codeMin || zeroPoint > codes.codeMax)
      return error(observerCall.getLoc(), "observer '{0}' of '{1}' yields the zero point {2}, which {3} does not hold", observerCall.getTargetText(), observed,
                   std::to_string(zeroPoint), getDTypeInfo(qparams.dtype).torchName)
          .code("convert_zero_point");
  return llvm::Error::success();
}

/// get_attr nodes for scale and zero point, then quantize and dequantize, all before the observer.
static Node *emitStaticQuantize(ConvertState &state, Node &observerCall, const QParams &qparams) {
  Graph &graph = state.model.getGraph();
  std::string prefix = getQParamPrefix(state, observerCall);
  bool perChannel = isPerChannel(qparams.scheme);
  llvm::SmallVector<int64_t, 1> sizes;
  if (perChannel)
    sizes.push_back(static_cast<int64_t>(qparams.scales.size()));
  Tensor scale = Tensor::of<float>(DType::Float32, sizes, qparams.scales);
  Tensor zeroPoint = qparams.floatZeroPoints.empty() ? Tensor::of<int64_t>(DType::Int64, sizes, qparams.zeroPoints)
                                                     : Tensor::of<float>(DType::Float32, sizes, qparams.floatZeroPoints);
  Node *scaleNode = createGetAttrFromTensor(state.model, state.attrNames, prefix + "_scale_", std::move(scale));
  Node *zeroPointNode = createGetAttrFromTensor(state.model, state.attrNames, prefix + "_zero_point_", std::move(zeroPoint));
  std::vector<Argument> args = {observerCall.getArg(0), scaleNode, zeroPointNode};
  if (perChannel)
    args.emplace_back(qparams.axis);
  args.emplace_back(qparams.dtype);
  return graph.callFunction(requireFunction(perChannel ? "torch.quantize_per_channel" : "torch.quantize_per_tensor"),
                            std::move(args));
}

llvm::Error replaceObserver(ConvertState &state, Node &observerCall) {
  ModuleRef observer = getObserver(state.model, observerCall);
  if (isAffineObserver(*observer))
    return replaceAffineObserver(state, observerCall);
  DType dtype = getObserverDType(*observer);
  bool isDynamic = isObserverDynamic(*observer);
  Graph &graph = state.model.getGraph();
  Node *observed = observerCall.getArg(0).getNode();
  bool isStatic = isStaticQuantizedDType(dtype) && !isDynamic;
  if (isUnwanted(state, observerCall)) {
    replaceBy(observerCall, observed);
    return llvm::Error::success();
  }
  if (!isDynamic && isDecomposedOnly(dtype))
    return error(observerCall.getLoc(), "observer '{0}' asks for {1}, which only the decomposed representation has; use a quantized dtype such as quint8",
                 observerCall.getTargetText(), getDTypeInfo(dtype).torchName)
        .code("convert_dtype");
  if (!isStatic && !isDynamic && dtype != DType::Float16) {
    replaceBy(observerCall, observed);
    return llvm::Error::success();
  }

  auto insertPoint = Graph::InsertPoint::before(&observerCall);
  Node *quantize;
  if (isStatic) {
    auto qparams = getQParams(state, observerCall);
    if (!qparams)
      return qparams.takeError();
    if (llvm::Error err = checkQParams(observerCall, *qparams))
      return err;
    quantize = emitStaticQuantize(state, observerCall, *qparams);
  } else if (isDynamic) {
    bool reduceRange = state.context.engine == "fbgemm" || state.context.engine == "x86";
    quantize = graph.callFunction(requireFunction("torch.quantize_per_tensor_dynamic"), {observed, dtype, reduceRange});
  } else {
    quantize = graph.callMethod(requireMethod("to"), {observed, dtype});
  }
  Node *dequantize = graph.callMethod(requireMethod("dequantize"), {quantize});
  quantize->setLoc(observed->getLoc());
  dequantize->setLoc(observed->getLoc());
  replaceBy(observerCall, dequantize);
  return llvm::Error::success();
}

} // namespace qfx
