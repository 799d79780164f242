// Declared lines and weights files to a module tree with all its tensors.
#include "ir/text/DeclarationsDetail.h"

#include "ir/Ops.h"
#include "ir/Text.h"
#include "ir/weights/Safetensors.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <map>

namespace qfx {

namespace {

class TreeBuilder {
public:
  TreeBuilder(const Declarations &declarations, const LoadOptions &options, ErrorList &errors)
      : declarations(declarations), options(options), errors(errors), root(*declarations.root) {}

  ModuleTree build(llvm::StringRef sourceName) {
    openWeights(sourceName);
    size_t numErrors = errors.size();
    collectModules();
    for (const ModuleDecl &decl : declarations.modules)
      if (byPath.lookup(decl.path) == &decl && !hasTooManyErrors())
        attach(decl);
    checkSharing();
    if (errors.size() == numErrors) { // a tree with holes would answer with follow-up errors
      collectTensors();
      fillTensors();
      aliasTensors();
      warnAboutExtraTensors();
    }
    return {declarations.root, std::move(missing)};
  }

private:
  using TensorKey = std::pair<const Module *, std::string>;

  bool hasTooManyErrors() const { return errors.size() >= kMaxErrors; }

  void openWeights(llvm::StringRef sourceName) {
    for (const WeightsDecl &decl : declarations.weights) {
      llvm::SmallString<128> path(options.weightsDirectory.empty() ? llvm::sys::path::parent_path(sourceName)
                                                                   : llvm::StringRef(options.weightsDirectory));
      if (llvm::sys::path::is_absolute(decl.file))
        path = decl.file;
      else
        llvm::sys::path::append(path, decl.file);
      auto file = SafetensorsFile::open(path, options.limits);
      if (!file) {
        isWeightsFileUnreadable = true;
        Diagnostic note;
        note.severity = Severity::Note;
        note.loc = decl.loc;
        note.message = "named as the weights file here";
        std::vector<Diagnostic> findings = takeDiagnostics(file.takeError());
        findings.back().notes.push_back(std::move(note));
        errors.add(llvm::make_error<InputError>(std::move(findings)));
        continue;
      }
      files.push_back(std::move(*file));
    }
  }

  void collectModules() {
    size_t numErrors = errors.size();
    for (const ModuleDecl &decl : declarations.modules) {
      auto [it, isNew] = byPath.try_emplace(decl.path, &decl);
      if (!isNew)
        errors.add(error(decl.loc, "module '{0}' is declared twice", decl.path)
                       .code("module_path")
                       .note(it->second->loc, "first declared here"));
      else if (std::count(decl.path.begin(), decl.path.end(), '.') >= static_cast<int>(kMaxModuleDepth))
        errors.add(error(decl.loc, "a module path has more than {0} levels", kMaxModuleDepth).code("module_path"));
    }
    if (errors.size() != numErrors)
      byPath.clear();
  }

  /// The object at `path`, made from its declaration (which may stand further down) or as a plain container.
  ModuleRef ensure(llvm::StringRef path) {
    if (path.empty())
      return declarations.root;
    if (ModuleRef existing = root.findModule(path))
      return existing;
    auto [parentPath, name] = splitPath(path);
    ModuleRef parent = ensure(parentPath);
    const ModuleDecl *decl = byPath.lookup(path);
    ModuleRef module = decl ? decl->module : nullptr;
    if (!module) {
      module = std::make_shared<Module>();
      module->setTraining(parent->isTraining());
    }
    parent->setChild(name, module);
    return module;
  }

  void attach(const ModuleDecl &decl) {
    if (decl.module) {
      ensure(decl.path);
      return;
    }
    ModuleRef target = root.findModule(decl.aliasOf);
    if (!target) {
      if (!declarations.broken.contains(decl.aliasOf))
        errors.add(error(decl.aliasLoc, "no module '{0}' is declared above this line{1}", decl.aliasOf,
                         didYouMean(decl.aliasOf, getModulePaths(root)))
                       .code("module_path"));
      return;
    }
    if (root.findModule(decl.path)) {
      errors.add(error(decl.loc, "module '{0}' exists already: a line above declares something inside it", decl.path)
                     .code("module_path"));
      return;
    }
    auto [parentPath, name] = splitPath(decl.path);
    ModuleRef parent = ensure(parentPath);
    llvm::DenseSet<const Module *> seen;
    if (holds(*target, *parent, seen)) {
      errors.add(error(decl.loc, "module '{0}' would contain itself", decl.aliasOf).code("module_path"));
      return;
    }
    parent->setChild(name, target);
  }

  static bool holds(const Module &module, const Module &wanted, llvm::DenseSet<const Module *> &seen) {
    if (&module == &wanted)
      return true;
    if (!seen.insert(&module).second)
      return false;
    return llvm::any_of(module.getChildren(), [&](const auto &child) { return holds(*child.second, wanted, seen); });
  }

