// What the constructor arguments of an observer come to: dtype, scheme, effective code range, eps.
#ifndef BACKENDS_OBSERVE_OBSERVERSETTINGS_H
#define BACKENDS_OBSERVE_OBSERVERSETTINGS_H

#include "ir/Argument.h"
#include "ir/DType.h"

#include "llvm/Support/Error.h"

#include <optional>

namespace qfx {

class Module;

/// Attributes of numerics 3.2 - 3.7; those a class does not have keep the values below.
struct ObserverSettings {
  DType dtype = DType::QUInt8;
  QScheme scheme = QScheme::PerTensorAffine;
  bool reduceRange = false;
  bool isDynamic = false;
  bool hasCustomRange = false;              ///< both bounds were given
  std::optional<int64_t> givenMin, givenMax; ///< as given
  int64_t quantMin = 0, quantMax = 255;     ///< effective (numerics 2.1)
  std::optional<double> eps;
  int64_t axis = 0;
  double averagingConstant = 1;
  int64_t bins = 0;
};

/// Reads settings through `find`, which yields an attribute's value or null.
ObserverSettings readObserverSettings(llvm::function_ref<const Argument *(llvm::StringRef)> find);
ObserverSettings readObserverSettings(const Module &observer);

/// numerics 2.1: the range that an observer uses.  `customMin` and `customMax` count only together.
std::pair<int64_t, int64_t> getEffectiveRange(DType dtype, bool reduceRange, std::optional<int64_t> customMin,
                                              std::optional<int64_t> customMax);

/// The checks of numerics 2.1, 2.2 and 3.2 that all uniform observers make.
llvm::Error checkUniformSettings(const Module &observer, const ObserverSettings &settings);

} // namespace qfx

#endif // BACKENDS_OBSERVE_OBSERVERSETTINGS_H
