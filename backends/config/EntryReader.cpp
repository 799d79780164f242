// Reads one BackendPatternConfig and checks its fields against each other (backend_config.md 5.4).
#include "backends/config/BackendReaderDetail.h"
#include "backends/config/NamesDetail.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

namespace {

/// Old keys and what to write instead.
constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kLegacyKeys[] = {
    {"input_output_observed", "write dtype_configs with float32 input_dtype and output_dtype"},
    {"overwrite_output_fake_quantize", "write scale_exact_match and zero_point_exact_match, and a qconfig with that fake-quantizer"},
    {"overwrite_output_observer", "write scale_exact_match and zero_point_exact_match, and a qconfig with that observer"}};
constexpr llvm::StringLiteral kReferenceKey = "reference_quantized_module";
constexpr llvm::StringLiteral kReferenceAlias = "reference_quantized_module_for_root";

class EntryReader {
public:
  EntryReader(const JsonCursor &entry, const NamedDTypeConfigs &named) : entry(entry), named(named) {}

  std::optional<ReadEntry> read() {
    if (!entry.expect(JsonValue::Kind::Object))
      return std::nullopt;
    checkKeys();
    readPattern();
    readObservation();
    readDTypeConfigs();
    readModules();
    readFuser();
    readGetters();
    readCounts();
    readIndices();
    if (!pattern)
      return std::nullopt;
    checkFuser();
    return ReadEntry{std::move(result), entry};
  }

private:
  std::optional<JsonCursor> find(llvm::StringRef key) const {
    const JsonMember *member = entry.findMember(key);
    return member ? std::optional(entry.at(*member)) : std::nullopt;
  }
  void errorAtKey(llvm::StringRef key, llvm::StringRef code, std::string message) const {
    entry.errorAtKey(*entry.findMember(key), code, std::move(message));
  }
  void warnAtKey(llvm::StringRef key, llvm::StringRef code, std::string message) const {
    entry.warnAtKey(*entry.findMember(key), code, std::move(message));
  }

  void checkKeys() const {
    llvm::SmallVector<llvm::StringRef, 20> known = {
        "pattern",      "pattern_complex_format", "observation_type", "dtype_configs",
        "root_module",  "qat_module",             kReferenceKey,      kReferenceAlias,
        "fused_module", "fuser_method",           "root_node_getter", "extra_inputs_getter",
        "num_tensor_args_to_observation_type",    "input_type_to_index"};
    for (const auto &[key, replacement] : kLegacyKeys) {
      known.push_back(key);
      if (entry.findMember(key))
        errorAtKey(key, "legacy-key", ("key '" + key + "' is no longer read: " + replacement).str());
    }
    entry.checkKeys(known);
  }

  void readPattern() {
    std::optional<JsonCursor> simple = find("pattern"), complex = find("pattern_complex_format");
    if (!simple && !complex)
      return entry.error("pattern-missing", "neither pattern nor pattern_complex_format is given");
    if (simple)
      pattern = readSimplePattern(*simple);
    if (complex) {
      std::optional<Pattern> read = readComplexPattern(*complex);
      if (simple)
        complex->error("pattern-conflict", "both pattern and pattern_complex_format are given");
      else
        pattern = std::move(read);
      result.isComplexFormat = !simple;
    }
    if (pattern)
      result.pattern = *pattern;
  }

  std::optional<ObservationType> readObservationType(const JsonCursor &cursor) const {
    if (!cursor.expect(JsonValue::Kind::String))
      return std::nullopt;
    std::optional<ObservationType> type = parseObservationType(cursor->text);
    if (!type)
      cursor.error("observation-type", "unknown observation type '" + cursor->text + "'" +
                                           didYouMean(cursor->text, getObservationTypeNames()));
    return type;
  }

  void readObservation() {
    if (std::optional<JsonCursor> cursor = find("observation_type"))
      result.observationType = readObservationType(*cursor).value_or(result.observationType);
  }

