// Output shapes of linear layers and lookups, shared by float and quantized rules.
#ifndef IR_INFER_LINEARDETAIL_H
#define IR_INFER_LINEARDETAIL_H

#include "ir/InferDetail.h"

namespace qfx {

/// input [*, K], weight [N, K], bias [N] -> [*, N].  Rules `<op>_rank`, `<op>_features`, `<op>_bias`.
llvm::Expected<TensorType> inferLinearShape(const InferContext &context, const TensorType &input, const TensorType &weight,
                                            const std::optional<TensorType> &bias);

/// indices [*], weight [rows, D] -> [*, D] of `dtype`.  Rules `<op>_indices` (int32 or int64), `<op>_rank`.
llvm::Expected<TensorType> inferLookupShape(const InferContext &context, const TensorType &weight, DType dtype);
/// indices [B, L] or [L] with offsets [B] -> [B, D].  Rules as above, and `<op>_offsets`.
llvm::Expected<TensorType> inferBagShape(const InferContext &context, const TensorType &weight, DType dtype);

} // namespace qfx

#endif // IR_INFER_LINEARDETAIL_H
