// Rules of operators that write into all or a part of a tensor: their result is what the tensor becomes.
#include "ir/infer/ViewDetail.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

/// Rule `set_item_value`: an integer dtype can hold the number.  PyTorch lets unsigned ones take negative numbers.
static llvm::Error checkNumber(const InferContext &context, const TensorType &place) {
  std::optional<double> number = context.findNumber("value");
  const DTypeInfo &info = getDTypeInfo(place.dtype);
  if (!number || info.kind != DTypeKind::Integer)
    return llvm::Error::success();
  const double whole = std::trunc(*number), low = static_cast<double>(info.codeMin ? info.codeMin : -info.codeMax);
  if (whole >= low && whole <= static_cast<double>(info.codeMax))
    return llvm::Error::success();
  return context.fail("value", "cannot write {0} into {1}", *number, toString(place));
}

/// The quantized side of a write.  Rule `<op>_quantized`: floats are quantized with the place's parameters; codes take codes of their own dtype and
/// scheme, a part of a tensor only codes of its own parameters (PyTorch copies any codes as they are, which changes what they stand for).
static llvm::Error checkCodes(const InferContext &context, const TensorType &place, const TensorType &value, bool isWhole) {
  if (!isQuantized(place.dtype) && isQuantized(value.dtype))
    return context.fail("quantized", "wants floats to write into {0}, got {1}; dequantize first", toString(place), toString(value));
  if (!isQuantized(place.dtype) || value.dtype == DType::Float32)
    return llvm::Error::success();
  if (value.dtype != place.dtype)
    return context.fail("quantized", "writes float32 or {0} into {1}, got {2}", getDTypeInfo(place.dtype).torchName, toString(place),
                        toString(value));
  if (!place.quantizer || !value.quantizer)
    return llvm::Error::success();
  if (isWhole ? place.quantizer->getScheme() == value.quantizer->getScheme() : *place.quantizer == *value.quantizer)
    return llvm::Error::success();
  return context.fail("quantized", "wants codes of the {0} of {1}, got {2}; requantize first", isWhole ? "scheme" : "parameters",
                      toString(place), toString(value));
}

/// Rule `<op>_shape`: the value broadcasts to the place.
static llvm::Error checkFits(const InferContext &context, llvm::ArrayRef<Dim> value, const TensorType &place) {
  bool fits = value.size() <= place.getRank();
  for (size_t i = 0; fits && i < value.size(); ++i)
    fits = value[i] == Dim(1) || value[i].mayEqual(place.shape[place.getRank() - value.size() + i]);
  if (fits)
    return llvm::Error::success();
  return context.fail("shape", "cannot write sizes {0} into {1}", toString(value), toString(place.shape));
}

/// The input with all elements replaced.  A quantized source gives its parameters, too.  Rules `copy_shape` (of a float source for codes: the same
/// sizes), `copy_quantized`.
llvm::Expected<ValueType> inferCopy(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (context.getValue("src").getNumberKind())
    return ValueType(input);
  QFX_TRY(src, context.getTensor("src"));
  if (llvm::Error err = checkFits(context, src.shape, input))
    return err;
  if (llvm::Error err = checkCodes(context, input, src, /*isWhole=*/true))
    return err;
  if (isQuantized(input.dtype) && !isQuantized(src.dtype) && src.getRank() != input.getRank())
    return context.fail("shape", "wants a float source of the sizes of {0}, got {1}", toString(input), toString(src));
  if (isQuantized(src.dtype))
    input.quantizer = src.quantizer;
  return ValueType(input);
}

static bool isIndexTensor(const ValueType &index) {
  const auto *list = index.getSequence();
  return index.getTensor() || (list && list->kind == Argument::Kind::List);
}

static bool isMask(const ValueType &index) { return index.getTensor() && index.getTensor()->dtype == DType::Bool; }

/// Rule `set_item_dtype`: index tensors place values of the input's dtype, floats into codes; a mask places any tensor of rank 0.
static llvm::Error checkPlaced(const InferContext &context, const TensorType &input, const TensorType &value, bool byMask) {
  const DType wanted = isQuantized(input.dtype) ? DType::Float32 : input.dtype;
  if (value.dtype == wanted || (byMask && value.shape.empty() && !isQuantized(input.dtype)))
    return llvm::Error::success();
  return context.fail("dtype", "wants a value of {0} where index tensors say the places, got {1}", getDTypeInfo(wanted).torchName, toString(value));
}

/// Does the index name all of a tensor as it is, so that PyTorch writes into the tensor itself and not into a view of it?
static bool namesAll(llvm::ArrayRef<ValueType> indices, const TensorType &input, const TensorType &place) {
  return place.shape == input.shape && llvm::all_of(indices, [](const ValueType &index) {
           const Argument *host = index.getHost();
           return host && (host->getKind() == Argument::Kind::Ellipsis || host->getKind() == Argument::Kind::Slice);
         });
}

/// The input with `input[index]` replaced; the call's own value is None, which nobody may read.  Rules `set_item_index`, `set_item_step`,
/// `set_item_shape`, `set_item_dtype` (by index tensors: a tensor of the input's dtype), `set_item_quantized`, `set_item_value`.
llvm::Expected<ValueType> inferSetItem(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  ValueType index = context.getValue("index");
  QFX_TRY(place, indexTensor(context, input, index));
  llvm::SmallVector<ValueType, 4> indices{index};
  if (const auto *tuple = index.getSequence(); tuple && tuple->kind == Argument::Kind::Tuple)
    indices.assign(tuple->elements.begin(), tuple->elements.end());
  if (context.getValue("value").getNumberKind()) {
    if (llvm::Error err = checkNumber(context, input))
      return err;
    return ValueType(input);
  }
  QFX_TRY(value, context.getTensor("value"));
  llvm::ArrayRef<Dim> sizes = value.shape; // PyTorch drops leading sizes of 1
  while (sizes.size() > place.getRank() && sizes.front() == Dim(1))
    sizes = sizes.drop_front();
  if (llvm::Error err = checkFits(context, sizes, place))
    return err;
  const bool isWhole = namesAll(indices, input, place);
  if (llvm::Error err = checkCodes(context, place, value, isWhole))
    return err;
  if (llvm::any_of(indices, isIndexTensor))
    if (llvm::Error err = checkPlaced(context, input, value, llvm::any_of(indices, isMask)))
      return err;
  if (isWhole && isQuantized(value.dtype))
    input.quantizer = value.quantizer;
  return ValueType(input);
}

} // namespace qfx
