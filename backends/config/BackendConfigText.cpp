// Entries as PyTorch prints them (backend_config.md 10).
#include "backends/config/BackendConfigUtils.h"
#include "backends/config/NamesDetail.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace qfx {

std::string removeBooleanDispatchFromName(const OperatorName &op) { return op.text; }

/// A name inside a tuple: methods are strings there.
static std::string printInTuple(const OperatorName &op) {
  return op.isMethod() ? formatPythonString(op.text) : removeBooleanDispatchFromName(op);
}

std::string patternToHumanReadable(const BackendPatternConfig &entry) {
  if (entry.isComplexFormat || entry.pattern.isSingle())
    return entry.pattern.toString();
  std::vector<std::string> forward;
  for (const Pattern *current = &entry.pattern;; current = &current->getArgs().front()) {
    forward.insert(forward.begin(), printInTuple(current->getHead()));
    if (current->getArgs().empty())
      break;
  }
  return "(" + llvm::join(forward, ", ") + ")";
}

static std::string printDType(const std::optional<DType> &dtype) {
  return dtype ? "torch." + getDTypeInfo(*dtype).torchName.str() : "None";
}

/// Whole bounds print as the integers they are written as.
static std::string printBound(const std::optional<double> &value) {
  if (!value)
    return "None";
  std::string text = formatFloat(*value);
  llvm::StringRef whole = text;
  return whole.consume_back(".0") ? whole.str() : text;
}

static std::string printScale(const std::optional<double> &value) { return value ? formatFloat(*value) : "None"; }

static std::string printConstrained(const DTypeWithConstraints &side) {
  return "DTypeWithConstraints(dtype=" + printDType(side.dtype) + ", quant_min_lower_bound=" + printBound(side.quantMinLowerBound) +
         ", quant_max_upper_bound=" + printBound(side.quantMaxUpperBound) + ", scale_min_lower_bound=" + printScale(side.scaleMinLowerBound) +
         ", scale_max_upper_bound=" + printScale(side.scaleMaxUpperBound) + ", scale_exact_match=" + printScale(side.scaleExactMatch) +
         ", zero_point_exact_match=" + (side.zeroPointExactMatch ? std::to_string(*side.zeroPointExactMatch) : "None") + ")";
}

static std::string printDTypeConfig(const DTypeConfig &config) {
  std::string text = "    {\n";
  auto add = [&](const char *key, const std::string &value) { text += std::string("      '") + key + "': " + value + ",\n"; };
  if (config.input.dtype)
    add("input_dtype", printConstrained(config.input));
  if (config.output.dtype)
    add("output_dtype", printConstrained(config.output));
  if (config.weight.dtype)
    add("weight_dtype", printConstrained(config.weight));
  if (config.bias)
    add("bias_dtype", printDType(config.bias));
  if (config.isDynamic)
    add("is_dynamic", *config.isDynamic ? "True" : "False");
  return text + "    },\n";
}

static std::string printObservationType(ObservationType type) { return ("ObservationType." + getObservationTypeName(type)).str(); }

static std::string printPaths(llvm::ArrayRef<PatternPath> paths) {
  std::vector<std::string> texts;
  for (const PatternPath &path : paths) {
    std::vector<std::string> indices;
    for (unsigned index : path)
      indices.push_back(std::to_string(index));
    texts.push_back("[" + llvm::join(indices, ", ") + "]");
  }
  return llvm::join(texts, ", ");
}

static std::string printFuser(const FuserMethod &method) {
  if (method.kind != FuserMethod::Kind::Object)
    return getFuserMethodName(method.kind).str();
  std::string text = "{'children': [" + printPaths(method.children) + "]";
  return text + (method.foldBatchNorm ? ", 'fold_batch_norm': " + printPaths(*method.foldBatchNorm) : "") + "}";
}

/// By position, the order in which PyTorch's own entries list them.
static std::string printIndices(const std::map<std::string, unsigned> &indices) {
  std::vector<std::pair<unsigned, std::string>> sorted;
  for (const auto &[input, index] : indices)
    sorted.emplace_back(index, formatPythonString(input) + ": " + std::to_string(index));
  llvm::sort(sorted);
  std::vector<std::string> texts;
  for (auto &entry : sorted)
    texts.push_back(entry.second);
  return "{" + llvm::join(texts, ", ") + "}";
}

std::string entryToPrettyStr(const BackendPatternConfig &entry) {
  std::string text = "{\n";
  auto add = [&](const char *key, const std::string &value) { text += std::string("  '") + key + "': " + value + ",\n"; };
  if (!entry.isComplexFormat)
    add("pattern", patternToHumanReadable(entry));
  text += "  'dtype_configs': [\n";
  for (const DTypeConfig &config : entry.dtypeConfigs)
    text += printDTypeConfig(config);
  text += "  ],\n";
  if (!entry.numTensorArgsToObservationType.empty()) {
    text += "  'num_tensor_args_to_observation_type': {\n";
    for (const auto &[count, type] : entry.numTensorArgsToObservationType)
      text += "    " + std::to_string(count) + ": " + printObservationType(type) + ",\n";
    text += "  },\n";
  }
  add("observation_type", printObservationType(entry.observationType));
  auto addModule = [&](const char *key, const std::optional<OperatorName> &module) {
    if (module)
      add(key, module->text);
  };
  addModule("root_module", entry.rootModule);
  addModule("qat_module", entry.qatModule);
  addModule("reference_quantized_module_for_root", entry.referenceQuantizedModule);
  addModule("fused_module", entry.fusedModule);
  if (entry.fuserMethod)
    add("fuser_method", printFuser(*entry.fuserMethod));
  if (entry.rootNodePath) {
    std::string name = findRootGetterName(entry);
    add("root_node_getter", name.empty() ? printPaths(*entry.rootNodePath) : name);
  }
  if (!entry.extraInputPaths.empty()) {
    std::string name = findExtraInputsGetterName(entry);
    add("extra_inputs_getter", name.empty() ? "[" + printPaths(entry.extraInputPaths) + "]" : name);
  }
  if (!entry.inputTypeToIndex.empty())
    add("input_type_to_index", printIndices(entry.inputTypeToIndex));
  if (entry.isComplexFormat)
    add("pattern_complex_format", entry.pattern.toString());
  return text + "}";
}

} // namespace qfx
