// Custom config files: sections `fuse`, `prepare`, `convert` with PyTorch's dict keys (docs/CustomConfig.md).
#include "backends/config/BackendConfigJson.h"
#include "backends/config/BackendReaderDetail.h"
#include "backends/config/CustomConfig.h"
#include "backends/config/QConfigReaderDetail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MemoryBuffer.h"

namespace qfx {

static constexpr unsigned kMaxDepth = 16; ///< standalone modules in standalone modules

namespace {
/// Reads one object, key by key.
class SectionReader {
public:
  explicit SectionReader(const JsonCursor &cursor) : cursor(cursor) {}

  std::optional<JsonCursor> find(llvm::StringRef key, JsonValue::Kind kind) const {
    const JsonMember *member = cursor.findMember(key);
    if (!member || !cursor.at(*member).expect(kind))
      return std::nullopt;
    return cursor.at(*member);
  }
  std::vector<std::string> readNames(llvm::StringRef key) const {
    std::vector<std::string> names;
    if (std::optional<JsonCursor> list = find(key, JsonValue::Kind::Array))
      for (const JsonCursor &element : list->getElements())
        if (element.expect(JsonValue::Kind::String))
          names.push_back(element->text);
    return names;
  }
  std::vector<int64_t> readIndexes(llvm::StringRef key) const {
    std::vector<int64_t> indexes;
    if (std::optional<JsonCursor> list = find(key, JsonValue::Kind::Array))
      for (const JsonCursor &element : list->getElements())
        if (element.expect(JsonValue::Kind::Integer))
          indexes.push_back(element->integer);
    return indexes;
  }
  std::vector<OperatorName> readClasses(llvm::StringRef key) const {
    std::vector<OperatorName> classes;
    if (std::optional<JsonCursor> list = find(key, JsonValue::Kind::Array))
      for (const JsonCursor &element : list->getElements())
        if (std::optional<OperatorName> name = readModuleClass(element))
          classes.push_back(*name);
    return classes;
  }
  /// {"static": {"from": "to"}}
  void readClassMaps(llvm::StringRef key, llvm::function_ref<void(const JsonCursor &, QuantType, OperatorName, OperatorName)> set) const {
    std::optional<JsonCursor> types = find(key, JsonValue::Kind::Object);
    if (!types)
      return;
    types->checkKeys({"static", "dynamic", "weight_only"});
    for (const JsonMember &member : (*types)->members) {
      std::optional<QuantType> type = parseQuantType(member.key);
      JsonCursor classes = types->at(member);
      if (!type || !classes.expect(JsonValue::Kind::Object))
        continue;
      for (const JsonMember &entry : classes->members) {
        JsonValue text;
        text.kind = JsonValue::Kind::String;
        text.offset = entry.keyOffset;
        text.text = entry.key;
        std::optional<OperatorName> from = readModuleClass(JsonCursor(text, classes.at(entry).getPointer(), classes.getReport()));
        std::optional<OperatorName> to = readModuleClass(classes.at(entry));
        if (from && to)
          set(types->at(member), *type, *from, *to);
      }
    }
  }

protected:
  JsonCursor cursor;
};

class PrepareReader : SectionReader {
public:
  PrepareReader(const JsonCursor &cursor, unsigned depth) : SectionReader(cursor), depth(depth) {}

  PrepareCustomConfig read() {
    PrepareCustomConfig config;
    if (!cursor.expect(JsonValue::Kind::Object))
      return config;
    cursor.checkKeys({"standalone_module_name", "standalone_module_class", "float_to_observed_custom_module_class",
                      "non_traceable_module_name", "non_traceable_module_class", "input_quantized_idxs", "output_quantized_idxs",
                      "preserved_attributes"});
    readStandalone("standalone_module_name", "name", [&](const JsonCursor &key, StandaloneModuleConfig entry) {
      if (key.expect(JsonValue::Kind::String))
        config.setStandaloneModuleName(key->text, std::move(entry));
    });
    readStandalone("standalone_module_class", "class", [&](const JsonCursor &key, StandaloneModuleConfig entry) {
      if (std::optional<OperatorName> name = readModuleClass(key))
        config.setStandaloneModuleClass(*name, std::move(entry));
    });
    readClassMaps("float_to_observed_custom_module_class",
                  [&](const JsonCursor &place, QuantType type, OperatorName from, OperatorName to) {
                    if (type != QuantType::Static)
                      return place.error("quant-type", "observed modules are for 'static' quantization only, as in PyTorch");
                    config.setFloatToObservedMapping(std::move(from), std::move(to));
                  });
    config.setNonTraceableModuleNames(readNames("non_traceable_module_name"));
    config.setNonTraceableModuleClasses(readClasses("non_traceable_module_class"));
    config.setInputQuantizedIndexes(readIndexes("input_quantized_idxs"));
    config.setOutputQuantizedIndexes(readIndexes("output_quantized_idxs"));
    config.setPreservedAttributes(readNames("preserved_attributes"));
    return config;
  }

private:
  using Set = llvm::function_ref<void(const JsonCursor &key, StandaloneModuleConfig entry)>;

