// Rules of operators that give a tensor another shape.
#include "ir/infer/ViewDetail.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// Sizes as a message shows them, -1 included.
static llvm::Expected<llvm::SmallVector<Dim, 4>> readShape(const InferContext &context, llvm::StringRef slot) {
  auto dims = context.getDims(slot);
  if (!dims)
    return dims.takeError();
  size_t numFree = 0;
  for (const Dim &dim : *dims) {
    if (!dim.isStatic() || dim.getValue() >= 0)
      continue;
    if (dim.getValue() != -1 || ++numFree > 1)
      return context.fail("shape", "wants sizes >= 0 and at most one -1, got {0}", toString(*dims));
  }
  return dims;
}

/// The product of all sizes, with zeros left out and counted: [0, 512] reshaped to [0, -1] still has 512 columns.
static Dim multiplyNonZero(llvm::ArrayRef<Dim> dims, size_t &numZeros) {
  Dim product(1);
  for (const Dim &dim : dims) {
    if (dim == Dim(0))
      ++numZeros;
    else
      product = multiplyDims(product, dim);
  }
  return product;
}

/// Replaces the -1 in `sizes`.  Rule `<op>_shape`: as many elements as `whole`.
static llvm::Expected<Shape> resolveShape(const InferContext &context, llvm::ArrayRef<Dim> whole, llvm::ArrayRef<Dim> sizes) {
  auto isFree = [](const Dim &dim) { return dim == Dim(-1); };
  Shape shape(sizes.begin(), sizes.end());
  auto *free = llvm::find_if(shape, isFree);
  size_t wholeZeros = 0, givenZeros = 0;
  Dim total = multiplyNonZero(whole, wholeZeros), given(1);
  for (const Dim &dim : shape)
    if (!isFree(dim))
      given = dim == Dim(0) ? (++givenZeros, given) : multiplyDims(given, dim);
  auto mismatch = [&] {
    return context.fail("shape", "cannot give {0} the shape {1}: the numbers of elements differ", toString(whole),
                        toString(sizes));
  };
  bool isEmpty = wholeZeros > 0;
  if (free == shape.end()) {
    bool fits = isEmpty || givenZeros ? isEmpty == (givenZeros > 0) || !total.isStatic() : total.mayEqual(given);
    // N * 4 elements are never N * 2.
    if (!isEmpty && !givenZeros && !total.isUnknown() && total.getSymbol() == given.getSymbol() && total != given)
      fits = false;
    if (!fits)
      return mismatch();
    return shape;
  }
  if (isEmpty && !givenZeros) {
    *free = Dim(0);
    return shape;
  }
  if (givenZeros && !isEmpty && total.isStatic())
    return mismatch();
  bool isKnown = total.isStatic() && given.isStatic();
  if (isKnown && total.getValue() % given.getValue())
    return mismatch();
  *free = total.dividedBy(given);
  return shape;
}

llvm::Expected<ValueType> inferReshape(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  auto sizes = readShape(context, "shape");
  if (!sizes)
    return sizes.takeError();
  QFX_TRY(shape, resolveShape(context, input.shape, *sizes));
  QFX_TRY(result, reshapeTo(context, input, shape));
  return ValueType(result);
}

