// Dimension arithmetic, broadcasting, dtype promotion and quantizers for the inference rules.
#include "ir/InferDetail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace qfx {

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

Dim addDims(const Dim &a, const Dim &b) {
  if (a.isUnknown() || b.isUnknown())
    return Dim::unknown();
  if (a == Dim(0))
    return b;
  if (b == Dim(0))
    return a;
  int64_t sum;
  if (a.getSymbol() != b.getSymbol() || __builtin_add_overflow(a.getFactor(), b.getFactor(), &sum))
    return Dim::unknown();
  return a.isStatic() ? Dim(sum) : Dim::symbolic(a.getSymbol(), sum);
}

Dim multiplyDims(const Dim &a, const Dim &b) {
  int64_t product;
  if (__builtin_mul_overflow(a.getFactor(), b.getFactor(), &product))
    return Dim::unknown();
  return a * b;
}

Dim multiplyAll(llvm::ArrayRef<Dim> dims) {
  Dim product(1);
  for (const Dim &dim : dims)
    product = multiplyDims(product, dim);
  return product;
}

std::optional<int64_t> countElements(llvm::ArrayRef<Dim> shape) {
  int64_t product = 1;
  bool isEmpty = false;
  for (const Dim &dim : shape) {
    if (dim.isUnknown())
      continue;
    int64_t factor = dim.getFactor();
    if (factor < 0)
      return std::nullopt;
    if (factor == 0)
      isEmpty = true;
    else if (product > (int64_t(1) << 62) / factor)
      return std::nullopt;
    else
      product *= factor;
  }
  return isEmpty ? 0 : product;
}

Dim mergeDims(const Dim &a, const Dim &b) {
  if (a.isStatic() || b.isUnknown())
    return a;
  return b.isStatic() || a.isUnknown() ? b : a;
}

std::string toString(llvm::ArrayRef<Dim> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return os.str();
}

llvm::Expected<Dim> repeatSize(const InferContext &context, llvm::StringRef slot, const Dim &size, const Dim &count) {
  Dim repeated = multiplyDims(size, count);
  if (size.isStatic() && count.isStatic() && repeated.isUnknown())
    return context.fail(slot, "makes a dimension of {0} times {1}, more than a tensor can have", count, size);
  return repeated;
}

llvm::Expected<int64_t> wrapDim(const InferContext &context, int64_t dim, size_t rank) {
  int64_t limit = static_cast<int64_t>(rank ? rank : 1); // PyTorch lets 0 and -1 stand for a scalar's missing axis
  if (dim < -limit || dim >= limit)
    return context.fail("dim", "has no dimension {0} in a tensor of rank {1}", dim, rank);
  return dim < 0 ? dim + limit : dim;
}

llvm::Expected<llvm::SmallVector<int64_t, 4>> wrapDims(const InferContext &context, llvm::ArrayRef<int64_t> dims,
                                                       size_t rank, bool emptyMeansAll) {
  llvm::SmallVector<int64_t, 4> wrapped;
  if (dims.empty() && emptyMeansAll)
    for (size_t i = 0; i < rank; ++i)
      wrapped.push_back(static_cast<int64_t>(i));
  for (int64_t dim : dims) {
    auto one = wrapDim(context, dim, rank);
    if (!one)
      return one.takeError();
    if (llvm::is_contained(wrapped, *one))
      return context.fail("dim", "names dimension {0} twice", dim);
    wrapped.push_back(*one);
  }
  return wrapped;
}

