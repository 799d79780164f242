// Models as .qfx text that parses back to the same model.
#include "ir/ModuleGraph.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "ir/text/LexerDetail.h"
#include "ir/text/PrinterDetail.h"
#include "ir/text/TensorTextDetail.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <tuple>

namespace qfx {

namespace {

class Printer {
public:
  Printer(llvm::raw_ostream &os, const GraphModule &model, const PrintOptions &options, NamedTensors &external)
      : os(os), model(model), options(options), external(external) {}

  void print() {
    os << "qfx " << kQfxVersion << '\n';
    if (options.large == PrintOptions::Large::File && !options.weightsFile.empty())
      os << "weights " << formatQuoted(options.weightsFile) << '\n';
    printRoot();
    printModules("", model.getRoot());
    printTensors("", model.getRoot());
    tensorOwners.insert(&model.getRoot());
    model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &module) {
      if (tensorOwners.insert(module.get()).second)
        printTensors(path, *module);
    });
    for (const auto &[name, value] : model.getMeta())
      printMeta(name, value);
    llvm::DenseSet<const Module *> done;
    std::vector<std::pair<std::string, ModuleRef>> owners;
    model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &module) {
      if (hasGraph(*module) && done.insert(module.get()).second)
        owners.emplace_back(path, module);
    });
    for (const auto &[path, module] : owners)
      for (const auto &[name, value] : readGraphMeta(*module))
        printMeta(path + ":" + name, value);
    os << '\n';
    for (const auto &[path, module] : llvm::reverse(owners)) { // inner ones first: they are called by the outer ones
      scopeRoot = module.get();
      printGraph(*readGraph(*module), " " + formatPath(path));
      os << '\n';
    }
    scopeRoot = &model.getRoot();
    printGraph(model.getGraph(), "");
  }

