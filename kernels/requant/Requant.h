// From the exact integer accumulator of a linear or convolution to its output code: parameters, prepared once.
#ifndef KERNELS_REQUANT_REQUANT_H
#define KERNELS_REQUANT_REQUANT_H

#include <cstdint>

namespace qfx::kernels {

/// Which output stage makes a code out of an accumulator (spec operators 3.6, 3.7).
enum class OutputStage : uint8_t {
  F, ///< fbgemm, x86, onednn: the bias is added in float, never rounded.
  Q, ///< qnnpack: the bias is rounded to an int32 of scale s_x * s_w.
};

/// Everything a quantized linear or convolution knows about its scales.  Scales are real units per step, as doubles the
/// way tensors keep them; each rule narrows them where the specification says so.
struct RequantSpec {
  int64_t channels = 0;         ///< output channels
  int64_t depth = 0;            ///< K: products per output (all taps times input channels of a group)
  double srcScale = 1;          ///< s_x
  int32_t srcZeroPoint = 0;     ///< z_x, within [0, 255]
  const double *weightScale = nullptr;     ///< [channels] if perChannel, else [1]
  const int32_t *weightZeroPoint = nullptr; ///< like weightScale; null: all 0
  bool perChannel = false;
  const float *bias = nullptr;  ///< [channels] or null
  double dstScale = 1;          ///< s_y; unused by the float output
  int32_t dstZeroPoint = 0;     ///< z_y, within [0, 255]; unused by the float output
  bool relu = false;            ///< lower clamp at z_y (codes) or at 0 (float output)
  OutputStage stage = OutputStage::F;
  bool fusesBias = false;       ///< the float output is rounded once, as FBGEMM's compiler makes it
};

/// The tables an epilogue reads, per output channel.  With acc the dot product sum a*w of raw codes:
///   codes : clamp(RNE(f32(f32(f32(acc + offset) + bias) * multiplier)) + zeroPoint, low, high)
///   float : max(f32(f32(acc + offset) * multiplier) + bias, floor), or max(fma(f32(acc + offset), multiplier, bias), floor)
/// When `exact32` is false the sums are made in int64 and -wz*(sum of a) is added too: `wide` tables are read then.
struct RequantParams {
  const int32_t *offset = nullptr;     ///< -z_x * (sum w - K z_w) [+ rounded bias of stage Q], modulo 2^32
  const float *bias = nullptr;
  const float *multiplier = nullptr;
  const int64_t *wideOffset = nullptr; ///< the same as offset, exact
  const int32_t *weightZeroPoint = nullptr; ///< expanded to all channels; null: all 0
  int32_t zeroPoint = 0, low = 0, high = 255;
  float floor = 0;                     ///< -infinity, or 0 with relu
  bool fusesBias = false;              ///< the second form of the float output
  bool exact32 = true;                 ///< acc + offset always fits int32
};

/// Channel tables are readable for this many entries from any channel on, so that whole vectors may be loaded.
constexpr int64_t kChannelPadding = 64;

/// Bytes of the memory given to the prepare functions for `channels` output channels (64-byte aligned memory).
int64_t getRequantBytes(int64_t channels);

/// Whether stage Q may be used: every multiplier is finite, positive and normal, and every bias fits int32 in units of
/// s_x * s_w (spec operators 3.7, known_traps B55).  If not, `badMultiplier` tells which of the two failed: true is an
/// error of the model, false asks for stage F and a remark.
bool canUseStageQ(const RequantSpec &spec, bool &badMultiplier);

/// Prepares the tables of a quantized (code) output.
/// \param spec    with stage Q, canUseStageQ(spec) holds.
/// \param weightSum  s32 [channels], sum over K of the raw weight codes.
/// \param memory  getRequantBytes(channels) bytes, 64-byte aligned, alive as long as the result.
/// Source: spec operators 3.5-3.7 (FBGEMM requantization, QNNPACK requantization); steps are binary32, none fused.
RequantParams prepareRequant(const RequantSpec &spec, const int32_t *weightSum, void *memory);

/// Prepares the tables of the float output of dynamic linear: y = f32(f32(acc) * f32(s_x * s_w)) + b (operators 11.1; qnnpack), or
/// with spec.fusesBias fma(f32(acc), f32(s_x * s_w), b) (FBGEMM as PyTorch 2.13 ships it; test/golden/quantized).
RequantParams prepareDequant(const RequantSpec &spec, const int32_t *weightSum, void *memory);

/// clamp(RNE(value), low, high) for integers |low|, |high| < 2^22; NaN gives low.
inline int32_t roundClamp(float value, int32_t low, int32_t high) {
  constexpr float kMagic = 12582912.0f; // 1.5 * 2^23: adding it leaves no fraction bits, rounding half to even
  float lowF = static_cast<float>(low), highF = static_cast<float>(high);
  value = value > lowF ? value : lowF;
  value = value < highF ? value : highF;
  return static_cast<int32_t>((value + kMagic) - kMagic);
}

/// One code from an accumulator that already holds its offset.
inline uint8_t requantize(int64_t acc, float bias, float multiplier, const RequantParams &params) {
  float value = (static_cast<float>(acc) + bias) * multiplier;
  int32_t zeroPoint = params.zeroPoint;
  return static_cast<uint8_t>(roundClamp(value, params.low - zeroPoint, params.high - zeroPoint) + zeroPoint);
}

/// Epilogue of one row from exact 64-bit dot products; the path of long reductions and of weight zero points.
/// \param acc     s64 [channels], sum a*w of raw codes.
/// \param rowSum  sum over K of the raw activation codes of the row.
/// \param first   index of the row's first channel in the tables of `params`.
void requantizeRow(const int64_t *acc, int64_t rowSum, int64_t first, int64_t channels, const RequantParams &params,
                   uint8_t *dst);
/// As requantizeRow, with the float output.
void dequantizeRow(const int64_t *acc, int64_t rowSum, int64_t first, int64_t channels, const RequantParams &params,
                   float *dst);

} // namespace qfx::kernels

#endif // KERNELS_REQUANT_REQUANT_H
