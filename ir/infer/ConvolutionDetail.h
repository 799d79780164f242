// Output shapes of convolutions, shared by float and quantized rules.
#ifndef IR_INFER_CONVOLUTIONDETAIL_H
#define IR_INFER_CONVOLUTIONDETAIL_H

#include "ir/InferDetail.h"

namespace qfx {

/// What decides a convolution's output shape; lists have one number per spatial axis.
struct ConvGeometry {
  size_t spatial = 0;
  llvm::SmallVector<int64_t, 3> stride, padding, outputPadding, dilation;
  int64_t groups = 1;
  bool isSame = false; ///< padding='same': the output has the input's sizes
  bool isTransposed = false;
};

/// 1, 2 or 3: the number in the operator's name (Conv2d, QuantizedConvRelu2d).
size_t getSpatialRank(const InferContext &context);

/// Reads stride, padding, dilation, groups (and output_padding) from the slots of those names.
/// Rules `<op>_geometry` (ranges) and `<op>_padding` (padding='same' wants stride 1).
llvm::Expected<ConvGeometry> readConvGeometry(const InferContext &context, bool isTransposed);

/// The output type (input's dtype, channels-last kept) of input [N, C, spatial...] or [C, spatial...] and weight.
/// Rules: `<op>_rank`, `<op>_channels` (input against weight and groups), `<op>_bias`, `<op>_size` (output sizes >= 1).
/// `outputSize`, for transposed convolutions, chooses among the sizes that the stride allows.
llvm::Expected<TensorType> inferConvShape(const InferContext &context, const TensorType &input, const TensorType &weight,
                                          const std::optional<TensorType> &bias, const ConvGeometry &geometry,
                                          llvm::ArrayRef<int64_t> outputSize = {});

} // namespace qfx

#endif // IR_INFER_CONVOLUTIONDETAIL_H
