// Observer modules: the value passes through; while calibrating, the module looks at it.
#include "backends/observe/Observer.h"

#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "ir/Module.h"

namespace qfx::runtime {

llvm::Expected<RuntimeValue> bindObserve(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  ModuleRef observer = context.getBuilder().getModel().getModule(context.getNode());
  assert(observer && "observers are called as modules");
  if (!context.observes() || input->getNumElements() == 0)
    return RuntimeValue(*input);
  if (input->getDType() != DType::Float32)
    return context.fail("observes float32, got {0}", toString(input->type));
  View dense = context.toDense(*input);
  StepTraits traits;
  traits.hasEffects = true;
  context.emit(
      {&dense}, {},
      [dense, observer](RunContext &run) {
        ObservedTensor tensor{dense.getData<float>(), dense.sizes, dense.strides};
        if (llvm::Error err = observe(*observer, tensor))
          run.fail(std::move(err));
      },
      traits);
  return RuntimeValue(*input);
}

} // namespace qfx::runtime
