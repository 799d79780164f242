// Which dtypes a backend supports for a pattern, and within which bounds.
#ifndef BACKENDS_CONFIG_DTYPECONFIG_H
#define BACKENDS_CONFIG_DTYPECONFIG_H

#include "ir/DType.h"

#include <optional>

namespace qfx {

/// backend_config.md 1.2; compared field by field.
struct DTypeWithConstraints {
  std::optional<DType> dtype;
  std::optional<double> quantMinLowerBound, quantMaxUpperBound;
  std::optional<double> scaleMinLowerBound, scaleMaxUpperBound;
  std::optional<double> scaleExactMatch;
  std::optional<int64_t> zeroPointExactMatch;

  DTypeWithConstraints() = default;
  DTypeWithConstraints(DType dtype) : dtype(dtype) {}
  bool operator==(const DTypeWithConstraints &) const = default;
};

/// backend_config.md 1.3: dtype arguments of the quantize steps in the reference model.
struct DTypeConfig {
  DTypeWithConstraints input, output, weight;
  std::optional<DType> bias;
  std::optional<bool> isDynamic; ///< unset and false are equal in checks, kept apart when saved

  bool isDynamicSet() const { return isDynamic.value_or(false); }
  bool operator==(const DTypeConfig &) const = default;
};

} // namespace qfx

#endif // BACKENDS_CONFIG_DTYPECONFIG_H
