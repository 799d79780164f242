// Minimum and maximum that keep a NaN, as torch.minimum and torch.maximum do.
#ifndef BACKENDS_OBSERVE_NANMINMAX_H
#define BACKENDS_OBSERVE_NANMINMAX_H

#include <cmath>

namespace qfx {

/// torch.max and torch.min of two numbers: a NaN on either side comes through.
inline float maxNan(float a, float b) { return std::isnan(a) || a > b ? a : b; }
inline float minNan(float a, float b) { return std::isnan(a) || a < b ? a : b; }
inline double maxNan(double a, double b) { return std::isnan(a) || a > b ? a : b; }
inline double minNan(double a, double b) { return std::isnan(a) || a < b ? a : b; }

} // namespace qfx

#endif // BACKENDS_OBSERVE_NANMINMAX_H
