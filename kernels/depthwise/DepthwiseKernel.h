// The table of depthwise microkernels and the choice among them.
#ifndef KERNELS_DEPTHWISE_DEPTHWISEKERNEL_H
#define KERNELS_DEPTHWISE_DEPTHWISEKERNEL_H

#include "kernels/depthwise/DepthwiseTile.h"
#include "kernels/isa/Isa.h"

#include <span>
#include <string_view>

namespace qfx::kernels {

/// One row of DepthwiseKernels.def.
struct DepthwiseKernel {
  Isa isa;
  std::string_view name;
  int width, tapGroup;
  Below128Function below128;
  DepthwiseFunction run;
};

/// All rows compiled for this processor family, oldest instruction set first.
std::span<const DepthwiseKernel> getDepthwiseKernels();

/// The row to use under `isa`: the last usable one.  Ask once, when a graph is prepared.
const DepthwiseKernel &selectDepthwise(Isa isa);

} // namespace qfx::kernels

#endif // KERNELS_DEPTHWISE_DEPTHWISEKERNEL_H