/// resize_ may drop elements.  Rule `resize_shape`: it invents none.
llvm::Expected<ValueType> inferResize(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  auto sizes = context.getDims("size");
  if (!sizes)
    return sizes.takeError();
  Dim before = multiplyAll(input.shape), after = multiplyAll(*sizes);
  bool isNegative = llvm::any_of(*sizes, [](const Dim &dim) { return dim.getFactor() < 0; });
  bool grows = before.getSymbol() == after.getSymbol() && !before.isUnknown() && after.getFactor() > before.getFactor();
  if (isNegative || grows)
    return context.fail("shape", "cannot resize {0} to {1}: new elements would be undefined", toString(input.shape),
                        toString(*sizes));
  TensorType result = input;
  result.shape.assign(sizes->begin(), sizes->end());
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

/// Dimensions start_dim..end_dim become one.  Rule `flatten_dim`: start before end.
llvm::Expected<ValueType> inferFlatten(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(startGiven, context.getInt("start_dim"));
  QFX_TRY(endGiven, context.getInt("end_dim"));
  QFX_TRY(start, wrapDim(context, startGiven, input.getRank()));
  QFX_TRY(end, wrapDim(context, endGiven, input.getRank()));
  if (start > end)
    return context.fail("dim", "wants start_dim before end_dim, got {0} and {1}", startGiven, endGiven);
  llvm::ArrayRef<Dim> sizes = input.shape;
  if (start == end && !sizes.empty())
    return ValueType(input);
  Shape shape;
  if (sizes.empty()) {
    shape.push_back(Dim(1));
  } else {
    shape.append(sizes.begin(), sizes.begin() + start);
    shape.push_back(multiplyAll(sizes.slice(start, end - start + 1)));
    shape.append(sizes.begin() + end + 1, sizes.end());
  }
  QFX_TRY(result, reshapeTo(context, input, shape));
  return ValueType(result);
}

llvm::Expected<ValueType> inferUnflatten(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, input.getRank()));
  auto sizes = readShape(context, "sizes");
  if (!sizes)
    return sizes.takeError();
  if (input.shape.empty() || sizes->empty())
    return context.fail("shape", "wants a tensor of rank >= 1 and at least one size");
  llvm::ArrayRef<Dim> before = input.shape;
  QFX_TRY(parts, resolveShape(context, before.slice(dim, 1), *sizes));
  Shape shape(before.begin(), before.begin() + dim);
  shape.append(parts.begin(), parts.end());
  shape.append(before.begin() + dim + 1, before.end());
  QFX_TRY(result, reshapeTo(context, input, shape));
  return ValueType(result);
}

static llvm::Expected<TensorType> permute(const InferContext &context, const TensorType &input,
                                          llvm::ArrayRef<int64_t> permutation) {
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  TensorType result = input;
  for (size_t i = 0; i < permutation.size(); ++i)
    result.shape[i] = input.shape[permutation[i]];
  result.format = permuteFormat(input, permutation);
  return result;
}

static llvm::SmallVector<int64_t, 4> countUp(size_t rank) {
  llvm::SmallVector<int64_t, 4> dims;
  for (size_t i = 0; i < rank; ++i)
    dims.push_back(static_cast<int64_t>(i));
  return dims;
}

llvm::Expected<ValueType> inferTranspose(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(first, context.getInt("dim0"));
  QFX_TRY(second, context.getInt("dim1"));
  QFX_TRY(a, wrapDim(context, first, input.getRank()));
  QFX_TRY(b, wrapDim(context, second, input.getRank()));
  llvm::SmallVector<int64_t, 4> permutation = countUp(input.getRank());
  if (!permutation.empty())
    std::swap(permutation[a], permutation[b]);
  QFX_TRY(result, permute(context, input, permutation));
  return ValueType(result);
}

/// Rule `transpose_matrix_rank`: rank 2 is transposed, less stays as it is.
llvm::Expected<ValueType> inferTransposeMatrix(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (input.getRank() > 2)
    return context.fail("rank", "wants a tensor of rank <= 2, got {0}", toString(input));
  llvm::SmallVector<int64_t, 4> permutation = countUp(input.getRank());
  std::reverse(permutation.begin(), permutation.end());
  QFX_TRY(result, permute(context, input, permutation));
  return ValueType(result);
}

/// Rule `permute_dim`: each dimension once.
llvm::Expected<ValueType> inferPermute(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(given, context.getInts("dims"));
  QFX_TRY(permutation, wrapDims(context, given, input.getRank(), /*emptyMeansAll=*/false));
  if (permutation.size() != input.getRank())
    return context.fail("dim", "wants {0} dimensions, got {1}", input.getRank(), permutation.size());
  QFX_TRY(result, permute(context, input, permutation));
  return ValueType(result);
}

/// Sizes of 1 disappear: all of them, or those named (others named stay).
llvm::Expected<ValueType> inferSqueeze(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  llvm::SmallVector<int64_t, 4> dims = countUp(input.getRank());
  if (context.hasValue("dim")) {
    QFX_TRY(given, context.getInts("dim"));
    QFX_TRY(wrapped, wrapDims(context, given, input.getRank(), /*emptyMeansAll=*/false));
    dims = wrapped;
  }
  TensorType result = input;
  result.shape.clear();
  llvm::SmallVector<int64_t, 4> removed;
  for (size_t i = 0; i < input.getRank(); ++i) {
    if (llvm::is_contained(dims, static_cast<int64_t>(i)) && input.shape[i] == Dim(1))
      removed.push_back(static_cast<int64_t>(i));
    else
      result.shape.push_back(input.shape[i]);
  }
  if (input.quantizer && !input.quantizer->isPerTensor() && llvm::is_contained(removed, input.quantizer->getAxis()))
    return context.fail("quantized", "removes the channel axis {0} of a per-channel tensor", input.quantizer->getAxis());
  result.quantizer = shiftAxis(input.quantizer, removed, -1);
  if (!removed.empty())
    result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

llvm::Expected<ValueType> inferUnsqueeze(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, input.getRank() + 1));
  TensorType result = input;
  result.shape.insert(result.shape.begin() + dim, Dim(1));
  result.quantizer = shiftAxis(input.quantizer, {dim}, 1);
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

