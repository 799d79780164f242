// Tensor data in the text: nested lists, a number that fills, and seeded random values.
#include "ir/text/ParserDetail.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qfx {

template <class T> static bool storeAs(MutableBytes bytes, uint64_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof value, &value, sizeof value);
  return true;
}

/// Integers are stored through int64: `value` must be one and lie in the dtype's range.
static bool storeInteger(DType dtype, MutableBytes bytes, uint64_t index, int64_t value) {
  const DTypeInfo &info = getDTypeInfo(dtype);
  if (value < info.codeMin || value > info.codeMax)
    return false;
  switch (info.bits) {
  case 64:
    return storeAs(bytes, index, value);
  case 32:
    return storeAs(bytes, index, static_cast<int32_t>(value));
  case 16:
    return storeAs(bytes, index, static_cast<int16_t>(value));
  case 8:
    return storeAs(bytes, index, static_cast<int8_t>(value));
  default: { // packed codes, the first element in the low bits
    unsigned perByte = 8 / info.bits, shift = index % perByte * info.bits;
    std::byte &byte = bytes[index / perByte];
    byte = (byte & ~std::byte(((1u << info.bits) - 1) << shift)) | std::byte(static_cast<unsigned>(value) << shift);
    return true;
  }
  }
}

static bool isCodeFloat(DType dtype) { return dtype == DType::Float8E5M2 || dtype == DType::Float8E4M3FN; }

bool storeElement(DType dtype, MutableBytes bytes, uint64_t index, double value) {
  switch (dtype) {
  case DType::Float32:
    return storeAs(bytes, index, static_cast<float>(value));
  case DType::Float64:
    return storeAs(bytes, index, value);
  case DType::Float16:
    return storeAs(bytes, index, floatToHalf(static_cast<float>(value)));
  case DType::BFloat16:
    return storeAs(bytes, index, floatToBFloat16(static_cast<float>(value)));
  default:
    break;
  }
  double rounded = std::nearbyint(value);
  if (!(rounded >= -0x1p63 && rounded < 0x1p63))
    return false;
  int64_t integer = static_cast<int64_t>(rounded);
  if (isCodeFloat(dtype))
    return integer >= 0 && integer <= 255 && storeAs(bytes, index, static_cast<uint8_t>(integer));
  return storeInteger(dtype, bytes, index, integer);
}

llvm::Error ValueParser::parseElement(DType dtype, MutableBytes bytes, uint64_t index) {
  const DTypeInfo &info = getDTypeInfo(dtype);
  bool stored;
  bool takesFraction = info.kind == DTypeKind::Float && !isCodeFloat(dtype);
  if (token.isWord("True") || token.isWord("False"))
    stored = dtype == DType::Bool && storeElement(dtype, bytes, index, token.isWord("True"));
  else if (token.is(Token::Kind::Int))
    stored = takesFraction || isCodeFloat(dtype) ? storeElement(dtype, bytes, index, static_cast<double>(token.integer))
                                                 : storeInteger(dtype, bytes, index, token.integer);
  else if (token.is(Token::Kind::Float))
    stored = takesFraction && storeElement(dtype, bytes, index, token.number);
  else
    return unexpected("a number");
  if (!stored)
    return error(getLoc(), "'{0}' is not a value of {1}", token.text, info.text).code("tensor_decl");
  advance();
  return llvm::Error::success();
}

/// One level of brackets; the rank bounds the recursion.
llvm::Error ValueParser::parseNestedList(const TensorType &type, llvm::ArrayRef<int64_t> sizes, MutableBytes bytes,
                                         uint64_t &next) {
  Location loc = getLoc();
  if (auto err = expect('[', "before the elements"))
    return err;
  int64_t count = 0;
  for (bool comma = true; !accept(']'); comma = accept(',')) {
    if (!comma)
      return unexpected("',' or ']'");
    if (count == sizes[0])
      return error(getLoc(), "more than {0} elements where '{1}' has {0}", sizes[0], toString(type)).code("tensor_decl");
    if (sizes.size() == 1) {
      if (auto err = parseElement(type.dtype, bytes, next++))
        return err;
    } else if (auto err = parseNestedList(type, sizes.drop_front(), bytes, next)) {
      return err;
    }
    ++count;
  }
  if (count != sizes[0])
    return error(loc, "{0} elements where '{1}' has {2}", count, toString(type), sizes[0]).code("tensor_decl");
  return llvm::Error::success();
}

