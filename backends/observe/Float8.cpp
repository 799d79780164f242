// Conversion to and from float8_e5m2 and float8_e4m3fn.
#include "backends/observe/Float8Detail.h"

#include <cmath>

namespace qfx {

namespace {
struct Format {
  int mantissaBits, bias;
};
} // namespace

static Format getFormat(DType format) { return format == DType::Float8E5M2 ? Format{2, 15} : Format{3, 7}; }

double getFloat8Max(DType format) { return format == DType::Float8E5M2 ? 57344 : 448; }

uint8_t toFloat8(float value, DType format) {
  const auto [mantissaBits, bias] = getFormat(format);
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value))
    return 0x7F | sign;
  const double magnitude = std::fabs(static_cast<double>(value));
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), 1 - bias) : 1 - bias;
  // Steps of the binade; a carry into the next one is right by itself.
  const int steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent)));
  const int code = ((exponent + bias - 1) << mantissaBits) + steps;
  return static_cast<uint8_t>(sign | code);
}

float fromFloat8(uint8_t bits, DType format) {
  const auto [mantissaBits, bias] = getFormat(format);
  const int exponent = (bits & 0x7F) >> mantissaBits, mantissa = bits & ((1 << mantissaBits) - 1);
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  if (format == DType::Float8E5M2 && exponent == 31)
    return mantissa ? NAN : sign * INFINITY;
  if (format == DType::Float8E4M3FN && (bits & 0x7F) == 0x7F)
    return NAN;
  if (exponent == 0)
    return sign * std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissaBits);
  return sign * std::ldexp(static_cast<float>(mantissa + (1 << mantissaBits)), exponent - bias - mantissaBits);
}

} // namespace qfx
