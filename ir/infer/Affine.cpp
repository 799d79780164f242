// Rules of quantization by blocks: one scale and zero point for each block of a tensor.
#include "ir/InferDetail.h"

namespace qfx {

/// Rule `<op>_input`: float32, float16 or bfloat16.
static llvm::Error checkValues(const InferContext &context, const TensorType &type) {
  if (type.dtype == DType::Float32 || type.dtype == DType::Float16 || type.dtype == DType::BFloat16)
    return llvm::Error::success();
  return context.fail("input", "wants a float32, float16 or bfloat16 tensor, got {0}", toString(type));
}

/// What codes of a target are stored as.  Rule `<op>_dtype`: uint8, int8, int16, int32, a float8, or the name of 1 to 7 bits, 'uint4' or 'int4'.
static llvm::Expected<DType> getStorage(const InferContext &context, llvm::StringRef slot) {
  ValueType value = context.getValue(slot);
  const Argument *target = value.getHost();
  std::optional<DType> dtype;
  if (target && target->isDType())
    dtype = target->getDType();
  if (target && target->isString()) {
    llvm::StringRef text = target->getString(), digits = text;
    digits.consume_front("torch.");
    const bool isUnsigned = digits.consume_front("u");
    unsigned bits;
    dtype = digits.consume_front("int") && !digits.getAsInteger(10, bits) && bits >= 1 && bits < 8
                ? std::optional(isUnsigned ? DType::UInt8 : DType::Int8)
                : parseTorchDType(text);
  }
  switch (dtype.value_or(DType::Bool)) {
  case DType::UInt8:
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Float8E5M2:
  case DType::Float8E4M3FN:
    return *dtype;
  default:
    return context.fail("dtype", "wants uint8, int8, int16, int32, float8_e5m2, float8_e4m3fn or a name like 'uint4' for '{0}', got {1}", slot,
                        target ? toString(*target, ArgumentStyle::Qfx) : std::string("an unknown one"));
  }
}

/// The shape of the parameters: the blocks along each dimension, dimensions that a block covers as a whole left out; none where that depends on
/// a size known only when run.  Rule `<op>_block`: a block size for each dimension that divides it.
static llvm::Expected<std::optional<Shape>> getParameterShape(const InferContext &context, const TensorType &type) {
  QFX_TRY(blockSize, context.getInts("block_size"));
  auto wrong = [&] {
    return context.fail("block", "wants blocks that divide its tensor, got {0} for {1}", toString(Argument::ints(blockSize), ArgumentStyle::Qfx),
                        toString(type));
  };
  if (blockSize.size() != type.getRank())
    return wrong();
  std::optional<Shape> parameters = Shape();
  for (size_t i = 0; i < blockSize.size(); ++i) {
    const Dim &size = type.shape[i];
    const int64_t block = blockSize[i];
    const bool isEmpty = size.isStatic() && size.getValue() == 0;
    if (isEmpty ? block < 0 : (block < 1 || (size.isStatic() && size.getValue() % block)))
      return wrong();
    if (block != 1 && !size.isStatic())
      parameters.reset();
    else if (parameters && (block == 1 || block != size.getValue()))
      parameters->push_back(isEmpty ? Dim(0) : block == 1 ? size : Dim(size.getValue() / block));
  }
  return parameters;
}

static ValueType makeParameters(const std::optional<Shape> &shape, DType dtype) {
  if (!shape)
    return ValueType();
  TensorType type;
  type.dtype = dtype;
  type.shape = *shape;
  return ValueType(type);
}

/// (scale, zero point); no zero point for an asymmetric mapping in the domain NONE.
llvm::Expected<ValueType> inferChooseQparamsAffine(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkValues(context, input))
    return err;
  if (auto storage = getStorage(context, "target_dtype"); !storage)
    return storage.takeError();
  QFX_TRY(shape, getParameterShape(context, input));
  auto getDType = [&](llvm::StringRef slot) {
    ValueType value = context.getValue(slot);
    const Argument *dtype = value.getHost();
    return dtype && dtype->isDType() ? dtype->getDType() : input.dtype;
  };
  auto isText = [&](llvm::StringRef slot, llvm::StringRef text) {
    ValueType value = context.getValue(slot);
    const Argument *found = value.getHost();
    return found && (found->isString() ? found->getString() == text : text == "NONE");
  };
  const bool hasZeroPoint = !isText("mapping_type", "ASYMMETRIC") || !isText("zero_point_domain", "NONE");
  ValueType zeroPoint = hasZeroPoint ? makeParameters(shape, getDType("zero_point_dtype")) : ValueType::host(Argument::none());
  return ValueType::sequence(Argument::Kind::Tuple, {makeParameters(shape, getDType("scale_dtype")), std::move(zeroPoint)});
}

/// Rule `<op>_parameters`: as many scales and zero points as blocks.
static llvm::Error checkParameters(const InferContext &context, const TensorType &type) {
  QFX_TRY(shape, getParameterShape(context, type));
  for (llvm::StringRef slot : {"scale", "zero_point"}) {
    ValueType value = context.getValue(slot);
    const TensorType *given = value.getTensor();
    if (given && shape && !multiplyAll(given->shape).mayEqual(multiplyAll(*shape)))
      return context.fail("parameters", "wants {0} elements of '{1}', one for each block, got {2}", multiplyAll(*shape), slot, toString(*given));
  }
  return llvm::Error::success();
}

/// Codes of the input's shape, as plain integers (or float8).
llvm::Expected<ValueType> inferQuantizeAffine(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkValues(context, input))
    return err;
  QFX_TRY(storage, getStorage(context, "output_dtype"));
  if (llvm::Error err = checkParameters(context, input))
    return err;
  input.dtype = storage;
  return ValueType(input);
}

/// Real values of the codes' shape in `output_dtype`.  Rules `dequantize_affine_input` (codes stored as `input_dtype` says) and
/// `dequantize_affine_dtype`.
llvm::Expected<ValueType> inferDequantizeAffine(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(storage, getStorage(context, "input_dtype"));
  if (input.dtype != storage)
    return context.fail("input", "wants codes of {0}, got {1}", getDTypeInfo(storage).torchName, toString(input));
  if (llvm::Error err = checkParameters(context, input))
    return err;
  ValueType output = context.getValue("output_dtype");
  const Argument *dtype = output.getHost();
  input.dtype = dtype && dtype->isDType() ? dtype->getDType() : DType::Float32;
  if (llvm::Error err = checkValues(context, input))
    return err;
  return ValueType(input);
}

} // namespace qfx
