// The geometry of a convolution call, as kernels want it.
#ifndef BACKENDS_RUNTIME_CONVGEOMETRY_H
#define BACKENDS_RUNTIME_CONVGEOMETRY_H

#include "backends/runtime/BindContext.h"
#include "kernels/conv/ConvShape.h"

#include <string>

namespace qfx::runtime {

struct ConvGeometry {
  kernels::ConvShape shape;              ///< symmetric padding; all 0 where `before`, `after` pad first
  size_t spatial = 2;                    ///< 1, 2 or 3
  int64_t before[3] = {}, after[3] = {}; ///< codes or floats to put around the input first, axes as in shape
  std::string paddingMode = "zeros";     ///< what to put there

  bool padsFirst() const;
};

/// What a convolution call says about its geometry, before it is checked.
struct ConvArguments {
  llvm::SmallVector<int64_t, 4> stride, dilation;
  Argument padding; ///< numbers, 'same' or 'valid'
  int64_t groups = 1;
  std::string paddingMode = "zeros";
};
/// From the slots stride, padding, dilation, groups and padding_mode of a call.
llvm::Expected<ConvArguments> readConvArguments(const InferContext &attrs);
/// From the attributes of packed weights.
ConvArguments readConvArguments(const Module &packed);

/// Errors: sizes that do not fit each other.
/// \param weightSizes  [out, in / groups, k...].
/// \param inChannels   channels of the input.
llvm::Expected<ConvGeometry> makeConvGeometry(BindContext &context, const ConvArguments &arguments,
                                              llvm::ArrayRef<int64_t> weightSizes, int64_t inChannels);

/// The input of a convolution: with a batch dimension, channels innermost, padded first if the geometry asks for it.
/// \param padCode  the code that padding with zeros writes (0 for floats).
llvm::Expected<View> prepareConvInput(BindContext &context, const View &input, const ConvGeometry &geometry,
                                      uint8_t padCode);

/// Spatial sizes of a prepared input, in the kernels' order of axes.
kernels::ConvSizes getConvSizes(const View &src, const ConvGeometry &geometry);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_CONVGEOMETRY_H
