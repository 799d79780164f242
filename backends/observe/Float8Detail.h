// The two 8-bit float formats; private to observe/.
#ifndef BACKENDS_OBSERVE_FLOAT8DETAIL_H
#define BACKENDS_OBSERVE_FLOAT8DETAIL_H

#include "ir/DType.h"

namespace qfx {

/// Largest finite value: 57344 (e5m2), 448 (e4m3fn).
double getFloat8Max(DType format);

/// Nearest value of the format, ties to even.  \param value  within the largest finite values, or NaN.
uint8_t toFloat8(float value, DType format);
float fromFloat8(uint8_t bits, DType format);

} // namespace qfx

#endif // BACKENDS_OBSERVE_FLOAT8DETAIL_H
