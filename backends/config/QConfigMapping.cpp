// QConfigMapping: setters, the Argument form of meta lines, PyTorch's print.
#include "backends/config/QConfigMapping.h"

#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// Re-setting a key keeps its position.
template <class Key>
static void setEntry(std::vector<std::pair<Key, OptionalQConfig>> &entries, Key key, OptionalQConfig qconfig) {
  for (auto &[known, value] : entries)
    if (known == key) {
      value = std::move(qconfig);
      return;
    }
  entries.emplace_back(std::move(key), std::move(qconfig));
}

QConfigMapping &QConfigMapping::setGlobal(OptionalQConfig qconfig) {
  global = std::move(qconfig);
  return *this;
}
QConfigMapping &QConfigMapping::setObjectType(OperatorName type, OptionalQConfig qconfig) {
  setEntry(objectTypes, std::move(type), std::move(qconfig));
  return *this;
}
QConfigMapping &QConfigMapping::setModuleNameRegex(std::string regex, OptionalQConfig qconfig) {
  setEntry(regexes, std::move(regex), std::move(qconfig));
  return *this;
}
QConfigMapping &QConfigMapping::setModuleName(std::string path, OptionalQConfig qconfig) {
  setEntry(names, std::move(path), std::move(qconfig));
  return *this;
}
QConfigMapping &QConfigMapping::setModuleNameObjectTypeOrder(OrderKey key, OptionalQConfig qconfig) {
  setEntry(orders, std::move(key), std::move(qconfig));
  return *this;
}

std::string QConfigMapping::OrderKey::toString() const {
  return llvm::formatv("('{0}', '{1}', {2})", modulePath, type.text, index);
}

QConfigMapping &QConfigMapping::setRuleLoc(llvm::StringRef section, llvm::StringRef rule, Location loc) {
  ruleLocs[{section.str(), rule.str()}] = std::move(loc);
  return *this;
}
Location QConfigMapping::getRuleLoc(llvm::StringRef section, llvm::StringRef rule) const {
  auto it = ruleLocs.find({section.str(), rule.str()});
  return it == ruleLocs.end() ? Location() : it->second;
}