llvm::Error ValueParser::claimBytes(uint64_t bytes, const Location &loc) {
  generatedBytes += bytes; // each at most maxTensorBytes
  if (generatedBytes <= options.limits.maxGeneratedBytes)
    return llvm::Error::success();
  return error(loc, "the tensors that this text fills are larger than the limit of {0} bytes together",
               options.limits.maxGeneratedBytes)
      .code("tensor_size");
}

/// splitmix64: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
static uint64_t nextRandom(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

llvm::Expected<Tensor> ValueParser::parseRandom(const TensorType &type, const Location &loc) {
  std::vector<Keyword> keywords;
  if (auto err = parseCallArguments(nullptr, keywords))
    return err;
  std::optional<int64_t> seed;
  double low = -1, high = 1;
  for (const Keyword &keyword : keywords) {
    bool isBound = keyword.name == "low" || keyword.name == "high";
    if (!isBound && keyword.name != "seed")
      return error(keyword.loc, "'random' takes 'seed', 'low' and 'high', got '{0}'", keyword.name).code("text_syntax");
    bool fits = isBound ? keyword.value.isInt() || keyword.value.isFloat() : keyword.value.isInt();
    if (!fits || (isBound && !std::isfinite(keyword.value.getNumber())))
      return error(keyword.loc, "'{0}' of 'random' is {1}", keyword.name, isBound ? "a finite number" : "an integer")
          .code("text_syntax");
    if (keyword.name == "seed")
      seed = keyword.value.getInt();
    else
      (keyword.name == "low" ? low : high) = keyword.value.getNumber();
  }
  if (!seed)
    return error(loc, "'random' needs a seed").code("text_syntax");
  if (isCodeFloat(type.dtype))
    return error(loc, "'random' has no values of {0}", getDTypeInfo(type.dtype).text).code("tensor_decl");
  auto sizes = type.getSizes();
  bool stored = true;
  uint64_t state = static_cast<uint64_t>(*seed);
  Tensor tensor = Tensor::build(
      type.dtype, sizes,
      [&](MutableBytes bytes) {
        for (int64_t i = 0, n = *checkedNumElements(sizes); i < n && stored; ++i)
          stored = storeElement(type.dtype, bytes, i,
                                low + (high - low) * (static_cast<double>(nextRandom(state) >> 40) * 0x1p-24));
      },
      type.quantizer);
  if (!stored)
    return error(loc, "values between {0} and {1} do not fit {2}", low, high, getDTypeInfo(type.dtype).text)
        .code("tensor_decl");
  return tensor;
}

llvm::Expected<Tensor> ValueParser::parseInit(const TensorType &type) {
  Location loc = getLoc();
  if (isQuantized(type.dtype) && !type.quantizer)
    return error(loc, "a quantized tensor with inline codes has its scale and zero point in its type").code("tensor_quant");
  auto sizes = type.getSizes();
  auto numElements = checkedNumElements(sizes);
  bool isList = token.isPunct('[');
  // A list needs a character for each number: a huge shape in a small file is refused before its memory is asked for.
  if (isList && static_cast<uint64_t>(*numElements) > source->text.size())
    return error(loc, "'{0}' has {1} elements, more than this text could hold", toString(type), *numElements)
        .code("tensor_decl");
  if (isList && sizes.empty())
    return error(loc, "'{0}' has no dimension: its value is written without brackets", toString(type)).code("tensor_decl");
  if (auto err = claimBytes(getStorageBytes(type.dtype, *numElements), loc))
    return err;
  if (token.isWord("random")) {
    advance();
    return parseRandom(type, loc);
  }
  llvm::Error failure = llvm::Error::success();
  Tensor tensor = Tensor::build(
      type.dtype, sizes,
      [&](MutableBytes bytes) {
        if (isList) {
          uint64_t next = 0;
          failure = parseNestedList(type, sizes, bytes, next);
          return;
        }
        std::byte one[8] = {};
        failure = parseElement(type.dtype, one, 0);
        if (failure)
          return;
        unsigned bits = getDTypeInfo(type.dtype).bits;
        if (bits < 8) // repeat the code within the byte
          for (unsigned shift = bits; shift < 8; shift *= 2)
            one[0] |= one[0] << shift;
        size_t width = std::max(1u, bits / 8);
        for (size_t i = 0; i < bytes.size(); ++i)
          bytes[i] = one[i % width];
        if (uint64_t last = *numElements * bits % 8; bits < 8 && last) // no code in the padding
          bytes.back() &= std::byte((1u << last) - 1);
      },
      type.quantizer);
  if (failure)
    return failure;
  return tensor;
}

} // namespace qfx