  void readDTypeConfigs() {
    std::optional<JsonCursor> list = find("dtype_configs");
    if (list && !list->expect(JsonValue::Kind::Array))
      return;
    if ((!list || (*list)->elements.empty()) && !entry.findMember("fuser_method"))
      entry.warn("dtype-configs-empty", "no dtype_configs and no fuser_method: nothing can match this entry");
    if (!list)
      return;
    for (const JsonCursor &item : list->getElements()) {
      if (item->is(JsonValue::Kind::Object)) {
        result.dtypeConfigs.push_back(readDTypeConfig(item));
        result.dtypeConfigNames.emplace_back();
      } else if (item->is(JsonValue::Kind::String)) {
        readDTypeReference(item);
      } else {
        item.error("wrong-type", "expected a dtype config or the name of one, found " + describeJsonKind(item->kind).str());
      }
    }
  }

  void readDTypeReference(const JsonCursor &item) {
    if (const DTypeConfig *config = findDTypeConfig(named, item->text)) {
      result.dtypeConfigs.push_back(*config);
      result.dtypeConfigNames.push_back(item->text);
      return;
    }
    std::vector<std::string> names;
    for (const auto &[name, config] : named)
      names.push_back(name);
    item.error("dtype-ref-unknown", "no dtype config is named '" + item->text + "'" + didYouMean(item->text, names));
  }

  std::optional<OperatorName> readModule(llvm::StringRef key) const {
    std::optional<JsonCursor> cursor = find(key);
    return cursor ? readModuleClass(*cursor) : std::nullopt;
  }

  void readModules() {
    result.rootModule = readModule("root_module");
    result.qatModule = readModule("qat_module");
    result.fusedModule = readModule("fused_module");
    const JsonMember *current = entry.findMember(kReferenceKey), *alias = entry.findMember(kReferenceAlias);
    if (current && alias)
      entry.at(*alias).error("key-conflict", ("both '" + kReferenceKey + "' and '" + kReferenceAlias + "' are given").str());
    result.referenceQuantizedModule = readModule(current ? llvm::StringRef(kReferenceKey) : llvm::StringRef(kReferenceAlias));
    if ((current || alias) && !entry.findMember("root_module"))
      errorAtKey(current ? llvm::StringRef(kReferenceKey) : llvm::StringRef(kReferenceAlias), "reference-without-root", "a reference module needs root_module");
    if (result.qatModule && pattern && !(pattern->isSingle() && pattern->getHead().isModuleClass()))
      find("qat_module")->error("qat-pattern", "qat_module needs a pattern that is one module class, got " + pattern->toString());
  }

  void readFuser() {
    std::optional<JsonCursor> cursor = find("fuser_method");
    if (!cursor) {
      if (entry.findMember("fused_module"))
        find("fused_module")->warn("fused-module-unused", "fused_module has no effect without fuser_method");
      return;
    }
    if ((*cursor)->is(JsonValue::Kind::Object))
      return readObjectFuser(*cursor);
    if (!(*cursor)->is(JsonValue::Kind::String))
      return cursor->error("wrong-type", "expected the name of a fuser or an object with children, found " +
                                             describeJsonKind((*cursor)->kind).str());
    std::optional<FuserMethod::Kind> kind = parseFuserMethod((*cursor)->text);
    if (!kind)
      return cursor->error("fuser-unknown", "unknown fuser method '" + (*cursor)->text + "'" +
                                                didYouMean((*cursor)->text, getFuserMethodNames()));
    result.fuserMethod = FuserMethod{*kind, {}, std::nullopt};
  }

