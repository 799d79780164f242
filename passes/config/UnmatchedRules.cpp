// Looks for each rule among the names, types and call counts of the graph and of what fusion absorbed.
#include "passes/config/UnmatchedRules.h"

#include "ir/GraphModule.h"
#include "ir/ModuleGraph.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/Pass.h"
#include "passes/config/QConfigResolver.h"
#include "passes/fuse/FusionRecord.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

namespace qfx {

namespace {
/// Every name that a rule may mean.
struct ModelNames {
  std::set<std::string> paths;                                        ///< module paths and scopes, with all parents
  std::set<std::string> classes;                                      ///< classes of modules and scopes
  std::map<std::pair<std::string, std::string>, unsigned> callCounts; ///< (path, type) -> calls
  std::vector<AbsorbedNode> absorbed;

  explicit ModelNames(const GraphModule &model) : absorbed(loadFusionRecord(model)) {
    model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &module) {
      addPath(path);
      classes.insert(OperatorName::ofClass(*module).text);
    });
    classes.insert(model.getRoot().getClassName());
    for (const Node &node : model.getGraph().nodes()) {
      bool isModule = node.is(Opcode::CallModule);
      if (!isModule && !node.is(Opcode::CallFunction) && !node.is(Opcode::CallMethod))
        continue;
      std::string path = getScopePath(node);
      std::string type = getScopeType(node, model).text;
      addPath(path);
      classes.insert(type);
      if (isModule)
        ++callCounts[{splitPath(path).first.str(), type}];
      else if (node.is(Opcode::CallFunction))
        ++callCounts[{path, OperatorName::of(*node.getTarget()).text}];
    }
    for (const AbsorbedNode &node : absorbed) {
      addPath(node.scopePath);
      classes.insert(node.type);
      if (node.path.empty())
        ++callCounts[{node.scopePath, node.type}];
      else
        ++callCounts[{splitPath(node.scopePath).first.str(), node.scopeType}];
    }
  }

  std::vector<std::string> getPaths() const { return {paths.begin(), paths.end()}; }

private:
  void addPath(llvm::StringRef path) {
    for (; !path.empty() && paths.insert(path.str()).second; path = splitPath(path).first)
      ;
  }
};

Diagnostic makeDiagnostic(Location loc, std::string message) {
  Diagnostic diagnostic;
  diagnostic.loc = std::move(loc);
  diagnostic.message = std::move(message);
  diagnostic.code = "unmatched_rule";
  return diagnostic;
}
} // namespace

static bool isKnownType(const OperatorName &type, const ModelNames &names) {
  return type.row || names.classes.count(type.text);
}

static std::vector<std::string> getKnownTypes(const OperatorName &like, const ModelNames &names) {
  TargetKind kind = like.isMethod()        ? TargetKind::Method
                    : like.isModuleClass() ? TargetKind::Module
                                           : TargetKind::Function;
  std::vector<std::string> known = getTargetNames(kind);
  if (kind == TargetKind::Module)
    known.insert(known.end(), names.classes.begin(), names.classes.end());
  return known;
}

static std::vector<Diagnostic> findUnmatched(const QConfigMapping &mapping, const ModelNames &names) {
  std::vector<Diagnostic> unmatched;
  for (const auto &entry : mapping.getObjectTypes())
    if (!isKnownType(entry.first, names))
      unmatched.push_back(
          makeDiagnostic(mapping.getRuleLoc("object_type", entry.first.text),
                         llvm::formatv("object_type entry '{0}' names no known operator{1}", entry.first.text,
                                       didYouMean(entry.first.text, getKnownTypes(entry.first, names)))));
  for (const auto &entry : mapping.getModuleNameRegexes()) {
    if (!findRegexError(entry.first).empty())
      continue; // the resolver reports it
    bool hit = llvm::any_of(names.paths, [&](const std::string &path) { return matchesModuleNameRegex(entry.first, path); });
    if (!hit)
      unmatched.push_back(makeDiagnostic(mapping.getRuleLoc("module_name_regex", entry.first),
                                         llvm::formatv("module_name_regex entry '{0}' matches no module{1}",
                                                       entry.first, didYouMean(entry.first, names.getPaths()))));
  }
  for (const auto &entry : mapping.getModuleNames())
    if (!names.paths.count(entry.first))
      unmatched.push_back(makeDiagnostic(mapping.getRuleLoc("module_name", entry.first),
                                         llvm::formatv("module_name entry '{0}' matches no module{1}", entry.first,
                                                       didYouMean(entry.first, names.getPaths()))));
  for (const auto &entry : mapping.getModuleNameObjectTypeOrders()) {
    const QConfigMapping::OrderKey &key = entry.first;
    auto it = names.callCounts.find({key.modulePath, key.type.text});
    unsigned count = it == names.callCounts.end() ? 0 : it->second;
    if (key.index >= count)
      unmatched.push_back(makeDiagnostic(
          mapping.getRuleLoc("module_name_object_type_order", key.toString()),
          llvm::formatv("module_name_object_type_order entry {0} matches no call: '{1}' has {2} of that type",
                        key.toString(), key.modulePath, count)));
  }
  return unmatched;
}

