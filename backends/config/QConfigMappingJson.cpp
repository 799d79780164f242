// QConfigMapping files: reading with places, writing (docs/QConfig.md).
#include "backends/config/BackendReaderDetail.h"
#include "backends/config/EqualizationConfig.h"
#include "backends/config/QConfigReaderDetail.h"
#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

namespace qfx {

namespace {

/// Default mappings that a file may start from.
struct BaseRow {
  llvm::StringLiteral name;
  QConfigMapping (*make)();
};
constexpr BaseRow kBases[] = {
    {"fbgemm", [] { return llvm::cantFail(getDefaultQConfigMapping("fbgemm")); }},
    {"x86", [] { return llvm::cantFail(getDefaultQConfigMapping("x86")); }},
    {"qnnpack", [] { return llvm::cantFail(getDefaultQConfigMapping("qnnpack")); }},
    {"onednn", [] { return llvm::cantFail(getDefaultQConfigMapping("onednn")); }},
    {"fbgemm_qat", [] { return llvm::cantFail(getDefaultQatQConfigMapping("fbgemm")); }},
    {"x86_qat", [] { return llvm::cantFail(getDefaultQatQConfigMapping("x86")); }},
    {"qnnpack_qat", [] { return llvm::cantFail(getDefaultQatQConfigMapping("qnnpack")); }},
    {"onednn_qat", [] { return llvm::cantFail(getDefaultQatQConfigMapping("onednn")); }},
    {"symmetric_qnnpack", getSymmetricQnnpackQConfigMapping},
    {"symmetric_qnnpack_qat", getSymmetricQnnpackQatQConfigMapping}};

class MappingReader {
public:
  MappingReader(const JsonCursor &root, QConfigKind kind) : root(root), kind(kind) {}

  QConfigMapping read() {
    if (!root.expect(JsonValue::Kind::Object))
      return mapping;
    std::vector<llvm::StringRef> keys = {"$schema", "format_version", "", "global", "object_type", "module_name_regex", "module_name",
                                         "module_name_object_type_order"};
    if (kind == QConfigKind::Quantization)
      keys.push_back("extends"); // there is no default mapping of equalization
    root.checkKeys(keys);
    readVersion();
    if (kind == QConfigKind::Quantization)
      readBase();
    readGlobal();
    auto setLoc = [&](llvm::StringRef section, llvm::StringRef rule, const JsonCursor &key) {
      mapping.setRuleLoc(section, rule, key.getReport().locate(key->offset));
    };
    readEntries("object_type", [&](const JsonCursor &key, llvm::StringRef name, OptionalQConfig qconfig) {
      if (std::optional<OperatorName> type = readName(key, name)) {
        setLoc("object_type", type->text, key);
        mapping.setObjectType(*type, std::move(qconfig));
      }
    });
    readEntries("module_name_regex", [&](const JsonCursor &key, llvm::StringRef regex, OptionalQConfig qconfig) {
      if (std::string why = findRegexError(regex); !why.empty())
        return key.error("regex-invalid", ("'" + regex + "' is not a regular expression: " + why).str());
      setLoc("module_name_regex", regex, key);
      mapping.setModuleNameRegex(regex.str(), std::move(qconfig));
    });
    readEntries("module_name", [&](const JsonCursor &key, llvm::StringRef path, OptionalQConfig qconfig) {
      setLoc("module_name", path, key);
      mapping.setModuleName(path.str(), std::move(qconfig));
    });
    readOrders();
    return mapping;
  }

private:
  std::optional<JsonCursor> find(llvm::StringRef key) const {
    const JsonMember *member = root.findMember(key);
    return member ? std::optional(root.at(*member)) : std::nullopt;
  }

  void readVersion() const {
    if (std::optional<JsonCursor> schema = find("$schema"))
      schema->expect(JsonValue::Kind::String);
    std::optional<JsonCursor> version = find("format_version");
    if (version && version->expect(JsonValue::Kind::Integer) && (*version)->integer != 1)
      version->error("bad-version", "format_version " + std::to_string((*version)->integer) + " is not known; this build reads 1");
  }

