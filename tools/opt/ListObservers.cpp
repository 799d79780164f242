// Observers, fake-quantizers and their named constructors, printed from the tables.
#include "backends/config/QConfig.h"
#include "backends/observe/Observer.h"
#include "ir/Ops.h"
#include "tools/opt/Lists.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

namespace qfx::tool {

static std::string getArgumentText(const Argument &value) {
  std::string text = toString(value, ArgumentStyle::Repr);
  llvm::StringRef shown = text;
  shown.consume_front("torch.");
  return shown.str();
}

/// `dtype=quint8`, and `scale` for an argument that must be given.
static std::vector<std::string> getParameters(const TargetInfo &observerClass) {
  std::vector<std::string> parameters;
  for (const SlotInfo &slot : observerClass.getSignature().getSlots())
    parameters.push_back(slot.defaultValue ? slot.name + "=" + getArgumentText(*slot.defaultValue) : slot.name);
  return parameters;
}

/// Buffers under their state-dict keys.
static std::vector<std::string> getState(const TargetInfo &observerClass) {
  std::vector<std::string> names;
  for (const ModuleTensor &tensor : observerClass.getTensors())
    names.push_back(tensor.name);
  return names;
}

/// `MinMaxObserver(quant_min=0, quant_max=127)`.
static std::string getConstructor(const ObserverSpec &spec) {
  std::vector<std::string> arguments;
  if (spec.observer)
    arguments.push_back("observer=" + getConstructor(*spec.observer));
  for (const auto &[name, value] : spec.keywords)
    arguments.push_back(name + "=" + getArgumentText(value));
  std::string text = spec.observerClass->getBaseName().str();
  return spec.isPartial ? text + "(" + llvm::join(arguments, ", ") + ")" : text;
}

void listObservers(llvm::raw_ostream &os) {
  for (const ObserverInfo &observer : getAllObservers()) {
    os << observer.observerClass->getBaseName() << '(' << llvm::join(getParameters(*observer.observerClass), ", ") << ")\n    "
       << observer.summary << '\n';
  }
  os << '\n';
  for (const std::string &name : getObserverAliasNames())
    os << name << "\n    = " << getConstructor(*findObserverAlias(name)) << '\n';
}

void addObserversJson(nlohmann::ordered_json &document) {
  using Json = nlohmann::ordered_json;
  Json &classes = document["observers"] = Json::array();
  for (const ObserverInfo &observer : getAllObservers()) {
    Json arguments = Json::array();
    for (const SlotInfo &slot : observer.observerClass->getSignature().getSlots()) {
      arguments.push_back({{"name", slot.name}});
      if (slot.defaultValue)
        arguments.back()["default"] = getArgumentText(*slot.defaultValue);
    }
    classes.push_back({{"class", observer.observerClass->text.str()}, {"arguments", arguments}, {"state", getState(*observer.observerClass)},
                       {"summary", observer.summary.str()}, {"merge", observer.mergeSummary.str()}});
  }
  Json &aliases = document["observer_aliases"] = Json::array();
  for (const std::string &name : getObserverAliasNames()) {
    const ObserverSpec spec = *findObserverAlias(name);
    aliases.push_back({{"name", name}, {"constructor", getConstructor(spec)}, {"dtype", getDTypeInfo(spec.getDType()).torchName.str()}});
    std::optional<int64_t> low = spec.getQuantMin(), high = spec.getQuantMax();
    if (low && high)
      aliases.back()["codes"] = {*low, *high};
  }
}

static std::string quoteAll(llvm::ArrayRef<std::string> words) {
  return words.empty() ? "-" : "`" + llvm::join(words, "`, `") + "`";
}

void printObserverDocs(llvm::raw_ostream &os) {
  os << "| class | arguments and defaults | state | keeps | two halves merged |\n|---|---|---|---|---|\n";
  for (const ObserverInfo &observer : getAllObservers())
    os << "| `" << observer.observerClass->text << "` | " << quoteAll(getParameters(*observer.observerClass)) << " | "
       << quoteAll(getState(*observer.observerClass)) << " | " << observer.summary << " | " << observer.mergeSummary << " |\n";
  os << "\n| name | constructor | dtype | codes |\n|---|---|---|---|\n";
  for (const std::string &name : getObserverAliasNames()) {
    const ObserverSpec spec = *findObserverAlias(name);
    std::optional<int64_t> low = spec.getQuantMin(), high = spec.getQuantMax();
    os << "| `" << name << "` | `" << getConstructor(spec) << "` | " << getDTypeInfo(spec.getDType()).torchName << " | "
       << (low && high ? std::to_string(*low) + ".." + std::to_string(*high) : "-") << " |\n";
  }
}

} // namespace qfx::tool