  /// Sharing can multiply paths: module lines double them with every level.  Counts them without walking them.
  void checkSharing() {
    llvm::DenseMap<const Module *, uint64_t> paths;
    auto count = [&](auto &self, const Module &module, size_t depth) -> uint64_t {
      if (depth > 2 * kMaxModuleDepth)
        return kMaxModulePaths + 1;
      if (auto it = paths.find(&module); it != paths.end())
        return it->second;
      uint64_t sum = 1;
      for (const auto &child : module.getChildren())
        sum = std::min(sum + self(self, *child.second, depth + 1), kMaxModulePaths + 1);
      paths[&module] = sum;
      return sum;
    };
    if (count(count, root, 0) > kMaxModulePaths)
      errors.add(error(declarations.modules.front().loc, "the module lines make more than {0} paths or {1} levels",
                       kMaxModulePaths, 2 * kMaxModuleDepth)
                     .code("module_path"));
  }

  void collectTensors() {
    for (const TensorDecl &decl : declarations.tensors) {
      auto [parentPath, name] = splitPath(decl.path);
      if (std::count(decl.path.begin(), decl.path.end(), '.') >= static_cast<int>(kMaxModuleDepth)) {
        errors.add(error(decl.loc, "a tensor path has more than {0} levels", kMaxModuleDepth).code("module_path"));
        continue;
      }
      ModuleRef owner = ensure(parentPath);
      if (owner->findChild(name)) {
        errors.add(error(decl.loc, "'{0}' is a module; a tensor cannot have the same path", decl.path).code("tensor_decl"));
        continue;
      }
      auto [it, isNew] = tensorDecls.try_emplace(TensorKey(owner.get(), name.str()), &decl);
      if (!isNew) {
        errors.add(error(decl.loc, "tensor '{0}' is declared twice", decl.path)
                       .code("tensor_decl")
                       .note(it->second->loc, "first declared here"));
        continue;
      }
      declOrder.push_back({owner, name.str(), &decl});
    }
  }

  /// The tensor of that key from the first weights file that has it; null if none does.
  Tensor findStored(llvm::StringRef key, const Location &loc, bool &failed) {
    failed = isWeightsFileUnreadable; // reported; what it lacks is not known
    for (const SafetensorsFile &file : files) {
      if (!file.contains(key))
        continue;
      auto tensor = file.read(key);
      if (tensor)
        return *tensor;
      failed = true;
      if (reportedKeys.insert(key).second)
        errors.add(tensor.takeError());
      else
        llvm::consumeError(tensor.takeError());
      return {};
    }
    return {};
  }

  std::string describeFiles() const {
    if (files.empty())
      return "there is no weights file";
    std::string text;
    for (const SafetensorsFile &file : files)
      text += (text.empty() ? "the weights file '" : "', '") + file.getName();
    return text + "' has no such key";
  }

  std::string suggestKey(llvm::StringRef key) const {
    for (const SafetensorsFile &file : files)
      if (std::string hint = didYouMean(key, file.getKeys()); !hint.empty())
        return hint;
    return {};
  }

  void set(Module &owner, const std::string &name, const TensorDecl *decl, bool isBuffer, Tensor tensor) {
    if (decl ? decl->isParameter : !isBuffer)
      owner.setParameter(name, std::move(tensor));
    else
      owner.setBuffer(name, std::move(tensor));
  }

  /// Rule `tensor_decl`: stored data has the declared dtype, shape and quantization.
  bool agrees(const TensorDecl &decl, const Tensor &stored) {
    const TensorType &want = *decl.type;
    TensorType got = stored.getType();
    bool same = want.dtype == got.dtype && want.shape == got.shape &&
                (!want.quantizer || (got.quantizer && *want.quantizer == *got.quantizer));
    if (!same)
      errors.add(error(decl.loc, "'{0}' is declared as '{1}', but its data is '{2}'", decl.path, toString(want),
                       toString(got))
                     .code("tensor_decl"));
    return same;
  }

  void fillDeclared(Module &owner, const std::string &name, const TensorDecl &decl) {
    if (!decl.aliasOf.empty())
      return; // aliasTensors
    if (decl.data)
      return set(owner, name, &decl, false, decl.data);
    bool failed = false;
    Tensor stored = findStored(decl.path, decl.loc, failed);
    if (!stored) {
      if (!failed)
        errors.add(error(decl.loc, "'{0}' has no data: {1}{2}", decl.path, describeFiles(), suggestKey(decl.path))
                       .code("tensor_missing"));
      return;
    }
    if (agrees(decl, stored))
      set(owner, name, &decl, false, std::move(stored));
  }