/// Rule `expand_shape`: sizes of 1 grow, -1 keeps, new dimensions come in front.
llvm::Expected<ValueType> inferExpand(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  auto sizes = context.getDims("size");
  if (!sizes)
    return sizes.takeError();
  size_t rank = input.getRank();
  auto mismatch = [&] {
    return context.fail("shape", "cannot expand {0} to {1}", toString(input.shape), toString(*sizes));
  };
  if (sizes->size() < rank)
    return mismatch();
  size_t added = sizes->size() - rank;
  Shape shape;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const Dim &wanted = (*sizes)[i];
    bool keeps = wanted == Dim(-1);
    if (i < added ? keeps || wanted.getFactor() < 0 : !keeps && wanted.getFactor() < 0)
      return mismatch();
    if (i < added) {
      shape.push_back(wanted);
      continue;
    }
    const Dim &size = input.shape[i - added];
    if (!keeps && size != Dim(1) && !size.mayEqual(wanted))
      return mismatch();
    shape.push_back(keeps ? size : size == Dim(1) ? wanted : mergeDims(size, wanted));
  }
  TensorType result = input;
  result.shape = shape;
  result.format = fitFormat(input.format, shape.size());
  return ValueType(result);
}

/// Rule `repeat_repeats`: a count >= 0 for each dimension, more counts add dimensions in front.
llvm::Expected<ValueType> inferRepeat(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  auto repeats = context.getDims("repeats");
  if (!repeats)
    return repeats.takeError();
  size_t rank = input.getRank();
  bool isNegative = llvm::any_of(*repeats, [](const Dim &dim) { return dim.getFactor() < 0; });
  if (repeats->size() < rank || isNegative)
    return context.fail("repeats", "wants at least {0} counts >= 0, got {1}", rank, toString(*repeats));
  size_t added = repeats->size() - rank;
  TensorType result = input;
  result.shape.clear();
  for (size_t i = 0; i < repeats->size(); ++i)
    if (i < added) {
      result.shape.push_back((*repeats)[i]);
    } else {
      QFX_TRY(size, repeatSize(context, "repeats", input.shape[i - added], (*repeats)[i]));
      result.shape.push_back(size);
    }
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

/// Without `dim` over the flattened tensor.  Rule `repeat_interleave_repeats`: a count >= 0, or a tensor of counts (the result's size is then
/// output_size, or unknown).
llvm::Expected<ValueType> inferRepeatInterleave(const InferContext &context) {
  QFX_TRY(input, context.getTensor("input"));
  if (llvm::Error err = checkNotPerChannel(context, input))
    return err;
  TensorType result = input;
  int64_t dim = 0;
  if (context.hasValue("dim")) {
    QFX_TRY(given, context.getInt("dim"));
    QFX_TRY(wrapped, wrapDim(context, given, input.getRank()));
    dim = wrapped;
  } else {
    result.shape.assign(1, multiplyAll(input.shape));
  }
  if (result.shape.empty())
    result.shape.push_back(Dim(1));
  ValueType repeats = context.getValue("repeats");
  if (const Dim *count = repeats.getDim()) {
    if (count->getFactor() < 0)
      return context.fail("repeats", "wants a count >= 0, got {0}", *count);
    QFX_TRY(size, repeatSize(context, "repeats", result.shape[dim], *count));
    result.shape[dim] = size;
  } else if (repeats.getTensor()) {
    result.shape[dim] = Dim::unknown();
    if (context.hasValue("output_size")) {
      QFX_TRY(size, context.getInt("output_size"));
      result.shape[dim] = Dim(size);
    }
  } else {
    return context.fail("repeats", "wants an int or a tensor of ints");
  }
  result.format = MemoryFormat::Contiguous;
  return ValueType(result);
}

} // namespace qfx
