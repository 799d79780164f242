// The GEMM tile in plain C++: the oracle for every other instruction set.
#include "kernels/gemm/GemmTile.h"

#include "kernels/requant/Requant.h"

#include <cstring>

using namespace qfx::kernels;

static uint8_t finishCode(int32_t acc, int n, const GemmTile &tile) {
  float value = (static_cast<float>(acc) + tile.bias[n]) * tile.multiplier[n];
  return static_cast<uint8_t>(roundClamp(value, tile.low - tile.zeroPoint, tile.high - tile.zeroPoint) +
                              tile.zeroPoint);
}

static float finishFloat(int32_t acc, int n, const GemmTile &tile) {
  const float total = static_cast<float>(acc);
  const float value = tile.fusesBias ? __builtin_fmaf(total, tile.multiplier[n], tile.bias[n])
                                     : total * tile.multiplier[n] + tile.bias[n];
  return value < tile.floor ? tile.floor : value;
}

void qfx::kernels::gemm_u8s8s32_4x8x4_scalar(int rows, const GemmTile &tile) {
  constexpr int kColumns = 8;
  for (int r = 0; r < rows; ++r) {
    int32_t acc[kColumns] = {};
    const uint8_t *a = tile.a + r * tile.ldaElems;
    const int8_t *b = tile.b;
    for (int64_t block = 0; block < tile.blocks; ++block, a += 4)
      for (int n = 0; n < kColumns; ++n, b += 4)
        acc[n] += a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    for (int n = 0; n < tile.columns; ++n) {
      int64_t c = r * tile.ldcElems + n;
      if (tile.output == TileOutput::S32) {
        static_cast<int32_t *>(tile.c)[c] = acc[n];
        continue;
      }
      int32_t total = static_cast<int32_t>(static_cast<uint32_t>(acc[n]) + static_cast<uint32_t>(tile.offset[n]));
      if (tile.output == TileOutput::Code)
        static_cast<uint8_t *>(tile.c)[c] = finishCode(total, n, tile);
      else
        static_cast<float *>(tile.c)[c] = finishFloat(total, n, tile);
    }
  }
}
