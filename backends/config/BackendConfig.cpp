// The ordered map of backend pattern entries and its utility views (backend_config.md 1.5, 10).
#include "backends/config/BackendConfig.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace qfx {

BackendConfig &BackendConfig::setName(std::string newName) {
  name = std::move(newName);
  return *this;
}

BackendConfig &BackendConfig::setDefaultMappingName(std::string builtinName) {
  defaultMappingName = std::move(builtinName);
  return *this;
}

BackendConfig &BackendConfig::setBackendPatternConfig(BackendPatternConfig config) {
  auto same = llvm::find_if(configs, [&](const auto &entry) { return entry.pattern == config.pattern; });
  if (same != configs.end())
    *same = std::move(config);
  else
    configs.push_back(std::move(config));
  return *this;
}

BackendConfig &BackendConfig::setBackendPatternConfigs(std::vector<BackendPatternConfig> newConfigs) {
  for (BackendPatternConfig &config : newConfigs)
    setBackendPatternConfig(std::move(config));
  return *this;
}

const BackendPatternConfig *BackendConfig::find(const Pattern &pattern) const {
  auto found = llvm::find_if(configs, [&](const auto &entry) { return entry.pattern == pattern; });
  return found == configs.end() ? nullptr : &*found;
}

const BackendPatternConfig *BackendConfig::findSingle(const OperatorName &op) const {
  auto found = llvm::find_if(
      configs, [&](const auto &entry) { return entry.pattern.isSingle() && entry.pattern.getHead() == op; });
  return found == configs.end() ? nullptr : &*found;
}

/// The distinct values of one module field, in map order.
static std::vector<OperatorName>
collectModules(const std::vector<BackendPatternConfig> &configs,
               std::optional<OperatorName> BackendPatternConfig::*field) {
  std::vector<OperatorName> modules;
  for (const BackendPatternConfig &config : configs)
    if (const auto &module = config.*field; module && !llvm::is_contained(modules, *module))
      modules.push_back(*module);
  return modules;
}

std::vector<OperatorName> BackendConfig::getQatModuleClasses() const {
  return collectModules(configs, &BackendPatternConfig::qatModule);
}
std::vector<OperatorName> BackendConfig::getFusedModuleClasses() const {
  return collectModules(configs, &BackendPatternConfig::fusedModule);
}

std::vector<std::pair<OperatorName, OperatorName>> BackendConfig::getRootModuleToQuantizedReferenceModule() const {
  std::vector<std::pair<OperatorName, OperatorName>> pairs;
  for (const BackendPatternConfig &config : configs) {
    if (!config.rootModule || !config.referenceQuantizedModule)
      continue;
    auto same = llvm::find_if(pairs, [&](const auto &pair) { return pair.first == *config.rootModule; });
    if (same != pairs.end())
      same->second = *config.referenceQuantizedModule;
    else
      pairs.emplace_back(*config.rootModule, *config.referenceQuantizedModule);
  }
  return pairs;
}

std::vector<std::pair<OperatorName, OperatorName>> BackendConfig::getModuleToQatModule() const {
  std::vector<std::pair<OperatorName, OperatorName>> pairs;
  for (const BackendPatternConfig &config : configs)
    if (config.qatModule && config.pattern.isSingle())
      pairs.emplace_back(config.pattern.getHead(), *config.qatModule);
  return pairs;
}

std::vector<const BackendPatternConfig *> BackendConfig::getSortedConfigs() const {
  std::vector<const BackendPatternConfig *> sorted;
  for (const BackendPatternConfig &config : configs)
    sorted.push_back(&config);
  // Single operators have one leaf, so one key orders both groups.
  llvm::stable_sort(sorted, [](const BackendPatternConfig *a, const BackendPatternConfig *b) {
    return a->pattern.getLeafCount() > b->pattern.getLeafCount();
  });
  return sorted;
}

bool BackendConfig::operator==(const BackendConfig &other) const {
  return name == other.name && configs == other.configs;
}

} // namespace qfx
