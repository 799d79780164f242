// Arithmetic on symbolic dimensions and the text of types.
#include "ir/TensorType.h"

#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace qfx {

Dim Dim::operator*(const Dim &other) const {
  if (isUnknown() || other.isUnknown() || (!isStatic() && !other.isStatic()))
    return (isStatic() && factor == 0) || (other.isStatic() && other.factor == 0) ? Dim(0) : unknown();
  Dim result(factor * other.factor);
  result.symbol = isStatic() ? other.symbol : symbol;
  if (result.factor == 0)
    result.symbol.clear();
  return result;
}

Dim Dim::dividedBy(const Dim &other) const {
  if (isUnknown() || other.isUnknown() || other.factor == 0 || factor % other.factor != 0)
    return unknown();
  Dim result(factor / other.factor);
  if (symbol == other.symbol)
    return result;
  if (!other.isStatic())
    return unknown();
  result.symbol = symbol;
  return result;
}

bool Dim::mayEqual(const Dim &other) const { return !isStatic() || !other.isStatic() || factor == other.factor; }

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Dim &dim) {
  if (dim.isStatic())
    return os << dim.getValue();
  if (dim.getFactor() != 1)
    os << dim.getFactor() << '*';
  return os << dim.getSymbol();
}

bool TensorType::isStatic() const {
  return llvm::all_of(shape, [](const Dim &dim) { return dim.isStatic(); });
}

llvm::SmallVector<int64_t, 4> TensorType::getSizes() const {
  llvm::SmallVector<int64_t, 4> sizes;
  for (const Dim &dim : shape) {
    assert(dim.isStatic() && "sizes of a type with symbolic dimensions");
    sizes.push_back(dim.getValue());
  }
  return sizes;
}

bool TensorType::operator==(const TensorType &other) const {
  if (dtype != other.dtype || shape != other.shape || format != other.format)
    return false;
  if (!quantizer || !other.quantizer)
    return !quantizer && !other.quantizer;
  return *quantizer == *other.quantizer;
}

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const TensorType &type) {
  os << getDTypeInfo(type.dtype).text << '[';
  llvm::interleaveComma(type.shape, os);
  os << ']';
  bool hasFormat = type.format != MemoryFormat::Contiguous;
  if (hasFormat && !type.quantizer)
    return os << "{format=" << getMemoryFormatName(type.format) << '}';
  if (!type.quantizer)
    return os;
  std::string end = hasFormat ? (", format=" + getMemoryFormatName(type.format) + "}").str() : "}";
  const Quantizer &q = *type.quantizer;
  if (q.isPerTensor())
    return os << "{scale=" << formatFloat(q.getScale()) << ", zero_point=" << q.getZeroPoint() << end;
  os << "{axis=" << q.getAxis() << ", scales=[";
  llvm::interleaveComma(q.getScales(), os, [&](double scale) { os << formatFloat(scale); });
  os << "], zero_points=[";
  if (q.getScheme() == QScheme::PerChannelAffineFloatQParams)
    llvm::interleaveComma(q.getFloatZeroPoints(), os, [&](float z) { os << formatFloat(z); });
  else
    llvm::interleaveComma(q.getZeroPoints(), os);
  return os << ']' << end;
}

std::string toString(const TensorType &type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return os.str();
}

} // namespace qfx
