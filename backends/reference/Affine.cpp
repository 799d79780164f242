// Quantization by blocks in a running graph: the arithmetic of backends/observe on tensors of a plan.
#include "backends/observe/AffineQuantize.h"
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"

#include <cmath>
#include <cstring>

namespace qfx::runtime {

namespace {

/// Memory of a running plan, lent to a Tensor for one step.
class LentStorage final : public Storage {
public:
  LentStorage(const std::byte *bytes, size_t count) {
    data = bytes;
    sizeBytes = count;
  }
};

/// What the three calls share.
struct AffineCall {
  std::vector<int64_t> blockSize;
  AffineOptions options;
};

} // namespace

/// A row-major view as a tensor that reads the plan's memory.
static Tensor lend(const View &view) {
  auto storage = std::make_shared<LentStorage>(view.getBytes(), static_cast<size_t>(view.getNumElements() * view.getElemBytes()));
  return Tensor::view(std::move(storage), 0, view.getDType(), view.sizes);
}

static void store(const Tensor &tensor, const View &dst) {
  assert(tensor.getDType() == dst.getDType() && tensor.getNumElements() == dst.getNumElements() && "the type rule says otherwise");
  std::memcpy(dst.getBytes(), tensor.getBytes(), tensor.getSizeBytes());
}

/// The host value in a slot; null if it is None.
static const Argument *findHost(BindContext &context, llvm::StringRef slot) {
  const BoundSlot *bound = context.getCall().find(slot);
  return bound && !bound->arg.isNone() ? &bound->arg : nullptr;
}

/// An error of the arithmetic, at the node.
static llvm::Error atNode(BindContext &context, llvm::Error err) {
  std::vector<Diagnostic> diagnostics = takeDiagnostics(std::move(err));
  for (Diagnostic &diagnostic : diagnostics) {
    diagnostic.loc = context.getNode().getLoc();
    diagnostic.message += llvm::formatv(", in '{0}' of node '{1}'", context.getOp().name, context.getNode().getName()).str();
  }
  return llvm::make_error<InputError>(std::move(diagnostics));
}

/// \param targetSlot  what the call names the dtype of its codes.
static llvm::Expected<AffineCall> readCall(BindContext &context, llvm::StringRef targetSlot) {
  AffineCall call;
  llvm::Expected<llvm::SmallVector<int64_t, 4>> blockSize = context.attrs().getInts("block_size");
  if (!blockSize)
    return blockSize.takeError();
  call.blockSize.assign(blockSize->begin(), blockSize->end());
  const Argument *target = findHost(context, targetSlot);
  assert(target && "the type rule wants a dtype");
  llvm::Expected<AffineTarget> parsed =
      parseAffineTarget(target->isString() ? llvm::StringRef(target->getString()) : getDTypeInfo(target->getDType()).torchName);
  if (!parsed)
    return atNode(context, parsed.takeError());
  call.options.target = *parsed;
  for (auto [slot, bound] : {std::pair("quant_min", &call.options.quantMin), std::pair("quant_max", &call.options.quantMax)})
    if (const Argument *given = findHost(context, slot)) {
      if (given->getNumber() != std::trunc(given->getNumber()))
        return context.fail("{0} must be a whole number, got {1}", slot, given->getNumber());
      *bound = static_cast<int64_t>(given->getNumber());
    }
  const Argument *domainName = findHost(context, "zero_point_domain");
  std::optional<ZeroPointDomain> domain = domainName ? parseZeroPointDomain(domainName->getString()) : ZeroPointDomain::None;
  if (!domain)
    return context.fail("'{0}' is no zero_point_domain; expected 'INT', 'FLOAT' or 'NONE'", domainName->getString());
  call.options.domain = *domain;
  return call;
}

/// One scale and zero point per block, found while running.
llvm::Expected<RuntimeValue> bindChooseQparamsAffine(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<AffineCall> call = readCall(context, "target_dtype");
  if (!call)
    return call.takeError();
  const std::string &mappingName = findHost(context, "mapping_type")->getString();
  std::optional<MappingType> mapping = parseMappingType(mappingName);
  if (!mapping)
    return context.fail("'{0}' is no mapping_type; expected 'SYMMETRIC', 'SYMMETRIC_NO_CLIPPING_ERR' or 'ASYMMETRIC'", mappingName);
  AffineOptions &options = call->options;
  options.mapping = *mapping;
  if (const Argument *eps = findHost(context, "eps"))
    options.eps = eps->getNumber();
  if (const Argument *dtype = findHost(context, "scale_dtype"))
    options.scaleDType = dtype->getDType();
  if (const Argument *dtype = findHost(context, "zero_point_dtype"))
    options.zeroPointDType = dtype->getDType();
  llvm::Expected<bool> preserveZero = context.attrs().getBool("preserve_zero");
  if (!preserveZero)
    return preserveZero.takeError();
  options.preserveZero = *preserveZero;
  const DType dtype = input->getDType();
  const AffineRange probe{castFloats(Tensor::of<float>(DType::Float32, {}, -1.0f), dtype), castFloats(Tensor::of<float>(DType::Float32, {}, 1.0f), dtype)};
  if (llvm::Expected<AffineQParams> chosen = chooseQParamsAffineWithMinMax(probe, options); !chosen)
    return atNode(context, chosen.takeError()); // wrong options are told before anything runs
  const ValueType::Sequence *pair = context.getResult().getSequence();
  assert(pair && pair->elements.size() == 2 && "the type rule yields scale and zero point");
  llvm::Expected<TensorType> scaleType = getStaticType(context, pair->elements[0]);
  if (!scaleType)
    return scaleType.takeError();
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  View scale = context.allocate(*scaleType, StorageOrder::RowMajor), zeroPoint;
  if (pair->elements[1].getTensor()) {
    llvm::Expected<TensorType> zeroPointType = getStaticType(context, pair->elements[1]);
    if (!zeroPointType)
      return zeroPointType.takeError();
    zeroPoint = context.allocate(*zeroPointType, StorageOrder::RowMajor);
  }
  llvm::SmallVector<const View *, 2> writes = {&scale};
  if (zeroPoint)
    writes.push_back(&zeroPoint);
  context.emit({&src}, writes, [=, call = *call](RunContext &run) {
    llvm::Expected<AffineQParams> chosen = chooseQParamsAffine(lend(src), call.blockSize, call.options);
    if (!chosen)
      return run.fail(chosen.takeError());
    store(chosen->scale, scale);
    if (zeroPoint)
      store(chosen->zeroPoint, zeroPoint);
  });
  return RuntimeValue::ofSequence({RuntimeValue(scale), zeroPoint ? RuntimeValue(zeroPoint) : RuntimeValue::ofHost(Argument::none())});
}

/// The steps of quantize_affine and dequantize_affine: `compute(input, parameters)` gives the result.
static llvm::Expected<RuntimeValue>
bindWithParameters(BindContext &context, const AffineCall &call,
                   std::function<llvm::Expected<Tensor>(const Tensor &, const AffineQParams &)> compute) {
  llvm::Expected<View> input = context.getTensor("input"), scale = context.getTensor("scale");
  if (!input || !scale)
    return llvm::joinErrors(input.takeError(), scale.takeError());
  const bool hasDomain = call.options.domain != ZeroPointDomain::None && !call.options.target.isFloat8();
  View zeroPoint;
  if (context.getValue("zero_point").isTensor() && hasDomain) {
    llvm::Expected<View> given = context.getTensor("zero_point");
    if (!given)
      return given.takeError();
    zeroPoint = context.toOrder(*given, StorageOrder::RowMajor);
  } else if (hasDomain) {
    return context.fail("zero points in the domain {0} are missing", getZeroPointDomainName(call.options.domain));
  }
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View src = context.toOrder(*input, StorageOrder::RowMajor), scales = context.toOrder(*scale, StorageOrder::RowMajor);
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  llvm::SmallVector<const View *, 3> reads = {&src, &scales};
  if (zeroPoint)
    reads.push_back(&zeroPoint);
  context.emit(reads, {&dst}, [=, compute = std::move(compute)](RunContext &run) {
    llvm::Expected<Tensor> result = compute(lend(src), {lend(scales), zeroPoint ? lend(zeroPoint) : Tensor()});
    if (!result)
      return run.fail(result.takeError());
    store(*result, dst);
  });
  return RuntimeValue(dst);
}

llvm::Expected<RuntimeValue> bindQuantizeAffine(BindContext &context) {
  llvm::Expected<AffineCall> call = readCall(context, "output_dtype");
  if (!call)
    return call.takeError();
  return bindWithParameters(context, *call, [call = *call](const Tensor &input, const AffineQParams &qparams) {
    return quantizeAffine(input, call.blockSize, qparams, call.options);
  });
}

llvm::Expected<RuntimeValue> bindDequantizeAffine(BindContext &context) {
  llvm::Expected<AffineCall> call = readCall(context, "input_dtype");
  if (!call)
    return call.takeError();
  const Argument *output = findHost(context, "output_dtype");
  const DType dtype = output ? output->getDType() : DType::Float32;
  return bindWithParameters(context, *call, [call = *call, dtype](const Tensor &codes, const AffineQParams &qparams) {
    return dequantizeAffine(codes, call.blockSize, qparams, call.options, dtype);
  });
}

} // namespace qfx::runtime
