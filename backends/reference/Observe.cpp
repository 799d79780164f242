// Observer modules: the value passes through; while calibrating, the module looks at it.  Fake-quantizers move it onto their grid.
#include "backends/observe/AffineObserver.h"
#include "backends/observe/FakeQuantize.h"
#include "backends/observe/LooksAtValues.h"
#include "backends/observe/Observer.h"
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx::runtime {

namespace {
/// What the steps of an observer's call need.
struct ObserverCall {
  ModuleRef observer;
  const Node *node;

  /// Says which value was looked at.
  llvm::Error describe(llvm::Error err) const {
    std::vector<Diagnostic> diagnostics = takeDiagnostics(std::move(err));
    const Node *observed = node->getArgs().empty() ? nullptr : node->getArg(0).getNodeOrNull();
    for (Diagnostic &diagnostic : diagnostics)
      diagnostic.message += llvm::formatv(", observing '{0}' with '{1}'", observed ? observed->getName() : "", node->getTargetText()).str();
    return llvm::make_error<InputError>(std::move(diagnostics));
  }
};
} // namespace

static ObservedTensor toObserved(const View &view) { return {view.getData<float>(), view.sizes, view.strides}; }

static RuntimeValue bindPlainObserver(BindContext &context, const View &input, ObserverCall call) {
  View dense = context.toDense(input);
  StepTraits traits;
  traits.hasEffects = true;
  context.emit(
      {&dense}, {},
      [dense, call = std::move(call)](RunContext &run) {
        if (llvm::Error err = observe(*call.observer, toObserved(dense)))
          run.fail(call.describe(std::move(err)));
      },
      traits);
  return RuntimeValue(input);
}

/// The affine family looks at halves too, and remembers that they were.
static llvm::Expected<RuntimeValue> bindAffineObserver(BindContext &context, const View &input, ObserverCall call) {
  llvm::Expected<View> widened = castTo(context, input, DType::Float32);
  if (!widened)
    return widened.takeError();
  View dense = context.toDense(*widened);
  StepTraits traits;
  traits.hasEffects = true;
  context.emit(
      {&dense}, {},
      [dense, dtype = input.getDType(), call = std::move(call)](RunContext &run) {
        setOriginalDType(*call.observer, dtype);
        if (llvm::Error err = observe(*call.observer, toObserved(dense)))
          run.fail(call.describe(std::move(err)));
      },
      traits);
  return RuntimeValue(input);
}

static RuntimeValue bindFakeQuantizer(BindContext &context, const View &input, ObserverCall call) {
  View src = context.toDense(input);
  View dst = context.allocate(src.type, src.strides);
  StepTraits traits;
  traits.hasEffects = true; // parameters may change between runs
  const bool mayObserve = context.observes();
  context.emit(
      {&src}, {&dst},
      [src, dst, mayObserve, call = std::move(call)](RunContext &run) {
        if (llvm::Error err = forwardFakeQuantize(*call.observer, toObserved(src), dst.getData<float>(), nullptr, mayObserve))
          run.fail(call.describe(std::move(err)));
      },
      traits);
  return RuntimeValue(dst);
}

llvm::Expected<RuntimeValue> bindObserve(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  ModuleRef observer = context.getBuilder().getModel().getModule(context.getNode());
  assert(observer && "observers are called as modules");
  const bool fakes = isFakeQuantize(*observer);
  if ((!fakes && !(context.observes() && looksAtValues(*observer))) || input->getNumElements() == 0)
    return RuntimeValue(*input);
  const bool isAffine = isAffineObserver(*observer) && isAffineValue(input->getDType());
  ObserverCall call{std::move(observer), &context.getNode()};
  if (isAffine)
    return bindAffineObserver(context, *input, std::move(call));
  if (input->getDType() != DType::Float32) // quantize would refuse it later (numerics 1.3)
    return call.describe(context.fail("observers look at float32, as quantize does; got {0}", toString(input->type)));
  return fakes ? bindFakeQuantizer(context, *input, std::move(call)) : bindPlainObserver(context, *input, std::move(call));
}

} // namespace qfx::runtime
