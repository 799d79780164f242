// Rules of operators that join tensors.
#include "ir/infer/ViewDetail.h"

namespace qfx {

/// The tensors of slot `tensors`.  Rules `<op>_input`, `<op>_empty`.
static llvm::Expected<std::vector<TensorType>> getTensors(const InferContext &context) {
  ValueType value = context.getValue("tensors");
  const auto *sequence = value.getSequence();
  if (!sequence)
    return context.fail("input", "wants a list of tensors");
  std::vector<TensorType> tensors;
  for (const ValueType &element : sequence->elements) {
    const TensorType *tensor = element.getTensor();
    if (!tensor)
      return context.fail("input", "wants a list of tensors, element {0} is none", tensors.size());
    tensors.push_back(*tensor);
  }
  if (tensors.empty())
    return context.fail("empty", "wants at least one tensor");
  return tensors;
}

/// The result's dtype, quantizer and format: quantized inputs share a dtype and the first one's parameters count (operators 6), others
/// promote.  Rule `<op>_dtype`.
static llvm::Expected<TensorType> joinTypes(const InferContext &context, llvm::ArrayRef<TensorType> tensors) {
  TensorType result = tensors[0];
  ResultType dtype;
  for (const TensorType &tensor : tensors) {
    if (llvm::Error err = checkNotPerChannel(context, tensor))
      return err;
    if (isQuantized(tensor.dtype) || isQuantized(result.dtype)) {
      if (tensor.dtype != result.dtype)
        return context.fail("dtype", "wants quantized tensors of one dtype, got {0} and {1}", toString(result),
                            toString(tensor));
    } else {
      dtype.addTensor(tensor);
    }
    if (tensor.format != result.format)
      result.format = MemoryFormat::Contiguous;
  }
  if (!isQuantized(result.dtype))
    result.dtype = dtype.get();
  return result;
}

/// PyTorch's old exception: an empty tensor of rank 1 joins anything.
static bool isSkipped(const TensorType &tensor) { return tensor.getRank() == 1 && tensor.shape[0] == Dim(0); }

/// Rules `<op>_rank` (one rank, at least 1) and `<op>_shape` (sizes differ only along `dim`).
static llvm::Expected<TensorType> joinAlong(const InferContext &context, llvm::ArrayRef<TensorType> tensors) {
  QFX_TRY(result, joinTypes(context, tensors));
  const TensorType *first = nullptr;
  for (const TensorType &tensor : tensors)
    if (!first && !isSkipped(tensor))
      first = &tensor;
  if (!first)
    return result;
  if (first->shape.empty())
    return context.fail("rank", "cannot join scalars");
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, first->getRank()));
  result.shape = first->shape;
  result.shape[dim] = Dim(0);
  for (const TensorType &tensor : tensors) {
    if (isSkipped(tensor))
      continue;
    if (tensor.getRank() != first->getRank())
      return context.fail("rank", "wants tensors of one rank, got {0} and {1}", toString(first->shape),
                          toString(tensor.shape));
    for (size_t i = 0; i < tensor.getRank(); ++i) {
      if (static_cast<int64_t>(i) == dim)
        continue;
      if (!result.shape[i].mayEqual(tensor.shape[i]))
        return context.fail("shape", "wants equal sizes except along dimension {0}, got {1} and {2}", dim,
                            toString(first->shape), toString(tensor.shape));
      result.shape[i] = mergeDims(result.shape[i], tensor.shape[i]);
    }
    result.shape[dim] = addDims(result.shape[dim], tensor.shape[dim]);
  }
  result.format = fitFormat(result.format, result.getRank());
  return result;
}

llvm::Expected<ValueType> inferCat(const InferContext &context) {
  QFX_TRY(tensors, getTensors(context));
  QFX_TRY(result, joinAlong(context, tensors));
  return ValueType(result);
}

/// Output parameters as given, else the first input's.  Rule `<op>_quantized`.
llvm::Expected<ValueType> inferQuantizedCat(const InferContext &context) {
  QFX_TRY(tensors, getTensors(context));
  for (const TensorType &tensor : tensors)
    if (llvm::Error err = checkPerTensor(context, tensor, "tensors"))
      return err;
  QFX_TRY(result, joinAlong(context, tensors));
  if (context.hasValue("output_scale")) {
    QFX_TRY(quantizer, getQuantizer(context, result.dtype, "output_scale", "output_zero_point"));
    result.quantizer = quantizer;
  }
  return ValueType(result);
}

/// Rule `stack_shape`: equal shapes.
llvm::Expected<ValueType> inferStack(const InferContext &context) {
  QFX_TRY(tensors, getTensors(context));
  QFX_TRY(result, joinTypes(context, tensors));
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, result.getRank() + 1));
  for (const TensorType &tensor : tensors) {
    bool fits = tensor.getRank() == result.getRank();
    for (size_t i = 0; fits && i < tensor.getRank(); ++i) {
      fits = result.shape[i].mayEqual(tensor.shape[i]);
      result.shape[i] = mergeDims(result.shape[i], tensor.shape[i]);
    }
    if (!fits)
      return context.fail("shape", "wants tensors of one shape, got {0} and {1}", toString(tensors[0].shape),
                          toString(tensor.shape));
  }
  result.shape.insert(result.shape.begin() + dim, Dim(static_cast<int64_t>(tensors.size())));
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

} // namespace qfx
