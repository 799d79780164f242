// Tensor types from tokens: `f32[N, 3, 8]`, `quint8[4]{scale=0.1, zero_point=3}`.
#include "ir/text/ParserDetail.h"

#include <cmath>

namespace qfx {

llvm::Expected<double> ValueParser::parseNumber(llvm::StringRef what) {
  double value;
  if (token.is(Token::Kind::Float))
    value = token.number;
  else if (token.is(Token::Kind::Int))
    value = static_cast<double>(token.integer);
  else
    return unexpected(what);
  advance();
  return value;
}

llvm::Expected<int64_t> ValueParser::parseInteger(llvm::StringRef what) {
  if (!token.is(Token::Kind::Int))
    return unexpected(what);
  int64_t value = token.integer;
  advance();
  return value;
}

llvm::Expected<Dim> ValueParser::parseDim() {
  if (accept('?'))
    return Dim::unknown();
  auto readSymbol = [&](int64_t factor) -> llvm::Expected<Dim> {
    if (!token.is(Token::Kind::Word) || !isIdentifier(token.text))
      return unexpected("the name of a size");
    Dim dim = Dim::symbolic(token.text.str(), factor);
    advance();
    return dim;
  };
  if (!token.is(Token::Kind::Int)) {
    if (token.is(Token::Kind::Word))
      return readSymbol(1);
    return unexpected("a size: a number, a name or '?'");
  }
  if (token.integer < 0)
    return error(getLoc(), "a size is not negative, got {0}", token.integer).code("text_syntax");
  int64_t value = token.integer;
  advance();
  if (!accept('*'))
    return Dim(value);
  if (accept('?'))
    return Dim::symbolic("?", value);
  return readSymbol(value);
}

llvm::Expected<Quantizer> ValueParser::parsePerChannel(int64_t axis) {
  auto readList = [&](llvm::StringRef key, auto readOne) -> llvm::Error {
    if (!token.isWord(key))
      return unexpected(llvm::formatv("'{0}='", key).str());
    advance();
    if (auto err = expect('=', "after the name"))
      return err;
    if (auto err = expect('[', "before the numbers"))
      return err;
    for (bool comma = true; !accept(']'); comma = accept(',')) {
      if (!comma)
        return unexpected("',' or ']'");
      if (llvm::Error err = readOne())
        return err;
    }
    return llvm::Error::success();
  };
  std::vector<double> scales;
  auto err = readList("scales", [&]() -> llvm::Error {
    auto scale = parseNumber("a scale");
    if (!scale)
      return scale.takeError();
    scales.push_back(*scale);
    return llvm::Error::success();
  });
  if (err)
    return err;
  if (auto err = expect(',', "before 'zero_points'"))
    return err;
  std::vector<int64_t> integers;
  std::vector<float> floats;
  err = readList("zero_points", [&]() -> llvm::Error {
    bool isInteger = token.is(Token::Kind::Int);
    if (isInteger ? !floats.empty() : !integers.empty())
      return unexpected("zero points that are all integers or all floats");
    auto zeroPoint = parseNumber("a zero point");
    if (!zeroPoint)
      return zeroPoint.takeError();
    if (isInteger)
      integers.push_back(static_cast<int64_t>(*zeroPoint));
    else
      floats.push_back(static_cast<float>(*zeroPoint));
    return llvm::Error::success();
  });
  if (err)
    return err;
  if (floats.empty())
    return Quantizer::perChannel(std::move(scales), std::move(integers), axis);
  std::vector<float> floatScales(scales.begin(), scales.end());
  return Quantizer::perChannelFloat(std::move(floatScales), std::move(floats), axis);
}

/// After `{`: quantization parameters, the memory format, or both.
llvm::Error ValueParser::parseQuantizer(TensorType &type) {
  for (bool comma = true; !accept('}'); comma = accept(',')) {
    if (!comma)
      return unexpected("',' or '}'");
    Location loc = getLoc();
    if (!token.is(Token::Kind::Word))
      return unexpected("'scale=', 'axis=' or 'format='");
    std::string key = token.text.str();
    advance();
    if (auto err = expect('=', "after '" + key + "'"))
      return err;
    if (key == "format") {
      auto format = token.is(Token::Kind::Word) ? parseMemoryFormat(token.text) : std::nullopt;
      if (!format)
        return unexpected("a memory format");
      type.format = *format;
      advance();
    } else if (type.quantizer) {
      return error(loc, "'{0}' after the quantization parameters", key).code("text_syntax");
    } else if (key == "scale") {
      auto scale = parseNumber("a scale");
      if (!scale)
        return scale.takeError();
      if (auto err = expect(',', "before 'zero_point'"))
        return err;
      if (!token.isWord("zero_point"))
        return unexpected("'zero_point='");
      advance();
      if (auto err = expect('=', "after 'zero_point'"))
        return err;
      auto zeroPoint = parseInteger("an integer zero point");
      if (!zeroPoint)
        return zeroPoint.takeError();
      type.quantizer = std::make_shared<Quantizer>(Quantizer::perTensor(*scale, *zeroPoint));
    } else if (key == "axis") {
      auto axis = parseInteger("an axis");
      if (!axis)
        return axis.takeError();
      if (auto err = expect(',', "before 'scales'"))
        return err;
      auto quantizer = parsePerChannel(*axis);
      if (!quantizer)
        return quantizer.takeError();
      type.quantizer = std::make_shared<Quantizer>(std::move(*quantizer));
    } else {
      return error(loc, "unknown type property '{0}'; known are 'scale', 'axis' and 'format'", key).code("text_syntax");
    }
  }
  return llvm::Error::success();
}

/// What a quantizer's rule compares the number of channels with; symbolic sizes pass as they are given.
static llvm::SmallVector<int64_t, 4> getShapeForQuantizer(const TensorType &type) {
  llvm::SmallVector<int64_t, 4> sizes;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    const Dim &dim = type.shape[i];
    bool isAxis = type.quantizer->getAxis() == static_cast<int64_t>(i);
    sizes.push_back(dim.isStatic() ? dim.getValue() : isAxis ? static_cast<int64_t>(type.quantizer->getScales().size()) : 0);
  }
  return sizes;
}

