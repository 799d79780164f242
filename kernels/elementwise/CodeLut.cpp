// Builds 256-entry tables by the operators' rules, with the scalar kernels.
#include "kernels/elementwise/CodeLut.h"
#include "kernels/quantize/Quantize.h"

#include <algorithm>
#include <cmath>

namespace qfx::kernels {

namespace {
struct Range {
  int32_t lo, hi;
};
} // namespace

static Range getRange(CodeType type) {
  return type == CodeType::U8 ? Range{CodeRange<uint8_t>::lo, CodeRange<uint8_t>::hi}
                              : Range{CodeRange<int8_t>::lo, CodeRange<int8_t>::hi};
}

/// The code a raw byte stands for.
static int32_t codeOf(int byte, CodeType type) {
  return type == CodeType::U8 ? byte : static_cast<int8_t>(static_cast<uint8_t>(byte));
}

static void dequantizeAll(DequantizeRule rule, CodeType type, const QParams &in, float *values) {
  const float scale = static_cast<float>(in.scale);
  const float bias = -(scale * static_cast<float>(in.zeroPoint));
  for (int byte = 0; byte < 256; ++byte) {
    int32_t code = codeOf(byte, type);
    if (rule == DequantizeRule::Exact)
      values[byte] = scale * static_cast<float>(code - in.zeroPoint);
    else if (rule == DequantizeRule::VectorZeroExact && code == in.zeroPoint)
      values[byte] = 0.0f;
    else
      values[byte] = std::fma(scale, static_cast<float>(code), bias);
  }
}

static void quantizeAll(const float *values, CodeType type, const QParams &out, CodeLut &lut) {
  const QuantizeKernels &kernels = selectQuantize(Isa::Scalar);
  if (type == CodeType::U8)
    kernels.quantizeU8(values, lut.entry, 256, out);
  else
    kernels.quantizeS8(values, reinterpret_cast<int8_t *>(lut.entry), 256, out);
}

/// entry = max(entry, zeroPoint) as codes.
static void reluAll(CodeType type, int32_t zeroPoint, CodeLut &lut) {
  for (uint8_t &entry : lut.entry)
    if (codeOf(entry, type) < zeroPoint)
      entry = static_cast<uint8_t>(zeroPoint);
}

void buildUnaryLut(UnaryKind kind, const UnaryParams &params, CodeType inType, const QParams &in, CodeType outType,
                   const QParams &out, CodeLut &lut) {
  float values[256];
  dequantizeAll(DequantizeRule::VectorZeroExact, inType, in, values);
  selectUnary(kind, Isa::Scalar)(values, values, 256, params);
  quantizeAll(values, outType, out, lut);
}

void buildRequantizeLut(DequantizeRule rule, CodeType inType, const QParams &in, CodeType outType, const QParams &out,
                        bool relu, CodeLut &lut) {
  float values[256];
  dequantizeAll(rule, inType, in, values);
  quantizeAll(values, outType, out, lut);
  if (relu)
    reluAll(outType, out.zeroPoint, lut);
}

int32_t requantizeCode(int64_t c, float multiplier, int32_t low, int32_t high, int32_t zeroPoint) {
  float t = static_cast<float>(c) * multiplier;
  float least = static_cast<float>(low - zeroPoint), most = static_cast<float>(high - zeroPoint);
  t = t > least ? t : least;
  t = t < most ? t : most;
  return static_cast<int32_t>(std::lrint(t)) + zeroPoint;
}

void buildAddScalarLut(CodeType type, const QParams &in, double c, bool relu, QParams &out, CodeLut &lut) {
  const Range range = getRange(type);
  // the addend in whole steps, kept within int64
  const int64_t cq = static_cast<int64_t>(std::nearbyint(std::clamp(c / in.scale, -4.0e18, 4.0e18)));
  const int64_t shifted = in.zeroPoint - cq;
  const double span = range.hi - range.lo;
  if (shifted >= range.lo && shifted <= range.hi)
    out = {in.scale, static_cast<int32_t>(shifted)};
  else if (shifted < range.lo)
    out = {static_cast<double>(range.hi - shifted) / span * in.scale, range.lo};
  else
    out = {static_cast<double>(shifted - range.lo) / span * in.scale, range.hi};
  const float multiplier = static_cast<float>(in.scale) * (1.0f / static_cast<float>(out.scale));
  for (int byte = 0; byte < 256; ++byte) {
    int32_t code = codeOf(byte, type);
    if (out.zeroPoint != shifted)
      code = requantizeCode(code - in.zeroPoint + cq, multiplier, range.lo, range.hi, out.zeroPoint);
    lut.entry[byte] = static_cast<uint8_t>(code);
  }
  if (relu)
    reluAll(type, out.zeroPoint, lut);
}

void buildMulScalarLut(CodeType type, const QParams &in, double c, bool relu, QParams &out, CodeLut &lut) {
  const Range range = getRange(type);
  if (c > 0)
    out = {c * in.scale, in.zeroPoint};
  else if (c < 0)
    out = {std::fabs(c) * in.scale, range.hi - (in.zeroPoint - range.lo)};
  else
    out = {1.0, 0};
  for (int byte = 0; byte < 256; ++byte) {
    int32_t code = codeOf(byte, type);
    lut.entry[byte] = static_cast<uint8_t>(c > 0 ? code : c < 0 ? range.hi + range.lo - code : 0);
  }
  if (relu)
    reluAll(type, out.zeroPoint, lut);
}

int32_t quantizeValue(float value, CodeType type, const QParams &params) {
  const QuantizeKernels &kernels = selectQuantize(Isa::Scalar);
  if (type == CodeType::U8) {
    uint8_t code;
    kernels.quantizeU8(&value, &code, 1, params);
    return code;
  }
  int8_t code;
  kernels.quantizeS8(&value, &code, 1, params);
  return code;
}

} // namespace qfx::kernels
