// Products built on the matrix product: addmm, baddbmm, mv, dot, outer, einsum.
#include "backends/reference/Emit.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "ir/Einsum.h"
#include "ir/OpKind.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace qfx::runtime {

static View scaled(BindContext &context, const View &view, double factor) {
  if (factor == 1)
    return view;
  return emitPointwise(context, kernels::PointwiseKind::Mul, {view, makeScalar(DType::Float32, factor)}, view.sizes);
}

/// beta * input + alpha * (a @ b); beta 0 leaves the input unread.
llvm::Expected<RuntimeValue> bindAddmm(BindContext &context) {
  bool isBatched = context.getOp().kind == OpKind::Baddbmm;
  llvm::Expected<View> a = getFloatTensor(context, isBatched ? "batch1" : "mat1");
  if (!a)
    return a.takeError();
  llvm::Expected<View> b = getFloatTensor(context, isBatched ? "batch2" : "mat2");
  if (!b)
    return b.takeError();
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<double> beta = context.attrs().getNumber("beta");
  if (!beta)
    return beta.takeError();
  llvm::Expected<double> alpha = context.attrs().getNumber("alpha");
  if (!alpha)
    return alpha.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  View product = scaled(context, emitMatmul(context, *a, *b, *type), *alpha);
  if (*beta == 0)
    return RuntimeValue(product);
  View added = scaled(context, *input, *beta);
  return RuntimeValue(emitPointwise(context, kernels::PointwiseKind::Add, {product, added}, type->getSizes()));
}

/// mv and dot: the right operand is a column.
llvm::Expected<RuntimeValue> bindMv(BindContext &context) {
  bool isDot = context.getOp().kind == OpKind::Dot;
  llvm::Expected<View> a = getFloatTensor(context, "input");
  if (!a)
    return a.takeError();
  llvm::Expected<View> b = getFloatTensor(context, isDot ? "tensor" : "vec");
  if (!b)
    return b.takeError();
  View left = isDot ? unsqueezed(*a, 0) : *a, right = unsqueezed(*b, 1);
  View product = emitMatmul(context, left, right, withSizes(left, {left.sizes[0], 1}));
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  return RuntimeValue(reshaped(context, product, type->getSizes()));
}

llvm::Expected<RuntimeValue> bindOuter(BindContext &context) {
  llvm::Expected<View> a = getFloatTensor(context, "input");
  if (!a)
    return a.takeError();
  llvm::Expected<View> b = getFloatTensor(context, "vec2");
  if (!b)
    return b.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  return RuntimeValue(emitPointwise(context, kernels::PointwiseKind::Mul, {unsqueezed(*a, 1), unsqueezed(*b, 0)},
                                    type->getSizes()));
}

namespace {

/// A tensor whose dimensions have labels.
struct Labelled {
  View view;
  EinsumEquation::Labels labels;

