// Building a plan: one walk over the graph, then in-place sharing and placement.
#include "backends/runtime/PlanBuilder.h"

#include "backends/reference/Emit.h"
#include "backends/runtime/BindContext.h"
#include "backends/runtime/ClampRules.h"
#include "backends/runtime/Kernels.h"
#include "backends/runtime/MemoryPlan.h"
#include "ir/Compose.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace qfx::runtime {

/// Ranks that the strided kernels take.
static constexpr size_t kMaxRank = 8;
/// The loader's limit for one tensor holds for constants that the plan computes.
static constexpr int64_t kMaxConstantBytes = int64_t(1) << 32;
/// What counts as the size of anything larger: no machine has it, and sums of such sizes do not overflow.
static constexpr int64_t kEndlessBytes = int64_t(1) << 50;

PlanBuilder::PlanBuilder(const GraphModule &model, const llvm::DenseMap<const Node *, std::string> &originals,
                         ProgramCache &cache, ThreadPool &pool, const BuildOptions &options)
    : model(model), originals(originals), cache(cache), pool(pool), options(options) {}

const RuntimeValue *PlanBuilder::findValue(const Node *node) const {
  auto it = values.find(node);
  return it == values.end() ? nullptr : &it->second;
}

ValueType PlanBuilder::getType(const Node *node) const { return types.lookup(node); }

View PlanBuilder::allocate(const TensorType &type, llvm::ArrayRef<int64_t> strides) {
  assert(type.isStatic() && "plans have static types");
  View view;
  view.type = type;
  llvm::SmallVector<int64_t, 4> sizes = type.getSizes();
  view.sizes.assign(sizes.begin(), sizes.end());
  view.strides.assign(strides.begin(), strides.end());
  view.buffer = std::make_shared<Buffer>();
  const int64_t elements = view.getNumElements(); // at most 2^62
  view.buffer->sizeBytes = elements > kEndlessBytes / 8
                               ? kEndlessBytes
                               : static_cast<int64_t>(getStorageBytes(type.dtype, static_cast<uint64_t>(elements)));
  return view;
}

std::shared_ptr<void> &PlanBuilder::getCacheEntry(const void *key, llvm::StringRef tag) {
  return cache.packed[{key, tag.str()}];
}

std::shared_ptr<std::byte> PlanBuilder::allocatePacked(int64_t sizeBytes) {
  MutableBytes bytes;
  std::shared_ptr<Storage> storage = allocateStorage(static_cast<size_t>(sizeBytes), bytes);
  cache.packedBytes += sizeBytes;
  return std::shared_ptr<std::byte>(storage, bytes.data());
}

/// Runs a step whose operands are all known and makes its results constants.
static llvm::Error foldStep(llvm::ArrayRef<const View *> writes, const std::function<void(RunContext &)> &run,
                            int64_t scratchBytes, ThreadPool &pool) {
  for (const View *view : writes) {
    MutableBytes bytes;
    std::shared_ptr<Storage> storage = allocateStorage(static_cast<size_t>(view->buffer->sizeBytes + kReadSlack), bytes);
    view->buffer->data = bytes.data();
    view->buffer->owner = storage;
    view->buffer->isConstant = true;
  }
  MutableBytes scratch;
  std::shared_ptr<Storage> holder = allocateStorage(static_cast<size_t>(scratchBytes * pool.size()), scratch);
  RunContext context(pool, scratch.data(), scratchBytes);
  run(context);
  return context.takeFailure();
}