static llvm::Error report(std::vector<Diagnostic> unmatched, const PassContext &context) {
  if (unmatched.empty())
    return llvm::Error::success();
  if (!context.allowUnmatched)
    return llvm::make_error<InputError>(std::move(unmatched));
  for (Diagnostic &diagnostic : unmatched)
    context.warn(std::move(diagnostic));
  return llvm::Error::success();
}

llvm::Error checkMappingRules(const QConfigMapping &mapping, const GraphModule &model, const PassContext &context) {
  ModelNames names(model);
  std::vector<Diagnostic> unmatched = findUnmatched(mapping, names);
  if (context.onRemark)
    for (const auto &entry : mapping.getModuleNames())
      for (const AbsorbedNode &node : names.absorbed)
        if (node.path == entry.first) {
          Remark remark;
          remark.pass = "prepare";
          remark.node = node.into;
          remark.diagnostic.severity = Severity::Remark;
          remark.diagnostic.code = "absorbed_rule";
          remark.diagnostic.message = llvm::formatv(
              "the module_name entry '{0}' has no effect: '{0}' was fused into '{1}'", entry.first, node.into);
          context.onRemark(remark);
        }
  return report(std::move(unmatched), context);
}

llvm::Error checkCustomRules(const PrepareCustomConfig &custom, const GraphModule &model, const PassContext &context) {
  std::vector<Diagnostic> unmatched;
  std::vector<std::string> called, withGraph, classes, graphClasses;
  for (const Node &node : model.getGraph().nodes())
    if (ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr) {
      called.push_back(node.getTargetText().str());
      classes.push_back(OperatorName::ofClass(*module).text);
      if (hasGraph(*module)) {
        withGraph.push_back(called.back());
        graphClasses.push_back(classes.back());
      }
    }
  auto add = [&](llvm::StringRef what, const std::string &name, llvm::ArrayRef<std::string> known, llvm::StringRef problem) {
    if (!llvm::is_contained(known, name))
      unmatched.push_back(makeDiagnostic({}, llvm::formatv("{0} entry '{1}' {2}{3}", what, name, problem, didYouMean(name, known))));
  };
  constexpr llvm::StringLiteral kNoGraph("matches no module with a graph of its own (export it as a leaf)");
  constexpr llvm::StringLiteral kNoCall("matches no called module");
  for (const auto &entry : custom.getStandaloneModuleNames())
    add("standalone_module_name", entry.first, withGraph, kNoGraph);
  for (const auto &entry : custom.getStandaloneModuleClasses())
    add("standalone_module_class", entry.first.text, graphClasses, kNoGraph);
  for (const std::string &name : custom.getNonTraceableModuleNames())
    add("non_traceable_module_name", name, called, kNoCall);
  for (const OperatorName &name : custom.getNonTraceableModuleClasses())
    add("non_traceable_module_class", name.text, classes, kNoCall);
  for (const auto &entry : custom.getFloatToObserved().getEntries())
    add("float_to_observed_custom_module_class", entry.first.text, classes, kNoCall);
  for (const std::string &name : custom.getPreservedAttributes())
    if (!model.getRoot().hasMember(name))
      unmatched.push_back(makeDiagnostic({}, llvm::formatv("preserved_attributes entry '{0}' is no member of the model", name)));
  return report(std::move(unmatched), context);
}

llvm::Error checkIndexes(llvm::StringRef what, llvm::ArrayRef<int64_t> indexes, size_t count) {
  ErrorList errors;
  std::set<int64_t> seen;
  for (int64_t index : indexes) {
    if (index < 0 || index >= static_cast<int64_t>(count))
      errors.add(error(Location(), "{0}: index {1} is outside 0..{2}", what, index, static_cast<int64_t>(count) - 1)
                     .code("quantized_index"));
    else if (!seen.insert(index).second)
      errors.add(error(Location(), "{0}: index {1} is given twice", what, index).code("quantized_index"));
  }
  return errors.take();
}

} // namespace qfx