  int64_t sizeOf(int label) const {
    const auto *it = llvm::find(labels, label);
    return it == labels.end() ? 1 : view.sizes[static_cast<size_t>(it - labels.begin())];
  }
};

/// A repeated label walks the diagonal.
Labelled takeDiagonals(Labelled operand) {
  for (size_t i = 0; i < operand.labels.size(); ++i)
    for (size_t j = i + 1; j < operand.labels.size();) {
      if (operand.labels[j] != operand.labels[i]) {
        ++j;
        continue;
      }
      operand.view.strides[i] += operand.view.strides[j];
      operand.view.sizes.erase(operand.view.sizes.begin() + j);
      operand.view.strides.erase(operand.view.strides.begin() + j);
      operand.labels.erase(operand.labels.begin() + j);
    }
  operand.view.type = withSizes(operand.view, operand.view.sizes);
  return operand;
}

/// `operand` with its dimensions in the order of `labels`, missing ones of size 1.
View arrange(BindContext &context, const Labelled &operand, llvm::ArrayRef<int> labels) {
  llvm::SmallVector<size_t, 8> order;
  Sizes sizes;
  for (int label : labels) {
    const auto *it = llvm::find(operand.labels, label);
    if (it == operand.labels.end()) {
      sizes.push_back(1);
      continue;
    }
    order.push_back(static_cast<size_t>(it - operand.labels.begin()));
    sizes.push_back(operand.view.sizes[order.back()]);
  }
  return reshaped(context, permuted(operand.view, order), sizes);
}

int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

/// Contracts two operands: labels of both that are needed later are batches, the other common ones are summed.
Labelled contract(BindContext &context, const Labelled &a, const Labelled &b, llvm::ArrayRef<int> needed) {
  EinsumEquation::Labels batch, left, right, inner;
  for (int label : a.labels)
    (llvm::is_contained(needed, label) ? (llvm::is_contained(b.labels, label) ? batch : left) : inner).push_back(label);
  for (int label : b.labels)
    if (!llvm::is_contained(a.labels, label))
      (llvm::is_contained(needed, label) ? right : inner).push_back(label);
  Labelled result;
  Sizes batchSizes, leftSizes, rightSizes, innerSizes;
  for (auto [labels, sizes] : {std::pair(&batch, &batchSizes), std::pair(&left, &leftSizes),
                               std::pair(&right, &rightSizes), std::pair(&inner, &innerSizes)})
    for (int label : *labels)
      sizes->push_back(std::max(a.sizeOf(label), b.sizeOf(label)));
  auto join = [](std::initializer_list<llvm::ArrayRef<int>> parts) {
    EinsumEquation::Labels all;
    for (llvm::ArrayRef<int> part : parts)
      all.append(part.begin(), part.end());
    return all;
  };
  auto spread = [&](const Labelled &operand, std::initializer_list<llvm::ArrayRef<int>> parts,
                    std::initializer_list<llvm::ArrayRef<int64_t>> sizes, llvm::ArrayRef<int64_t> matrix) {
    Sizes full;
    for (llvm::ArrayRef<int64_t> part : sizes)
      full.append(part.begin(), part.end());
    return reshaped(context, broadcasted(arrange(context, operand, join(parts)), full), matrix);
  };
  int64_t n = product(batchSizes), rows = product(leftSizes), columns = product(rightSizes), depth = product(innerSizes);
  View first = spread(a, {batch, left, inner}, {batchSizes, leftSizes, innerSizes}, {n, rows, depth});
  View second = spread(b, {batch, inner, right}, {batchSizes, innerSizes, rightSizes}, {n, depth, columns});
  View matrix = emitMatmul(context, first, second, withSizes(first, {n, rows, columns}));
  result.labels = join({batch, left, right});
  Sizes sizes = batchSizes;
  sizes.append(leftSizes.begin(), leftSizes.end());
  sizes.append(rightSizes.begin(), rightSizes.end());
  result.view = reshaped(context, matrix, sizes);
  return result;
}

} // namespace

/// Operands are contracted from left to right, each pair as one batched matrix product.
llvm::Expected<RuntimeValue> bindEinsum(BindContext &context) {
  RuntimeValue list = context.getValue("operands");
  if (list.elements.size() == 1 && list.elements[0].kind == RuntimeValue::Kind::Sequence)
    list = RuntimeValue(list.elements[0]);
  llvm::SmallVector<size_t, 4> ranks;
  for (RuntimeValue &one : list.elements) {
    if (!one.isTensor() || !isFloat(one.view.getDType()) || one.view.getDType() == DType::Float64)
      return context.fail("takes float32 tensors, got {0}", one.isTensor() ? toString(one.view.type) : describe(one));
    llvm::Expected<View> wide = castTo(context, one.view, DType::Float32);
    if (!wide)
      return wide.takeError();
    one.view = *wide;
    ranks.push_back(one.view.getRank());
  }
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  auto parsed = parseEinsum(context.getCall().get("equation").arg.getString(), ranks);
  const EinsumEquation *equation = std::get_if<EinsumEquation>(&parsed);
  if (!equation)
    return context.fail("its equation {0}", std::get<std::string>(parsed));
  std::vector<Labelled> operands;
  for (size_t i = 0; i < ranks.size(); ++i)
    operands.push_back(takeDiagonals({list.elements[i].view, equation->operands[i]}));
  Labelled result = operands[0];
  if (operands.size() == 1)
    operands.push_back({makeScalar(DType::Float32, 1), {}});
  for (size_t i = 1; i < operands.size(); ++i) {
    EinsumEquation::Labels needed = equation->output;
    for (size_t j = i + 1; j < operands.size(); ++j)
      needed.append(operands[j].labels.begin(), operands[j].labels.end());
    result = contract(context, result, operands[i], needed);
  }
  View out = arrange(context, result, equation->output);
  return RuntimeValue(broadcasted(out, type->getSizes()));
}

} // namespace qfx::runtime
