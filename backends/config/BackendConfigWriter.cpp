// Writes a BackendConfig as the JSON that reads back to an equal object.
#include "backends/config/BackendConfigJson.h"
#include "backends/config/NamesDetail.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace qfx {

/// Shortest text that reads back to the same double; whole numbers without a point, as bounds are usually written.
static std::string writeNumber(double value) {
  std::string text = formatFloat(value);
  llvm::StringRef whole = text;
  return whole.consume_back(".0") ? whole.str() : text;
}

static std::string writeObject(llvm::ArrayRef<std::pair<std::string, std::string>> members) {
  std::vector<std::string> parts;
  for (const auto &[key, value] : members)
    parts.push_back(formatQuoted(key) + ": " + value);
  return "{" + llvm::join(parts, ", ") + "}";
}

using Members = std::vector<std::pair<std::string, std::string>>;

static std::string writeDType(DType dtype) { return formatQuoted(getDTypeInfo(dtype).torchName); }

static std::string writeConstrained(const DTypeWithConstraints &side) {
  Members members = {{"dtype", writeDType(*side.dtype)}};
  auto add = [&](const char *key, const std::optional<double> &value) {
    if (value)
      members.emplace_back(key, writeNumber(*value));
  };
  add("quant_min_lower_bound", side.quantMinLowerBound);
  add("quant_max_upper_bound", side.quantMaxUpperBound);
  add("scale_min_lower_bound", side.scaleMinLowerBound);
  add("scale_max_upper_bound", side.scaleMaxUpperBound);
  add("scale_exact_match", side.scaleExactMatch);
  if (side.zeroPointExactMatch)
    members.emplace_back("zero_point_exact_match", std::to_string(*side.zeroPointExactMatch));
  return members.size() == 1 ? writeDType(*side.dtype) : writeObject(members);
}

static std::string writeDTypeConfig(const DTypeConfig &config) {
  Members members;
  auto add = [&](const char *key, const DTypeWithConstraints &side) {
    if (side.dtype) // constraints without a dtype mean nothing (1.3)
      members.emplace_back(key, writeConstrained(side));
  };
  add("input_dtype", config.input);
  add("output_dtype", config.output);
  add("weight_dtype", config.weight);
  if (config.bias)
    members.emplace_back("bias_dtype", writeDType(*config.bias));
  if (config.isDynamic)
    members.emplace_back("is_dynamic", *config.isDynamic ? "true" : "false");
  return writeObject(members);
}

static std::string writePath(const PatternPath &path) {
  std::vector<std::string> parts;
  for (unsigned index : path)
    parts.push_back(std::to_string(index));
  return "[" + llvm::join(parts, ", ") + "]";
}

static std::string writePaths(const std::vector<PatternPath> &paths) {
  std::vector<std::string> parts;
  for (const PatternPath &path : paths)
    parts.push_back(writePath(path));
  return "[" + llvm::join(parts, ", ") + "]";
}

static std::string writeComplex(const Pattern &pattern) {
  switch (pattern.getKind()) {
  case Pattern::Kind::MatchAll:
    return "\"MatchAllNode\"";
  case Pattern::Kind::Literal: {
    const Argument &value = pattern.getLiteral();
    return value.isBool() ? (value.getBool() ? "true" : "false") : toString(value, ArgumentStyle::Qfx);
  }
  case Pattern::Kind::Operator:
    break;
  }
  if (pattern.isSingle())
    return formatQuoted(pattern.getHead().text);
  std::vector<std::string> parts = {formatQuoted(pattern.getHead().text)};
  for (const Pattern &arg : pattern.getArgs())
    parts.push_back(writeComplex(arg));
  return "[" + llvm::join(parts, ", ") + "]";
}

/// Operators of a chain c(b(a)) in forward order; empty if the pattern is no chain of at most three.
static std::vector<std::string> getForwardNames(const Pattern &pattern) {
  std::vector<std::string> names;
  const Pattern *current = &pattern;
  while (current->getKind() == Pattern::Kind::Operator) {
    names.insert(names.begin(), formatQuoted(current->getHead().text));
    if (current->getArgs().empty())
      return names.size() <= 3 ? names : std::vector<std::string>();
    if (current->getArgs().size() != 1)
      break;
    current = &current->getArgs().front();
  }
  return {};
}

