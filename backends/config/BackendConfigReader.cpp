// Reads whole BackendConfig files: document keys, `extends`, remove, replace, add (backend_config.md 3, 4, 5.1).
#include "backends/builtin/BuiltinTexts.h"
#include "backends/config/BackendConfigJson.h"
#include "backends/config/BackendReaderDetail.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace qfx {

namespace {

/// What a file stands for: its entries with dtype configs resolved, and the named ones a derived file may redefine.
struct Document {
  std::string name;
  std::string defaultMappingName; ///< the built-in at the end of the chain of `extends`
  NamedDTypeConfigs dtypeConfigs;
  std::vector<BackendPatternConfig> entries;
};

constexpr size_t kMaxLevels = 16;

/// Reads one file; `chain` holds the files that led here, for cycles.
class DocumentReader {
public:
  DocumentReader(std::shared_ptr<const SourceText> source, bool isBuiltin, std::vector<std::string> chain)
      : source(std::move(source)), isBuiltin(isBuiltin), chain(std::move(chain)), report(this->source),
        root(JsonCursor(tree, "", report)) {}

  /// Diagnostics are appended to `diagnostics`, those of bases first.
  std::optional<Document> read(std::vector<Diagnostic> &diagnostics) {
    if (parseJson(*source, tree, report) && root.expect(JsonValue::Kind::Object))
      readDocument(diagnostics);
    bool hasErrors = report.hasErrors();
    llvm::append_range(diagnostics, report.take());
    return hasErrors ? std::nullopt : std::optional(std::move(document));
  }

private:
  std::optional<JsonCursor> find(llvm::StringRef key) const {
    const JsonMember *member = root.findMember(key);
    return member ? std::optional(root.at(*member)) : std::nullopt;
  }

  void readDocument(std::vector<Diagnostic> &diagnostics) {
    root.checkKeys({"$schema", "format_version", "name", "dtype_configs", "configs", "extends", "remove", "replace", "add"});
    if (std::optional<JsonCursor> schema = find("$schema"))
      schema->expect(JsonValue::Kind::String);
    readVersion();
    readName();
    std::optional<JsonCursor> extends = find("extends"), configs = find("configs");
    if (!extends && !configs)
      root.error("missing-key", "one of the keys 'configs' and 'extends' is needed");
    if (extends && configs)
      configs->error("extends-and-configs", "a file with extends cannot have configs; use remove, replace and add");
    if (extends)
      readBase(*extends, diagnostics);
    readNamedDTypeConfigs();
    resolveReferences(); // those of the base's entries, before own entries are compared and added
    if (configs && !extends)
      readList(*configs, own);
    for (llvm::StringRef key : {"remove", "replace", "add"})
      if (!extends && root.findMember(key))
        root.errorAtKey(*root.findMember(key), "ops-without-extends", ("'" + key + "' needs extends").str());
    if (extends) {
      remove();
      replace();
      add();
    } else {
      for (const ReadEntry &entry : own)
        document.entries.push_back(entry.config);
    }
    checkAcrossEntries(own, BackendConfig().setBackendPatternConfigs(document.entries));
  }

  void readVersion() {
    std::optional<JsonCursor> version = find("format_version");
    if (version && version->expect(JsonValue::Kind::Integer) && (*version)->integer != 1)
      version->error("bad-version", "format_version " + std::to_string((*version)->integer) + " is not known; this build reads 1");
  }

  void readName() {
    std::optional<JsonCursor> name = find("name");
    if (!name)
      return root.error("missing-key", "the key 'name' is needed");
    if (!name->expect(JsonValue::Kind::String))
      return;
    document.name = (*name)->text;
    if (document.name.empty())
      name->error("wrong-type", "expected a non-empty string, found an empty one");
    if (!isBuiltin && !getBuiltinBackendText(document.name).empty())
      name->warn("name-reserved", "'" + document.name + "' is the name of a built-in configuration");
  }

