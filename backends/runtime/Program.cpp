// Compiling and running: plans per input types, one arena, outputs as fresh tensors.
#include "backends/runtime/Program.h"

#include "backends/observe/ObserverState.h"
#include "backends/runtime/BindContext.h"
#include "backends/runtime/CopyStep.h"
#include "backends/runtime/Expand.h"
#include "backends/runtime/MemoryPlan.h"
#include "backends/runtime/PlanBuilder.h"
#include "backends/runtime/StandIns.h"
#include "backends/runtime/WriteBack.h"
#include "ir/Diagnostics.h"
#include "ir/Infer.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <numeric>
#include <set>
#include <unistd.h>

namespace qfx {

using namespace runtime;

namespace runtime {
struct FreeDeleter {
  void operator()(std::byte *bytes) const { std::free(bytes); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeDeleter>;
} // namespace runtime

namespace {

/// Null if there is not enough memory.  The bytes are not touched.
AlignedBytes allocateAligned(int64_t sizeBytes) {
  int64_t rounded = (sizeBytes + kReadSlack + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  return AlignedBytes(static_cast<std::byte *>(std::aligned_alloc(kArenaAlignment, static_cast<size_t>(rounded))));
}

int64_t getPhysicalMemory() {
  long pages = sysconf(_SC_PHYS_PAGES), pageSize = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && pageSize > 0 ? static_cast<int64_t>(pages) * pageSize : int64_t(16) << 30;
}

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace

struct Program::Impl {
  ExpandedModel expanded;
  ProgramOptions options;
  ProgramCache cache;
  ThreadPool pool;
  std::vector<const Node *> placeholders;
  std::vector<std::string> inputNames;
  std::list<std::unique_ptr<Plan>> plans; ///< most recently used first
  AlignedBytes arena, scratch;
  int64_t arenaBytes = 0, scratchBytes = 0;
  bool profiling = false;
  llvm::DenseMap<const Node *, NodeTime> times;

  Impl(ExpandedModel model, const ProgramOptions &options)
      : expanded(std::move(model)), options(options), pool(options.threads) {
    for (const Node &node : expanded.model.getGraph().nodes())
      if (node.is(Opcode::Placeholder)) {
        placeholders.push_back(&node);
        inputNames.push_back(node.getTargetText().str());
      }
  }

  int64_t getMemoryLimit() const { return options.maxArenaBytes ? options.maxArenaBytes : getPhysicalMemory(); }
  llvm::Error checkKernels() const;
  BuildOptions getBuildOptions(bool keepAll) const;
  llvm::Error planDeclared();
  llvm::Error tryOpenSizes();
  llvm::Error checkInputs(llvm::ArrayRef<Tensor> inputs) const;
  llvm::Expected<Plan *> getPlan(llvm::ArrayRef<TensorType> types, bool keepAll);
  llvm::Error execute(Plan &plan, llvm::ArrayRef<Tensor> inputs);
  llvm::Expected<Plan *> start(llvm::ArrayRef<Tensor> inputs, bool keepAll);
  llvm::Expected<std::vector<Tensor>> sortInputs(const NamedTensors &inputs) const;
};

/// Codes of less than a byte stand in the weights of embeddings only (operators 2.1).
static llvm::Error checkWholeBytes(const Node &node, const TensorType &type) {
  if (getDTypeInfo(type.dtype).bits >= 8)
    return llvm::Error::success();
  return error(node.getLoc(), "node '{0}' computes with {1}: codes of less than a byte are taken as embedding weights only",
               node.getName(), toString(type))
      .code("run_kernel");
}

/// An operator on codes needs a kernel on codes, one on floats a kernel on floats, as far as types are known.
static llvm::Error checkForm(const Node &node, const TargetInfo &target, const TypeMap &types) {
  const ValueType result = types.lookup(&node);
  const ValueType::Sequence *results = result.getSequence();
  const TensorType *tensorResult = results && !results->elements.empty() ? results->elements[0].getTensor() : result.getTensor();
  if (target.getOp().has(Traits::HostValue) || !tensorResult || result.getConstant() ||
      llvm::is_contained(tensorResult->shape, Dim(0)))
    return llvm::Error::success();
  std::optional<TensorType> first, quantized;
  for (const Node *operand : node.getInputs()) {
    ValueType type = types.lookup(operand);
    if (const ValueType::Sequence *sequence = type.getSequence(); sequence && !sequence->elements.empty())
      type = ValueType(sequence->elements[0]);
    const TensorType *tensor = type.getTensor();
    if (!tensor)
      continue;
    if (!target.getOp().has(Traits::Weighted))
      if (llvm::Error err = checkWholeBytes(node, *tensor))
        return err;
    if (!first)
      first = *tensor;
    if (!quantized && isQuantized(tensor->dtype))
      quantized = *tensor;
  }
  KernelForm form = quantized ? KernelForm::Quantized : KernelForm::Float;
  if (!first || findKernel(target.op, form))
    return llvm::Error::success();
  return error(node.getLoc(), "'{0}' of node '{1}' takes {2} tensors, got {3}", target.getOp().name, node.getName(),
               quantized ? "float" : "quantized", toString(quantized ? *quantized : *first))
      .code("run_kernel");
}

/// Every called operator must have some kernel, unless it computes host values: found out before the first run.
llvm::Error Program::Impl::checkKernels() const {
  llvm::Expected<TypeMap> types = inferTypes(expanded.model);
  if (!types)
    return types.takeError();
  ErrorList errors;
  for (const Node &node : expanded.model.getGraph().nodes()) {
    if (node.is(Opcode::Placeholder) && node.getType())
      if (llvm::Error err = checkWholeBytes(node, *node.getType()))
        errors.add(std::move(err));
    const TargetInfo *target = node.getTarget();
    if (node.is(Opcode::CallModule))
      target = expanded.model.getModule(node)->getClass();
    if (node.is(Opcode::CallModule) && !target)
      errors.add(error(node.getLoc(), "module '{0}' of class '{1}' cannot be called: the class is not in the table",
                       node.getTargetText(), expanded.model.getModule(node)->getClassName())
                     .code("module_class"));
    ValueType type = types->lookup(&node);
    if (target && hasKernel(target->op))
      if (llvm::Error err = checkForm(node, *target, *types))
        errors.add(std::move(err));
    if (!target || hasKernel(target->op) || target->getOp().has(Traits::HostValue) || type.getDim() || type.getHost() ||
        type.getConstant())
      continue;
    errors.add(error(node.getLoc(), "operator '{0}' ('{1}' at node '{2}') has no kernel to run with",
                     target->getOp().name, target->text, node.getName())
                   .code("run_kernel"));
  }
  return errors.take();
}

/// Makes the plan for the declared types with batch 1, if nothing but the batch is left open.  Open quantization parameters get a
/// stand-in: what no kernel takes (a weight that is an input) is refused now, the plan itself is dropped.
llvm::Error Program::Impl::planDeclared() {
  std::optional<StandInTypes> declared = makeStandInTypes(placeholders, StandIn());
  if (!declared)
    return llvm::Error::success();
  if (declared->hasOpenSizes)
    return tryOpenSizes();
  llvm::Expected<Plan *> plan = getPlan(declared->types, /*keepAll=*/false);
  if (!plan)
    return plan.takeError();
  if (declared->hasOpenParameters)
    plans.pop_front();
  return llvm::Error::success();
}

/// Sizes are open: plans are tried with stand-ins until one can be made, and dropped.  A refusal counts only if types could be
/// inferred (else the sizes do not fit each other) and all other stand-ins that fit are refused alike: its cause is no size then.
llvm::Error Program::Impl::tryOpenSizes() {
  std::vector<Diagnostic> refusal;
  std::set<int64_t> refused;
  std::vector<StandIn> standIns = getStandIns().vec();
  for (size_t i = 0; i < standIns.size(); ++i) {
    PlanBuilder builder(expanded.model, expanded.originals, cache, pool, getBuildOptions(/*keepAll=*/false));
    llvm::Expected<std::unique_ptr<Plan>> plan = builder.build(makeStandInTypes(placeholders, standIns[i])->types);
    if (plan)
      return llvm::Error::success();
    std::vector<Diagnostic> found = takeDiagnostics(plan.takeError());
    if (i + 1 == getStandIns().size())
      llvm::append_range(standIns, getOwnStandIns(expanded.model));
    if (!builder.hasTypes() || mayHangOnSizes(found))
      continue;
    if (refused.empty())
      refusal = std::move(found);
    else if (!isSameRefusal(refusal, found))
      return llvm::Error::success();
    refused.insert(standIns[i].size);
  }
  if (refused.size() < 2)
    return llvm::Error::success();
  Diagnostic note;
  note.severity = Severity::Note;
  note.message = "sizes that the model leaves open have stand-ins here; others are refused as well";
  refusal.front().notes.push_back(std::move(note));
  return llvm::make_error<InputError>(std::move(refusal));
}

/// An input with a default that nobody reads, as tracing leaves `mask=None`.
static bool mayBeMissing(const Node &placeholder) { return !placeholder.getArgs().empty() && placeholder.getUsers().empty(); }

llvm::Error Program::Impl::checkInputs(llvm::ArrayRef<Tensor> inputs) const {
  if (inputs.size() != placeholders.size())
    return error(Location(), "the model takes {0} inputs, got {1}", placeholders.size(), inputs.size())
        .code("run_input");
  std::map<std::string, std::pair<int64_t, std::string>> symbols; // value, and the input that set it
  for (auto [node, tensor] : llvm::zip(placeholders, inputs)) {
    if (!tensor && mayBeMissing(*node))
      continue;
    if (!tensor)
      return error(node->getLoc(), "input '{0}' is missing", node->getTargetText()).code("run_input");
    if (!tensor.isDense())
      return error(node->getLoc(), "input '{0}' must be dense", node->getTargetText()).code("run_input");
    const std::optional<TensorType> &declared = node->getType();
    if (!declared)
      continue;
    TensorType type = tensor.getType();
    auto mismatch = [&, node = node](const std::string &what) -> llvm::Error {
      return error(node->getLoc(), "input '{0}' has type {1}, but the model declares {2}: {3}", node->getTargetText(),
                   toString(type), toString(*declared), what)
          .code("run_input");
    };
    if (type.dtype != declared->dtype)
      return mismatch("another dtype");
    if (type.getRank() != declared->getRank())
      return mismatch("another rank");
    for (size_t i = 0; i < declared->shape.size(); ++i) {
      const Dim &dim = declared->shape[i];
      int64_t size = tensor.getSizes()[i];
      if (dim.isUnknown() || (i == 0 && dim.isStatic()))
        continue; // any batch size runs
      if (dim.isStatic()) {
        if (dim.getValue() != size)
          return mismatch(llvm::formatv("dimension {0} must be {1}", i, dim.getValue()).str());
        continue;
      }
      if (dim.getFactor() == 0 || size % dim.getFactor() != 0)
        return mismatch(llvm::formatv("dimension {0} must be a multiple of {1}", i, dim.getFactor()).str());
      int64_t value = size / dim.getFactor();
      auto [it, isNew] = symbols.try_emplace(dim.getSymbol(), value, node->getTargetText().str());
      if (!isNew && it->second.first != value)
        return mismatch(llvm::formatv("{0} is {1} here and {2} in input '{3}'", dim.getSymbol(), value,
                                      it->second.first, it->second.second)
                            .str());
    }
  }
  return llvm::Error::success();
}

BuildOptions Program::Impl::getBuildOptions(bool keepAll) const {
  BuildOptions build;
  build.threads = options.threads;
  build.observe = options.observe;
  build.keepAll = keepAll;
  build.stageQ = options.engine == "qnnpack";
  build.maxArenaBytes = getMemoryLimit();
  return build;
}

llvm::Expected<Plan *> Program::Impl::getPlan(llvm::ArrayRef<TensorType> types, bool keepAll) {
  for (auto it = plans.begin(); it != plans.end(); ++it)
    if ((*it)->keepsAll == keepAll && llvm::ArrayRef<TensorType>((*it)->inputTypes) == types) {
      plans.splice(plans.begin(), plans, it);
      return plans.front().get();
    }
  for (auto [node, type] : llvm::zip(placeholders, types))
    if (llvm::Error err = checkWholeBytes(*node, type))
      return err;
  PlanBuilder builder(expanded.model, expanded.originals, cache, pool, getBuildOptions(keepAll));
  llvm::Expected<std::unique_ptr<Plan>> plan = builder.build(types);
  if (!plan)
    return plan.takeError();
  plans.push_front(std::move(*plan));
  if (plans.size() > options.maxPlans)
    plans.pop_back();
  return plans.front().get();
}

llvm::Expected<Plan *> Program::Impl::start(llvm::ArrayRef<Tensor> inputs, bool keepAll) {
  if (llvm::Error err = checkInputs(inputs))
    return err;
  std::vector<Tensor> present(inputs.begin(), inputs.end());
  for (Tensor &input : present)
    if (!input) // nobody reads it
      input = Tensor::of<float>(DType::Float32, {0}, {});
  inputs = present;
  std::vector<TensorType> types;
  for (auto [node, input] : llvm::zip(placeholders, inputs)) {
    types.push_back(input.getType());
    if (node->getType()) // the elements stand row-major, but the declared format decides how some operators round
      types.back().format = node->getType()->format;
  }
  llvm::Expected<Plan *> plan = getPlan(types, keepAll);
  if (!plan)
    return plan.takeError();
  if (llvm::Error err = execute(**plan, inputs))
    return err;
  return *plan;
}

llvm::Error Program::Impl::execute(Plan &plan, llvm::ArrayRef<Tensor> inputs) {
  if (!arena || plan.arenaBytes > arenaBytes) {
    arena.reset();
    for (const std::unique_ptr<Plan> &other : plans)
      other->attachedTo = nullptr;
    arena = allocateAligned(plan.arenaBytes);
    arenaBytes = plan.arenaBytes;
  }
  if (!scratch || plan.scratchBytes > scratchBytes) {
    scratch.reset();
    scratch = allocateAligned(plan.scratchBytes * pool.size());
    scratchBytes = plan.scratchBytes;
  }
  if (!arena || !scratch) {
    arena.reset();
    scratch.reset();
    return error(Location(), "not enough memory for {0} bytes of intermediate values", plan.arenaBytes)
        .code("run_memory");
  }
  plan.attach(arena.get());
  RunContext context(pool, scratch.get(), scratchBytes);
  for (auto [view, tensor] : llvm::zip(plan.inputs, inputs))
    copyElements(view.sizes, view.getElemBytes(), tensor.getBytes(), tensor.getStrides(), view.getBytes(),
                 view.strides);
  for (const Step &step : plan.steps) {
    int64_t begin = profiling ? now() : 0;
    step.run(context);
    if (profiling) {
      NodeTime &time = times[step.node];
      time.timeNs += now() - begin;
      ++time.runs;
    }
    if (llvm::Error err = context.takeFailure())
      return err;
  }
  return llvm::Error::success();
}

/// A fresh dense tensor with the view's elements.
static Tensor readView(const View &view) {
  return Tensor::build(
      view.getDType(), view.sizes,
      [&](MutableBytes bytes) {
        copyElements(view.sizes, view.getElemBytes(), view.getBytes(), view.strides, bytes.data(),
                     getContiguousStrides(view.sizes));
      },
      view.type.quantizer);
}

/// Copies of the values; those that repeat elements (expand) may be far larger than the arena they stand in.
static llvm::Expected<std::vector<NamedValue>> readValues(llvm::ArrayRef<NamedRuntimeValue> values, int64_t maxBytes) {
  double bytes = 0;
  for (const NamedRuntimeValue &value : values)
    if (value.value.isTensor())
      bytes += std::accumulate(value.value.view.sizes.begin(), value.value.view.sizes.end(),
                               static_cast<double>(value.value.view.getElemBytes()), std::multiplies<>());
  if (bytes > static_cast<double>(maxBytes))
    return error(Location(), "the results need {0:f0} bytes, more than the limit of {1}", bytes, maxBytes)
        .code("run_memory");
  std::vector<NamedValue> result;
  for (const NamedRuntimeValue &value : values) {
    if (value.value.isTensor())
      result.push_back({value.name, {readView(value.value.view), Argument()}});
    else if (value.value.kind == RuntimeValue::Kind::Host)
      result.push_back({value.name, {Tensor(), value.value.host}});
  }
  return result;
}

llvm::Expected<std::vector<Tensor>> Program::Impl::sortInputs(const NamedTensors &inputs) const {
  std::vector<Tensor> sorted(inputNames.size());
  for (const auto &[name, tensor] : inputs) {
    auto it = llvm::find(inputNames, name);
    if (it == inputNames.end())
      return error(Location(), "the model has no input '{0}'{1}", name, didYouMean(name, inputNames)).code("run_input");
    sorted[static_cast<size_t>(it - inputNames.begin())] = tensor;
  }
  return sorted;
}

Program::Program(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Program::~Program() = default;

llvm::Expected<std::unique_ptr<Program>> Program::compile(const GraphModule &model, const ProgramOptions &options) {
  assert(options.threads >= 1 && options.maxPlans >= 1 && "options out of range");
  if (llvm::Error err = checkObserverStates(model.getRoot()))
    return err;
  llvm::Expected<ExpandedModel> expanded = expandComposites(model);
  if (!expanded)
    return expanded.takeError();
  if (llvm::Error err = writeBack(expanded->model))
    return err;
  auto impl = std::make_unique<Impl>(std::move(*expanded), options);
  if (const Argument *engine = model.findMeta("engine"); options.engine.empty() && engine && engine->isString())
    impl->options.engine = engine->getString();
  if (llvm::Error err = impl->checkKernels())
    return err;
  if (llvm::Error err = impl->planDeclared())
    return err;
  return std::unique_ptr<Program>(new Program(std::move(impl)));
}

const std::vector<std::string> &Program::getInputNames() const { return impl->inputNames; }

llvm::Expected<std::vector<NamedValue>> Program::run(llvm::ArrayRef<Tensor> inputs) {
  llvm::Expected<Plan *> plan = impl->start(inputs, /*keepAll=*/false);
  if (!plan)
    return plan.takeError();
  return readValues((*plan)->outputs, impl->getMemoryLimit());
}

llvm::Expected<std::vector<NamedValue>> Program::run(const NamedTensors &inputs) {
  llvm::Expected<std::vector<Tensor>> sorted = impl->sortInputs(inputs);
  if (!sorted)
    return sorted.takeError();
  return run(llvm::ArrayRef<Tensor>(*sorted));
}

llvm::Expected<std::vector<NamedValue>> Program::runAndKeep(const NamedTensors &inputs) {
  llvm::Expected<std::vector<Tensor>> sorted = impl->sortInputs(inputs);
  if (!sorted)
    return sorted.takeError();
  llvm::Expected<Plan *> plan = impl->start(*sorted, /*keepAll=*/true);
  if (!plan)
    return plan.takeError();
  return readValues((*plan)->nodeValues, impl->getMemoryLimit());
}

void Program::setProfiling(bool on) {
  impl->profiling = on;
  if (on)
    impl->times.clear();
}

std::vector<NodeTime> Program::getProfile() const {
  std::vector<NodeTime> profile;
  for (const Node &node : impl->expanded.model.getGraph().nodes()) {
    auto it = impl->times.find(&node);
    if (it == impl->times.end())
      continue;
    NodeTime time = it->second;
    time.name = node.getName();
    const TargetInfo *target =
        node.is(Opcode::CallModule) ? impl->expanded.model.getModule(node)->getClass() : node.getTarget();
    time.op = target ? target->getOp().name.str() : getOpcodeName(node.getOpcode()).str();
    profile.push_back(std::move(time));
  }
  return profile;
}

int64_t Program::getArenaBytes() const { return impl->arenaBytes; }
int64_t Program::getPackedBytes() const { return impl->cache.packedBytes; }
int Program::getThreads() const { return impl->pool.size(); }

} // namespace qfx
