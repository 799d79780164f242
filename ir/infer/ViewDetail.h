// What views do to quantizers and memory formats.
#ifndef IR_INFER_VIEWDETAIL_H
#define IR_INFER_VIEWDETAIL_H

#include "ir/InferDetail.h"

namespace qfx {

/// The quantizer after inserting (`delta` 1) or removing (`delta` -1) dimensions: a per-channel axis moves by the number of `dims` at or
/// before it.
QuantizerRef shiftAxis(const QuantizerRef &quantizer, llvm::ArrayRef<int64_t> dims, int delta);

/// The quantizer of elements start, start + step, ... (count of them) along `dim`: a per-channel axis keeps those channels' parameters.
QuantizerRef sliceQuantizer(const QuantizerRef &quantizer, int64_t dim, int64_t start, int64_t count, int64_t step);

/// The quantizer of one index along `dim`, which disappears: per tensor if it was the channel axis (operators 12).
QuantizerRef selectQuantizer(const QuantizerRef &quantizer, int64_t dim, int64_t index);

/// The format of `input` after its dimensions are put in the order `permutation`.
MemoryFormat permuteFormat(const TensorType &input, llvm::ArrayRef<int64_t> permutation);

/// `input` under another shape of as many elements.  Rule `<op>_quantized`: a per-channel axis must keep its place and size.
llvm::Expected<TensorType> reshapeTo(const InferContext &context, const TensorType &input, Shape shape);

/// What `input[index]` is.  Rules `<op>_index`, `<op>_step`, `<op>_broadcast`.
llvm::Expected<TensorType> indexTensor(const InferContext &context, const TensorType &input, const ValueType &index);

} // namespace qfx

#endif // IR_INFER_VIEWDETAIL_H
