// Picks from a table of per-instruction-set rows, oldest first, the last one that may run.
#ifndef KERNELS_SIMD_SELECT_H
#define KERNELS_SIMD_SELECT_H

#include "kernels/isa/Isa.h"

#include <cassert>

namespace qfx::kernels {

/// One row of a kernel table.
template <class Table> struct IsaRow {
  Isa isa;
  const Table *table;
};

/// \returns the last row's table that may run when `current` is in force; the first row must be Scalar.
template <class Table, int NumRows> const Table &selectLast(const IsaRow<Table> (&rows)[NumRows], Isa current) {
  assert(rows[0].isa == Isa::Scalar && "the first row is the oracle");
  const Table *best = rows[0].table;
  for (const IsaRow<Table> &row : rows)
    if (isIsaUsable(row.isa, current))
      best = row.table;
  return *best;
}

} // namespace qfx::kernels

#endif // KERNELS_SIMD_SELECT_H
