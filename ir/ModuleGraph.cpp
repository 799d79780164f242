// A graph as an attribute: a list of nodes, each (name, opcode, target, args, kwargs, scope, meta, type, line, column), nodes in arguments by
// name.  Places are in the text that the module itself stands in.
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

/// (dtype, dimensions, memory format, quantizer); a symbolic dimension is (factor, symbol), a quantizer (axis, scales, zero points).
static Argument encodeType(const std::optional<TensorType> &type) {
  if (!type)
    return Argument();
  Argument::Elements dims;
  for (const Dim &dim : type->shape)
    dims.push_back(dim.isStatic() ? Argument(dim.getValue()) : Argument::tuple({Argument(dim.getFactor()), Argument(dim.getSymbol())}));
  Argument quantizer;
  if (type->quantizer) {
    Argument::Elements scales, zeroPoints;
    for (double scale : type->quantizer->getScales())
      scales.push_back(Argument(scale));
    for (int64_t zeroPoint : type->quantizer->getZeroPoints())
      zeroPoints.push_back(Argument(zeroPoint));
    for (float zeroPoint : type->quantizer->getFloatZeroPoints())
      zeroPoints.push_back(Argument(static_cast<double>(zeroPoint)));
    quantizer = Argument::tuple({type->quantizer->isPerTensor() ? Argument() : Argument(type->quantizer->getAxis()),
                                 Argument::list(std::move(scales)), Argument::list(std::move(zeroPoints))});
  }
  return Argument::tuple({Argument(type->dtype), Argument::list(std::move(dims)), Argument(type->format), std::move(quantizer)});
}

static QuantizerRef decodeQuantizer(const Argument &value) {
  if (value.isNone())
    return nullptr;
  llvm::ArrayRef<Argument> fields = value.getElements();
  std::vector<double> scales;
  std::vector<float> floatScales, floatZeroPoints;
  std::vector<int64_t> zeroPoints;
  for (const Argument &scale : fields[1].getElements()) {
    scales.push_back(scale.getFloat());
    floatScales.push_back(static_cast<float>(scale.getFloat()));
  }
  for (const Argument &zeroPoint : fields[2].getElements())
    if (zeroPoint.isInt())
      zeroPoints.push_back(zeroPoint.getInt());
    else
      floatZeroPoints.push_back(static_cast<float>(zeroPoint.getFloat()));
  if (fields[0].isNone())
    return std::make_shared<Quantizer>(Quantizer::perTensor(scales.front(), zeroPoints.front()));
  int64_t axis = fields[0].getInt();
  return std::make_shared<Quantizer>(floatZeroPoints.empty()
                                         ? Quantizer::perChannel(std::move(scales), std::move(zeroPoints), axis)
                                         : Quantizer::perChannelFloat(std::move(floatScales), std::move(floatZeroPoints), axis));
}

static std::optional<TensorType> decodeType(const Argument &value) {
  if (value.isNone())
    return std::nullopt;
  llvm::ArrayRef<Argument> fields = value.getElements();
  TensorType type;
  type.dtype = fields[0].getDType();
  for (const Argument &dim : fields[1].getElements())
    type.shape.push_back(dim.isInt() ? Dim(dim.getInt()) : Dim::symbolic(dim.getElements()[1].getString(), dim.getElements()[0].getInt()));
  type.format = fields[2].getMemoryFormat();
  type.quantizer = decodeQuantizer(fields[3]);
  return type;
}

namespace {
class Decoder {
public:
  /// \param loc  of the module that has the graph.
  explicit Decoder(const Location &loc) : loc(loc) {}

  std::unique_ptr<Graph> run(const Argument &nodes) {
    for (const Argument &node : nodes.getElements())
      addNode(node.getElements());
    return std::move(graph);
  }

private:
  void addNode(llvm::ArrayRef<Argument> fields) {
    assert(fields.size() == 10 && "written by writeGraph");
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
    node->setType(decodeType(fields[7]));
    auto line = static_cast<uint32_t>(fields[8].getInt());
    node->setLoc(line ? Location{loc.file, line, static_cast<uint32_t>(fields[9].getInt())} : loc);
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

  const Location &loc;
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
  return Decoder(module.getLoc()).run(module.getAttribute(kGraphAttribute));
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
    bool hasPlace = node.getLoc().isKnown() && node.getLoc().file == module.getLoc().file;
    nodes.push_back(Argument::list({Argument(node.getName()), Argument(static_cast<int64_t>(node.getOpcode())),
                                    Argument(node.getTargetText()), Argument::list(std::move(args)),
                                    Argument::dict(std::move(kwargs)), std::move(scope),
                                    Argument::dict({node.getMeta().begin(), node.getMeta().end()}), encodeType(node.getType()),
                                    Argument(static_cast<int64_t>(hasPlace ? node.getLoc().line : 0)),
                                    Argument(static_cast<int64_t>(hasPlace ? node.getLoc().column : 0))}));
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
