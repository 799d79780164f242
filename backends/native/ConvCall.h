// What all quantized convolutions share: packed weights, geometry and a prepared input.
#ifndef BACKENDS_NATIVE_CONVCALL_H
#define BACKENDS_NATIVE_CONVCALL_H

#include "backends/native/QuantizedWeights.h"
#include "kernels/conv/Conv.h"

#include <memory>

namespace qfx::runtime {

struct PackedQuantizedConv {
  kernels::PackedConv packed;
  std::shared_ptr<std::byte> memory;
};

/// A convolution ready to run on `src`.
struct ConvCall {
  QuantizedWeights weights; ///< of the plain convolution, also for a transposed one
  std::shared_ptr<PackedQuantizedConv> packed;
  kernels::ConvPlan plan;
  View src; ///< padded or spread out where the geometry asks for it, channels innermost
  int64_t depth() const { return packed->packed.shape.reduction(); }
  const int32_t *weightSum() const { return packed->packed.weightSum; }
  /// Units of the plan worth a thread of their own.
  int64_t getGrain() const;
};

/// Reads weights and geometry of the call, packs once, prepares the input (codes, or floats of a dynamic convolution).
/// \param padByte  the byte of padding elements: a code's zero point, 0 for floats.
/// \param output   Float packs without depthwise kernels, which know only codes.
/// Errors: weights or sizes that do not fit.
llvm::Expected<ConvCall> prepareConvCall(BindContext &context, const View &input, uint8_t padByte,
                                         kernels::TileOutput output);

} // namespace qfx::runtime

#endif // BACKENDS_NATIVE_CONVCALL_H
