// Tries the dtype configs of an entry in order and keeps the most telling refusal.
#include "passes/prepare/BackendSupport.h"

#include "ir/Text.h"

#include "llvm/Support/FormatVariadic.h"

namespace qfx {

static std::string nameOf(std::optional<DType> dtype) {
  return dtype ? getDTypeInfo(*dtype).torchName.str() : std::string("none");
}

static std::optional<DType> getSpecDType(const ObserverSpec *spec) {
  return spec ? std::optional<DType>(spec->getDType()) : std::nullopt;
}

static SupportFailure constraintFailure(std::string reason) {
  return {std::move(reason), "qconfig_constraint", /*isConstraint=*/true};
}

static SupportFailure dtypeFailure(llvm::StringRef side, std::optional<DType> dtype, bool isDynamic,
                                   const Match &match) {
  return {llvm::formatv("{0} dtype '{1}'{2} matches no dtype_config of '{3}'", side, nameOf(dtype),
                        isDynamic ? " (dynamic)" : "", match.entry->pattern.toString()),
          "qconfig_dtype", /*isConstraint=*/false};
}

static bool isAcceptedFloat16(const QConfig &qconfig) {
  for (llvm::StringRef name : {"float16_static_qconfig", "float16_dynamic_qconfig"})
    if (qconfigEquals(qconfig, findQConfigAlias(name)))
      return true;
  return false;
}

std::optional<SupportFailure> findConstraintFailure(const QConfig *qconfig, const DTypeWithConstraints &constraints,
                                                    bool isActivation) {
  if (!qconfig || !constraints.dtype)
    return std::nullopt;
  const std::optional<ObserverSpec> &spec = isActivation ? qconfig->activation : qconfig->weight;
  if (!spec || spec->getDType() != *constraints.dtype)
    return std::nullopt;
  llvm::StringRef side = isActivation ? "activation" : "weight";
  if (constraints.quantMinLowerBound && constraints.quantMaxUpperBound) {
    std::optional<int64_t> low = spec->getQuantMin(), high = spec->getQuantMax();
    if (!low || !high)
      return constraintFailure(
          llvm::formatv("the {0} observer has no quant_min and quant_max, which the backend bounds", side));
    if (static_cast<double>(*low) < *constraints.quantMinLowerBound ||
        static_cast<double>(*high) > *constraints.quantMaxUpperBound)
      return constraintFailure(llvm::formatv("the {0} range ({1}, {2}) is not inside the backend's ({3}, {4})", side,
                                             *low, *high, formatFloat(*constraints.quantMinLowerBound),
                                             formatFloat(*constraints.quantMaxUpperBound)));
  }
  if (constraints.scaleMinLowerBound) {
    std::optional<double> eps = spec->getEps();
    if (!eps)
      return constraintFailure(llvm::formatv("the {0} observer has no eps, which the backend bounds", side));
    if (*eps < *constraints.scaleMinLowerBound)
      return constraintFailure(llvm::formatv("the {0} observer's eps {1} is below the backend's smallest scale {2}",
                                             side, formatFloat(*eps), formatFloat(*constraints.scaleMinLowerBound)));
  }
  if (constraints.scaleExactMatch && constraints.zeroPointExactMatch) {
    if (isAcceptedFloat16(*qconfig))
      return std::nullopt;
    std::optional<std::pair<double, int64_t>> fixed = spec->getFixedQParams();
    if (!fixed)
      return constraintFailure(llvm::formatv(
          "the operator has fixed parameters (scale {0}, zero_point {1}): its {2} needs a FixedQParamsObserver, "
          "which the default qconfig mappings provide",
          formatFloat(*constraints.scaleExactMatch), *constraints.zeroPointExactMatch, side));
    if (fixed->first != *constraints.scaleExactMatch || fixed->second != *constraints.zeroPointExactMatch)
      return constraintFailure(
          llvm::formatv("the {0} observer's fixed scale {1} and zero_point {2} are not the operator's {3} and "
                        "{4}, which the default qconfig mappings provide",
                        side, formatFloat(fixed->first), fixed->second, formatFloat(*constraints.scaleExactMatch),
                        *constraints.zeroPointExactMatch));
  }
  return std::nullopt;
}

namespace {
/// One dtype config against one match.
class ConfigCheck {
public:
  ConfigCheck(const Match &match, const QConfig *qconfig, DTypeLookup dtypes, const DTypeConfig &config)
      : match(match), qconfig(qconfig), dtypes(dtypes), config(config) {}

