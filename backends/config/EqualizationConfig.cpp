// EqualizationQConfigs and the check that a mapping has no others.
#include "backends/config/EqualizationConfig.h"

#include "backends/config/ObserverSpecDetail.h"
#include "backends/observe/EqualizationObserver.h"
#include "ir/Ops.h"

namespace qfx {

static bool isOfClass(const std::optional<ObserverSpec> &spec, llvm::StringRef className) {
  return spec && spec->observerClass->text == className;
}

bool isEqualizationSpec(const ObserverSpec &spec) {
  return isOfClass(spec, kInputEqualizationClass) || isOfClass(spec, kWeightEqualizationClass);
}

bool isEqualizationQConfig(const QConfig &qconfig) {
  return isOfClass(qconfig.activation, kInputEqualizationClass) && isOfClass(qconfig.weight, kWeightEqualizationClass);
}

QConfig getDefaultEqualizationQConfig() {
  return {makeNamedSpec("input_equalization_observer"), makeNamedSpec("weight_equalization_observer")};
}

llvm::Error checkEqualizationMapping(const QConfigMapping &mapping) {
  auto check = [](const OptionalQConfig &qconfig, const std::string &entry) -> llvm::Error {
    if (!qconfig || isEqualizationQConfig(*qconfig))
      return llvm::Error::success();
    return error(Location(), "an equalization config takes qconfigs with _InputEqualizationObserver and _WeightEqualizationObserver; {0} has {1}",
                 entry, qconfig->toString())
        .code("equalization_qconfig");
  };
  if (llvm::Error err = check(mapping.getGlobal(), "the global entry"))
    return err;
  for (const auto &[type, qconfig] : mapping.getObjectTypes())
    if (llvm::Error err = check(qconfig, "the object_type entry '" + type.text + "'"))
      return err;
  for (const auto *entries : {&mapping.getModuleNameRegexes(), &mapping.getModuleNames()})
    for (const auto &[name, qconfig] : *entries)
      if (llvm::Error err = check(qconfig, "the entry '" + name + "'"))
        return err;
  for (const auto &[key, qconfig] : mapping.getModuleNameObjectTypeOrders())
    if (llvm::Error err = check(qconfig, "the entry " + key.toString()))
      return err;
  return llvm::Error::success();
}

} // namespace qfx