  void readNamedDTypeConfigs() {
    std::optional<JsonCursor> named = find("dtype_configs");
    if (!named || !named->expect(JsonValue::Kind::Object))
      return;
    for (const JsonMember &member : (*named)->members) {
      if (member.key == "comment" && !member.value.is(JsonValue::Kind::Object))
        continue;
      llvm::StringRef name = member.key;
      bool isIdentifier = !name.empty() && !llvm::isDigit(name.front()) &&
                          llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (!isIdentifier)
        named->errorAtKey(member, "unknown-key", "'" + member.key + "' is not a name of letters, digits and underscores");
      DTypeConfig config = readDTypeConfig(named->at(member));
      auto same = llvm::find_if(document.dtypeConfigs, [&](const auto &entry) { return entry.first == member.key; });
      if (same != document.dtypeConfigs.end())
        same->second = config;
      else
        document.dtypeConfigs.emplace_back(member.key, config);
    }
  }

  void resolveReferences() {
    for (BackendPatternConfig &entry : document.entries)
      for (size_t i = 0; i < entry.dtypeConfigs.size(); ++i)
        if (const DTypeConfig *config = findDTypeConfig(document.dtypeConfigs, entry.dtypeConfigNames[i]))
          entry.dtypeConfigs[i] = *config;
  }

  /// Reads an array of entries; a pattern that comes twice is an error.
  void readList(const JsonCursor &list, std::vector<ReadEntry> &entries) {
    if (!list.expect(JsonValue::Kind::Array))
      return;
    size_t first = entries.size();
    for (const JsonCursor &item : list.getElements()) {
      std::optional<ReadEntry> entry = readEntry(item, document.dtypeConfigs);
      if (!entry)
        continue;
      auto same = std::find_if(entries.begin() + static_cast<ptrdiff_t>(first), entries.end(),
                               [&](const ReadEntry &other) { return other.config.pattern == entry->config.pattern; });
      if (same != entries.end())
        item.error("duplicate-pattern", "same pattern as " + same->cursor.getPointer());
      else
        entries.push_back(std::move(*entry));
    }
  }

  std::vector<BackendPatternConfig>::iterator findEntry(const Pattern &pattern) {
    return llvm::find_if(document.entries, [&](const auto &entry) { return entry.pattern == pattern; });
  }

  void remove() {
    std::optional<JsonCursor> list = find("remove");
    if (!list || !list->expect(JsonValue::Kind::Array))
      return;
    std::vector<std::pair<Pattern, std::string>> seen;
    for (const JsonCursor &item : list->getElements()) {
      if (item->is(JsonValue::Kind::Object) && item.findMember("glob")) {
        removeGlob(item);
        continue;
      }
      std::optional<Pattern> pattern = readSelector(item);
      if (!pattern)
        continue;
      auto again = llvm::find_if(seen, [&](const auto &one) { return one.first == *pattern; });
      if (again != seen.end()) {
        item.error("duplicate-pattern", "same pattern as " + again->second);
        continue;
      }
      seen.emplace_back(*pattern, item.getPointer());
      auto found = findEntry(*pattern);
      if (found == document.entries.end())
        item.error("remove-missing", "the base has no such pattern");
      else
        document.entries.erase(found);
    }
  }

  /// A simple pattern, or an object with a complex one.
  std::optional<Pattern> readSelector(const JsonCursor &item) const {
    if (!item->is(JsonValue::Kind::Object))
      return readSimplePattern(item);
    item.checkKeys({"pattern_complex_format", "glob"});
    const JsonMember *complex = item.findMember("pattern_complex_format");
    if (complex)
      return readComplexPattern(item.at(*complex));
    item.error("missing-key", "one of the keys 'pattern_complex_format' and 'glob' is needed");
    return std::nullopt;
  }

  void removeGlob(const JsonCursor &item) {
    item.checkKeys({"glob"});
    JsonCursor glob = item.at(*item.findMember("glob"));
    if (!glob.expect(JsonValue::Kind::String))
      return;
    size_t before = document.entries.size();
    llvm::erase_if(document.entries, [&](const auto &entry) { return matchesGlob(entry.pattern, glob->text); });
    if (document.entries.size() == before)
      item.error("remove-missing", "the base has no pattern with an operator like '" + glob->text + "'");
  }