  void readObjectFuser(const JsonCursor &fuser) {
    fuser.checkKeys({"children", "fold_batch_norm"});
    FuserMethod method;
    method.kind = FuserMethod::Kind::Object;
    if (const JsonMember *children = fuser.findMember("children")) {
      if (children->value.is(JsonValue::Kind::Array) && children->value.elements.empty())
        fuser.at(*children).error("wrong-type", "expected at least one path, found an empty array");
      else if (fuser.at(*children).expect(JsonValue::Kind::Array))
        for (const JsonCursor &child : fuser.at(*children).getElements())
          if (std::optional<PatternPath> path = readOperatorPath(child, "a child path"))
            method.children.push_back(std::move(*path));
    } else {
      fuser.error("missing-key", "a fuser object needs the key 'children'");
    }
    if (const JsonMember *fold = fuser.findMember("fold_batch_norm"))
      method.foldBatchNorm = readOperatorPath(fuser.at(*fold), "the path of the batch norm");
    result.fuserMethod = std::move(method);
  }

  /// A path that has to end at an operator of the pattern.
  std::optional<PatternPath> readOperatorPath(const JsonCursor &cursor, llvm::StringRef what) const {
    return readPathTo(cursor, Pattern::Kind::Operator, what, "an operator");
  }

  std::optional<PatternPath> readPathTo(const JsonCursor &cursor, Pattern::Kind kind, llvm::StringRef what,
                                        llvm::StringRef target) const {
    std::optional<PatternPath> path = readPath(cursor);
    if (!path || !pattern)
      return path;
    const Pattern *end = pattern->at(*path);
    if (end && end->getKind() == kind && (kind != Pattern::Kind::Operator || end->isSingle()))
      return path;
    cursor.error("getter-path", (what + " must end at " + target + " of " + pattern->toString()).str());
    return std::nullopt;
  }

  /// A getter's name stands for a path; the path is checked like a written one.
  std::optional<PatternPath> readNamedGetter(const JsonCursor &cursor, std::optional<PatternPath> path,
                                             const std::vector<std::string> &names, Pattern::Kind kind) const {
    if (!path) {
      cursor.error("getter-unknown", "unknown getter '" + cursor->text + "'" + didYouMean(cursor->text, names));
      return std::nullopt;
    }
    const Pattern *end = pattern ? pattern->at(*path) : nullptr;
    if (pattern && (!end || end->getKind() != kind || !end->getArgs().empty())) {
      cursor.error("getter-path", "getter '" + cursor->text + "' does not fit the pattern " + pattern->toString());
      return std::nullopt;
    }
    return path;
  }

  void readGetters() {
    using Kind = Pattern::Kind;
    if (std::optional<JsonCursor> root = find("root_node_getter"))
      result.rootNodePath = (*root)->is(JsonValue::Kind::String)
                                ? readNamedGetter(*root, parseRootGetter((*root)->text), getRootGetterNames(), Kind::Operator)
                                : readOperatorPath(*root, "the root path");
    else if (pattern && pattern->at(pattern->getDefaultRootPath())->getKind() != Kind::Operator)
      entry.error("root-getter-missing", "the default root is not an operator; give root_node_getter");
    std::optional<JsonCursor> extra = find("extra_inputs_getter");
    if (!extra)
      return;
    if (!entry.findMember("fuser_method"))
      warnAtKey("extra_inputs_getter", "extra-inputs-unused", "extra_inputs_getter has no effect without fuser_method");
    if ((*extra)->is(JsonValue::Kind::String)) {
      if (auto path = readNamedGetter(*extra, parseExtraInputsGetter((*extra)->text), getExtraInputsGetterNames(), Kind::MatchAll))
        result.extraInputPaths = {std::move(*path)};
    } else if (extra->expect(JsonValue::Kind::Array)) {
      for (const JsonCursor &item : extra->getElements())
        if (auto path = readPathTo(item, Kind::MatchAll, "an extra-input path", "a wildcard"))
          result.extraInputPaths.push_back(std::move(*path));
    }
  }

