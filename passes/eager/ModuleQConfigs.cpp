// qconfigs by module object in memory, by path in the model's meta.
#include "passes/eager/ModuleQConfigs.h"

#include "ir/Diagnostics.h"
#include "ir/GraphModule.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace qfx {

static constexpr llvm::StringLiteral kKey = "eager_qconfigs";

const OptionalQConfig *ModuleQConfigs::find(const Module &module) const {
  auto found = entries.find(&module);
  return found == entries.end() ? nullptr : &found->second.qconfig;
}

const QConfig *ModuleQConfigs::getActive(const Module &module) const {
  const OptionalQConfig *found = find(module);
  return found && *found ? &**found : nullptr;
}

void ModuleQConfigs::set(const ModuleRef &module, OptionalQConfig qconfig) {
  entries[module.get()] = {module, std::move(qconfig)};
}

void ModuleQConfigs::setRoot(const Module &root, OptionalQConfig qconfig) { entries[&root] = {nullptr, std::move(qconfig)}; }

bool ModuleQConfigs::hasActive() const {
  return llvm::any_of(entries, [](const auto &entry) { return entry.second.qconfig.has_value(); });
}

static llvm::Expected<std::vector<OptionalQConfig>> readQConfigs(const Argument &list) {
  std::vector<OptionalQConfig> qconfigs;
  for (const Argument &element : list.getElements()) {
    if (element.isNone()) {
      qconfigs.emplace_back();
      continue;
    }
    auto qconfig = QConfig::fromArgument(element);
    if (!qconfig)
      return qconfig.takeError();
    qconfigs.emplace_back(std::move(*qconfig));
  }
  return qconfigs;
}

llvm::Expected<ModuleQConfigs> ModuleQConfigs::load(const GraphModule &model) {
  ModuleQConfigs result;
  const Argument *meta = model.findMeta(kKey);
  if (!meta)
    return result;
  const Location &loc = model.getRoot().getLoc();
  const Argument *list = meta->isDict() ? meta->find("qconfigs") : nullptr;
  const Argument *modules = meta->isDict() ? meta->find("modules") : nullptr;
  if (!list || !list->isSequence() || !modules || !modules->isDict())
    return error(loc, "meta '{0}' is a dict of 'qconfigs' (a list) and 'modules' (a dict)", kKey).code("eager_qconfigs");
  auto qconfigs = readQConfigs(*list);
  if (!qconfigs)
    return qconfigs.takeError();
  for (const auto &[path, index] : modules->getEntries()) {
    if (!index.isInt() || index.getInt() < 0 || index.getInt() >= static_cast<int64_t>(qconfigs->size()))
      return error(loc, "meta '{0}': '{1}' refers to no stored qconfig", kKey, path).code("eager_qconfigs");
    const OptionalQConfig &qconfig = (*qconfigs)[index.getInt()];
    if (path.empty()) {
      result.setRoot(model.getRoot(), qconfig);
      continue;
    }
    ModuleRef module = model.getRoot().findModule(path);
    if (!module)
      return error(loc, "meta '{0}' names the module '{1}', which the model does not have", kKey, path).code("eager_qconfigs");
    result.set(module, qconfig);
  }
  return result;
}

void ModuleQConfigs::store(GraphModule &model) const {
  Argument::Elements distinct;
  Argument::DictEntries modules;
  llvm::DenseSet<const Module *> done;
  auto add = [&](const std::string &path, const Module &module) {
    const OptionalQConfig *qconfig = find(module);
    if (!qconfig || !done.insert(&module).second)
      return;
    Argument value = *qconfig ? (*qconfig)->toArgument() : Argument::none();
    auto known = llvm::find(distinct, value);
    modules.emplace_back(path, static_cast<int64_t>(known - distinct.begin()));
    if (known == distinct.end())
      distinct.push_back(std::move(value));
  };
  add("", model.getRoot());
  model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &module) { add(path, *module); });
  if (modules.empty())
    return drop(model);
  model.setMeta(kKey, Argument::dict({{"qconfigs", Argument::list(std::move(distinct))}, {"modules", Argument::dict(std::move(modules))}}));
}

void ModuleQConfigs::drop(GraphModule &model) { model.removeMeta(kKey); }

llvm::Error setQConfig(GraphModule &model, llvm::StringRef path, OptionalQConfig qconfig) {
  auto qconfigs = ModuleQConfigs::load(model);
  if (!qconfigs)
    return qconfigs.takeError();
  if (path.empty()) {
    qconfigs->setRoot(model.getRoot(), std::move(qconfig));
  } else {
    ModuleRef module = model.getRoot().findModule(path);
    if (!module) {
      std::vector<std::string> paths;
      model.getRoot().forEachModule([&](const std::string &known, const ModuleRef &) { paths.push_back(known); });
      return error(model.getRoot().getLoc(), "the model has no module '{0}'{1}", path, didYouMean(path, paths)).code("eager_module");
    }
    qconfigs->set(module, std::move(qconfig));
  }
  qconfigs->store(model);
  return llvm::Error::success();
}

namespace {
class Propagation {
public:
  Propagation(ModuleQConfigs &qconfigs, const QConfigMapping &spec, const PropagateOptions &options)
      : qconfigs(qconfigs), spec(spec), options(options) {}

  void run(const Module &root) {
    OptionalQConfig own = choose(root, "", std::nullopt);
    qconfigs.setRoot(root, own);
    descend(root, "", own);
  }

private:
  OptionalQConfig choose(const Module &module, llvm::StringRef path, const OptionalQConfig &parent) const {
    if (const OptionalQConfig *present = qconfigs.find(module))
      return *present;
    if (path.empty() && spec.getGlobal())
      return spec.getGlobal();
    for (const auto &[name, qconfig] : spec.getModuleNames())
      if (name == path)
        return qconfig;
    const OptionalQConfig *byClass = spec.findObjectType(OperatorName::ofClass(module));
    return byClass ? *byClass : parent;
  }

  void descend(const Module &module, const std::string &path, const OptionalQConfig &qconfig) {
    for (const auto &[name, child] : module.getChildren()) {
      // Upstream hands these lists on to the children of the root only.
      if (path.empty() &&
          (llvm::is_contained(options.nonTraceableModuleNames, name) || isListed(options.nonTraceableModuleClasses, *child)))
        continue;
      std::string childPath = joinPath(path, name);
      OptionalQConfig own = choose(*child, childPath, qconfig);
      qconfigs.set(child, own);
      descend(*child, childPath, own);
    }
  }

  ModuleQConfigs &qconfigs;
  const QConfigMapping &spec;
  const PropagateOptions &options;
};
} // namespace

llvm::Error propagateQConfig(GraphModule &model, const QConfigMapping &spec, const PropagateOptions &options) {
  if (!spec.getModuleNameRegexes().empty() || !spec.getModuleNameObjectTypeOrders().empty())
    return error(model.getRoot().getLoc(),
                 "eager mode knows global, object_type and module_name entries of a qconfig mapping, not module_name_regex and "
                 "module_name_object_type_order")
        .code("eager_spec");
  auto qconfigs = ModuleQConfigs::load(model);
  if (!qconfigs)
    return qconfigs.takeError();
  PropagateOptions canonical = options;
  for (std::string &name : canonical.nonTraceableModuleClasses)
    name = getCanonicalClassName(name);
  Propagation(*qconfigs, spec, canonical).run(model.getRoot());
  qconfigs->store(model);
  return llvm::Error::success();
}

} // namespace qfx