  static bool matchesGlob(const Pattern &pattern, llvm::StringRef glob) {
    if (pattern.getKind() == Pattern::Kind::Operator && isGlobMatch(glob, pattern.getHead().text))
      return true;
    return llvm::any_of(pattern.getArgs(), [&](const Pattern &arg) { return matchesGlob(arg, glob); });
  }

  /// `*` any run of characters, `?` one character.
  static bool isGlobMatch(llvm::StringRef glob, llvm::StringRef text) {
    size_t g = 0, t = 0, star = llvm::StringRef::npos, resume = 0;
    while (t < text.size()) {
      if (g < glob.size() && glob[g] == '*') {
        star = g++;
        resume = t;
      } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
        ++g;
        ++t;
      } else if (star != llvm::StringRef::npos) {
        g = star + 1;
        t = ++resume;
      } else {
        return false;
      }
    }
    return glob.substr(g).find_first_not_of('*') == llvm::StringRef::npos;
  }

  void replace() {
    std::optional<JsonCursor> list = find("replace");
    if (!list)
      return;
    size_t first = own.size();
    readList(*list, own);
    for (size_t i = first; i < own.size(); ++i) {
      auto found = findEntry(own[i].config.pattern);
      if (found == document.entries.end())
        own[i].cursor.error("replace-missing", "the base has no such pattern");
      else
        *found = own[i].config;
    }
  }

  void add() {
    std::optional<JsonCursor> list = find("add");
    if (!list)
      return;
    size_t first = own.size();
    readList(*list, own);
    for (size_t i = first; i < own.size(); ++i) {
      if (findEntry(own[i].config.pattern) != document.entries.end())
        own[i].cursor.error("add-exists", "the base already has this pattern; use replace");
      else
        document.entries.push_back(own[i].config);
    }
  }

  void readBase(const JsonCursor &extends, std::vector<Diagnostic> &diagnostics) {
    if (!extends.expect(JsonValue::Kind::String))
      return;
    const std::string &base = extends->text;
    llvm::StringRef builtin = getBuiltinBackendText(base);
    std::shared_ptr<const SourceText> text;
    std::string key = base;
    if (!builtin.empty()) {
      text = std::make_shared<SourceText>(SourceText{base + ".json", builtin.str()});
    } else if (std::optional<std::string> path = findFile(extends)) {
      key = *path;
      text = openFile(extends, *path);
    }
    if (!text)
      return;
    std::vector<std::string> longer = chain;
    longer.push_back(key);
    if (llvm::is_contained(chain, key) || chain.size() > kMaxLevels)
      return extends.error("extends-cycle", (chain.size() > kMaxLevels ? "more than 16 levels: " : "extends goes in a circle: ") +
                                                llvm::join(longer, " -> "));
    DocumentReader reader(text, !builtin.empty(), longer);
    std::optional<Document> read = reader.read(diagnostics);
    if (!read)
      return extends.error("extends-invalid", "the base '" + base + "' has errors");
    document.defaultMappingName = builtin.empty() ? read->defaultMappingName : base;
    document.dtypeConfigs = std::move(read->dtypeConfigs);
    document.entries = std::move(read->entries);
  }

  /// The path of a relative base file, with its complaint if the text cannot be one.
  std::optional<std::string> findFile(const JsonCursor &extends) const {
    llvm::StringRef base = extends->text;
    if (base.contains('\\') || llvm::sys::path::is_absolute(base) || startsWith(base, "/")) {
      extends.error("extends-unknown", ("'" + base + "' is not a relative path with '/'").str());
      return std::nullopt;
    }
    if (!endsWith(base, ".json")) {
      extends.error("extends-unknown", "no built-in configuration is named '" + base.str() + "'" + didYouMean(base, getBuiltinBackendNames()));
      return std::nullopt;
    }
    llvm::SmallString<128> path(llvm::sys::path::parent_path(source->name));
    llvm::sys::path::append(path, base);
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    return path.str().str();
  }

