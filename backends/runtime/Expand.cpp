// Copying a graph while unfolding composite modules.
#include "backends/runtime/Expand.h"

#include "backends/runtime/InlineGraphs.h"
#include "ir/Diagnostics.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"

namespace qfx::runtime {

namespace {

class Expander {
public:
  Expander(const GraphModule &source) : source(source) {}

  llvm::Expected<ExpandedModel> run() {
    ExpandedModel result;
    result.model = GraphModule(source.getRoot().shallowCopy(), std::make_unique<Graph>());
    for (const auto &[key, value] : source.getMeta()) // options of operators stand there
      if (key == "dynamic")
        result.model.setMeta(key, value);
    Graph &graph = result.model.getGraph();
    // Copies come first so that every node keeps its name.
    for (const Node &node : source.getGraph().nodes()) {
      Node *copy = graph.copyNode(node, [&](Node *operand) { return Argument(clones.lookup(operand)); });
      clones[&node] = copy;
      result.originals[copy] = node.getName();
    }
    inlineModuleGraphs(result.model, [&](const Node &call, Node &value) {
      auto it = result.originals.find(&call);
      if (it == result.originals.end())
        return;
      std::string name = it->second;
      result.originals.erase(it);
      result.originals.try_emplace(&value, std::move(name));
    });
    for (Node *node : graph.getNodeVector()) {
      if (node->is(Opcode::CallFunction) && node->getTarget() && node->getTarget()->op == OpKind::GetAttribute) {
        expandTransposed(graph, *node, result);
        continue;
      }
      if (!node->is(Opcode::CallModule))
        continue;
      ModuleRef module = source.getModule(*node);
      if (!module)
        return error(node->getLoc(), "'{0}' calls module '{1}', which the model does not have", node->getName(),
                     node->getTargetText())
            .code("node_target");
      if (module->getClass() && endsInRelu(module->getClass()->op))
        appendRelu(graph, *node, result);
      if (!isComposite(*module))
        continue;
      size_t numInputs = module->getClass()->op == OpKind::ConvAdd ? 2 : 1;
      if (node->getArgs().size() != numInputs || !node->getKwargs().empty())
        return error(node->getLoc(), "'{0}' ({1}) takes {2} inputs by position, got {3}", node->getName(),
                     module->getClassName(), numInputs, node->getArgs().size() + node->getKwargs().size())
            .code("node_arity");
      Graph::InsertPoint guard = Graph::InsertPoint::before(node);
      Argument value = node->getArg(0);
      if (numInputs == 2) {
        if (llvm::Error err = expandConvAdd(graph, *module, *node, value))
          return err;
      } else {
        expand(graph, *module, node->getTargetText().str(), node->getLoc(), value);
      }
      Node *last = value.getNodeOrNull();
      if (!last)
        return error(node->getLoc(), "the input of '{0}' is no tensor", node->getName()).code("node_arity");
      result.originals.erase(node);
      if (last != node->getArg(0).getNodeOrNull())
        result.originals[last] = node->getName();
      node->replaceAllUsesWith(last);
      graph.erase(node);
    }
    return result;
  }

private:
  static bool isComposite(const Module &module) {
    return module.getClass() && (module.getClass()->op == OpKind::Sequence || module.getClass()->op == OpKind::ConvAdd);
  }

  /// getattr(x, "T"), "H", "mT" and "mH", as methods that have kernels: tensors are real.
  static void expandTransposed(Graph &graph, Node &node, ExpandedModel &result) {
    if (node.getArgs().size() != 2 || !node.getArg(0).isNode() || !node.getArg(1).isString())
      return;
    const std::string name = node.getArg(1).getString();
    const bool isMatrix = name == "T" || name == "H";
    if (!isMatrix && name != "mT" && name != "mH")
      return;
    Graph::InsertPoint guard = Graph::InsertPoint::before(&node);
    Node *value = isMatrix ? graph.callMethod(requireMethod("t"), {node.getArg(0)})
                              : graph.callMethod(requireMethod("transpose"), {node.getArg(0), int64_t(-2), int64_t(-1)});
    value->setLoc(node.getLoc());
    result.originals[value] = result.originals.lookup(&node);
    result.originals.erase(&node);
    node.replaceAllUsesWith(value);
    graph.erase(&node);
  }

  /// Modules of quantization-aware training whose binding leaves the activation to the next node.
  static bool endsInRelu(OpKind op) {
    switch (op) {
    case OpKind::QatLinearRelu:
    case OpKind::QatConvRelu1d:
    case OpKind::QatConvRelu2d:
    case OpKind::QatConvRelu3d:
    case OpKind::QatConvBnRelu1d:
    case OpKind::QatConvBnRelu2d:
    case OpKind::QatConvBnRelu3d:
      return true;
    default:
      return false;
    }
  }

  static void appendRelu(Graph &graph, Node &call, ExpandedModel &result) {
    Graph::InsertPoint guard = Graph::InsertPoint::after(&call);
    Node *relu = graph.callFunction(*findFunction("torch.nn.functional.relu"), {});
    relu->setLoc(call.getLoc());
    call.replaceAllUsesWith(relu);
    relu->setArgs({Argument(&call)});
    result.originals[relu] = result.originals.lookup(&call);
    result.originals.erase(&call);
  }

  void expand(Graph &graph, const Module &module, const std::string &path, const Location &loc, Argument &value) {
    for (const auto &[name, child] : module.getChildren()) {
      std::string childPath = joinPath(path, name);
      if (isComposite(*child)) {
        expand(graph, *child, childPath, loc, value);
        continue;
      }
      Node *call = graph.callModule(childPath, {value});
      call->setLoc(loc);
      value = Argument(call);
    }
  }

  /// relu?(add(child "0"(input), other)).
  llvm::Error expandConvAdd(Graph &graph, const Module &module, const Node &node, Argument &value) {
    std::string path = node.getTargetText().str();
    const Argument &addName = module.getAttribute("add");
    const TargetInfo *add = addName.isString() ? findFunction(addName.getString()) : nullptr;
    if (!add || !module.findChild("0"))
      return error(node.getLoc(), "module '{0}' needs a child '0' and the name of a function to add with", path)
          .code("module_attr");
    Node *conv = graph.callModule(joinPath(path, "0"), {value});
    conv->setLoc(node.getLoc());
    Node *sum = graph.callFunction(*add, {Argument(conv), node.getArg(1)});
    sum->setLoc(node.getLoc());
    value = Argument(sum);
    if (module.findChild("relu")) {
      Node *relu = graph.callModule(joinPath(path, "relu"), {value});
      relu->setLoc(node.getLoc());
      value = Argument(relu);
    }
    return llvm::Error::success();
  }

  const GraphModule &source;
  llvm::DenseMap<const Node *, Node *> clones;
};

} // namespace

llvm::Expected<ExpandedModel> expandComposites(const GraphModule &model) { return Expander(model).run(); }

} // namespace qfx::runtime