  void readBase() {
    std::optional<JsonCursor> extends = find("extends");
    if (!extends || !extends->expect(JsonValue::Kind::String))
      return;
    std::vector<std::string> names;
    for (const BaseRow &row : kBases) {
      if (row.name == (*extends)->text)
        mapping = row.make();
      names.push_back(row.name.str());
    }
    if (!llvm::is_contained(names, (*extends)->text))
      extends->error("extends-unknown", "no default mapping is named '" + (*extends)->text + "'" + didYouMean((*extends)->text, names));
  }

  void readGlobal() {
    std::optional<JsonCursor> global = find("global"), torchKey = find("");
    if (global && torchKey)
      torchKey->error("key-conflict", "both 'global' and '' are given");
    if (!global)
      global = torchKey;
    if (global)
      mapping.setGlobal(readQConfig(*global, kind));
  }

  /// A class, function or method.  `place` is where the name stands: the key's value for an object, the string for a pair.
  static std::optional<OperatorName> readName(const JsonCursor &place, llvm::StringRef name) {
    JsonValue text;
    text.kind = JsonValue::Kind::String;
    text.offset = place->offset;
    text.text = name.str();
    return readOperator(JsonCursor(text, place.getPointer(), place.getReport()));
  }

  /// An object in order, or an array of pairs.
  void readEntries(llvm::StringRef key, llvm::function_ref<void(const JsonCursor &, llvm::StringRef, OptionalQConfig)> set) const {
    std::optional<JsonCursor> entries = find(key);
    if (!entries)
      return;
    if ((*entries)->is(JsonValue::Kind::Object)) {
      for (const JsonMember &member : (*entries)->members) {
        // Complaints about the name belong to the key.
        JsonValue keyPlace;
        keyPlace.offset = member.keyOffset;
        JsonCursor place(keyPlace, entries->at(member).getPointer(), entries->getReport());
        set(place, member.key, readQConfig(entries->at(member), kind));
      }
      return;
    }
    if (!(*entries)->is(JsonValue::Kind::Array))
      return entries->error("wrong-type", ("expected an object or an array of pairs, found " + describeJsonKind((*entries)->kind)).str());
    for (const JsonCursor &entry : entries->getElements())
      if (isTuple(entry, 2) && entry.at(0).expect(JsonValue::Kind::String))
        set(entry.at(0), entry.at(0)->text, readQConfig(entry.at(1), kind));
  }

  static bool isTuple(const JsonCursor &entry, size_t size) {
    if (!entry.expect(JsonValue::Kind::Array))
      return false;
    if (entry->elements.size() == size)
      return true;
    entry.error("entry-size", "expected " + std::to_string(size) + " elements, found " + std::to_string(entry->elements.size()));
    return false;
  }

  void readOrders() {
    std::optional<JsonCursor> entries = find("module_name_object_type_order");
    if (!entries || !entries->expect(JsonValue::Kind::Array))
      return;
    for (const JsonCursor &entry : entries->getElements()) {
      if (!isTuple(entry, 4))
        continue;
      JsonCursor path = entry.at(0), index = entry.at(2);
      std::optional<OperatorName> type = readOperator(entry.at(1));
      OptionalQConfig qconfig = readQConfig(entry.at(3), kind);
      if (!path.expect(JsonValue::Kind::String) || !index.expect(JsonValue::Kind::Integer))
        continue;
      if (index->integer < 0 || index->integer > INT32_MAX)
        index.error("order-index", "an index counts calls from 0, got " + std::to_string(index->integer));
      else if (type) {
        QConfigMapping::OrderKey key{path->text, *type, static_cast<unsigned>(index->integer)};
        mapping.setRuleLoc("module_name_object_type_order", key.toString(), entry.getReport().locate(entry->offset));
        mapping.setModuleNameObjectTypeOrder(std::move(key), std::move(qconfig));
      }
    }
  }