  static std::shared_ptr<const SourceText> openFile(const JsonCursor &extends, const std::string &path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer) {
      extends.error("extends-unknown", "cannot read '" + path + "': " + buffer.getError().message());
      return nullptr;
    }
    return std::make_shared<SourceText>(SourceText{path, (*buffer)->getBuffer().str()});
  }

  std::shared_ptr<const SourceText> source;
  bool isBuiltin;
  std::vector<std::string> chain;
  JsonReport report;
  JsonValue tree;
  JsonCursor root;
  Document document;
  std::vector<ReadEntry> own; // entries that this file writes down itself
};

llvm::Expected<BackendConfig> readConfig(std::shared_ptr<const SourceText> text, bool isBuiltin,
                                         std::vector<Diagnostic> &warnings) {
  llvm::SmallString<128> path(text->name);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  std::string key = isBuiltin ? llvm::sys::path::stem(text->name).str() : path.str().str();
  std::vector<Diagnostic> all;
  std::optional<Document> document = DocumentReader(std::move(text), isBuiltin, {key}).read(all);
  std::vector<Diagnostic> errors;
  for (Diagnostic &diagnostic : all)
    (diagnostic.severity == Severity::Error ? errors : warnings).push_back(std::move(diagnostic));
  if (!document)
    return llvm::make_error<InputError>(std::move(errors));
  BackendConfig config(document->name);
  config.setDefaultMappingName(isBuiltin ? key : document->defaultMappingName);
  config.setBackendPatternConfigs(std::move(document->entries));
  return config;
}

} // namespace

llvm::Expected<BackendConfig> parseBackendConfig(std::shared_ptr<const SourceText> text,
                                                 std::vector<Diagnostic> &warnings) {
  return readConfig(std::move(text), /*isBuiltin=*/false, warnings);
}

static std::shared_ptr<const SourceText> makeBuiltinSource(llvm::StringRef name) {
  return std::make_shared<SourceText>(SourceText{(name + ".json").str(), getBuiltinBackendText(name).str()});
}

llvm::Expected<BackendConfig> loadBackendConfig(llvm::StringRef nameOrPath, std::vector<Diagnostic> &warnings) {
  if (!getBuiltinBackendText(nameOrPath).empty())
    return readConfig(makeBuiltinSource(nameOrPath), /*isBuiltin=*/true, warnings);
  if (!endsWith(nameOrPath, ".json"))
    return error(Location(), "unknown backend '{0}': give a built-in name or a path that ends in .json{1}", nameOrPath,
                 didYouMean(nameOrPath, getBuiltinBackendNames()))
        .code("usage");
  auto buffer = llvm::MemoryBuffer::getFile(nameOrPath);
  if (!buffer)
    return error(Location(), "cannot read '{0}': {1}", nameOrPath, buffer.getError().message()).code("file_read");
  return parseBackendConfig(
      std::make_shared<SourceText>(SourceText{nameOrPath.str(), (*buffer)->getBuffer().str()}), warnings);
}

llvm::StringRef getBuiltinBackendText(llvm::StringRef name) {
  for (const BuiltinText &text : getBuiltinTexts())
    if (text.name == name)
      return text.getText();
  return "";
}

std::vector<std::string> getBuiltinBackendNames() {
  return {"native", "fbgemm", "x86", "qnnpack", "onednn", "executorch", "tensorrt"};
}

std::optional<BackendConfig> getBuiltinBackendConfig(llvm::StringRef name) {
  if (getBuiltinBackendText(name).empty())
    return std::nullopt;
  std::vector<Diagnostic> warnings;
  llvm::Expected<BackendConfig> config = readConfig(makeBuiltinSource(name), /*isBuiltin=*/true, warnings);
  if (!config)
    llvm::report_fatal_error(llvm::Twine("a built-in configuration is broken: ") + llvm::toString(config.takeError()));
  return std::move(*config);
}

llvm::Error checkBackendConfig(const BackendConfig &config, std::vector<Diagnostic> &warnings) {
  auto text = std::make_shared<SourceText>(SourceText{config.getName() + ".json", writeBackendConfig(config)});
  return parseBackendConfig(std::move(text), warnings).takeError();
}

} // namespace qfx
