// The elementwise part of one step of a recurrent layer: gates in, new state out, for one row.
#ifndef KERNELS_RECURRENT_CELL_H
#define KERNELS_RECURRENT_CELL_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::kernels {

/// What a cell computes of x = lin_ih(input) and h = lin_hh(hidden), each with its own bias.
enum class CellKind : uint8_t {
  Lstm,    ///< gates i, f, g, o: c' = sig(f)*c + sig(i)*tanh(g), h' = sig(o)*tanh(c')
  Gru,     ///< gates r, z, n: r = sig(h_r+x_r), z = sig(h_z+x_z), n = tanh(x_n + r*h_n), h' = (h-n)*z + n
  RnnTanh, ///< h' = tanh(x + h)
  RnnRelu, ///< h' = max(x + h, 0)
};

inline constexpr int kNumCellKinds = 4;

/// Gates per hidden unit: 4, 3, 1, 1.
constexpr int getNumGates(CellKind kind) { return kind == CellKind::Lstm ? 4 : kind == CellKind::Gru ? 3 : 1; }

/// Operands of one row; H hidden units.
struct CellArgs {
  const float *input;  ///< f32 [gates, H]: x
  const float *hidden; ///< f32 [gates, H]: h
  const float *state;  ///< f32 [H]: c (Lstm), the hidden state (Gru); not read otherwise
  float *cell;         ///< f32 [H]: c' (Lstm); may equal state; not written otherwise
  float *dst;          ///< f32 [H]: h'; may equal state (Gru)
};

/// Every value is legal.  Steps are binary32 in the written order, none fused, so that bits depend neither on the
/// instruction set nor on an element's position.  Source: operators 11.4.
using CellFn = void (*)(int64_t hiddenSize, const CellArgs &args);

/// The function of `kind` for `isa`; ask once and keep it.
CellFn selectCell(CellKind kind, Isa isa = getCurrentIsa());

} // namespace qfx::kernels

#endif // KERNELS_RECURRENT_CELL_H
