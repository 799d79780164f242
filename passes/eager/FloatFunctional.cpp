// FloatFunctional's operations in the graph become those of QFunctional.
#include "backends/observe/Observer.h"
#include "ir/Diagnostics.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/eager/EagerDetail.h"
#include "passes/eager/ObserverHooks.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

bool isFloatFunctional(const Module &module) {
  llvm::StringRef name = module.getClassName();
  return name == "torch.ao.nn.quantized.FloatFunctional" || name == "torch.ao.nn.quantized.QFunctional";
}

namespace {
/// Rewrites the operations of one FloatFunctional.
class FunctionalRewriter {
public:
  FunctionalRewriter(GraphModule &model, const ModuleRef &functional, double scale, int64_t zeroPoint)
      : model(model), graph(model.getGraph()), functional(functional), scale(scale), zeroPoint(zeroPoint) {}

  llvm::Error run() {
    markByObserver();
    std::vector<Node *> operations; // rewriting one erases it, and the relu behind an addition
    for (Node &node : graph.nodes())
      if (isMarked(node) && node.is(Opcode::CallFunction) && !isReluOfAdd(node))
        operations.push_back(&node);
    for (Node *operation : operations)
      if (llvm::Error err = rewrite(*operation))
        return err;
    return llvm::Error::success();
  }

private:
  /// A graph whose writer did not mark the operations shows them by what the observer watches.
  void markByObserver() {
    for (Node &call : graph.nodes()) {
      if (!call.is(Opcode::CallModule) || model.getModule(call) != functional->findChild(kActivationPostProcess) || call.getArgs().empty())
        continue;
      Argument path(splitPath(call.getTargetText()).first);
      Node *result = call.getArg(0).getNodeOrNull();
      if (!result || !result->is(Opcode::CallFunction) || isMarked(*result))
        continue;
      result->setMeta(kFunctionalMeta, path);
      if (Node *sum = result->getTarget()->op == OpKind::Relu ? result->getArg(0).getNodeOrNull() : nullptr)
        if (sum->is(Opcode::CallFunction) && sum->getTarget()->op == OpKind::Add && sum->hasOneUser())
          sum->setMeta(kFunctionalMeta, path);
    }
  }

  bool isMarked(const Node &node) const {
    const Argument *path = node.findMeta(kFunctionalMeta);
    return path && path->isString() && model.getRoot().findModule(path->getString()) == functional;
  }

  /// The second function of add_relu goes with the addition.
  bool isReluOfAdd(const Node &node) const {
    Node *input = node.getTarget()->op == OpKind::Relu && !node.getArgs().empty() ? node.getArg(0).getNodeOrNull() : nullptr;
    return input && isMarked(*input);
  }

  Kwargs getOutput() const { return {{"scale", Argument(scale)}, {"zero_point", Argument(zeroPoint)}}; }

  /// `op(x, y)` or `op(x, 2.0)`: torch.ops.quantized.add or add_scalar.
  void replace(Node &node, Node &result, llvm::StringRef quantized, std::vector<Argument> args, Kwargs kwargs) {
    auto insertPoint = Graph::InsertPoint::before(&node);
    Node *call = graph.callFunction(requireFunction(("torch.ops.quantized." + quantized).str()), std::move(args), std::move(kwargs));
    call->setLoc(node.getLoc());
    call->setScope(node.getScope());
    call->setMeta(kFunctionalMeta, *node.findMeta(kFunctionalMeta));
    result.replaceAllUsesWith(call);
    if (&result != &node)
      graph.erase(&result);
    graph.erase(&node);
  }

  llvm::Error rewrite(Node &node) {
    OpKind op = node.getTarget()->op;
    llvm::StringRef name = op == OpKind::Add ? "add" : op == OpKind::Mul ? "mul" : op == OpKind::Cat ? "cat" : op == OpKind::Matmul ? "matmul" : "";
    if (name.empty() || node.getArgs().empty())
      return error(node.getLoc(), "'{0}' is marked as an operation of a FloatFunctional, but QFunctional has no '{1}'", node.getName(),
                   node.getTargetText())
          .code("eager_functional");
    if (op == OpKind::Cat) {
      Kwargs kwargs = getOutput();
      const Argument *dim = node.getArgs().size() > 1 ? &node.getArg(1) : node.getKwarg("dim");
      kwargs.emplace_back("dim", dim ? *dim : Argument(0));
      replace(node, node, name, {node.getArg(0)}, std::move(kwargs));
      return llvm::Error::success();
    }
    if (node.getArgs().size() != 2)
      return error(node.getLoc(), "'{0}' is an operation of a FloatFunctional and takes two operands by position, got {1}", node.getName(),
                   node.getArgs().size())
          .code("eager_functional");
    bool isScalar = !node.getArg(1).getNodeOrNull();
    if (isScalar) {
      replace(node, node, (name + "_scalar").str(), node.getArgs().vec(), {});
      return llvm::Error::success();
    }
    Node *relu = node.hasOneUser() && isMarked(*node.getUsers().front()) ? node.getUsers().front() : nullptr;
    if (relu && relu->is(Opcode::CallFunction) && isReluOfAdd(*relu))
      replace(node, *relu, (name + "_relu").str(), node.getArgs().vec(), getOutput());
    else
      replace(node, node, name, node.getArgs().vec(), getOutput());
    return llvm::Error::success();
  }

  GraphModule &model;
  Graph &graph;
  const ModuleRef &functional;
  double scale;
  int64_t zeroPoint;
};
} // namespace

llvm::Expected<ModuleRef> convertFloatFunctional(GraphModule &model, const std::string &path, const ModuleRef &functional) {
  ModuleRef observer = ObserverHooks::getObserver(*functional);
  if (!observer)
    return error(functional->getLoc(), "FloatFunctional '{0}' has no observer: prepare comes first", path).code("eager_swap");
  auto qparams = calculateQParams(*observer);
  if (!qparams)
    return qparams.takeError();
  if (qparams->scales.size() != 1 || qparams->zeroPoints.size() != 1 || !std::isfinite(qparams->scales.front()))
    return error(functional->getLoc(), "the observer of FloatFunctional '{0}' yields no finite scale per tensor", path).code("convert_scale");
  FunctionalRewriter rewriter(model, functional, qparams->scales.front(), qparams->zeroPoints.front());
  if (llvm::Error err = rewriter.run())
    return err;
  auto made = std::make_shared<Module>("torch.ao.nn.quantized.QFunctional");
  made->setTraining(functional->isTraining());
  made->setLoc(functional->getLoc());
  made->setBuffer("scale", Tensor::of<float>(DType::Float32, {}, qparams->scales));
  made->setBuffer("zero_point", Tensor::of<int64_t>(DType::Int64, {}, qparams->zeroPoints));
  auto identity = std::make_shared<Module>(requireModuleClass("torch.nn.Identity"));
  identity->setTraining(functional->isTraining());
  made->setChild(kActivationPostProcess, identity);
  return made;
}

} // namespace qfx
