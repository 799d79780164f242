// A graph as an attribute: a list of nodes, each (name, opcode, target, args, kwargs, scope, meta), nodes in arguments by name.
#include "ir/ModuleGraph.h"

#include "ir/Ops.h"

#include "llvm/ADT/StringMap.h"

namespace qfx {

/// A string that starts with '%' names a node; one that did so by itself gets a second '%'.
static Argument encode(const Argument &value) {
  if (value.isString())
    return llvm::StringRef(value.getString()).take_front() == "%" ? Argument("%" + value.getString()) : value;
  if (Node *node = value.getNodeOrNull())
    return Argument("%" + node->getName());
  if (value.isSequence()) {
    Argument::Elements elements;
    for (const Argument &element : value.getElements())
      elements.push_back(encode(element));
    return value.getKind() == Argument::Kind::List ? Argument::list(std::move(elements)) : Argument::tuple(std::move(elements));
  }
  if (value.isDict()) {
    Argument::DictEntries entries;
    for (const auto &[key, entry] : value.getEntries())
      entries.emplace_back(key, encode(entry));
    return Argument::dict(std::move(entries));
  }
  if (value.getKind() == Argument::Kind::Slice) {
    llvm::ArrayRef<Argument> parts = value.getElements();
    return Argument::slice(encode(parts[0]), encode(parts[1]), encode(parts[2]));
  }
  return value;
}

namespace {
class Decoder {
public:
  std::unique_ptr<Graph> run(const Argument &nodes) {
    for (const Argument &node : nodes.getElements())
      addNode(node.getElements());
    return std::move(graph);
  }

private:
  void addNode(llvm::ArrayRef<Argument> fields) {
    assert(fields.size() == 7 && "written by writeGraph");
    const std::string &name = fields[0].getString(), &target = fields[2].getString();
    std::vector<Argument> args;
    for (const Argument &arg : fields[3].getElements())
      args.push_back(decode(arg));
    Kwargs kwargs;
    for (const auto &[key, value] : fields[4].getEntries())
      kwargs.emplace_back(key, decode(value));
    Node *node = make(static_cast<Opcode>(fields[1].getInt()), name, target, std::move(args), std::move(kwargs));
    if (fields[5].isNone())
      node->setScope(std::nullopt);
    else
      node->setScope(Scope{fields[5].getElements()[0].getString(), fields[5].getElements()[1].getString()});
    for (const auto &[key, value] : fields[6].getEntries())
      node->setMeta(key, value);
    byName[name] = node;
  }

  Node *make(Opcode opcode, const std::string &name, const std::string &target, std::vector<Argument> args, Kwargs kwargs) {
    switch (opcode) {
    case Opcode::Placeholder:
      return graph->placeholder(target, args.empty() ? std::nullopt : std::optional<Argument>(args[0]), name);
    case Opcode::GetAttr:
      return graph->getAttr(target, name);
    case Opcode::CallFunction:
      return graph->callFunction(requireFunction(target), std::move(args), std::move(kwargs), name);
    case Opcode::CallMethod:
      return graph->callMethod(requireMethod(target), std::move(args), std::move(kwargs), name);
    case Opcode::CallModule:
      return graph->callModule(target, std::move(args), std::move(kwargs), name);
    case Opcode::Output:
      return graph->output(std::move(args[0]));
    }
    llvm_unreachable("all opcodes handled");
  }

  Argument decode(const Argument &value) const {
    if (value.isString()) {
      llvm::StringRef text = value.getString();
      if (!text.consume_front("%"))
        return value;
      if (text.take_front() == "%")
        return Argument(text);
      Node *node = byName.lookup(text);
      assert(node && "operands stand before users");
      return Argument(node);
    }
    if (value.isSequence()) {
      Argument::Elements elements;
      for (const Argument &element : value.getElements())
        elements.push_back(decode(element));
      return value.getKind() == Argument::Kind::List ? Argument::list(std::move(elements)) : Argument::tuple(std::move(elements));
    }
    if (value.isDict()) {
      Argument::DictEntries entries;
      for (const auto &[key, entry] : value.getEntries())
        entries.emplace_back(key, decode(entry));
      return Argument::dict(std::move(entries));
    }
    if (value.getKind() == Argument::Kind::Slice) {
      llvm::ArrayRef<Argument> parts = value.getElements();
      return Argument::slice(decode(parts[0]), decode(parts[1]), decode(parts[2]));
    }
    return value;
  }

  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  llvm::StringMap<Node *> byName;
};
} // namespace

bool hasGraph(const Module &module) {
  const Argument *graph = module.getClass() ? nullptr : module.findAttribute(kGraphAttribute);
  return graph && graph->getKind() == Argument::Kind::List;
}

std::unique_ptr<Graph> readGraph(const Module &module) {
  assert(hasGraph(module) && "the module has no graph");
  return Decoder().run(module.getAttribute(kGraphAttribute));
}

void writeGraph(Module &module, const Graph &graph) {
  Argument::Elements nodes;
  for (const Node &node : graph.nodes()) {
    Argument::Elements args;
    for (const Argument &arg : node.getArgs())
      args.push_back(encode(arg));
    Argument::DictEntries kwargs;
    for (const auto &[key, value] : node.getKwargs())
      kwargs.emplace_back(key, encode(value));
    Argument scope;
    if (node.getScope())
      scope = Argument::list({Argument(node.getScope()->path), Argument(node.getScope()->className)});
    nodes.push_back(Argument::list({Argument(node.getName()), Argument(static_cast<int64_t>(node.getOpcode())),
                                    Argument(node.getTargetText()), Argument::list(std::move(args)),
                                    Argument::dict(std::move(kwargs)), std::move(scope),
                                    Argument::dict({node.getMeta().begin(), node.getMeta().end()})}));
  }
  module.setAttribute(kGraphAttribute, Argument::list(std::move(nodes)));
}

Argument::DictEntries readGraphMeta(const Module &module) {
  const Argument *meta = module.findAttribute(kGraphMetaAttribute);
  return meta ? Argument::DictEntries(meta->getEntries().begin(), meta->getEntries().end()) : Argument::DictEntries();
}

void writeGraphMeta(Module &module, Argument::DictEntries meta) {
  module.setAttribute(kGraphMetaAttribute, Argument::dict(std::move(meta)));
}

GraphModule openModule(const Module &module) {
  auto root = std::make_shared<Module>(module.getClassName());
  root->setTraining(module.isTraining());
  root->setLoc(module.getLoc());
  for (const auto &[name, value] : module.getAttributes())
    if (name != kGraphAttribute && name != kGraphMetaAttribute)
      root->setAttribute(name, value);
  for (const auto &[name, tensor] : module.getParameters())
    root->setParameter(name, tensor);
  for (const auto &[name, tensor] : module.getBuffers())
    root->setBuffer(name, tensor);
  for (const auto &[name, child] : module.getChildren())
    root->setChild(name, child);
  GraphModule model(std::move(root), readGraph(module));
  for (auto &[name, value] : readGraphMeta(module))
    model.setMeta(name, std::move(value));
  for (Node &node : model.getGraph().nodes())
    node.setLoc(module.getLoc());
  return model;
}

ModuleRef closeModule(const GraphModule &model) {
  ModuleRef module = model.getRoot().shallowCopy();
  writeGraph(*module, model.getGraph());
  if (!model.getMeta().empty())
    writeGraphMeta(*module, {model.getMeta().begin(), model.getMeta().end()});
  return module;
}

} // namespace qfx