void PlanBuilder::emit(llvm::ArrayRef<const View *> reads, llvm::ArrayRef<const View *> writes,
                       std::function<void(RunContext &)> run, const StepTraits &traits) {
  int64_t scratchBytes = (traits.scratchBytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  auto isConstant = [](const View *view) { return view->isConstant(); };
  if (!traits.hasEffects && !reads.empty() && llvm::all_of(reads, isConstant)) {
    for (const View *view : writes)
      if (view->buffer->sizeBytes > kMaxConstantBytes) { // the plan is given up: what reads it only makes steps
        failure = llvm::joinErrors(std::move(failure),
                                   error(current->getLoc(), "'{0}' makes the constant {1}, more than the limit of {2} bytes",
                                         current->getName(), toString(view->type), kMaxConstantBytes)
                                       .code("run_memory"));
        return;
      }
    if (llvm::Error err = foldStep(writes, run, scratchBytes, pool))
      failure = llvm::joinErrors(std::move(failure), std::move(err));
    return;
  }
  assert(llvm::none_of(writes, isConstant) && "constants are written by the step that makes them");
  int step = static_cast<int>(plan->steps.size());
  auto use = [&](const BufferRef &buffer) {
    if (buffer->isConstant)
      return;
    if (buffer->firstStep < 0) {
      buffer->firstStep = step;
      plan->buffers.push_back(buffer);
    }
    buffer->lastStep = step;
  };
  for (const View *view : reads) {
    use(view->buffer);
    if (view->dynamicQParams)
      use(view->dynamicQParams);
  }
  for (const View *view : writes) {
    use(view->buffer);
    if (view->dynamicQParams)
      use(view->dynamicQParams);
  }
  if (traits.inPlaceSrc && !traits.inPlaceSrc->isConstant() && !options.keepAll)
    hints.push_back({traits.inPlaceSrc->buffer, writes[0]->buffer, step});
  plan->scratchBytes = std::max(plan->scratchBytes, scratchBytes);
  plan->steps.push_back({current, std::move(run)});
}

ClampRange PlanBuilder::absorbClamp(const Node &node, DType dtype) {
  ClampRange none;
  if (!node.hasOneUser() || (options.keepAll && originals.count(&node)))
    return none;
  const Node *user = node.getUsers()[0];
  ValueType userType = getType(user);
  const TensorType *type = userType.getTensor();
  if (!type || type->dtype != dtype)
    return none;
  std::optional<ClampRange> range = getClampRange(*user, &node, model);
  if (!range)
    return none;
  absorbed.insert(user);
  return *range;
}

RuntimeValue PlanBuilder::evaluate(const Argument &arg) const {
  if (arg.isNode()) {
    const RuntimeValue *value = findValue(arg.getNode());
    return value ? *value : RuntimeValue();
  }
  if (arg.isSequence()) {
    std::vector<RuntimeValue> elements;
    for (const Argument &element : arg.getElements())
      elements.push_back(evaluate(element));
    return RuntimeValue::ofSequence(std::move(elements));
  }
  if (arg.isDict()) {
    std::vector<RuntimeValue> elements;
    std::vector<std::string> keys;
    for (const auto &[key, element] : arg.getEntries()) {
      keys.push_back(key);
      elements.push_back(evaluate(element));
    }
    RuntimeValue value = RuntimeValue::ofSequence(std::move(elements));
    value.kind = RuntimeValue::Kind::Dict;
    value.keys = std::move(keys);
    return value;
  }
  return RuntimeValue::ofHost(arg);
}

llvm::Expected<RuntimeValue> PlanBuilder::bindGetAttr(const Node &node) {
  if (const Tensor *tensor = model.getRoot().findTensorAt(node.getTargetText()))
    return RuntimeValue(viewConstant(*tensor));
  if (ModuleRef module = model.getRoot().findModule(node.getTargetText()))
    return RuntimeValue::ofPacked(module);
  return error(node.getLoc(), "'{0}' reads attribute '{1}', which the model does not have", node.getName(),
               node.getTargetText())
      .code("node_target");
}

/// Fills in a node's type where binding only moved views about.
static void setTypes(RuntimeValue &value, const ValueType &type) {
  if (value.isTensor()) {
    if (const TensorType *tensor = type.getTensor()) {
      value.view.type = *tensor;
      llvm::SmallVector<int64_t, 4> sizes = tensor->getSizes();
      assert(llvm::ArrayRef<int64_t>(sizes) == llvm::ArrayRef<int64_t>(value.view.sizes) &&
             "a kernel's result has another shape than inference says");
    }
    return;
  }
  const ValueType::Sequence *sequence = type.getSequence();
  for (size_t i = 0; sequence && i < value.elements.size() && i < sequence->elements.size(); ++i)
    setTypes(value.elements[i], sequence->elements[i]);
}

/// A value of empty tensors, if all tensors of `type` are empty; none if one is not or the type is not known.
static std::optional<RuntimeValue> makeEmpty(PlanBuilder &builder, const ValueType &type) {
  if (const TensorType *tensor = type.getTensor()) {
    if (!tensor->isStatic() || !llvm::is_contained(tensor->getSizes(), 0))
      return std::nullopt;
    llvm::SmallVector<int64_t, 4> sizes = tensor->getSizes();
    return RuntimeValue(builder.allocate(*tensor, getDenseStrides(sizes, getDefaultOrder(sizes.size()))));
  }
  const ValueType::Sequence *sequence = type.getSequence();
  if (!sequence || sequence->elements.empty())
    return std::nullopt;
  std::vector<RuntimeValue> elements;
  for (const ValueType &element : sequence->elements) {
    std::optional<RuntimeValue> value = makeEmpty(builder, element);
    if (!value)
      return std::nullopt;
    elements.push_back(std::move(*value));
  }
  return RuntimeValue::ofSequence(std::move(elements));
}

static bool isHalf(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

static bool holdsHalf(const RuntimeValue &value) {
  return value.isTensor() ? isHalf(value.view.getDType()) : llvm::any_of(value.elements, holdsHalf);
}

bool PlanBuilder::readsHalf(const BoundCall &call) const {
  // A module's own half weights under a float32 input are its matter: dynamic layers multiply by them as they are.
  return llvm::any_of(call.slots, [&](const BoundSlot &slot) { return !slot.tensor && holdsHalf(evaluate(slot.arg)); });
}

/// Half floats as float32.
static ValueType widen(const ValueType &type) {
  if (const TensorType *tensor = type.getTensor(); tensor && isHalf(tensor->dtype)) {
    TensorType wide = *tensor;
    wide.dtype = DType::Float32;
    return ValueType(wide);
  }
  const ValueType::Sequence *sequence = type.getSequence();
  if (!sequence)
    return type;
  std::vector<ValueType> elements;
  for (const ValueType &element : sequence->elements)
    elements.push_back(widen(element));
  return ValueType::sequence(sequence->kind, std::move(elements));
}

/// Rounds results to the dtypes that inference says.
static llvm::Error narrow(BindContext &context, RuntimeValue &value, const ValueType &type) {
  if (const TensorType *tensor = type.getTensor(); tensor && value.isTensor() && isHalf(tensor->dtype)) {
    llvm::Expected<View> converted = castTo(context, value.view, tensor->dtype);
    if (!converted)
      return converted.takeError();
    value.view = *converted;
  }
  const ValueType::Sequence *sequence = type.getSequence();
  for (size_t i = 0; sequence && i < value.elements.size() && i < sequence->elements.size(); ++i)
    if (llvm::Error err = narrow(context, value.elements[i], sequence->elements[i]))
      return err;
  return llvm::Error::success();
}

llvm::Expected<RuntimeValue> PlanBuilder::bindWidened(const Node &node, const BoundCall &call, const ValueType &result,
                                                      llvm::function_ref<llvm::Expected<RuntimeValue>(BindContext &)> bind) {
  const ValueType wide = widen(result);
  BindContext context(*this, node, call, wide, /*widens=*/true);
  llvm::Expected<RuntimeValue> value = bind(context);
  if (value)
    if (llvm::Error err = narrow(context, *value, result))
      return err;
  return value;
}

llvm::Expected<RuntimeValue> PlanBuilder::bindCallNode(const Node &node, const ValueType &result) {
  if (std::optional<Argument> constant = result.getConstant())
    return RuntimeValue::ofHost(std::move(*constant));
  llvm::Expected<BoundCall> call = bindCall(node, model);
  if (!call)
    return call.takeError();
  bool isQuantized = false;
  const View *first = nullptr;
  auto look = [&](Node *operand) {
    const RuntimeValue *value = findValue(operand);
    const RuntimeValue *tensor = value;
    if (value && !value->isTensor() && !value->elements.empty())
      tensor = &value->elements[0];
    if (!tensor || !tensor->isTensor())
      return;
    isQuantized |= isQuantized || qfx::isQuantized(tensor->view.getDType());
    if (!first)
      first = &tensor->view;
  };
  for (const BoundSlot &slot : call->slots)
    slot.arg.forEachNode(look);
  if (!call->op->has(Traits::Observes))
    if (std::optional<RuntimeValue> empty = makeEmpty(*this, result))
      return std::move(*empty);
  BindContext plain(*this, node, *call, result);
  if (takesComplex(plain.attrs()))
    return bindComposed(plain);
  if (call->op->has(Traits::HostValue))
    return error(node.getLoc(), "the value of '{0}' ('{1}') is not known before the graph runs", node.getName(),
                 call->op->name);
  KernelForm form = isQuantized ? KernelForm::Quantized : KernelForm::Float;
  BindFunction bind = findKernel(call->op->kind, form);
  if (result.getDataNumber() && isNumberArithmetic(call->op->kind))
    bind = bindNumberArithmetic;
  if (!bind) {
    std::string got = first ? toString(first->type) : "no tensor";
    if (hasKernel(call->op->kind))
      return error(node.getLoc(), "'{0}' of node '{1}' takes {2} tensors, got {3}", call->op->name, node.getName(),
                   isQuantized ? "float" : "quantized", got);
    return error(node.getLoc(), "'{0}' of node '{1}' has no kernel to run with (operand: {2})", call->op->name,
                 node.getName(), got);
  }
  if (!call->op->has(Traits::Observes) && !call->op->has(Traits::ViewsData) && !call->op->has(Traits::Identity) &&
      !readsHalfItself(call->op->kind) && readsHalf(*call))
    return bindWidened(node, *call, result, bind);
  return bind(plain);
}

void PlanBuilder::keepAlive(const RuntimeValue &value) {
  if ((value.isTensor() || value.isNumber()) && !value.view.isConstant() && value.view.buffer->firstStep >= 0)
    value.view.buffer->lastStep = std::max(value.view.buffer->lastStep, static_cast<int>(plan->steps.size()));
  for (const RuntimeValue &element : value.elements)
    keepAlive(element);
}

void PlanBuilder::flatten(const std::string &name, const RuntimeValue &value, std::vector<NamedRuntimeValue> &into) {
  if (value.kind != RuntimeValue::Kind::Sequence && value.kind != RuntimeValue::Kind::Dict) {
    into.push_back({name, value.isNumber() ? RuntimeValue(value.view) : value}); // numbers leave as tensors of rank 0
    return;
  }
  for (size_t i = 0; i < value.elements.size(); ++i) {
    std::string part = value.keys.empty() ? std::to_string(i) : value.keys[i];
    flatten(name.empty() ? part : name + "." + part, value.elements[i], into);
  }
}

llvm::Error PlanBuilder::bindOutput(const Node &node) {
  if (node.getArgs().empty())
    return llvm::Error::success();
  RuntimeValue value = evaluate(node.getArg(0));
  bool isNest = value.kind == RuntimeValue::Kind::Sequence || value.kind == RuntimeValue::Kind::Dict;
  flatten(isNest ? "" : "out", value, plan->outputs);
  for (const NamedRuntimeValue &output : plan->outputs)
    if (output.value.kind == RuntimeValue::Kind::Unknown || output.value.kind == RuntimeValue::Kind::Packed)
      return error(node.getLoc(), "output '{0}' is {1}, which cannot leave the graph", output.name,
                   describe(output.value));
  return llvm::Error::success();
}

llvm::Error PlanBuilder::bindNode(const Node &node) {
  if (!isInline)
    current = &node;
  if (llvm::any_of(node.getInputs(), [&](const Node *input) { return planOnly.count(input); }))
    planOnly.insert(&node);
  auto constant = cache.constants.find(&node);
  if (constant != cache.constants.end()) {
    values[&node] = constant->second;
    return llvm::Error::success();
  }
  ValueType type = types.lookup(&node);
  llvm::Expected<RuntimeValue> value = RuntimeValue();
  if (node.is(Opcode::GetAttr))
    value = bindGetAttr(node);
  else if (absorbed.count(&node))
    value = values.lookup(node.getInputs()[0]);
  else
    value = bindCallNode(node, type);
  if (!value)
    return value.takeError();
  if (failure)
    return std::move(failure);
  setTypes(*value, type);
  if ((node.is(Opcode::CallFunction) || node.is(Opcode::CallMethod)) && value->isTensor() && value->isConstant() &&
      !planOnly.count(&node))
    cache.constants[&node] = *value;
  values[&node] = std::move(*value);
  return llvm::Error::success();
}

/// The type of a value that is known while binding.
static ValueType getValueType(const RuntimeValue &value) {
  switch (value.kind) {
  case RuntimeValue::Kind::Tensor:
    return value.view.type;
  case RuntimeValue::Kind::Number:
    return DataNumber{getDTypeInfo(value.view.getDType()).kind};
  case RuntimeValue::Kind::Host:
    return ValueType::host(value.host);
  case RuntimeValue::Kind::Sequence: {
    std::vector<ValueType> elements;
    for (const RuntimeValue &element : value.elements)
      elements.push_back(getValueType(element));
    return ValueType::sequence(Argument::Kind::Tuple, std::move(elements));
  }
  default:
    return ValueType();
  }
}

llvm::Expected<RuntimeValue> PlanBuilder::bindInline(const Graph &graph, llvm::ArrayRef<RuntimeValue> inputs) {
  const bool wasInline = std::exchange(isInline, true);
  auto leave = llvm::make_scope_exit([&] { isInline = wasInline; });
  auto lookup = [&](const Node *node) { return types.lookup(node); };
  size_t numInputs = 0;
  for (const Node &node : graph.nodes()) {
    if (node.is(Opcode::Placeholder)) {
      types[&node] = getValueType(inputs[numInputs]);
      values[&node] = inputs[numInputs++];
      planOnly.insert(&node);
      continue;
    }
    if (node.is(Opcode::Output))
      return evaluate(node.getArg(0));
    llvm::Expected<ValueType> type = inferNode(model, node, lookup);
    if (!type)
      return type.takeError();
    types[&node] = std::move(*type);
    if (llvm::Error err = bindNode(node))
      return err;
  }
  llvm_unreachable("a graph has an output");
}

void PlanBuilder::resolveInPlace() {
  for (const InPlaceHint &hint : hints) {
    BufferRef root = hint.src;
    while (root->inPlaceOf)
      root = root->inPlaceOf;
    if (root->lastStep != hint.step || root->sizeBytes != hint.dst->sizeBytes || hint.dst->firstStep != hint.step ||
        hint.dst == root)
      continue;
    hint.dst->inPlaceOf = root;
    root->lastStep = std::max(root->lastStep, hint.dst->lastStep);
  }
}

llvm::Expected<std::unique_ptr<Plan>> PlanBuilder::build(llvm::ArrayRef<TensorType> inputTypes) {
  plan = std::make_unique<Plan>();
  plan->inputTypes.assign(inputTypes.begin(), inputTypes.end());
  plan->keepsAll = options.keepAll;
  // Types first: binding one node may ask for its user's.
  auto lookup = [&](const Node *node) { return types.lookup(node); };
  size_t numInputs = 0;
  for (const Node &node : model.getGraph().nodes()) {
    if (node.is(Opcode::Output))
      continue;
    if (node.is(Opcode::Placeholder)) {
      types[&node] = inputTypes[numInputs++];
      continue;
    }
    llvm::Expected<ValueType> type = inferNode(model, node, lookup);
    if (!type)
      return type.takeError();
    if (const TensorType *tensor = type->getTensor())
      if (tensor->getRank() > kMaxRank)
        return error(node.getLoc(), "'{0}' is a tensor of rank {1}; at most {2} is supported", node.getName(),
                     tensor->getRank(), kMaxRank)
            .code("run_rank");
    types[&node] = std::move(*type);
  }
  isTyped = true;
  for (const Node &node : model.getGraph().nodes()) {
    if (node.is(Opcode::Placeholder)) {
      const TensorType &type = *types[&node].getTensor();
      llvm::SmallVector<int64_t, 4> sizes = type.getSizes();
      View input = allocate(type, getDenseStrides(sizes, getDefaultOrder(sizes.size())));
      input.buffer->firstStep = input.buffer->lastStep = 0; // written before the first step
      plan->buffers.push_back(input.buffer);
      plan->inputs.push_back(input);
      values[&node] = input;
      planOnly.insert(&node);
    } else if (node.is(Opcode::Output)) {
      if (llvm::Error err = bindOutput(node))
        return err;
    } else if (llvm::Error err = bindNode(node)) {
      return err;
    }
  }
  for (const NamedRuntimeValue &output : plan->outputs)
    keepAlive(output.value);
  if (options.keepAll)
    for (const Node &node : model.getGraph().nodes()) {
      auto name = originals.find(&node);
      if (name == originals.end() || node.is(Opcode::Output))
        continue;
      keepAlive(values[&node]);
      flatten(name->second, values[&node], plan->nodeValues);
    }
  resolveInPlace();
  plan->arenaBytes = planArena(plan->buffers);
  if (plan->arenaBytes > options.maxArenaBytes)
    return error(model.getGraph().getOutput() ? model.getGraph().getOutput()->getLoc() : Location(),
                 "the intermediate values need {0} bytes, more than the limit of {1}", plan->arenaBytes,
                 options.maxArenaBytes)
        .code("run_memory");
  return std::move(plan);
}

} // namespace qfx::runtime
