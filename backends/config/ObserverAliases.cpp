// The tables of named observers and qconfigs, and observer classes by name.
#include "backends/config/ObserverSpecDetail.h"
#include "backends/observe/Observer.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "ir/Text.h"

namespace qfx {

const TargetInfo *findObserverClass(llvm::StringRef name) {
  if (name == "Identity" || name == "torch.nn.Identity")
    return &requireModuleClass("torch.nn.Identity");
  for (const TargetInfo &row : getAllTargets())
    if (row.kind == TargetKind::Module && row.op == OpKind::Observe && (row.getBaseName() == name || row.text == name))
      return &row;
  return nullptr;
}

std::vector<std::string> getObserverClassNames() {
  std::vector<std::string> names;
  for (const TargetInfo &row : getAllTargets())
    if (row.kind == TargetKind::Module && row.op == OpKind::Observe)
      names.push_back(row.getBaseName().str());
  names.push_back("Identity");
  return names;
}

ObserverSpec makeSpec(llvm::StringRef className, std::vector<Keyword> keywords) {
  const TargetInfo *row = findObserverClass(className);
  assert(row && "no such observer class");
  return {row, /*isPartial=*/true, std::move(keywords), nullptr};
}

static ObserverSpec makeClassSpec(llvm::StringRef className) {
  ObserverSpec spec = makeSpec(className, {});
  spec.isPartial = false;
  return spec;
}

using NamedSpecs = std::vector<std::pair<std::string, ObserverSpec>>;

static const ObserverSpec *findIn(const NamedSpecs &table, llvm::StringRef name) {
  for (const auto &[key, spec] : table)
    if (key == name)
      return &spec;
  return nullptr;
}

/// The rows refer to rows above them, so the table is filled in order.
static NamedSpecs makeObserverAliases() {
  NamedSpecs table;
  auto named = [&](llvm::StringRef name) {
    const ObserverSpec *alias = findIn(table, name);
    return alias ? *alias : makeClassSpec(name);
  };
  auto fake = [&](llvm::StringRef className, llvm::StringRef observer, std::vector<Keyword> keywords) {
    ObserverSpec spec = makeSpec(className, std::move(keywords));
    spec.observer = std::make_shared<const ObserverSpec>(named(observer));
    return spec;
  };
#define K makeKeyword
#define QFX_CLASS_ALIAS(name, className) table.emplace_back(name, makeClassSpec(className));
#define QFX_OBSERVER_ALIAS(name, className, ...) table.emplace_back(name, makeSpec(className, {__VA_ARGS__}));
#define QFX_FAKE_ALIAS(name, className, observer, ...) table.emplace_back(name, fake(className, observer, {__VA_ARGS__}));
#define QFX_SAME_ALIAS(name, other) table.emplace_back(name, named(other));
#include "backends/config/ObserverAliases.def"
#undef K
  return table;
}

static const NamedSpecs &getObserverAliases() {
  static const NamedSpecs *table = new NamedSpecs(makeObserverAliases());
  return *table;
}

ObserverSpec makeNamedSpec(llvm::StringRef aliasOrClass) {
  const ObserverSpec *alias = findIn(getObserverAliases(), aliasOrClass);
  return alias ? *alias : makeClassSpec(aliasOrClass);
}

ObserverSpec makeFakeQuantizeSpec(llvm::StringRef className, llvm::StringRef observer, std::vector<Keyword> keywords) {
  ObserverSpec spec = makeSpec(className, std::move(keywords));
  spec.observer = std::make_shared<const ObserverSpec>(makeNamedSpec(observer));
  return spec;
}

static const std::vector<std::pair<std::string, QConfig>> &getQConfigAliases() {
  static const auto *table = [] {
    auto *all = new std::vector<std::pair<std::string, QConfig>>();
#define K makeKeyword
#define A(name) makeNamedSpec(name)
#define W(className, ...) makeSpec(className, {__VA_ARGS__})
#define F(className, observer, ...) makeFakeQuantizeSpec(className, observer, {__VA_ARGS__})
#define QFX_QCONFIG(name, activation, weight) all->emplace_back(name, QConfig{activation, weight});
#include "backends/config/QConfigAliases.def"
#undef K
#undef A
#undef W
#undef F
    return all;
  }();
  return *table;
}

std::optional<ObserverSpec> findObserverAlias(llvm::StringRef name) {
  const ObserverSpec *spec = findIn(getObserverAliases(), name);
  return spec ? std::optional(*spec) : std::nullopt;
}

std::optional<QConfig> findQConfigAlias(llvm::StringRef name) {
  for (const auto &[key, qconfig] : getQConfigAliases())
    if (key == name)
      return qconfig;
  return std::nullopt;
}

std::vector<std::string> getObserverAliasNames() {
  std::vector<std::string> names;
  for (const auto &entry : getObserverAliases())
    names.push_back(entry.first);
  return names;
}

std::vector<std::string> getQConfigAliasNames() {
  std::vector<std::string> names;
  for (const auto &entry : getQConfigAliases())
    names.push_back(entry.first);
  return names;
}

std::string findAliasNameOf(const ObserverSpec &spec) {
  for (const auto &[name, alias] : getObserverAliases())
    if (observerSpecEquals(alias, spec) && alias.keywords == spec.keywords)
      return name;
  return "";
}

std::string QConfig::getAliasName() const {
  for (const auto &[name, alias] : getQConfigAliases())
    if (qconfigEquals(alias, *this))
      return name;
  return "";
}

std::optional<Argument> parseKeywordText(const ObserverSpec &spec, llvm::StringRef name, llvm::StringRef text) {
  if (const SlotInfo *slot = spec.observerClass->getSignature().findSlot(name); slot && slot->type == SlotType::String)
    return Argument(text);
  if (name == "qscheme") {
    std::optional<QScheme> scheme = parseQScheme(text);
    return scheme ? std::optional(Argument(*scheme)) : std::nullopt;
  }
  if (endsWith(name, "dtype")) {
    std::optional<DType> dtype = parseTorchDType(text);
    return dtype ? std::optional(Argument(*dtype)) : std::nullopt;
  }
  return Argument(text);
}

} // namespace qfx