llvm::Expected<Shape> broadcastShapes(const InferContext &context, llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b) {
  size_t rank = std::max(a.size(), b.size());
  Shape result;
  for (size_t i = 0; i < rank; ++i) {
    Dim left = i + a.size() < rank ? Dim(1) : a[i + a.size() - rank];
    Dim right = i + b.size() < rank ? Dim(1) : b[i + b.size() - rank];
    if (left == Dim(1))
      result.push_back(right);
    else if (right == Dim(1))
      result.push_back(left);
    else if (left.mayEqual(right))
      result.push_back(mergeDims(left, right));
    else
      return context.fail("broadcast", "cannot broadcast {0} with {1}: {2} and {3} differ and neither is 1", toString(a),
                          toString(b), left, right);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Dtypes
//===----------------------------------------------------------------------===//

DType promoteTypes(DType a, DType b) {
  const DTypeInfo &left = getDTypeInfo(a), &right = getDTypeInfo(b);
  if (a == b)
    return a;
  if (left.kind != right.kind) { // Float < Integer < Bool in the enumeration: the earlier kind wins
    return left.kind < right.kind ? a : b;
  }
  if (left.kind == DTypeKind::Float)
    return left.bits == right.bits ? DType::Float32 : (left.bits > right.bits ? a : b);
  bool isMixed = (left.codeMin < 0) != (right.codeMin < 0);
  if (!isMixed)
    return left.bits > right.bits ? a : b;
  const DTypeInfo &unsignedOne = left.codeMin < 0 ? right : left, &signedOne = left.codeMin < 0 ? left : right;
  if (signedOne.bits > unsignedOne.bits)
    return signedOne.dtype;
  return unsignedOne.bits == 8 ? DType::Int16 : DType::Int32;
}

void ResultType::add(std::optional<DType> &place, DType dtype) { place = place ? promoteTypes(*place, dtype) : dtype; }

void ResultType::addTensor(const TensorType &type) { add(type.shape.empty() ? scalar : dimensioned, type.dtype); }

void ResultType::addNumber(DTypeKind kind) {
  add(wrapped, kind == DTypeKind::Float ? DType::Float32 : kind == DTypeKind::Bool ? DType::Bool : DType::Int64);
}

/// The lower class matters only if its kind is higher.
static std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower)
    return higher ? higher : lower;
  DTypeKind high = getDTypeInfo(*higher).kind, low = getDTypeInfo(*lower).kind;
  if (high == DTypeKind::Float)
    return higher;
  return high == DTypeKind::Bool || low == DTypeKind::Float ? promoteTypes(*higher, *lower) : higher;
}

DType ResultType::get() const {
  return combine(dimensioned, combine(scalar, wrapped)).value_or(DType::Float32);
}

//===----------------------------------------------------------------------===//
// Formats and quantizers
//===----------------------------------------------------------------------===//

MemoryFormat getChannelsLast(size_t rank) {
  return rank == 4 ? MemoryFormat::ChannelsLast : rank == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::Contiguous;
}

MemoryFormat fitFormat(MemoryFormat format, size_t rank) {
  return format == getChannelsLast(rank) ? format : MemoryFormat::Contiguous;
}

llvm::Error checkNotQuantized(const InferContext &context, const TensorType &type, llvm::StringRef slot) {
  if (!isQuantized(type.dtype))
    return llvm::Error::success();
  return context.fail("quantized", "has no kernel for quantized tensors, got {0} for '{1}'; dequantize first",
                      toString(type), slot);
}

llvm::Error checkPerTensor(const InferContext &context, const TensorType &type, llvm::StringRef slot) {
  if (!isQuantized(type.dtype))
    return context.fail("quantized", "wants a quantized tensor for '{0}', got {1}", slot, toString(type));
  return checkNotPerChannel(context, type);
}

llvm::Error checkNotPerChannel(const InferContext &context, const TensorType &type) {
  if (!type.quantizer || type.quantizer->isPerTensor())
    return llvm::Error::success();
  return context.fail("quantized", "takes per-tensor quantization only, got per-channel along axis {0}",
                      type.quantizer->getAxis());
}

llvm::Expected<QuantizerRef> getQuantizer(const InferContext &context, DType dtype, llvm::StringRef scaleSlot,
                                          llvm::StringRef zeroPointSlot) {
  std::optional<double> scale = context.findNumber(scaleSlot), zeroPoint = context.findNumber(zeroPointSlot);
  if (!scale || !zeroPoint)
    return QuantizerRef();
  const DTypeInfo &info = getDTypeInfo(toUnderlyingDType(dtype));
  if (!(*zeroPoint >= static_cast<double>(info.codeMin) && *zeroPoint <= static_cast<double>(info.codeMax)))
    return context.fail("zero_point", "wants a zero point in {0}..{1} for {2}, got {3}", info.codeMin, info.codeMax,
                        getDTypeInfo(dtype).torchName, *zeroPoint);
  if (!(*scale > 0 && std::isfinite(*scale)))
    return context.fail("scale", "wants a finite scale > 0, got {0}", *scale);
  return std::make_shared<const Quantizer>(Quantizer::perTensor(*scale, static_cast<int64_t>(*zeroPoint)));
}

QuantizerRef getUnitQuantizer(DType dtype) {
  double scale = dtype == DType::QInt32 ? 0x1p-32 : 0x1p-8;
  return std::make_shared<const Quantizer>(Quantizer::perTensor(scale, dtype == DType::QInt8 ? -128 : 0));
}

QuantizerRef getTanhQuantizer(DType dtype) {
  double scale = dtype == DType::QInt32 ? 0x1p-31 : 0x1p-7;
  return std::make_shared<const Quantizer>(Quantizer::perTensor(scale, dtype == DType::QUInt8 ? 128 : 0));
}

} // namespace qfx