llvm::Expected<TensorType> ValueParser::parseType() {
  TensorType type;
  Location loc = getLoc();
  auto dtype = token.is(Token::Kind::Word) ? parseDTypeText(token.text) : std::nullopt;
  if (!dtype) {
    if (!token.is(Token::Kind::Word))
      return unexpected("a type such as 'f32[N, 3]'");
    std::vector<std::string> names;
#define QFX_DTYPE(Name, text, ...) names.push_back(text);
#include "ir/DType.def"
    return error(loc, "unknown dtype '{0}'{1}", token.text, didYouMean(token.text, names)).code("text_syntax");
  }
  type.dtype = *dtype;
  advance();
  if (auto err = expect('[', "after the dtype"))
    return err;
  for (bool comma = true; !accept(']'); comma = accept(',')) {
    if (!comma)
      return unexpected("',' or ']'");
    auto dim = parseDim();
    if (!dim)
      return dim.takeError();
    if (type.shape.size() == kMaxNesting)
      return error(loc, "a type has more than {0} dimensions", kMaxNesting).code("text_syntax");
    type.shape.push_back(std::move(*dim));
  }
  if (token.isPunct('{')) {
    Location quantizerLoc = getLoc();
    advance();
    if (auto err = parseQuantizer(type))
      return err;
    if (type.quantizer)
      if (auto err = type.quantizer->verify(type.dtype, getShapeForQuantizer(type), quantizerLoc))
        return err;
  }
  return type;
}

llvm::Expected<TensorType> ValueParser::parseStaticType() {
  Location loc = getLoc();
  auto type = parseType();
  if (!type)
    return type;
  if (!type->isStatic())
    return error(loc, "a stored tensor has a size for every dimension, got '{0}'", toString(*type)).code("tensor_decl");
  auto numElements = checkedNumElements(type->getSizes());
  uint64_t limit = options.limits.maxTensorBytes;
  if (!numElements || static_cast<uint64_t>(*numElements) > limit || getStorageBytes(type->dtype, *numElements) > limit)
    return error(loc, "'{0}' is larger than the limit of {1} bytes for one tensor", toString(*type), limit)
        .code("tensor_size");
  return type;
}

} // namespace qfx