  /// An array of objects, or of PyTorch's 5-tuples (key, qconfig_mapping, example_inputs, prepare_custom_config, backend_config).
  void readStandalone(llvm::StringRef key, llvm::StringRef keyField, Set set) const {
    std::optional<JsonCursor> list = find(key, JsonValue::Kind::Array);
    if (!list)
      return;
    for (const JsonCursor &entry : list->getElements()) {
      if (entry->is(JsonValue::Kind::Array)) {
        if (entry->elements.size() != 5) {
          entry.error("entry-size", "expected 5 elements (the " + keyField.str() +
                                        ", qconfig_mapping, example_inputs, prepare_custom_config, backend_config), found " +
                                        std::to_string(entry->elements.size()));
          continue;
        }
        set(entry.at(0), readEntry(entry.at(1), entry.at(3), entry.at(4)));
        continue;
      }
      if (!entry.expect(JsonValue::Kind::Object))
        continue;
      entry.checkKeys({keyField, "qconfig_mapping", "prepare_custom_config", "backend_config"});
      const JsonMember *name = entry.findMember(keyField);
      if (!name) {
        entry.error("missing-key", "a standalone entry needs '" + keyField.str() + "'");
        continue;
      }
      auto get = [&](llvm::StringRef field) -> std::optional<JsonCursor> {
        const JsonMember *member = entry.findMember(field);
        return member ? std::optional(entry.at(*member)) : std::nullopt;
      };
      set(entry.at(*name), readEntry(get("qconfig_mapping"), get("prepare_custom_config"), get("backend_config")));
    }
  }

  StandaloneModuleConfig readEntry(const std::optional<JsonCursor> &mapping, const std::optional<JsonCursor> &prepare,
                                   const std::optional<JsonCursor> &backend) const {
    StandaloneModuleConfig entry;
    auto isGiven = [](const std::optional<JsonCursor> &value) { return value && !(*value)->is(JsonValue::Kind::Null); };
    if (isGiven(mapping))
      entry.qconfigMapping = readQConfigMapping(*mapping);
    if (isGiven(prepare)) {
      if (depth == kMaxDepth)
        prepare->error("nested-too-deep", "standalone modules nest at most " + std::to_string(kMaxDepth) + " deep");
      else
        entry.prepareCustomConfig = std::make_shared<PrepareCustomConfig>(PrepareReader(*prepare, depth + 1).read());
    }
    if (isGiven(backend) && backend->expect(JsonValue::Kind::String)) {
      std::vector<Diagnostic> warnings;
      auto config = loadBackendConfig((*backend)->text, warnings);
      if (config)
        entry.backendConfig = std::make_shared<BackendConfig>(std::move(*config));
      else
        for (const Diagnostic &diagnostic : takeDiagnostics(config.takeError()))
          backend->error("backend-unreadable", diagnostic.message);
    }
    return entry;
  }

  unsigned depth;
};

class FileReader : SectionReader {
public:
  explicit FileReader(const JsonCursor &root) : SectionReader(root) {}

  CustomConfig read() {
    CustomConfig config;
    if (!cursor.expect(JsonValue::Kind::Object))
      return config;
    cursor.checkKeys({"$schema", "format_version", "fuse", "prepare", "convert"});
    if (std::optional<JsonCursor> version = find("format_version", JsonValue::Kind::Integer); version && (*version)->integer != 1)
      version->error("bad-version", "format_version " + std::to_string((*version)->integer) + " is not known; this build reads 1");
    if (std::optional<JsonCursor> fuse = find("fuse", JsonValue::Kind::Object)) {
      fuse->checkKeys({"preserved_attributes"});
      config.fuse.setPreservedAttributes(SectionReader(*fuse).readNames("preserved_attributes"));
    }
    if (std::optional<JsonCursor> prepare = find("prepare", JsonValue::Kind::Object))
      config.prepare = PrepareReader(*prepare, 0).read();
    if (std::optional<JsonCursor> convert = find("convert", JsonValue::Kind::Object))
      readConvert(*convert, config);
    return config;
  }

private:
  static void readConvert(const JsonCursor &section, CustomConfig &config) {
    section.checkKeys({"observed_to_quantized_custom_module_class", "preserved_attributes", "qconfig_mapping"});
    SectionReader reader(section);
    reader.readClassMaps("observed_to_quantized_custom_module_class",
                         [&](const JsonCursor &, QuantType type, OperatorName from, OperatorName to) {
                           config.convert.setObservedToQuantizedMapping(std::move(from), std::move(to), type);
                         });
    config.convert.setPreservedAttributes(reader.readNames("preserved_attributes"));
    if (std::optional<JsonCursor> mapping = reader.find("qconfig_mapping", JsonValue::Kind::Object))
      config.convertOverrides = readQConfigMapping(*mapping);
  }
};
} // namespace

llvm::Expected<CustomConfig> parseCustomConfig(std::shared_ptr<const SourceText> text) {
  JsonReport report(text);
  JsonValue tree;
  CustomConfig config;
  if (parseJson(*text, tree, report))
    config = FileReader(JsonCursor(tree, "", report)).read();
  if (!report.hasErrors())
    return config;
  std::vector<Diagnostic> errors = report.take();
  llvm::erase_if(errors, [](const Diagnostic &diagnostic) { return diagnostic.severity != Severity::Error; });
  return llvm::make_error<InputError>(std::move(errors));
}

llvm::Expected<CustomConfig> loadCustomConfig(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return error(Location(), "cannot read '{0}': {1}", path, buffer.getError().message()).code("file_read");
  return parseCustomConfig(std::make_shared<SourceText>(SourceText{path.str(), (*buffer)->getBuffer().str()}));
}

} // namespace qfx