  std::optional<SupportFailure> run() {
    for (const Argument &arg : match.root->getArgs())
      if (auto failure = checkArgument(arg))
        return failure;
    for (const auto &kwarg : match.root->getKwargs())
      if (auto failure = checkArgument(kwarg.second))
        return failure;
    return checkOutput();
  }

private:
  std::optional<SupportFailure> checkArgument(const Argument &arg) {
    if (arg.isSequence()) {
      for (const Argument &element : arg.getElements())
        if (auto failure = checkArgument(element))
          return failure;
      return std::nullopt;
    }
    if (!arg.isNode())
      return std::nullopt;
    const NodeDTypes &root = dtypes(*match.root);
    if (root.isWeight(*match.root, arg)) {
      if (!config.weight.dtype)
        return std::nullopt;
      std::optional<DType> weight = getSpecDType(root.weight);
      if (weight != config.weight.dtype)
        return dtypeFailure("weight", weight, false, match);
      return findConstraintFailure(qconfig, config.weight, /*isActivation=*/false);
    }
    if (root.isBias(*match.root, arg)) {
      std::optional<DType> bias = getSpecDType(root.bias);
      if (config.bias && bias != config.bias)
        return dtypeFailure("bias", bias, false, match);
      return std::nullopt;
    }
    if (!config.input.dtype)
      return std::nullopt;
    std::optional<DType> input = getSpecDType(root.input);
    bool isDynamic = root.input && root.input->isDynamic();
    if (input != config.input.dtype || isDynamic != config.isDynamicSet())
      return dtypeFailure("activation", input, isDynamic, match);
    return findConstraintFailure(qconfig, config.input, /*isActivation=*/true);
  }

  std::optional<SupportFailure> checkOutput() {
    if (!config.output.dtype)
      return std::nullopt;
    const ObserverSpec *spec = dtypes(*match.anchor).output;
    std::optional<DType> output = getSpecDType(spec);
    if (spec && spec->isDynamic())
      output = DType::Float32;
    if (output != config.output.dtype)
      return dtypeFailure("output", output, false, match);
    return findConstraintFailure(qconfig, config.output, /*isActivation=*/true);
  }

  const Match &match;
  const QConfig *qconfig;
  DTypeLookup dtypes;
  const DTypeConfig &config;
};
} // namespace

std::optional<SupportFailure> findSupportFailure(const Match &match, const QConfig *qconfig, DTypeLookup dtypes,
                                                 std::vector<SupportFailure> *refusals) {
  if (!match.entry)
    return std::nullopt;
  std::vector<SupportFailure> own;
  std::vector<SupportFailure> &all = refusals ? *refusals : own;
  all.clear();
  for (const DTypeConfig &config : match.entry->dtypeConfigs) {
    std::optional<SupportFailure> failure = ConfigCheck(match, qconfig, dtypes, config).run();
    if (!failure)
      return std::nullopt;
    all.push_back(std::move(*failure));
  }
  if (all.empty())
    return SupportFailure{llvm::formatv("'{0}' has no dtype_config", match.entry->pattern.toString()), "qconfig_dtype",
                          false};
  auto telling = llvm::find_if(all, [](const SupportFailure &failure) { return failure.isConstraint; });
  return telling == all.end() ? all.front() : *telling;
}

} // namespace qfx
