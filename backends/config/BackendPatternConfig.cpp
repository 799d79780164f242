// Setters and comparison of entries.
#include "backends/config/BackendPatternConfig.h"

namespace qfx {

BackendPatternConfig &BackendPatternConfig::setPattern(std::initializer_list<llvm::StringRef> forward) {
  assert(forward.size() >= 1 && forward.size() <= 3 && "a simple pattern has one to three operators");
  assert(!isComplexFormat && "the entry has a complex pattern already");
  std::vector<OperatorName> names;
  for (llvm::StringRef name : forward)
    names.push_back(OperatorName::resolve(name));
  pattern = Pattern::fromSimple(names);
  return *this;
}

BackendPatternConfig &BackendPatternConfig::setPatternComplexFormat(Pattern internal) {
  assert((isComplexFormat || pattern.getHead().text.empty()) && "the entry has a simple pattern already");
  pattern = std::move(internal);
  isComplexFormat = true;
  return *this;
}

BackendPatternConfig &BackendPatternConfig::setObservationType(ObservationType type) {
  observationType = type;
  return *this;
}

BackendPatternConfig &BackendPatternConfig::addDTypeConfig(DTypeConfig config, std::string name) {
  dtypeConfigNames.resize(dtypeConfigs.size());
  dtypeConfigs.push_back(std::move(config));
  dtypeConfigNames.push_back(std::move(name));
  return *this;
}

BackendPatternConfig &BackendPatternConfig::setDTypeConfigs(std::vector<DTypeConfig> configs) {
  dtypeConfigs = std::move(configs);
  dtypeConfigNames.assign(dtypeConfigs.size(), "");
  return *this;
}

BackendPatternConfig &BackendPatternConfig::setRootModule(llvm::StringRef moduleClass) {
  rootModule = OperatorName::resolve(moduleClass);
  return *this;
}
BackendPatternConfig &BackendPatternConfig::setQatModule(llvm::StringRef moduleClass) {
  qatModule = OperatorName::resolve(moduleClass);
  return *this;
}
BackendPatternConfig &BackendPatternConfig::setReferenceQuantizedModule(llvm::StringRef moduleClass) {
  referenceQuantizedModule = OperatorName::resolve(moduleClass);
  return *this;
}
BackendPatternConfig &BackendPatternConfig::setFusedModule(llvm::StringRef moduleClass) {
  fusedModule = OperatorName::resolve(moduleClass);
  return *this;
}

BackendPatternConfig &BackendPatternConfig::setFuserMethod(FuserMethod::Kind named) {
  assert(named != FuserMethod::Kind::Object && "the object form has children");
  fuserMethod = FuserMethod{named, {}, std::nullopt};
  return *this;
}
BackendPatternConfig &BackendPatternConfig::setFuserMethod(std::vector<PatternPath> children, std::optional<PatternPath> foldBatchNorm) {
  fuserMethod = FuserMethod{FuserMethod::Kind::Object, std::move(children), std::move(foldBatchNorm)};
  return *this;
}

BackendPatternConfig &BackendPatternConfig::setRootNodePath(PatternPath path) {
  rootNodePath = std::move(path);
  return *this;
}
BackendPatternConfig &BackendPatternConfig::setExtraInputPaths(std::vector<PatternPath> paths) {
  extraInputPaths = std::move(paths);
  return *this;
}
BackendPatternConfig &BackendPatternConfig::setNumTensorArgsToObservationType(std::map<unsigned, ObservationType> types) {
  numTensorArgsToObservationType = std::move(types);
  return *this;
}
BackendPatternConfig &BackendPatternConfig::setInputTypeToIndex(std::map<std::string, unsigned> indices) {
  inputTypeToIndex = std::move(indices);
  return *this;
}

bool BackendPatternConfig::operator==(const BackendPatternConfig &other) const {
  return pattern == other.pattern && observationType == other.observationType && dtypeConfigs == other.dtypeConfigs &&
         rootModule == other.rootModule && qatModule == other.qatModule &&
         referenceQuantizedModule == other.referenceQuantizedModule && fusedModule == other.fusedModule &&
         fuserMethod == other.fuserMethod && getRootPath() == other.getRootPath() &&
         extraInputPaths == other.extraInputPaths &&
         numTensorArgsToObservationType == other.numTensorArgsToObservationType &&
         inputTypeToIndex == other.inputTypeToIndex;
}

} // namespace qfx
