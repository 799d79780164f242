// Operands of a call as views, constants and numbers; copies between layouts.
#include "backends/runtime/BindContext.h"

#include "backends/reference/Emit.h"
#include "backends/runtime/CopyStep.h"
#include "ir/GraphModule.h"

namespace qfx::runtime {

static bool isHalf(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

BindContext::BindContext(PlanBuilder &builder, const Node &node, const BoundCall &call, const ValueType &result,
                         bool widens)
    : builder(builder), node(node), call(call), result(result), widens(widens),
      lookup([&builder](const Node *operand) { return builder.getType(operand); }),
      infer(call, lookup, &builder.getModel()) {}

const void *BindContext::getCacheKey() const {
  return call.module ? static_cast<const void *>(call.module) : static_cast<const void *>(&node);
}

llvm::Expected<TensorType> BindContext::getResultTensor() const {
  const TensorType *type = result.getTensor();
  if (!type)
    return fail("its result is no tensor of known shape");
  if (!type->isStatic())
    return fail("the shape of its result, {0}, is not known before it runs", toString(*type));
  return *type;
}

bool BindContext::has(llvm::StringRef slot) const {
  const BoundSlot *bound = call.find(slot);
  return bound && (bound->tensor || !bound->arg.isNone());
}

RuntimeValue BindContext::getValue(llvm::StringRef slot) {
  const BoundSlot *bound = call.find(slot);
  if (!bound)
    return RuntimeValue();
  if (bound->tensor)
    return viewConstant(bound->tensor);
  return builder.evaluate(bound->arg);
}

llvm::Expected<View> BindContext::toView(const RuntimeValue &value, llvm::StringRef slot) {
  if (!value.isTensor())
    return fail("operand '{0}' must be a tensor, got {1}", slot, describe(value));
  return widens && isHalf(value.view.getDType()) ? castTo(*this, value.view, DType::Float32) : value.view;
}

llvm::Expected<View> BindContext::getTensor(llvm::StringRef slot) { return toView(getValue(slot), slot); }

llvm::Expected<View> BindContext::getOptionalTensor(llvm::StringRef slot) {
  if (!has(slot))
    return View();
  return getTensor(slot);
}

llvm::Expected<std::vector<View>> BindContext::getTensors(llvm::StringRef slot) {
  RuntimeValue value = getValue(slot);
  if (value.kind != RuntimeValue::Kind::Sequence)
    return fail("operand '{0}' must be a list of tensors, got {1}", slot, describe(value));
  std::vector<View> views;
  for (const RuntimeValue &element : value.elements) {
    llvm::Expected<View> view = toView(element, slot);
    if (!view)
      return view.takeError();
    views.push_back(std::move(*view));
  }
  return views;
}

llvm::Expected<Tensor> BindContext::getConstant(llvm::StringRef slot) {
  const BoundSlot *bound = call.find(slot);
  if (bound && bound->tensor && bound->tensor.isDense() && !(widens && isHalf(bound->tensor.getDType())))
    return bound->tensor;
  llvm::Expected<View> view = getTensor(slot);
  if (!view)
    return view.takeError();
  if (!view->isConstant())
    return fail("operand '{0}' must be known before the graph runs, but it depends on an input", slot);
  View dense = toOrder(*view, StorageOrder::RowMajor);
  QuantizerRef quantizer = dense.type.quantizer;
  std::shared_ptr<const Storage> storage = dense.buffer->owner;
  size_t offset = static_cast<size_t>(dense.getBytes() - storage->getData());
  return Tensor::view(storage, offset, dense.getDType(), dense.sizes, quantizer);
}

llvm::Expected<Tensor> BindContext::getOptionalConstant(llvm::StringRef slot) {
  if (!has(slot))
    return Tensor();
  return getConstant(slot);
}

std::optional<double> BindContext::getScalar(llvm::StringRef slot) {
  RuntimeValue value = getValue(slot);
  if (value.kind == RuntimeValue::Kind::Host && value.host.isNumber())
    return value.host.getNumber();
  return std::nullopt;
}

llvm::Expected<std::shared_ptr<const Module>> BindContext::getPacked(llvm::StringRef slot) {
  RuntimeValue value = getValue(slot);
  if (value.kind != RuntimeValue::Kind::Packed)
    return fail("operand '{0}' must be packed weights, got {1}", slot, describe(value));
  return value.packed;
}

llvm::Expected<QuantizerRef> BindContext::getQuantizer(const View &view) const {
  if (view.type.quantizer && view.type.quantizer->isPerTensor())
    return view.type.quantizer;
  if (view.type.quantizer)
    return fail("takes tensors quantized per tensor, got {0}", getQSchemeName(view.type.quantizer->getScheme()));
  return fail("the quantization parameters of {0} must be known before the graph runs", toString(view.type));
}

View BindContext::allocate(const TensorType &type, StorageOrder order) {
  return builder.allocate(type, getDenseStrides(type.getSizes(), order));
}

View BindContext::allocate(const TensorType &type, llvm::ArrayRef<int64_t> strides) {
  return builder.allocate(type, strides);
}

View BindContext::toOrder(const View &view, StorageOrder order) {
  if (hasOrder(view.sizes, view.strides, order)) {
    View same = view;
    same.strides = getDenseStrides(view.sizes, order); // dimensions of size 1 get their regular stride too
    return same;
  }
  View dense = builder.allocate(view.type, getDenseStrides(view.sizes, order));
  copy(view, dense);
  return dense;
}

View BindContext::toDense(const View &view) {
  return isDenseStorage(view.sizes, view.strides) ? view : toOrder(view, getDefaultOrder(view.getRank()));
}

void BindContext::copy(const View &src, const View &dst) {
  emit({&src}, {&dst}, [src, dst](RunContext &run) { runCopy(run, src, dst); });
}

void BindContext::emit(llvm::ArrayRef<const View *> reads, llvm::ArrayRef<const View *> writes,
                       std::function<void(RunContext &)> run, const StepTraits &traits) {
  builder.emit(reads, writes, std::move(run), traits);
}

ClampRange BindContext::absorbClamp(DType dtype) { return builder.absorbClamp(node, dtype); }

} // namespace qfx::runtime