  /// The tensors that a module's class brings, in the row's order; then the rest of the lines.
  void fillTensors() {
    llvm::DenseSet<const Module *> done;
    root.forEachModule([&](const std::string &path, const ModuleRef &module) {
      if (!done.insert(module.get()).second)
        return;
      for (const ModuleTensor &wanted : getModuleTensors(*module)) {
        auto decl = tensorDecls.find(TensorKey(module.get(), wanted.name));
        if (decl != tensorDecls.end()) {
          fillDeclared(*module, wanted.name, *decl->second);
          filled.insert(decl->second);
          continue;
        }
        fillFromClass(path, *module, wanted);
      }
    });
    for (const auto &[owner, name, decl] : declOrder)
      if (!filled.contains(decl) && !hasTooManyErrors())
        fillDeclared(*owner, name, *decl);
  }

  void fillFromClass(const std::string &path, Module &module, const ModuleTensor &wanted) {
    std::string key = joinPath(path, wanted.name);
    if (declarations.broken.contains(key))
      return;
    bool failed = false;
    if (Tensor stored = findStored(key, module.getLoc(), failed))
      return set(module, wanted.name, nullptr, wanted.isBuffer, std::move(stored));
    if (wanted.isOptional || failed)
      return;
    missing.push_back({&module, error(module.getLoc(), "'{0}' of module '{1}' is missing: {2}{3}", key,
                                      module.getClassName(), describeFiles(), suggestKey(key))
                                    .code("tensor_missing")
                                    .take()});
  }

  void aliasTensors() {
    for (const auto &[owner, name, decl] : declOrder) {
      if (decl->aliasOf.empty() || hasTooManyErrors())
        continue;
      const Tensor *target = root.findTensorAt(decl->aliasOf);
      if (target)
        set(*owner, name, decl, false, *target);
      else if (!declarations.broken.contains(decl->aliasOf))
        errors.add(error(decl->aliasLoc, "no tensor '{0}'{1}", decl->aliasOf,
                         didYouMean(decl->aliasOf, getTensorPaths(root)))
                       .code("tensor_missing"));
    }
  }

  void warnAboutExtraTensors() {
    if (!options.warnings)
      return;
    std::vector<std::string> extra;
    std::string name;
    for (const SafetensorsFile &file : files)
      for (const std::string &key : file.getKeys())
        if (!root.findTensorAt(key)) {
          extra.push_back(key);
          name = file.getName();
        }
    if (extra.empty())
      return;
    constexpr size_t kShown = 5;
    std::string list;
    for (size_t i = 0; i < std::min(kShown, extra.size()); ++i)
      list += (i ? "', '" : "'") + extra[i];
    Diagnostic warning;
    warning.severity = Severity::Warning;
    warning.loc = declarations.weights.front().loc;
    warning.message = llvm::formatv("{0} tensor{1} of '{2}' belong{3} to nothing in the model: {4}'{5}", extra.size(),
                                    extra.size() == 1 ? "" : "s", name, extra.size() == 1 ? "s" : "", list,
                                    extra.size() > kShown ? ", ..." : "")
                          .str();
    options.warnings->push_back(std::move(warning));
  }

  const Declarations &declarations;
  const LoadOptions &options;
  ErrorList &errors;
  Module &root;
  std::vector<SafetensorsFile> files;
  bool isWeightsFileUnreadable = false;
  llvm::StringMap<const ModuleDecl *> byPath;
  std::map<TensorKey, const TensorDecl *> tensorDecls;
  struct OwnedDecl {
    ModuleRef owner;
    std::string name;
    const TensorDecl *decl;
  };
  std::vector<OwnedDecl> declOrder;
  llvm::DenseSet<const TensorDecl *> filled;
  llvm::StringSet<> reportedKeys;
  std::vector<MissingTensor> missing;
};

} // namespace

ModuleTree buildModuleTree(const Declarations &declarations, llvm::StringRef sourceName, const LoadOptions &options,
                           ErrorList &errors) {
  return TreeBuilder(declarations, options, errors).build(sourceName);
}

std::vector<std::string> getModulePaths(const Module &root) {
  std::vector<std::string> paths;
  root.forEachModule([&](const std::string &path, const ModuleRef &) { paths.push_back(path); });
  return paths;
}

std::vector<std::string> getTensorPaths(const Module &root) {
  std::vector<std::string> paths;
  auto add = [&](const std::string &path, const Module &module) {
    for (const auto &entry : module.getParameters())
      paths.push_back(joinPath(path, entry.first));
    for (const auto &entry : module.getBuffers())
      paths.push_back(joinPath(path, entry.first));
  };
  add("", root);
  root.forEachModule([&](const std::string &path, const ModuleRef &module) { add(path, *module); });
  return paths;
}

} // namespace qfx
