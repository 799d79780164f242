// The GEMM tile, once for all instruction sets: multiply a panel, then finish each row from registers.
//
// Ops gives: Acc (s32 lanes), Float, kLanes, zero, add, loadInts, loadFloats, toFloat, addFloats, mulFloats, fmaFloats,
// maxFloats(floor, x), roundBelow(x, bound), storeInts, storeFloats, storeCodes.
// Dot gives: A, B, kStep, loadA(a), loadB(b, halfBytes), dot(acc, a, b).
// Included by the instruction set files only; everything is local to them.
#include "kernels/gemm/GemmTile.h"

#define QFX_INLINE inline __attribute__((always_inline))

namespace {
namespace gemm {

using qfx::kernels::GemmTile;
using qfx::kernels::TileOutput;

/// Adds steps [begin, end) of the panel to the accumulators; Ordered reads the k of each step from tile.order.
template <class Ops, class Dot, int MR, int NV, bool Ordered>
QFX_INLINE void accumulate(typename Ops::Acc (&acc)[MR][NV], const GemmTile &tile, int64_t begin, int64_t end) {
  constexpr int kHalf = NV * Ops::kLanes * 4;
  constexpr int kStepBytes = NV * Ops::kLanes * Dot::kStep;
  const int8_t *b = tile.b + begin * kStepBytes;
  const uint8_t *a = tile.a + begin * Dot::kStep;
  const int64_t lda = tile.ldaElems;
  for (int64_t step = begin; step < end; ++step, b += kStepBytes) {
    const uint8_t *ak = a;
    if constexpr (Ordered)
      ak = tile.a + tile.order[step];
    else
      a += Dot::kStep;
    typename Dot::B bv[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v)
      bv[v] = Dot::loadB(b + v * Ops::kLanes * 4, kHalf);
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r) {
      typename Dot::A av = Dot::loadA(ak + r * lda);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v)
        acc[r][v] = Dot::dot(acc[r][v], av, bv[v]);
    }
  }
}

template <class Ops, int NV> QFX_INLINE void storeIntRow(const typename Ops::Acc (&acc)[NV], int32_t *dst, int columns) {
  if (columns == NV * Ops::kLanes) {
    for (int v = 0; v < NV; ++v)
      Ops::storeInts(dst + v * Ops::kLanes, acc[v]);
    return;
  }
  int32_t row[NV * Ops::kLanes];
  for (int v = 0; v < NV; ++v)
    Ops::storeInts(row + v * Ops::kLanes, acc[v]);
  for (int n = 0; n < columns; ++n)
    dst[n] = row[n];
}

template <class Ops, int NV>
QFX_INLINE void storeFloatRow(const typename Ops::Acc (&acc)[NV], const GemmTile &tile, float *dst) {
  typename Ops::Float floor = Ops::broadcast(tile.floor);
  float row[NV * Ops::kLanes];
  bool whole = tile.columns == NV * Ops::kLanes;
  float *out = whole ? dst : row;
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) {
    int c = v * Ops::kLanes;
    typename Ops::Float value = Ops::toFloat(Ops::add(acc[v], Ops::loadInts(tile.offset + c)));
    typename Ops::Float multiplier = Ops::loadFloats(tile.multiplier + c), bias = Ops::loadFloats(tile.bias + c);
    value = tile.fusesBias ? Ops::fmaFloats(value, multiplier, bias) : Ops::addFloats(Ops::mulFloats(value, multiplier), bias);
    Ops::storeFloats(out + c, Ops::maxFloats(floor, value));
  }
  if (!whole)
    for (int n = 0; n < tile.columns; ++n)
      dst[n] = row[n];
}

template <class Ops, int NV>
QFX_INLINE void storeCodeRow(const typename Ops::Acc (&acc)[NV], const GemmTile &tile, uint8_t *dst) {
  typename Ops::Float bound = Ops::broadcast(static_cast<float>(tile.high - tile.zeroPoint));
  typename Ops::Acc rounded[NV];
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) {
    int c = v * Ops::kLanes;
    typename Ops::Float value = Ops::toFloat(Ops::add(acc[v], Ops::loadInts(tile.offset + c)));
    value = Ops::addFloats(value, Ops::loadFloats(tile.bias + c));
    value = Ops::mulFloats(value, Ops::loadFloats(tile.multiplier + c));
    rounded[v] = Ops::roundBelow(value, bound);
  }
  if (tile.columns == NV * Ops::kLanes) {
    Ops::template storeCodes<NV>(dst, rounded, tile);
    return;
  }
  uint8_t row[NV * Ops::kLanes];
  Ops::template storeCodes<NV>(row, rounded, tile);
  for (int n = 0; n < tile.columns; ++n)
    dst[n] = row[n];
}

/// Finishes and stores every row of a tile.
template <class Ops, int MR, int NV>
QFX_INLINE void storeTile(const typename Ops::Acc (&acc)[MR][NV], const GemmTile &tile) {
  switch (tile.output) {
  case TileOutput::Code:
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r)
      storeCodeRow<Ops, NV>(acc[r], tile, static_cast<uint8_t *>(tile.c) + r * tile.ldcElems);
    return;
  case TileOutput::Float:
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r)
      storeFloatRow<Ops, NV>(acc[r], tile, static_cast<float *>(tile.c) + r * tile.ldcElems);
    return;
  case TileOutput::S32:
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r)
      storeIntRow<Ops, NV>(acc[r], static_cast<int32_t *>(tile.c) + r * tile.ldcElems, tile.columns);
    return;
  }
}

template <class Ops, int MR, int NV> QFX_INLINE void clearTile(typename Ops::Acc (&acc)[MR][NV]) {
#pragma GCC unroll 8
  for (int r = 0; r < MR; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v)
      acc[r][v] = Ops::zero();
}

/// A tile whose Dot is exact for every code.
template <class Ops, class Dot, int MR, int NV> __attribute__((noinline)) void exactTile(const GemmTile &tile) {
  typename Ops::Acc acc[MR][NV];
  clearTile<Ops, MR, NV>(acc);
  accumulate<Ops, Dot, MR, NV, false>(acc, tile, 0, tile.blocks);
  storeTile<Ops, MR, NV>(acc, tile);
}

} // namespace gemm
} // namespace
