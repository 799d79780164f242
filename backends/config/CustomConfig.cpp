// Setters, look-ups and PyTorch's print of the custom configs.
#include "backends/config/CustomConfig.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace qfx {

static constexpr llvm::StringLiteral kQuantTypes[] = {llvm::StringLiteral("static"), llvm::StringLiteral("dynamic"),
                                                      llvm::StringLiteral("weight_only")};

llvm::StringRef getQuantTypeName(QuantType type) { return kQuantTypes[static_cast<size_t>(type)]; }

std::optional<QuantType> parseQuantType(llvm::StringRef name) {
  for (size_t i = 0; i < std::size(kQuantTypes); ++i)
    if (name == kQuantTypes[i])
      return static_cast<QuantType>(i);
  return std::nullopt;
}

template <class K, class V> static void setEntry(std::vector<std::pair<K, V>> &entries, K key, V value) {
  for (auto &entry : entries)
    if (entry.first == key) {
      entry.second = std::move(value);
      return;
    }
  entries.emplace_back(std::move(key), std::move(value));
}

void ModuleClassMap::set(OperatorName from, OperatorName to) { setEntry(entries, std::move(from), std::move(to)); }

const OperatorName *ModuleClassMap::find(const OperatorName &from) const {
  for (const auto &entry : entries)
    if (entry.first == from)
      return &entry.second;
  return nullptr;
}

FuseCustomConfig &FuseCustomConfig::setPreservedAttributes(std::vector<std::string> names) {
  preservedAttributes = std::move(names);
  return *this;
}

PrepareCustomConfig &PrepareCustomConfig::setStandaloneModuleName(std::string path, StandaloneModuleConfig config) {
  setEntry(standaloneNames, std::move(path), std::move(config));
  return *this;
}

PrepareCustomConfig &PrepareCustomConfig::setStandaloneModuleClass(OperatorName moduleClass, StandaloneModuleConfig config) {
  setEntry(standaloneClasses, std::move(moduleClass), std::move(config));
  return *this;
}

PrepareCustomConfig &PrepareCustomConfig::setFloatToObservedMapping(OperatorName floatClass, OperatorName observedClass) {
  floatToObserved.set(std::move(floatClass), std::move(observedClass));
  return *this;
}

PrepareCustomConfig &PrepareCustomConfig::setNonTraceableModuleNames(std::vector<std::string> paths) {
  nonTraceableNames = std::move(paths);
  return *this;
}

PrepareCustomConfig &PrepareCustomConfig::setNonTraceableModuleClasses(std::vector<OperatorName> classes) {
  nonTraceableClasses = std::move(classes);
  return *this;
}

PrepareCustomConfig &PrepareCustomConfig::setInputQuantizedIndexes(std::vector<int64_t> indexes) {
  inputQuantizedIndexes = std::move(indexes);
  return *this;
}

PrepareCustomConfig &PrepareCustomConfig::setOutputQuantizedIndexes(std::vector<int64_t> indexes) {
  outputQuantizedIndexes = std::move(indexes);
  return *this;
}

PrepareCustomConfig &PrepareCustomConfig::setPreservedAttributes(std::vector<std::string> names) {
  preservedAttributes = std::move(names);
  return *this;
}

const StandaloneModuleConfig *PrepareCustomConfig::findStandalone(llvm::StringRef path, const OperatorName &moduleClass) const {
  for (const auto &entry : standaloneNames)
    if (entry.first == path)
      return &entry.second;
  for (const auto &entry : standaloneClasses)
    if (entry.first == moduleClass)
      return &entry.second;
  return nullptr;
}

ConvertCustomConfig &ConvertCustomConfig::setObservedToQuantizedMapping(OperatorName observedClass, OperatorName quantizedClass,
                                                                        QuantType type) {
  observedToQuantized[static_cast<size_t>(type)].set(std::move(observedClass), std::move(quantizedClass));
  return *this;
}

ConvertCustomConfig &ConvertCustomConfig::setPreservedAttributes(std::vector<std::string> names) {
  preservedAttributes = std::move(names);
  return *this;
}