private:
  void printMeta(const std::string &name, const Argument &value) {
    os << "meta " << formatPath(name) << " = " << toString(value, ArgumentStyle::Qfx) << '\n';
  }

  static std::string formatPath(llvm::StringRef path) { return isBarePath(path) ? path.str() : formatQuoted(path); }

  void printBody(const Module &module) {
    os << formatPath(module.getClassName()) << '(';
    bool first = true;
    for (const auto &[name, value] : module.getAttributes()) {
      if (name == kGraphAttribute || name == kGraphMetaAttribute) // stand below as graphs and meta lines
        continue;
      os << (first ? "" : ", ") << name << '=' << toString(value, ArgumentStyle::Qfx);
      first = false;
    }
    os << ')' << (module.isTraining() ? " training" : "") << '\n';
  }

  static bool isPlain(const Module &module) {
    return !module.getClass() && module.getClassName() == "torch.nn.Module" && module.getAttributes().empty();
  }

  void printRoot() {
    const Module &root = model.getRoot();
    if (isPlain(root) && !root.isTraining())
      return;
    os << "root : ";
    printBody(root);
  }

  /// Will a line below make this level by itself, since a module stands in it?
  static bool isImplied(const Module &parent, const Module &module) {
    return isPlain(module) && module.isTraining() == parent.isTraining() && !module.getChildren().empty();
  }

  void printModules(const std::string &path, const Module &parent) {
    for (const auto &[name, child] : parent.getChildren()) {
      std::string childPath = joinPath(path, name);
      auto [it, isNew] = firstPaths.try_emplace(child.get(), childPath);
      if (!isNew) {
        os << "module " << formatPath(childPath) << " = " << formatPath(it->second) << '\n';
        continue;
      }
      if (!isImplied(parent, *child)) {
        os << "module " << formatPath(childPath) << " : ";
        printBody(*child);
      }
      printModules(childPath, *child);
    }
  }

  /// Does the parser ask the weights file for this tensor without a line?
  bool isExpected(const std::string &owner, const Module &module, llvm::StringRef name, bool isParameter) const {
    if (options.large != PrintOptions::Large::File || owner.empty()) // the root's own tensors have lines always
      return false;
    return llvm::any_of(getModuleTensors(module), [&](const ModuleTensor &tensor) {
      return tensor.name == name && tensor.isBuffer != isParameter;
    });
  }

  /// The path under which the same elements were printed before; empty if this is the first.
  std::string findTied(const Tensor &tensor, const std::string &path, bool isParameter) {
    if (!isTiable(tensor, isParameter))
      return {};
    std::vector<int64_t> sizes(tensor.getSizes().begin(), tensor.getSizes().end());
    auto key = std::make_tuple(tensor.getPlace(), tensor.getDType(), sizes);
    auto [it, isNew] = printedTensors.try_emplace(std::move(key), std::pair(path, tensor.getQuantizer()));
    if (isNew)
      return {};
    const QuantizerRef &other = it->second.second;
    bool sameQuantizer = other && tensor.getQuantizer() ? *other == *tensor.getQuantizer() : !other && !tensor.getQuantizer();
    return sameQuantizer ? it->second.first : std::string();
  }

  void printTensor(const std::string &owner, const Module &module, llvm::StringRef name, const Tensor &tensor,
                   bool isParameter) {
    std::string path = joinPath(owner, name);
    std::string tied = findTied(tensor, path, isParameter);
    bool isSmall = static_cast<uint64_t>(tensor.getNumElements()) <= options.maxInlineElements;
    bool isInline = options.large == PrintOptions::Large::Inline || isSmall;
    if (tied.empty() && !isInline)
      external.emplace_back(path, tensor);
    if (tied.empty() && !isInline && isExpected(owner, module, name, isParameter))
      return;
    os << (isParameter ? "parameter " : "buffer ") << formatPath(path);
    if (!tied.empty()) {
      os << " = " << formatPath(tied) << '\n';
      return;
    }
    os << " : " << tensor.getType();
    if (isInline) {
      os << " = ";
      printTensorData(os, tensor);
    } else if (options.large == PrintOptions::Large::Digest) {
      os << "  # ";
      printTensorDigest(os, tensor);
    }
    os << '\n';
  }

  /// In the order of the class's row, then as they stand: the order that parsing gives.
  void printTensors(const std::string &path, const Module &module) {
    llvm::StringSet<> done;
    auto printNamed = [&](llvm::StringRef name) {
      for (bool isParameter : {true, false})
        for (const auto &entry : isParameter ? module.getParameters() : module.getBuffers())
          if (entry.first == name)
            printTensor(path, module, name, entry.second, isParameter);
      done.insert(name);
    };
    for (const ModuleTensor &tensor : getModuleTensors(module))
      printNamed(tensor.name);
    for (bool isParameter : {true, false})
      for (const auto &[name, tensor] : isParameter ? module.getParameters() : module.getBuffers())
        if (!done.contains(name))
          printTensor(path, module, name, tensor, isParameter);
  }

  bool hasDefaultScope(const Node &node) const {
    if (!node.getScope())
      return false;
    Scope expected;
    if (node.is(Opcode::CallModule)) {
      ModuleRef module = scopeRoot->findModule(node.getTargetText());
      expected = {node.getTargetText().str(), module ? module->getClassName() : ""};
    }
    return *node.getScope() == expected;
  }

  void printSuffix(const Node &node) {
    if (node.getType())
      os << " : " << *node.getType();
    if (!node.getScope())
      os << " scope(None)";
    else if (!hasDefaultScope(node))
      os << " scope(" << formatQuoted(node.getScope()->path) << ", " << formatQuoted(node.getScope()->className) << ')';
    if (!node.getMeta().empty()) {
      Argument::DictEntries entries(node.getMeta().begin(), node.getMeta().end());
      os << " meta " << toString(Argument::dict(std::move(entries)), ArgumentStyle::Qfx);
    }
    os << '\n';
  }

  bool fitsHeader(const Node &node) const {
    return node.is(Opcode::Placeholder) && node.getName() == node.getTargetText() && node.getArgs().empty() &&
           node.getMeta().empty() && hasDefaultScope(node);
  }

  void printStatement(const Node &node) {
    if (node.is(Opcode::Output)) {
      os << "  return " << toString(node.getArg(0), ArgumentStyle::Qfx);
      return printSuffix(node);
    }
    os << "  %" << node.getName() << " = " << getOpcodeName(node.getOpcode()) << '[' << formatPath(node.getTargetText())
       << "](";
    bool first = true;
    for (const Argument &arg : node.getArgs()) {
      os << (first ? "" : ", ") << toString(arg, ArgumentStyle::Qfx);
      first = false;
    }
    for (const auto &[key, value] : node.getKwargs()) {
      os << (first ? "" : ", ") << key << '=' << toString(value, ArgumentStyle::Qfx);
      first = false;
    }
    os << ')';
    printSuffix(node);
  }

  /// `suffix` is the path of the module that the graph belongs to.
  void printGraph(const Graph &graph, const std::string &suffix) {
    os << "graph" << suffix << "(";
    auto nodes = graph.nodes();
    auto it = nodes.begin();
    for (bool first = true; it != nodes.end() && fitsHeader(*it); ++it, first = false) {
      os << (first ? "%" : ", %") << it->getName();
      if (it->getType())
        os << " : " << *it->getType();
    }
    os << ") {\n";
    for (; it != nodes.end(); ++it)
      printStatement(*it);
    os << "}\n";
  }

  llvm::raw_ostream &os;
  const GraphModule &model;
  const Module *scopeRoot = nullptr; ///< where paths of the graph that is being printed start
  const PrintOptions &options;
  NamedTensors &external;
  llvm::DenseMap<const Module *, std::string> firstPaths;
  llvm::DenseSet<const Module *> tensorOwners;
  std::map<std::tuple<Tensor::Place, DType, std::vector<int64_t>>, std::pair<std::string, QuantizerRef>> printedTensors;
};

} // namespace

void printQfx(llvm::raw_ostream &os, const GraphModule &model, const PrintOptions &options, NamedTensors &external) {
  Printer(os, model, options, external).print();
}

void printQfx(llvm::raw_ostream &os, const GraphModule &model, const PrintOptions &options) {
  NamedTensors external;
  printQfx(os, model, options, external);
}

} // namespace qfx
