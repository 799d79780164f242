// The table of weight-only functions that each instruction set's file fills.
#ifndef KERNELS_WEIGHTONLY_WEIGHTONLYDETAIL_H
#define KERNELS_WEIGHTONLY_WEIGHTONLYDETAIL_H

#include "kernels/weightonly/WeightOnly.h"

namespace qfx::kernels {

struct WeightOnlyTable {
  WeightOnlyFn bits8, bits4;
};

#define QFX_WEIGHT_ONLY_TABLE(IsaName, Table) extern const WeightOnlyTable Table;
#include "kernels/weightonly/WeightOnlyKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_WEIGHTONLY_WEIGHTONLYDETAIL_H