bool ConvertCustomConfig::isObservedClass(const OperatorName &moduleClass) const {
  return llvm::any_of(observedToQuantized, [&](const ModuleClassMap &map) { return map.find(moduleClass) != nullptr; });
}

namespace {
/// `ClassName({'key': value, ...})` from the fields that are not empty.
class FieldPrinter {
public:
  explicit FieldPrinter(llvm::StringRef className) : text((className + "({").str()) {}

  void add(llvm::StringRef key, const std::string &value) {
    text += (isFirst ? "'" : ", '") + key.str() + "': " + value;
    isFirst = false;
  }
  void addNames(llvm::StringRef key, llvm::ArrayRef<std::string> names) {
    if (!names.empty())
      add(key, list(names, "'"));
  }
  void addIndexes(llvm::StringRef key, llvm::ArrayRef<int64_t> indexes) {
    std::vector<std::string> texts;
    for (int64_t index : indexes)
      texts.push_back(std::to_string(index));
    if (!texts.empty())
      add(key, list(texts, ""));
  }
  static std::string list(llvm::ArrayRef<std::string> parts, llvm::StringRef quote) {
    std::string result = "[";
    for (const std::string &part : parts)
      result += (result.size() > 1 ? ", " : "") + quote.str() + part + quote.str();
    return result + "]";
  }
  static std::string map(const ModuleClassMap &classes) {
    std::string result = "{";
    for (const auto &[from, to] : classes.getEntries())
      result += (result.size() > 1 ? ", " : "") + from.text + ": " + to.text;
    return result + "}";
  }
  std::string take() { return text + "})"; }

private:
  std::string text;
  bool isFirst = true;
};
} // namespace

std::string FuseCustomConfig::toString() const {
  FieldPrinter printer("FuseCustomConfig");
  printer.addNames("preserved_attributes", preservedAttributes);
  return printer.take();
}

static std::string describe(llvm::StringRef key, const StandaloneModuleConfig &config) {
  return ("(" + key + ", " + (config.qconfigMapping ? config.qconfigMapping->toString() : std::string("None")) + ", " +
          (config.prepareCustomConfig ? config.prepareCustomConfig->toString() : std::string("None")) + ", " +
          (config.backendConfig ? config.backendConfig->getName() : std::string("None")) + ")")
      .str();
}

std::string PrepareCustomConfig::toString() const {
  FieldPrinter printer("PrepareCustomConfig");
  std::vector<std::string> names, classes, floats;
  for (const auto &[path, config] : standaloneNames)
    names.push_back(describe("'" + path + "'", config));
  for (const auto &[moduleClass, config] : standaloneClasses)
    classes.push_back(describe(moduleClass.text, config));
  for (const OperatorName &moduleClass : nonTraceableClasses)
    floats.push_back(moduleClass.text);
  if (!names.empty())
    printer.add("standalone_module_name", FieldPrinter::list(names, ""));
  if (!classes.empty())
    printer.add("standalone_module_class", FieldPrinter::list(classes, ""));
  if (!floatToObserved.empty())
    printer.add("float_to_observed_custom_module_class", "{'static': " + FieldPrinter::map(floatToObserved) + "}");
  printer.addNames("non_traceable_module_name", nonTraceableNames);
  if (!floats.empty())
    printer.add("non_traceable_module_class", FieldPrinter::list(floats, ""));
  printer.addIndexes("input_quantized_idxs", inputQuantizedIndexes);
  printer.addIndexes("output_quantized_idxs", outputQuantizedIndexes);
  printer.addNames("preserved_attributes", preservedAttributes);
  return printer.take();
}

std::string ConvertCustomConfig::toString() const {
  FieldPrinter printer("ConvertCustomConfig");
  std::string types;
  for (size_t i = 0; i < observedToQuantized.size(); ++i)
    if (!observedToQuantized[i].empty())
      types += (types.empty() ? "'" : ", '") + kQuantTypes[i].str() + "': " + FieldPrinter::map(observedToQuantized[i]);
  if (!types.empty())
    printer.add("observed_to_quantized_custom_module_class", "{" + types + "}");
  printer.addNames("preserved_attributes", preservedAttributes);
  return printer.take();
}

} // namespace qfx
