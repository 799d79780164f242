// The greedy search for the range of a packed embedding row.
#include "kernels/embedding/Embedding.h"
#include "kernels/quantize/HalfFloat.h"

#include <algorithm>
#include <cmath>

namespace qfx::kernels {

static float roundToHalf(float value) {
  uint16_t bits;
  convertF32ToF16(&value, &bits, 1);
  convertF16ToF32(&bits, &value, 1);
  return value;
}

/// The norm of what codes between `low` and `high` leave of the row.
static float getLoss(const PackedRows &rows, const float *src, float low, float high) {
  low = roundToHalf(low);
  const float range = high - low, top = static_cast<float>((1 << rows.bits) - 1);
  const float scale = range == 0 ? 1.0f : roundToHalf(range / top), inverse = scale == 0 ? 1.0f : 1.0f / scale;
  float squares = 0;
  for (int64_t i = 0; i < rows.columns; ++i) {
    const float code = std::max(0.0f, std::min(std::nearbyint((src[i] - low) * inverse), top));
    const float error = src[i] - (code * scale + low);
    squares += error * error;
  }
  return std::sqrt(squares);
}

RowRange searchRowRange(const PackedRows &rows, const float *src, int64_t bins, float ratio) {
  const auto [least, most] = std::minmax_element(src, src + rows.columns);
  RowRange best{*least, *most}, now = best;
  float loss = getLoss(rows, src, now.low, now.high), bestLoss = loss;
  const float step = (now.high - now.low) / static_cast<float>(bins);
  const auto kept = static_cast<int64_t>(static_cast<double>(bins) * (1.0 - static_cast<double>(ratio)));
  const float width = static_cast<float>(kept) * step;
  // A step that the ends are too large to take would go on for ever.
  for (int64_t i = 0; i <= bins && now.low + width < now.high; ++i) {
    const float ifRaised = getLoss(rows, src, now.low + step, now.high);
    const float ifLowered = getLoss(rows, src, now.low, now.high - step);
    if (loss < ifRaised && loss < ifLowered && loss < bestLoss) {
      bestLoss = loss;
      best = now;
    }
    if (ifRaised < ifLowered) {
      now.low = now.low + step;
      loss = ifRaised;
    } else {
      now.high = now.high - step;
      loss = ifLowered;
    }
  }
  return best;
}

} // namespace qfx::kernels
