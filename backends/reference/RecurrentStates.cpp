// Results and initial states of recurrent calls, and where their weights stand.
#include "backends/reference/Emit.h"
#include "backends/reference/RecurrentDetail.h"
#include "backends/reference/RecurrentLayer.h"
#include "ir/Module.h"

#include <algorithm>
#include <cstring>

namespace qfx::runtime {

RuntimeValue makePackedSequence(const View &data, const View &lengths) {
  RuntimeValue value = RuntimeValue::ofSequence({data, lengths});
  value.kind = RuntimeValue::Kind::Dict;
  value.keys = {"data", "lengths"};
  return value;
}

RuntimeValue RecurrentResult::toValue() const {
  if (!output)
    return cell ? RuntimeValue::ofSequence({hidden, cell}) : RuntimeValue(hidden);
  const RuntimeValue steps = lengths ? makePackedSequence(output, lengths) : RuntimeValue(output);
  if (!cell)
    return RuntimeValue::ofSequence({steps, hidden});
  if (isFlat)
    return RuntimeValue::ofSequence({steps, hidden, cell});
  return RuntimeValue::ofSequence({steps, RuntimeValue::ofSequence({hidden, cell})});
}

/// The tensors of a type, in order, nested ones included.
static void collectTensors(const ValueType &type, llvm::SmallVectorImpl<TensorType> &into) {
  if (const TensorType *tensor = type.getTensor())
    into.push_back(*tensor);
  if (const ValueType::Sequence *sequence = type.getSequence())
    for (const ValueType &element : sequence->elements)
      collectTensors(element, into);
  if (const ValueType::Dictionary *packed = type.getDictionary()) // its lengths are the input's
    collectTensors(packed->entries.front().second, into);
}

llvm::Expected<RecurrentResult> allocateResult(BindContext &context, bool hasCell) {
  llvm::SmallVector<TensorType, 3> types;
  collectTensors(context.getResult(), types);
  size_t numStates = hasCell ? 2 : 1;
  if (types.size() != numStates && types.size() != numStates + 1)
    return context.fail("the types of its results are not known before it runs");
  llvm::SmallVector<View, 3> views;
  for (const TensorType &type : types) {
    if (!type.isStatic())
      return context.fail("the shape of its result, {0}, is not known before it runs", toString(type));
    views.push_back(context.allocate(type, StorageOrder::RowMajor));
  }
  RecurrentResult result;
  if (types.size() > numStates)
    result.output = views[0];
  result.hidden = views[types.size() - numStates];
  if (hasCell)
    result.cell = views.back();
  result.isFlat =
      context.getResult().getSequence() && context.getResult().getSequence()->elements.size() == types.size();
  return result;
}

void InitialStates::appendTo(llvm::SmallVectorImpl<const View *> &reads) const {
  for (const View *view : {&hidden, &cell})
    if (*view)
      reads.push_back(view);
}

static void copyOrZero(const View &from, const View &to) {
  if (!to)
    return;
  size_t bytes = static_cast<size_t>(to.getNumElements() * to.getElemBytes());
  if (from)
    std::memcpy(to.getBytes(), from.getBytes(), bytes);
  else
    std::memset(to.getBytes(), 0, bytes);
}

void InitialStates::copyTo(const View &hiddenTo, const View &cellTo) const {
  copyOrZero(hidden, hiddenTo);
  copyOrZero(cell, cellTo);
}

llvm::Expected<InitialStates> getInitialStates(BindContext &context, bool hasCell) {
  InitialStates states;
  if (!context.has("hx"))
    return states;
  llvm::SmallVector<View *, 2> wanted = {&states.hidden};
  RuntimeValue given = context.getValue("hx");
  std::vector<RuntimeValue> elements;
  if (hasCell) {
    wanted.push_back(&states.cell);
    elements = given.elements;
  } else {
    elements = {given};
  }
  if (elements.size() != wanted.size())
    return context.fail("its initial states must be (h, c), got {0}", describe(given));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!elements[i].isTensor() || !isFloat(elements[i].view.getDType()) || elements[i].view.getDType() == DType::Float64)
      return context.fail("its initial states must be float32 tensors, got {0}",
                          elements[i].isTensor() ? toString(elements[i].view.type) : describe(elements[i]));
    llvm::Expected<View> wide = castTo(context, elements[i].view, DType::Float32);
    if (!wide)
      return wide.takeError();
    *wanted[i] = context.toOrder(*wide, StorageOrder::RowMajor);
  }
  return states;
}

View allocateBytes(BindContext &context, int64_t sizeBytes) {
  TensorType type;
  type.dtype = DType::UInt8;
  type.shape = {Dim(sizeBytes)};
  return context.allocate(type, StorageOrder::RowMajor);
}

llvm::Expected<RecurrentTensors> RecurrentTensors::get(BindContext &context) {
  RecurrentTensors result;
  result.module = context.getCall().module;
  if (!context.getCall().find("params") || !context.has("params"))
    return result;
  result.module = nullptr;
  llvm::Expected<std::vector<View>> views = context.getTensors("params");
  if (!views)
    return views.takeError();
  auto layers = context.attrs().getInt("num_layers");
  auto hasBias = context.attrs().getBool("has_biases");
  auto isBidirectional = context.attrs().getBool("bidirectional");
  if (!layers || !hasBias || !isBidirectional)
    return llvm::joinErrors(layers.takeError(), llvm::joinErrors(hasBias.takeError(), isBidirectional.takeError()));
  size_t directions = static_cast<size_t>(*layers) * (*isBidirectional ? 2 : 1), perDirection = *hasBias ? 4 : 2;
  bool hasProjection = views->size() == directions * (perDirection + 1);
  if (!hasProjection && views->size() != directions * perDirection)
    return context.fail("{0} weights do not fit {1} layers and directions", views->size(), directions);
  std::vector<std::string> names = {"weight_ih", "weight_hh"};
  if (*hasBias)
    names.insert(names.end(), {"bias_ih", "bias_hh"});
  if (hasProjection)
    names.push_back("weight_hr");
  for (size_t i = 0; i < views->size(); ++i) {
    const View &view = (*views)[i];
    if (!view.isConstant() || !hasOrder(view.sizes, view.strides, StorageOrder::RowMajor))
      return context.fail("its weights must be known before the graph runs, but number {0} depends on an input", i);
    size_t direction = i / names.size();
    std::string suffix = "_l" + std::to_string(*isBidirectional ? direction / 2 : direction);
    if (*isBidirectional && direction % 2)
      suffix += "_reverse";
    size_t offset = static_cast<size_t>(view.getBytes() - view.buffer->owner->getData());
    result.tensors.emplace_back(names[i % names.size()] + suffix,
                                Tensor::view(view.buffer->owner, offset, view.getDType(), view.sizes));
  }
  return result;
}

Tensor RecurrentTensors::find(llvm::StringRef name) const {
  if (module) {
    const Tensor *tensor = module->findTensor(name);
    return tensor ? *tensor : Tensor();
  }
  for (const auto &[key, tensor] : tensors)
    if (key == name)
      return tensor;
  return Tensor();
}

} // namespace qfx::runtime
