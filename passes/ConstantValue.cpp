// A program over the producers of one node.
#include "passes/ConstantValue.h"

#include "backends/runtime/Program.h"
#include "ir/Diagnostics.h"
#include "passes/GraphUtils.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx {

static llvm::Error refuse(const Node &node) {
  return error(node.getLoc(), "'{0}' is no tensor that the model's parameters and buffers alone decide", node.getName()).code("constant_value");
}

llvm::Expected<Tensor> evaluateConstant(const GraphModule &model, Node &node, const PassContext &context, bool observe) {
  if (node.is(Opcode::GetAttr)) {
    if (const Tensor *tensor = model.getRoot().findTensorAt(node.getTargetText()))
      return *tensor;
    return refuse(node);
  }
  std::vector<Node *> producers = collectProducers(&node);
  if (producers.empty())
    return refuse(node);
  auto graph = std::make_unique<Graph>();
  llvm::DenseMap<const Node *, Node *> copies;
  for (Node *producer : producers)
    copies[producer] = graph->copyNode(*producer, [&](Node *operand) -> Argument { return copies.lookup(operand); });
  graph->output(copies.lookup(&node));
  GraphModule alone(model.getRoot().shallowCopy(), std::move(graph));
  ProgramOptions options;
  options.engine = context.engine;
  options.threads = static_cast<int>(context.numThreads);
  options.observe = observe;
  auto program = Program::compile(alone, options);
  if (!program)
    return program.takeError();
  auto results = (*program)->run(llvm::ArrayRef<Tensor>());
  if (!results)
    return results.takeError();
  if (results->size() != 1 || !results->front().value.isTensor())
    return refuse(node);
  return results->front().value.tensor;
}

} // namespace qfx
