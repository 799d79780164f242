// Rules of matrix products.
#include "ir/InferDetail.h"

namespace qfx {

/// Rule `<op>_dtype`: both operands have one dtype.
static llvm::Error checkSameDType(const InferContext &context, const TensorType &a, const TensorType &b) {
  if (a.dtype == b.dtype)
    return llvm::Error::success();
  return context.fail("dtype", "wants operands of one dtype, got {0} and {1}", toString(a), toString(b));
}

/// Rule `<op>_inner`: the last size of the left operand is the last but one of the right (or its only one).
static llvm::Error checkInner(const InferContext &context, const Dim &a, const Dim &b, const TensorType &left,
                              const TensorType &right) {
  if (a.mayEqual(b))
    return llvm::Error::success();
  return context.fail("inner", "cannot multiply {0} by {1}: inner sizes {2} and {3} differ", toString(left.shape),
                      toString(right.shape), a, b);
}

/// torch.matmul: vectors get a temporary axis, leading axes broadcast.
static llvm::Expected<Shape> multiplyShapes(const InferContext &context, const TensorType &a, const TensorType &b) {
  if (a.shape.empty() || b.shape.empty())
    return context.fail("rank", "wants operands of rank >= 1, got {0} and {1}", toString(a.shape), toString(b.shape));
  bool isRow = a.getRank() == 1, isColumn = b.getRank() == 1;
  const Dim &inner = isColumn ? b.shape[0] : b.shape[b.getRank() - 2];
  if (llvm::Error err = checkInner(context, a.shape.back(), inner, a, b))
    return err;
  llvm::ArrayRef<Dim> left = a.shape, right = b.shape;
  left = left.drop_back(isRow ? 1 : 2);
  right = right.drop_back(isColumn ? 1 : 2);
  QFX_TRY(shape, broadcastShapes(context, left, right));
  if (!isRow)
    shape.push_back(a.shape[a.getRank() - 2]);
  if (!isColumn)
    shape.push_back(b.shape.back());
  return shape;
}

llvm::Expected<ValueType> inferMatmul(const InferContext &context) {
  QFX_TRY(a, context.getTensor("input"));
  QFX_TRY(b, context.getTensor("other"));
  if (llvm::Error err = checkNotQuantized(context, a, "input"))
    return err;
  if (llvm::Error err = checkSameDType(context, a, b))
    return err;
  QFX_TRY(shape, multiplyShapes(context, a, b));
  TensorType result;
  result.dtype = a.dtype;
  result.shape = shape;
  return ValueType(result);
}

/// Rule `quantized_matmul_dtype`: per-tensor operands of one dtype (operators 9.4).
llvm::Expected<ValueType> inferQuantizedMatmul(const InferContext &context) {
  QFX_TRY(a, context.getTensor("input"));
  QFX_TRY(b, context.getTensor("other"));
  if (llvm::Error err = checkPerTensor(context, a, "input"))
    return err;
  if (llvm::Error err = checkPerTensor(context, b, "other"))
    return err;
  if (llvm::Error err = checkSameDType(context, a, b))
    return err;
  QFX_TRY(shape, multiplyShapes(context, a, b));
  QFX_TRY(quantizer, getQuantizer(context, a.dtype, "output_scale", "output_zero_point"));
  TensorType result;
  result.dtype = a.dtype;
  result.shape = shape;
  result.quantizer = quantizer;
  return ValueType(result);
}

/// Rank 2 (mm) or 3 (bmm): rule `<op>_rank`; equal batch sizes: rule `bmm_batch`.
static llvm::Expected<TensorType> multiplyMatrices(const InferContext &context, llvm::StringRef leftSlot,
                                                   llvm::StringRef rightSlot, size_t rank) {
  QFX_TRY(a, context.getTensor(leftSlot));
  QFX_TRY(b, context.getTensor(rightSlot));
  if (llvm::Error err = checkNotQuantized(context, a, leftSlot))
    return err;
  if (llvm::Error err = checkSameDType(context, a, b))
    return err;
  if (a.getRank() != rank || b.getRank() != rank)
    return context.fail("rank", "wants operands of rank {0}, got {1} and {2}", rank, toString(a.shape), toString(b.shape));
  if (rank == 3 && !a.shape[0].mayEqual(b.shape[0]))
    return context.fail("batch", "wants equal batch sizes, got {0} and {1}", a.shape[0], b.shape[0]);
  if (llvm::Error err = checkInner(context, a.shape.back(), b.shape[rank - 2], a, b))
    return err;
  TensorType result;
  result.dtype = a.dtype;
  if (rank == 3)
    result.shape.push_back(mergeDims(a.shape[0], b.shape[0]));
  result.shape.push_back(a.shape[rank - 2]);
  result.shape.push_back(b.shape.back());
  return result;
}

llvm::Expected<ValueType> inferMm(const InferContext &context) {
  QFX_TRY(result, multiplyMatrices(context, "input", "mat2", 2));
  return ValueType(result);
}

llvm::Expected<ValueType> inferBmm(const InferContext &context) {
  QFX_TRY(result, multiplyMatrices(context, "input", "mat2", 3));
  return ValueType(result);
}

/// beta * input + alpha * (mat1 @ mat2): the input broadcasts to the product.  Rule `addmm_input`.
llvm::Expected<ValueType> inferAddmm(const InferContext &context) {
  QFX_TRY(result, multiplyMatrices(context, "mat1", "mat2", 2));
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(shape, broadcastShapes(context, input.shape, result.shape));
  if (shape.size() != 2 || !shape[0].mayEqual(result.shape[0]) || !shape[1].mayEqual(result.shape[1]))
    return context.fail("input", "cannot expand {0} to the product's shape {1}", toString(input.shape),
                        toString(result.shape));
  return ValueType(result);
}

/// beta * input + alpha * (batch1 @ batch2).  Rule `baddbmm_input`.
llvm::Expected<ValueType> inferBaddbmm(const InferContext &context) {
  QFX_TRY(result, multiplyMatrices(context, "batch1", "batch2", 3));
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(shape, broadcastShapes(context, input.shape, result.shape));
  bool fits = shape.size() == 3;
  for (size_t i = 0; fits && i < 3; ++i)
    fits = shape[i].mayEqual(result.shape[i]);
  if (!fits)
    return context.fail("input", "cannot expand {0} to the product's shape {1}", toString(input.shape),
                        toString(result.shape));
  return ValueType(result);
}

/// Two operands of these ranks and one dtype.  Rule `<op>_rank`.
static llvm::Expected<std::pair<TensorType, TensorType>> getVectors(const InferContext &context, llvm::StringRef slot,
                                                                    size_t leftRank) {
  QFX_TRY(a, context.getTensor("input"));
  QFX_TRY(b, context.getTensor(slot));
  if (llvm::Error err = checkNotQuantized(context, a, "input"))
    return err;
  if (a.getRank() != leftRank || b.getRank() != 1)
    return context.fail("rank", "wants operands of rank {0} and 1, got {1} and {2}", leftRank, toString(a.shape),
                        toString(b.shape));
  return std::pair<TensorType, TensorType>(a, b);
}

llvm::Expected<ValueType> inferMv(const InferContext &context) {
  QFX_TRY(operands, getVectors(context, "vec", 2));
  auto &[a, b] = operands;
  if (llvm::Error err = checkSameDType(context, a, b))
    return err;
  if (llvm::Error err = checkInner(context, a.shape[1], b.shape[0], a, b))
    return err;
  a.shape.pop_back();
  return ValueType(a);
}

llvm::Expected<ValueType> inferDot(const InferContext &context) {
  QFX_TRY(operands, getVectors(context, "tensor", 1));
  auto &[a, b] = operands;
  if (llvm::Error err = checkSameDType(context, a, b))
    return err;
  if (llvm::Error err = checkInner(context, a.shape[0], b.shape[0], a, b))
    return err;
  a.shape.clear();
  return ValueType(a);
}

llvm::Expected<ValueType> inferOuter(const InferContext &context) {
  QFX_TRY(operands, getVectors(context, "vec2", 1));
  auto &[a, b] = operands;
  a.dtype = promoteTypes(a.dtype, b.dtype);
  a.shape.push_back(b.shape[0]);
  return ValueType(a);
}

} // namespace qfx