  const JsonCursor &root;
  QConfigKind kind;
  QConfigMapping mapping;
};

} // namespace

QConfigMapping readQConfigMapping(const JsonCursor &cursor, QConfigKind kind) { return MappingReader(cursor, kind).read(); }

static llvm::Expected<QConfigMapping> parseMapping(std::shared_ptr<const SourceText> text, QConfigKind kind, std::vector<Diagnostic> *warnings) {
  JsonReport report(text);
  JsonValue tree;
  QConfigMapping mapping;
  if (parseJson(*text, tree, report)) {
    JsonCursor root(tree, "", report);
    mapping = MappingReader(root, kind).read();
  }
  bool hasErrors = report.hasErrors();
  std::vector<Diagnostic> errors;
  for (Diagnostic &diagnostic : report.take())
    if (diagnostic.severity == Severity::Error)
      errors.push_back(std::move(diagnostic));
    else if (warnings)
      warnings->push_back(std::move(diagnostic));
  if (!hasErrors)
    return mapping;
  return llvm::make_error<InputError>(std::move(errors));
}

llvm::Expected<QConfigMapping> parseQConfigMapping(std::shared_ptr<const SourceText> text, std::vector<Diagnostic> *warnings) {
  return parseMapping(std::move(text), QConfigKind::Quantization, warnings);
}

llvm::Expected<QConfigMapping> parseEqualizationMapping(std::shared_ptr<const SourceText> text) {
  return parseMapping(std::move(text), QConfigKind::Equalization, nullptr);
}

static llvm::Expected<std::shared_ptr<const SourceText>> readText(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return error(Location(), "cannot read '{0}': {1}", path, buffer.getError().message()).code("file_read");
  return std::make_shared<SourceText>(SourceText{path.str(), (*buffer)->getBuffer().str()});
}

llvm::Expected<QConfigMapping> loadQConfigMapping(llvm::StringRef path, std::vector<Diagnostic> *warnings) {
  auto text = readText(path);
  return text ? parseQConfigMapping(std::move(*text), warnings) : text.takeError();
}

llvm::Expected<QConfigMapping> loadEqualizationMapping(llvm::StringRef path) {
  auto text = readText(path);
  return text ? parseEqualizationMapping(std::move(*text)) : text.takeError();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// The Argument form is JSON but for None, True, False, dtypes and schemes.
static std::string writeValue(const Argument &value) {
  switch (value.getKind()) {
  case Argument::Kind::None:
    return "null";
  case Argument::Kind::Bool:
    return value.getBool() ? "true" : "false";
  case Argument::Kind::DType:
    return formatQuoted(getDTypeInfo(value.getDType()).torchName);
  case Argument::Kind::QScheme:
    return formatQuoted(getQSchemeName(value.getQScheme()));
  case Argument::Kind::List:
  case Argument::Kind::Tuple: {
    std::vector<std::string> parts;
    for (const Argument &element : value.getElements())
      parts.push_back(writeValue(element));
    return "[" + llvm::join(parts, ", ") + "]";
  }
  case Argument::Kind::Dict: {
    std::vector<std::string> parts;
    for (const auto &[key, entry] : value.getEntries())
      parts.push_back(formatQuoted(key) + ": " + writeValue(entry));
    return "{" + llvm::join(parts, ", ") + "}";
  }
  default:
    return toString(value, ArgumentStyle::Qfx);
  }
}

static std::string writeQConfig(const OptionalQConfig &qconfig) {
  if (!qconfig)
    return "null";
  std::string alias = qconfig->getAliasName();
  return alias.empty() ? writeValue(qconfig->toArgument()) : formatQuoted(alias);
}

std::string writeQConfigMapping(const QConfigMapping &mapping) {
  std::string text = "{\n  \"format_version\": 1,\n  \"global\": " + writeQConfig(mapping.getGlobal());
  auto write = [&](llvm::StringRef key, const auto &entries, auto writeKey) {
    std::vector<std::string> lines;
    for (const auto &[name, qconfig] : entries)
      lines.push_back("    [" + writeKey(name) + ", " + writeQConfig(qconfig) + "]");
    if (!lines.empty())
      text += ",\n  " + formatQuoted(key) + ": [\n" + llvm::join(lines, ",\n") + "\n  ]";
  };
  auto quote = [](const std::string &name) { return formatQuoted(name); };
  write("object_type", mapping.getObjectTypes(), [](const OperatorName &type) { return formatQuoted(type.text); });
  write("module_name_regex", mapping.getModuleNameRegexes(), quote);
  write("module_name", mapping.getModuleNames(), quote);
  write("module_name_object_type_order", mapping.getModuleNameObjectTypeOrders(), [](const QConfigMapping::OrderKey &key) {
    return formatQuoted(key.modulePath) + ", " + formatQuoted(key.type.text) + ", " + std::to_string(key.index);
  });
  return text + "\n}\n";
}

} // namespace qfx
