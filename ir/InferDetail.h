// What the inference rules share: dimension arithmetic, broadcasting, dtype promotion, quantizers of views.
#ifndef IR_INFERDETAIL_H
#define IR_INFERDETAIL_H

#include "ir/Infer.h"

namespace qfx {

/// Unwraps an Expected into a new variable or returns its error.
#define QFX_TRY(variable, expression)                                                                                  \
  auto variable##OrError = (expression);                                                                               \
  if (!variable##OrError)                                                                                              \
    return variable##OrError.takeError();                                                                              \
  auto variable = std::move(*variable##OrError)

/// The type of an argument: nodes through `lookup`, constants as they are.
ValueType getArgumentType(const Argument &argument, TypeLookup lookup);

// Dimensions.  A result that is no `factor * symbol` is unknown; overflow is unknown as well and caught by countElements.
Dim addDims(const Dim &a, const Dim &b);
Dim multiplyDims(const Dim &a, const Dim &b);
/// Product of all; empty: 1.
Dim multiplyAll(llvm::ArrayRef<Dim> dims);
/// Product of the static factors; none if it is more than 2^62 (a zero makes it 0).
std::optional<int64_t> countElements(llvm::ArrayRef<Dim> shape);
/// Dimensions that are equal, or may be at run time: the more telling of the two.
Dim mergeDims(const Dim &a, const Dim &b);
/// `[N, 3, 224, 224]`.
std::string toString(llvm::ArrayRef<Dim> shape);

/// A size taken `count` times; rule `<op>_<slot>` if both are numbers without a product.
llvm::Expected<Dim> repeatSize(const InferContext &context, llvm::StringRef slot, const Dim &size, const Dim &count);

/// A dimension number counted from the end if negative; rule `<op>_dim` if outside [-rank, rank).
llvm::Expected<int64_t> wrapDim(const InferContext &context, int64_t dim, size_t rank);
/// A list of distinct dimensions, wrapped; empty list: all of them when `emptyMeansAll`.
llvm::Expected<llvm::SmallVector<int64_t, 4>> wrapDims(const InferContext &context, llvm::ArrayRef<int64_t> dims,
                                                       size_t rank, bool emptyMeansAll);

/// Rule `<op>_broadcast`: shapes aligned at the end, sizes equal or 1.
llvm::Expected<Shape> broadcastShapes(const InferContext &context, llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);

/// torch.promote_types for the dtypes that are not quantized.
DType promoteTypes(DType a, DType b);
/// torch.result_type's three classes of operands: tensors with dimensions, 0-d tensors, Python numbers; a lower class counts only by
/// its kind (bool < integer < float).
class ResultType {
public:
  void addTensor(const TensorType &type);
  void addNumber(DTypeKind kind);
  DType get() const;

private:
  void add(std::optional<DType> &place, DType dtype);
  std::optional<DType> dimensioned, scalar, wrapped;
};

/// Gives `type` the memory format in a slot, unless it is None or preserve_format.  Rule `<op>_format`: channels_last wants rank 4,
/// channels_last_3d rank 5.
llvm::Error applyFormat(const InferContext &context, const ValueType &wanted, TensorType &type);
/// The format a tensor of this rank keeps: channels_last only for rank 4, channels_last_3d only for rank 5.
MemoryFormat fitFormat(MemoryFormat format, size_t rank);
/// channels_last or channels_last_3d for rank 4 or 5, else contiguous.
MemoryFormat getChannelsLast(size_t rank);

/// Rule `<op>_quantized`: the operator has no kernel for quantized tensors (operators 24.13).
llvm::Error checkNotQuantized(const InferContext &context, const TensorType &type, llvm::StringRef slot);
/// Rule `<op>_quantized`: the operand must be quantized per tensor.
llvm::Error checkPerTensor(const InferContext &context, const TensorType &type, llvm::StringRef slot);
/// Rule `<op>_quantized`: per-channel tensors go only into operators of operators 12's last rows.
llvm::Error checkNotPerChannel(const InferContext &context, const TensorType &type);

/// The quantizer named by two slots; null when they are known only at run time.  Rule `tensor_quant` for values out of range.
llvm::Expected<QuantizerRef> getQuantizer(const InferContext &context, DType dtype, llvm::StringRef scaleSlot,
                                          llvm::StringRef zeroPointSlot);
/// Fixed parameters of sigmoid-like (unit range) and tanh outputs (operators 7).
QuantizerRef getUnitQuantizer(DType dtype);
QuantizerRef getTanhQuantizer(DType dtype);

/// Calls a child module of the called module with these values: bind, then infer.
llvm::Expected<ValueType> inferChild(const InferContext &context, const Module &child, llvm::ArrayRef<ValueType> inputs);

} // namespace qfx

#endif // IR_INFERDETAIL_H
