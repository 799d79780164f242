// Tensors made from numbers: constants of the plan.
#include "backends/reference/Emit.h"
#include "backends/runtime/Kernels.h"
#include "ir/OpKind.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <numeric>

namespace qfx::runtime {

namespace {

/// The loader's limit for one tensor holds for those that the plan makes too.
constexpr double kMaxConstantBytes = 4294967296.0;

/// A constant of the node's type whose element i is `value(i)`, converted once from double or int64.
template <class T, class Fn> llvm::Expected<RuntimeValue> makeConstant(BindContext &context, DType wide, Fn value) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::SmallVector<int64_t, 4> sizes = type->getSizes();
  double bytes = std::accumulate(sizes.begin(), sizes.end(), static_cast<double>(sizeof(T)), std::multiplies<>());
  if (bytes > kMaxConstantBytes)
    return context.fail("makes a constant of {0:f0} bytes, more than the limit of {1:f0}", bytes, kMaxConstantBytes).code("run_memory");
  Tensor tensor = Tensor::build(wide, sizes, [&](MutableBytes bytes) {
    T *data = reinterpret_cast<T *>(bytes.data());
    for (size_t i = 0; i < bytes.size() / sizeof(T); ++i)
      data[i] = value(static_cast<int64_t>(i));
  });
  llvm::Expected<View> converted = castTo(context, viewConstant(tensor), type->dtype);
  if (!converted)
    return converted.takeError();
  return RuntimeValue(*converted);
}

} // namespace

/// zeros, ones, full and their relatives; uninitialized tensors are zeros.
llvm::Expected<RuntimeValue> bindFilled(BindContext &context) {
  double number = 0;
  OpKind op = context.getOp().kind;
  if (op == OpKind::Ones || op == OpKind::OnesLike || op == OpKind::NewOnes)
    number = 1;
  for (llvm::StringRef slot : {"fill_value", "value"})
    if (context.getCall().find(slot)) {
      llvm::Expected<double> given = context.attrs().getNumber(slot);
      if (!given)
        return given.takeError();
      number = *given;
    }
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  // One element, repeated by strides of 0.
  llvm::Expected<View> one = castTo(context, viewConstant(Tensor::of<double>(DType::Float64, {}, {number})), type->dtype);
  if (!one)
    return one.takeError();
  return RuntimeValue(context.toOrder(broadcasted(*one, type->getSizes()), StorageOrder::RowMajor));
}

llvm::Expected<RuntimeValue> bindArange(BindContext &context) {
  RuntimeValue bounds = context.getValue("bounds");
  std::vector<RuntimeValue> numbers = bounds.kind == RuntimeValue::Kind::Sequence ? bounds.elements : std::vector{bounds};
  bool areInts = true;
  for (const RuntimeValue &number : numbers) {
    if (number.kind != RuntimeValue::Kind::Host || !number.host.isNumber())
      return context.fail("takes numbers known before the graph runs");
    areInts &= number.host.isInt();
  }
  auto at = [&](size_t i) -> const Argument & { return numbers[i].host; };
  if (areInts) {
    int64_t start = numbers.size() > 1 ? at(0).getInt() : 0, step = numbers.size() > 2 ? at(2).getInt() : 1;
    return makeConstant<int64_t>(context, DType::Int64, [&](int64_t i) { return start + i * step; });
  }
  double start = numbers.size() > 1 ? at(0).getNumber() : 0, step = numbers.size() > 2 ? at(2).getNumber() : 1;
  return makeConstant<double>(context, DType::Float64, [&](int64_t i) { return start + static_cast<double>(i) * step; });
}

/// Nested numbers in row-major order.
static void collect(const RuntimeValue &value, std::vector<Argument> &numbers) {
  auto collectArgument = [&](const Argument &arg, auto &self) -> void {
    if (!arg.isSequence())
      return numbers.push_back(arg);
    for (const Argument &one : arg.getElements())
      self(one, self);
  };
  if (value.kind == RuntimeValue::Kind::Host)
    return collectArgument(value.host, collectArgument);
  for (const RuntimeValue &one : value.elements)
    collect(one, numbers);
}

/// torch.tensor of numbers.
llvm::Expected<RuntimeValue> bindTensorOf(BindContext &context) {
  std::vector<Argument> numbers;
  collect(context.getValue("data"), numbers);
  if (llvm::all_of(numbers, [](const Argument &one) { return one.isInt(); }))
    return makeConstant<int64_t>(context, DType::Int64, [&](int64_t i) { return numbers[static_cast<size_t>(i)].getInt(); });
  return makeConstant<double>(context, DType::Float64, [&](int64_t i) { return numbers[static_cast<size_t>(i)].getNumber(); });
}

/// PyTorch counts the first half from the start, the second from the end.
llvm::Expected<RuntimeValue> bindLinspace(BindContext &context) {
  llvm::Expected<double> start = context.attrs().getNumber("start");
  if (!start)
    return start.takeError();
  llvm::Expected<double> end = context.attrs().getNumber("end");
  if (!end)
    return end.takeError();
  llvm::Expected<int64_t> steps = context.attrs().getInt("steps");
  if (!steps)
    return steps.takeError();
  float first = static_cast<float>(*start), last = static_cast<float>(*end);
  float step = *steps > 1 ? (last - first) / static_cast<float>(*steps - 1) : 0;
  return makeConstant<double>(context, DType::Float64, [&, count = *steps](int64_t i) {
    return static_cast<double>(i < count / 2 ? first + step * static_cast<float>(i)
                                             : last - step * static_cast<float>(count - 1 - i));
  });
}

llvm::Expected<RuntimeValue> bindEye(BindContext &context) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  int64_t columns = type->getSizes()[1];
  return makeConstant<int64_t>(context, DType::Int64, [&](int64_t i) { return i / columns == i % columns; });
}

} // namespace qfx::runtime