const OptionalQConfig *QConfigMapping::findObjectType(const OperatorName &type) const {
  for (const auto &[key, qconfig] : objectTypes)
    if (key == type)
      return &qconfig;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Arguments: PyTorch's to_dict with names for classes and functions
//===----------------------------------------------------------------------===//

static Argument toArgument(const OptionalQConfig &qconfig) { return qconfig ? qconfig->toArgument() : Argument::none(); }

Argument QConfigMapping::toArgument() const {
  auto list = [](const auto &entries, auto makeKeys) {
    Argument::Elements elements;
    for (const auto &[key, qconfig] : entries) {
      Argument::Elements tuple = makeKeys(key);
      tuple.push_back(qfx::toArgument(qconfig));
      elements.push_back(Argument::tuple(std::move(tuple)));
    }
    return Argument::list(std::move(elements));
  };
  auto fromText = [](const std::string &text) { return Argument::Elements{Argument(text)}; };
  return Argument::dict({{"", qfx::toArgument(global)},
                         {"object_type", list(objectTypes, [](const OperatorName &type) { return Argument::Elements{Argument(type.text)}; })},
                         {"module_name_regex", list(regexes, fromText)},
                         {"module_name", list(names, fromText)},
                         {"module_name_object_type_order", list(orders, [](const OrderKey &key) {
                            return Argument::Elements{Argument(key.modulePath), Argument(key.type.text),
                                                      Argument(static_cast<int64_t>(key.index))};
                          })}});
}

static llvm::Error fail(const Argument &found, llvm::StringRef expected) {
  return error(Location(), "a qconfig mapping needs {0}, got {1}", expected, toString(found, ArgumentStyle::Repr)).code("qconfig_mapping");
}

static llvm::Expected<OptionalQConfig> readQConfig(const Argument &argument) {
  if (argument.isNone())
    return OptionalQConfig();
  llvm::Expected<QConfig> qconfig = QConfig::fromArgument(argument);
  if (!qconfig)
    return qconfig.takeError();
  return OptionalQConfig(std::move(*qconfig));
}

/// Calls set(keys, qconfig) for each tuple of `numKeys` keys and a qconfig.
static llvm::Error readEntries(const Argument &list, size_t numKeys,
                               llvm::function_ref<llvm::Error(llvm::ArrayRef<Argument>, OptionalQConfig)> set) {
  if (!list.isSequence())
    return fail(list, "a list of entries");
  for (const Argument &entry : list.getElements()) {
    if (!entry.isSequence() || entry.getElements().size() != numKeys + 1 || !entry.getElements()[0].isString())
      return fail(entry, "a tuple of " + std::to_string(numKeys + 1) + " that starts with a name");
    llvm::Expected<OptionalQConfig> qconfig = readQConfig(entry.getElements().back());
    if (!qconfig)
      return qconfig.takeError();
    if (llvm::Error err = set(entry.getElements().drop_back(), std::move(*qconfig)))
      return err;
  }
  return llvm::Error::success();
}

llvm::Expected<QConfigMapping> QConfigMapping::fromArgument(const Argument &argument) {
  if (!argument.isDict())
    return fail(argument, "a dict");
  static const std::vector<std::string> kKeys = {"", "object_type", "module_name_regex", "module_name", "module_name_object_type_order"};
  using Keys = llvm::ArrayRef<Argument>;
  QConfigMapping mapping;
  auto read = [&](const std::string &key, const Argument &value) -> llvm::Error {
    if (key.empty()) {
      llvm::Expected<OptionalQConfig> global = readQConfig(value);
      if (!global)
        return global.takeError();
      mapping.setGlobal(std::move(*global));
      return llvm::Error::success();
    }
    if (!llvm::is_contained(kKeys, key))
      return error(Location(), "a qconfig mapping has no key '{0}'{1}", key, didYouMean(key, kKeys)).code("qconfig_mapping");
    if (key == "module_name_object_type_order")
      return readEntries(value, 3, [&](Keys keys, OptionalQConfig qconfig) -> llvm::Error {
        if (!keys[1].isString() || !keys[2].isInt() || keys[2].getInt() < 0 || keys[2].getInt() > INT32_MAX)
          return fail(keys[2], "a path, a type and an index");
        mapping.setModuleNameObjectTypeOrder({keys[0].getString(), OperatorName::resolve(keys[1].getString()), static_cast<unsigned>(keys[2].getInt())}, std::move(qconfig));
        return llvm::Error::success();
      });
    return readEntries(value, 1, [&](Keys keys, OptionalQConfig qconfig) -> llvm::Error {
      const std::string &name = keys[0].getString();
      if (key == "object_type")
        mapping.setObjectType(OperatorName::resolve(name), std::move(qconfig));
      else if (key == "module_name_regex")
        mapping.setModuleNameRegex(name, std::move(qconfig));
      else
        mapping.setModuleName(name, std::move(qconfig));
      return llvm::Error::success();
    });
  };
  for (const auto &[key, value] : argument.getEntries())
    if (llvm::Error err = read(key, value))
      return err;
  return mapping;
}

std::string QConfigMapping::toString() const {
  auto print = [](const OptionalQConfig &qconfig) { return qconfig ? qconfig->toString() : std::string("None"); };
  auto section = [&](llvm::StringRef title, const auto &entries, auto printKey) {
    std::string text = ("\n " + title).str();
    for (const auto &[key, qconfig] : entries)
      text += "\n  " + printKey(key) + ": " + print(qconfig);
    return entries.empty() ? text + "\n  OrderedDict()" : text;
  };
  auto same = [](const std::string &key) { return key; };
  return "QConfigMapping (\n global_qconfig\n  " + print(global) +
         section("object_type_qconfigs", objectTypes, [](const OperatorName &type) { return type.text; }) +
         section("module_name_regex_qconfigs", regexes, same) + section("module_name_qconfigs", names, same) +
         section("module_name_object_type_order_qconfigs", orders,
                 [](const OrderKey &key) {
                   return "(" + formatPythonString(key.modulePath) + ", " +
                          (key.type.isMethod() ? formatPythonString(key.type.text) : key.type.text) + ", " +
                          std::to_string(key.index) + ")";
                 }) +
         "\n)";
}

} // namespace qfx
