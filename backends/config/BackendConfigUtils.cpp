// Views of a BackendConfig by pattern (backend_config.md 10).
#include "backends/config/BackendConfigUtils.h"

#include "ir/Diagnostics.h"

namespace qfx {

/// The entries that `keep` accepts, with what `get` makes of them.
template <class T, class Keep, class Get> static PatternView<T> collect(const BackendConfig &config, Keep keep, Get get) {
  PatternView<T> view;
  for (const BackendPatternConfig &entry : config.getConfigs())
    if (keep(entry))
      view.emplace_back(&entry.pattern, get(entry));
  return view;
}

static bool keepAll(const BackendPatternConfig &) { return true; }

PatternView<llvm::ArrayRef<DTypeConfig>> getPatternToDTypeConfigs(const BackendConfig &config) {
  return collect<llvm::ArrayRef<DTypeConfig>>(config, keepAll, [](const auto &entry) -> llvm::ArrayRef<DTypeConfig> { return entry.dtypeConfigs; });
}

PatternView<const std::map<std::string, unsigned> *> getPatternToInputTypeToIndex(const BackendConfig &config) {
  return collect<const std::map<std::string, unsigned> *>(config, keepAll, [](const auto &entry) { return &entry.inputTypeToIndex; });
}

llvm::Expected<PatternView<const FuserMethod *>> getFuserMethodMapping(const BackendConfig &config) {
  for (const BackendPatternConfig &entry : config.getConfigs())
    if (entry.fuserMethod && entry.pattern.isSingle())
      return error(Location(), "a fuser needs a pattern of several operators, got {0}", entry.pattern.toString()).code("fuser-pattern");
  return collect<const FuserMethod *>(
      config, [](const auto &entry) { return entry.fuserMethod.has_value(); }, [](const auto &entry) { return &*entry.fuserMethod; });
}

PatternView<PatternPath> getFusionPatternToRootNodePath(const BackendConfig &config) {
  return collect<PatternPath>(
      config, [](const auto &entry) { return entry.rootNodePath.has_value(); }, [](const auto &entry) { return *entry.rootNodePath; });
}

PatternView<llvm::ArrayRef<PatternPath>> getFusionPatternToExtraInputPaths(const BackendConfig &config) {
  return collect<llvm::ArrayRef<PatternPath>>(
      config, [](const auto &entry) { return !entry.extraInputPaths.empty(); },
      [](const auto &entry) -> llvm::ArrayRef<PatternPath> { return entry.extraInputPaths; });
}

} // namespace qfx