static std::string writeFuser(const FuserMethod &method) {
  if (method.kind != FuserMethod::Kind::Object)
    return formatQuoted(getFuserMethodName(method.kind));
  Members members = {{"children", writePaths(method.children)}};
  if (method.foldBatchNorm)
    members.emplace_back("fold_batch_norm", writePath(*method.foldBatchNorm));
  return writeObject(members);
}

namespace {
/// Names under which dtype configs are written once.
class NamedConfigs {
public:
  explicit NamedConfigs(const BackendConfig &config) {
    for (const BackendPatternConfig &entry : config.getConfigs())
      for (size_t i = 0; i < entry.dtypeConfigs.size() && i < entry.dtypeConfigNames.size(); ++i)
        if (const std::string &name = entry.dtypeConfigNames[i]; !name.empty() && !find(name))
          named.emplace_back(name, entry.dtypeConfigs[i]);
  }

  /// A reference where the name means this very config, else the config itself.
  std::string write(const BackendPatternConfig &entry, size_t i) const {
    if (i < entry.dtypeConfigNames.size() && !entry.dtypeConfigNames[i].empty())
      if (const DTypeConfig *config = find(entry.dtypeConfigNames[i]); config && *config == entry.dtypeConfigs[i])
        return formatQuoted(entry.dtypeConfigNames[i]);
    return writeDTypeConfig(entry.dtypeConfigs[i]);
  }

  std::string writeAll() const {
    std::vector<std::string> lines;
    for (const auto &[name, config] : named)
      lines.push_back("    " + formatQuoted(name) + ": " + writeDTypeConfig(config));
    return lines.empty() ? "" : "  \"dtype_configs\": {\n" + llvm::join(lines, ",\n") + "\n  },\n";
  }

private:
  const DTypeConfig *find(llvm::StringRef name) const {
    for (const auto &[key, config] : named)
      if (key == name)
        return &config;
    return nullptr;
  }

  std::vector<std::pair<std::string, DTypeConfig>> named;
};
} // namespace

static std::string writeEntry(const BackendPatternConfig &entry, const NamedConfigs &named) {
  std::vector<std::string> dtypes;
  for (size_t i = 0; i < entry.dtypeConfigs.size(); ++i)
    dtypes.push_back(named.write(entry, i));
  Members members = {{"observation_type", formatQuoted(getObservationTypeName(entry.observationType))},
                     {"dtype_configs", "[" + llvm::join(dtypes, ", ") + "]"}};
  std::vector<std::string> forward = entry.isComplexFormat ? std::vector<std::string>() : getForwardNames(entry.pattern);
  if (!forward.empty())
    members.emplace_back("pattern", forward.size() == 1 ? forward[0] : "[" + llvm::join(forward, ", ") + "]");
  auto addModule = [&](const char *key, const std::optional<OperatorName> &module) {
    if (module)
      members.emplace_back(key, formatQuoted(module->text));
  };
  addModule("root_module", entry.rootModule);
  addModule("qat_module", entry.qatModule);
  addModule("reference_quantized_module", entry.referenceQuantizedModule);
  addModule("fused_module", entry.fusedModule);
  if (entry.fuserMethod)
    members.emplace_back("fuser_method", writeFuser(*entry.fuserMethod));
  if (entry.rootNodePath)
    members.emplace_back("root_node_getter", writePath(*entry.rootNodePath));
  if (!entry.extraInputPaths.empty())
    members.emplace_back("extra_inputs_getter", writePaths(entry.extraInputPaths));
  Members counts, indices;
  for (const auto &[count, type] : entry.numTensorArgsToObservationType)
    counts.emplace_back(std::to_string(count), formatQuoted(getObservationTypeName(type)));
  if (!counts.empty())
    members.emplace_back("num_tensor_args_to_observation_type", writeObject(counts));
  for (const auto &[input, index] : entry.inputTypeToIndex)
    indices.emplace_back(input, std::to_string(index));
  if (!indices.empty())
    members.emplace_back("input_type_to_index", writeObject(indices));
  if (forward.empty())
    members.emplace_back("pattern_complex_format", writeComplex(entry.pattern));
  return writeObject(members);
}

std::string writeBackendConfig(const BackendConfig &config) {
  NamedConfigs named(config);
  std::vector<std::string> entries;
  for (const BackendPatternConfig &entry : config.getConfigs())
    entries.push_back("    " + writeEntry(entry, named));
  return "{\n  \"format_version\": 1,\n  \"name\": " + formatQuoted(config.getName()) + ",\n" + named.writeAll() +
         "  \"configs\": [\n" + llvm::join(entries, ",\n") + "\n  ]\n}\n";
}

} // namespace qfx
