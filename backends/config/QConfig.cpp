// QConfig: equality, printing, the Argument form of meta lines, and the default ones (numerics 5).
#include "backends/config/QConfig.h"

#include "backends/config/ObserverSpecDetail.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// Python's ==: numbers of different types may be equal.
static bool isPythonEqual(const Argument &a, const Argument &b) {
  if (a.isNumber() && b.isNumber())
    return a.getNumber() == b.getNumber();
  return a == b;
}

static bool haveSameKeywords(const std::vector<Keyword> &a, const std::vector<Keyword> &b) {
  return a.size() == b.size() && llvm::all_of(a, [&](const Keyword &one) {
           return llvm::any_of(b, [&](const Keyword &other) {
             return one.first == other.first && isPythonEqual(one.second, other.second);
           });
         });
}

bool observerSpecEquals(const std::optional<ObserverSpec> &a, const std::optional<ObserverSpec> &b) {
  if (!a || !b)
    return !a && !b;
  if (a->observerClass != b->observerClass || a->isPartial != b->isPartial)
    return false;
  auto getNested = [](const ObserverSpec &spec) {
    return spec.observer ? std::optional(*spec.observer) : std::nullopt;
  };
  return haveSameKeywords(a->keywords, b->keywords) && observerSpecEquals(getNested(*a), getNested(*b));
}

bool qconfigEquals(const std::optional<QConfig> &a, const std::optional<QConfig> &b) {
  if (!a || !b)
    return !a && !b;
  return observerSpecEquals(a->activation, b->activation) && observerSpecEquals(a->weight, b->weight);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static std::string printClass(const TargetInfo &row) {
  // Python shows the file that defines torch.nn.Identity.
  llvm::StringRef name = row.text == "torch.nn.Identity" ? "torch.nn.modules.linear.Identity" : row.text;
  return ("<class '" + name + "'>").str();
}

static std::string printSpec(const std::optional<ObserverSpec> &spec) {
  if (!spec)
    return "None";
  if (!spec->isPartial)
    return printClass(*spec->observerClass);
  std::string text = "functools.partial(" + printClass(*spec->observerClass);
  if (spec->observer)
    text += ", observer=" + printSpec(*spec->observer);
  for (const auto &[key, value] : spec->keywords)
    text += ", " + key + "=" + qfx::toString(value, ArgumentStyle::Repr);
  return text + "){}";
}

std::string QConfig::toString() const {
  return "QConfig(activation=" + printSpec(activation) + ", weight=" + printSpec(weight) + ")";
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// An alias or bare class as its name, else {"class": name, keyword: value, ..., "observer": ...}.
Argument ObserverSpec::toArgument() const {
  if (!isPartial)
    return Argument(observerClass->getBaseName());
  if (std::string alias = findAliasNameOf(*this); !alias.empty())
    return Argument(alias);
  Argument::DictEntries entries = {{"class", Argument(observerClass->getBaseName())}};
  if (observer)
    entries.emplace_back("observer", observer->toArgument());
  for (const auto &[key, value] : keywords)
    entries.emplace_back(key, value);
  return Argument::dict(std::move(entries));
}

static llvm::Expected<const TargetInfo *> requireClass(const Argument *name) {
  if (name && name->isString())
    if (const TargetInfo *row = findObserverClass(name->getString()))
      return row;
  std::string shown = name ? qfx::toString(*name, ArgumentStyle::Repr) : "nothing";
  std::vector<std::string> candidates = getObserverClassNames();
  return error(Location(), "no observer class is named {0}{1}", shown,
               name && name->isString() ? didYouMean(name->getString(), candidates) : "")
      .code("qconfig_observer");
}

llvm::Expected<ObserverSpec> ObserverSpec::fromArgument(const Argument &argument) {
  if (argument.isString()) {
    if (std::optional<ObserverSpec> alias = findObserverAlias(argument.getString()))
      return *alias;
    llvm::Expected<const TargetInfo *> row = requireClass(&argument);
    if (!row)
      return row.takeError();
    return ObserverSpec{*row, /*isPartial=*/false, {}, nullptr};
  }
  if (!argument.isDict())
    return error(Location(), "an observer is a name or a dict with 'class', got {0}", qfx::toString(argument, ArgumentStyle::Repr))
        .code("qconfig_observer");
  llvm::Expected<const TargetInfo *> row = requireClass(argument.find("class"));
  if (!row)
    return row.takeError();
  ObserverSpec spec{*row, /*isPartial=*/true, {}, nullptr};
  if (const Argument *nested = argument.find("observer")) {
    llvm::Expected<ObserverSpec> observer = fromArgument(*nested);
    if (!observer)
      return observer.takeError();
    spec.observer = std::make_shared<const ObserverSpec>(std::move(*observer));
  }
  for (const auto &[key, value] : argument.getEntries()) {
    if (key == "class" || key == "observer")
      continue;
    if (llvm::Error err = checkKeyword(spec, key, value))
      return err;
    spec.keywords.emplace_back(key, value);
  }
  return spec;
}

Argument QConfig::toArgument() const {
  auto convert = [](const std::optional<ObserverSpec> &spec) { return spec ? spec->toArgument() : Argument::none(); };
  return Argument::dict({{"activation", convert(activation)}, {"weight", convert(weight)}});
}

llvm::Expected<QConfig> QConfig::fromArgument(const Argument &argument) {
  if (argument.isString())
    if (std::optional<QConfig> alias = findQConfigAlias(argument.getString()))
      return *alias;
  if (!argument.isDict() || !argument.find("activation") || !argument.find("weight"))
    return error(Location(), "a qconfig is a name or a dict with 'activation' and 'weight', got {0}",
                 qfx::toString(argument, ArgumentStyle::Repr))
        .code("qconfig_value");
  QConfig qconfig;
  for (auto [key, side] : {std::pair("activation", &QConfig::activation), std::pair("weight", &QConfig::weight)}) {
    const Argument &value = *argument.find(key);
    if (value.isNone())
      continue;
    llvm::Expected<ObserverSpec> spec = ObserverSpec::fromArgument(value);
    if (!spec)
      return spec.takeError();
    qconfig.*side = std::move(*spec);
  }
  return qconfig;
}

} // namespace qfx