  void readCounts() {
    std::optional<JsonCursor> map = find("num_tensor_args_to_observation_type");
    if (!map || !map->expect(JsonValue::Kind::Object))
      return;
    for (const JsonMember &member : (*map)->members) {
      if (member.key == "comment")
        continue;
      unsigned count;
      if (llvm::StringRef(member.key).getAsInteger(10, count) || std::to_string(count) != member.key) {
        map->errorAtKey(member, "num-args-key", "'" + member.key + "' is not a count of tensor arguments");
        continue;
      }
      if (std::optional<ObservationType> type = readObservationType(map->at(member)))
        result.numTensorArgsToObservationType[count] = *type;
    }
    if (!(*map)->members.empty() && (!map->findMember("1") || !map->findMember("2")))
      map->warn("num-args-gap", "calls with 1 or with 2 tensor arguments have no observation type here and will be errors");
  }

  void readIndices() {
    std::optional<JsonCursor> map = find("input_type_to_index");
    if (!map || !map->expect(JsonValue::Kind::Object))
      return;
    map->checkKeys({"input", "weight", "bias"});
    for (const JsonMember &member : (*map)->members) {
      if (member.key == "comment" || !map->at(member).expect(JsonValue::Kind::Integer))
        continue;
      int64_t index = member.value.integer;
      bool isTaken = llvm::any_of(result.inputTypeToIndex, [&](const auto &other) { return other.first != member.key && int64_t(other.second) == index; });
      if (index < 0 || index > INT32_MAX)
        map->error("input-index", "the position of '" + member.key + "' is " + std::to_string(index));
      else if (isTaken)
        map->error("input-index", "two inputs have the position " + std::to_string(index));
      else
        result.inputTypeToIndex[member.key] = static_cast<unsigned>(index);
    }
    if (pattern && !(pattern->isSingle() && pattern->getHead().isFunction()))
      map->warn("input-index-unused", "input_type_to_index is read only for a pattern that is one function");
  }

  void checkFuser() const {
    std::optional<JsonCursor> fuser = find("fuser_method");
    if (!fuser)
      return;
    if (pattern->isSingle() || pattern->getKind() != Pattern::Kind::Operator)
      return fuser->error("fuser-pattern", "a fuser needs a pattern of several operators, got " + pattern->toString());
    const Pattern *root = pattern->at(result.getRootPath());
    if (root && root->getKind() == Pattern::Kind::Operator && !root->getHead().isModuleClass())
      fuser->error("fuser-root", "the root '" + root->getHead().text + "' of a fusion pattern must be a module class");
    if (!result.fuserMethod)
      return;
    const FuserMethod &method = *result.fuserMethod;
    if (method.kind == FuserMethod::Kind::Object)
      checkFirstChild(*fuser, method);
    else if (getFuserShape(method.kind) != getPatternShape(*pattern))
      fuser->error("fuser-arity", ("'" + getFuserMethodName(method.kind) + "' does not fit the shape of " + pattern->toString()).str());
    bool needsFusedModule = method.kind == FuserMethod::Kind::Object || method.kind == FuserMethod::Kind::SequentialWrapper2;
    if (needsFusedModule && !entry.findMember("fused_module"))
      entry.error("fuser-needs-fused-module", "this fuser_method needs fused_module");
  }

  /// 9.3: the fused module stands where the root stood, so its first child is the root.
  void checkFirstChild(const JsonCursor &fuser, const FuserMethod &method) const {
    if (!method.children.empty() && method.children.front() != result.getRootPath())
      fuser.at(*fuser.findMember("children")).error("getter-path", "the first child must be the root of the pattern");
  }

  const JsonCursor &entry;
  const NamedDTypeConfigs &named;
  BackendPatternConfig result;
  std::optional<Pattern> pattern;
};

} // namespace

std::optional<ReadEntry> readEntry(const JsonCursor &cursor, const NamedDTypeConfigs &named) {
  return EntryReader(cursor, named).read();
}

} // namespace qfx
