// Input-weight equalization as prepare is asked for it: a QConfigMapping whose qconfigs are EqualizationQConfigs.
#ifndef BACKENDS_CONFIG_EQUALIZATIONCONFIG_H
#define BACKENDS_CONFIG_EQUALIZATIONCONFIG_H

#include "backends/config/QConfigMapping.h"

namespace qfx {

/// EqualizationQConfig(input_activation, weight): a QConfig whose `activation` is an _InputEqualizationObserver (EqualizationQConfig's
/// input_activation) and whose `weight` is a _WeightEqualizationObserver.
bool isEqualizationQConfig(const QConfig &qconfig);

/// Is it the constructor of one of those two observers?
bool isEqualizationSpec(const ObserverSpec &spec);

/// default_equalization_qconfig: input_equalization_observer and weight_equalization_observer.
QConfig getDefaultEqualizationQConfig();
inline constexpr llvm::StringLiteral kDefaultEqualizationName("default_equalization_qconfig");

/// The first entry with a qconfig that is no EqualizationQConfig is an error (`equalization_qconfig`).
llvm::Error checkEqualizationMapping(const QConfigMapping &mapping);

/// The JSON form (docs/QConfig.md, "Input-weight equalization"); errors as those of loadQConfigMapping.
llvm::Expected<QConfigMapping> parseEqualizationMapping(std::shared_ptr<const SourceText> text);
llvm::Expected<QConfigMapping> loadEqualizationMapping(llvm::StringRef path);

} // namespace qfx

#endif // BACKENDS_CONFIG_EQUALIZATIONCONFIG_H
