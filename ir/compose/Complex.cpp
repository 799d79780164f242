// Complex numbers as pairs of tensors: made, taken apart, added, multiplied, moved.
#include "ir/OpKind.h"
#include "ir/compose/Composer.h"

namespace qfx {

/// real + i imag, broadcast.  Rules `complex_dtype` (float32 parts), `complex_broadcast`.
llvm::Expected<Argument> composeComplex(Composer &composer) {
  QFX_TRY(real, composer.input("real"));
  QFX_TRY(imag, composer.input("imag"));
  const TensorType &a = real.type, &b = imag.type;
  if (a.dtype != DType::Float32 || b.dtype != DType::Float32)
    return composer.context.fail("dtype", "wants float32 parts, got {0} and {1}", toString(a), toString(b));
  if (a.shape == b.shape)
    return Composer::makeComplex(real.node, imag.node);
  QFX_TRY(shape, broadcastShapes(composer.context, a.shape, b.shape));
  Argument::Elements sizes;
  for (const Dim &size : shape) {
    if (!size.isStatic())
      return Argument();
    sizes.push_back(size.getValue());
  }
  auto widen = [&](Node *part) { return composer.method("expand", {part, Argument::list(sizes)}); };
  return Composer::makeComplex(widen(real.node), widen(imag.node));
}

/// abs e^(i angle).
llvm::Expected<Argument> composePolar(Composer &composer) {
  QFX_TRY(abs, composer.input("abs"));
  QFX_TRY(angle, composer.input("angle"));
  if (abs.type.dtype != DType::Float32 || angle.type.dtype != DType::Float32)
    return composer.context.fail("dtype", "wants float32 operands, got {0} and {1}", toString(abs.type), toString(angle.type));
  Node *real = composer.function("torch.mul", {abs.node, composer.function("torch.cos", {angle.node})});
  Node *imag = composer.function("torch.mul", {abs.node, composer.function("torch.sin", {angle.node})});
  return Composer::makeComplex(real, imag);
}

/// Rule `view_as_complex_pairs`: float32, two elements along the last dimension.
llvm::Expected<Argument> composeViewAsComplex(Composer &composer) {
  QFX_TRY(input, composer.input("input"));
  if (input.type.dtype != DType::Float32 || !input.getRank() || !input.type.shape.back().mayEqual(Dim(2)))
    return composer.context.fail("pairs", "wants a float32 tensor whose last dimension has size 2, got {0}", toString(input.type));
  return Composer::makeComplex(composer.function("torch.select", {input.node, int64_t(-1), int64_t(0)}),
                               composer.function("torch.select", {input.node, int64_t(-1), int64_t(1)}));
}

/// A complex operand, which a real one is not.  Rule `<op>_complex`.
static llvm::Expected<Composer::ComplexInput> getComplex(Composer &composer, llvm::StringRef slot) {
  QFX_TRY(input, composer.complexInput(slot));
  if (!input.imag)
    return composer.context.fail("complex", "wants complex numbers (of stft, an fft, torch.complex or view_as_complex), got {0}",
                                 toString(input.type));
  return input;
}

llvm::Expected<Argument> composeViewAsReal(Composer &composer) {
  QFX_TRY(input, getComplex(composer, "input"));
  return Argument(composer.function("torch.stack", {Argument::list({input.real, input.imag}), int64_t(-1)}));
}

/// torch.real and torch.imag, and the attributes of these names.  A real tensor is its own real part.
llvm::Expected<Argument> composePart(Composer &composer) {
  const InferContext &context = composer.context;
  const OpKind kind = context.getCall().op->kind;
  bool isReal = kind == OpKind::RealPart;
  if (kind == OpKind::GetAttribute) {
    const std::string &name = context.getCall().get("name").arg.getString();
    isReal = name == "real";
    if (!isReal && name != "imag")
      return context.fail("name", "knows real and imag of complex numbers, got '{0}'", name);
  }
  if (isReal) {
    QFX_TRY(input, composer.complexInput("input"));
    return Argument(composer.function("torch.clone", {input.real}));
  }
  QFX_TRY(input, getComplex(composer, "input"));
  return Argument(composer.function("torch.clone", {input.imag}));
}

llvm::Expected<Argument> composeConj(Composer &composer) {
  QFX_TRY(input, composer.complexInput("input"));
  if (!input.imag)
    return Argument(composer.function("torch.clone", {input.real}));
  return Composer::makeComplex(input.real, composer.function("torch.neg", {input.imag}));
}

/// In (-pi, pi]; of real numbers 0, or pi if negative, NaN stays.
llvm::Expected<Argument> composeAngle(Composer &composer) {
  QFX_TRY(input, composer.complexInput("input"));
  Node *imag = input.imag ? input.imag : composer.function("torch.zeros_like", {input.real});
  return Argument(composer.function("torch.atan2", {imag, input.real}));
}

llvm::Expected<Argument> composeComplexAbs(Composer &composer) {
  QFX_TRY(input, getComplex(composer, "input"));
  return Argument(composer.function("torch.hypot", {input.real, input.imag}));
}

namespace {
/// One operand of an arithmetic operator: complex, real, or a number.
struct Operand {
  Argument real;
  Node *imag = nullptr;
};
} // namespace

static llvm::Expected<Operand> getOperand(Composer &composer, llvm::StringRef slot) {
  if (std::optional<Argument> number = composer.context.getValue(slot).getConstant(); number && number->isNumber())
    return Operand{*number, nullptr};
  QFX_TRY(input, composer.complexInput(slot));
  return Operand{Argument(input.real), input.imag};
}

/// a + b and a - b.  Rule `<op>_alpha`: 1.
llvm::Expected<Argument> composeComplexSum(Composer &composer) {
  QFX_TRY(alpha, composer.context.getNumber("alpha"));
  if (alpha != 1)
    return composer.context.fail("alpha", "wants alpha = 1 for complex numbers, got {0}", alpha);
  QFX_TRY(a, getOperand(composer, "input"));
  QFX_TRY(b, getOperand(composer, "other"));
  const bool isSub = composer.context.getCall().op->kind == OpKind::Sub;
  const char *function = isSub ? "torch.sub" : "torch.add";
  Node *real = composer.function(function, {a.real, b.real});
  if (a.imag && b.imag)
    return Composer::makeComplex(real, composer.function(function, {a.imag, b.imag}));
  Node *imag = a.imag ? a.imag : isSub ? composer.function("torch.neg", {b.imag}) : b.imag;
  // broadcast as the real part is
  return Composer::makeComplex(real, composer.function("torch.add", {imag, composer.function("torch.zeros_like", {real})}));
}

/// a * b; a / b of a real divisor.  Rule `div_complex`.
llvm::Expected<Argument> composeComplexProduct(Composer &composer) {
  QFX_TRY(a, getOperand(composer, "input"));
  QFX_TRY(b, getOperand(composer, "other"));
  if (composer.context.getCall().op->kind == OpKind::Div) {
    if (b.imag)
      return composer.context.fail("complex", "wants a real divisor of complex numbers");
    return Composer::makeComplex(composer.function("torch.div", {a.real, b.real}),
                                 composer.function("torch.div", {Argument(a.imag), b.real}));
  }
  auto multiply = [&](const Argument &x, const Argument &y) { return composer.function("torch.mul", {x, y}); };
  if (!a.imag || !b.imag) {
    const Argument &factor = a.imag ? b.real : a.real;
    const Operand &complex = a.imag ? a : b;
    return Composer::makeComplex(multiply(complex.real, factor), multiply(Argument(complex.imag), factor));
  }
  Node *real = composer.function("torch.sub", {multiply(a.real, b.real), multiply(Argument(a.imag), Argument(b.imag))});
  Node *imag = composer.function("torch.add", {multiply(a.real, Argument(b.imag)), multiply(Argument(a.imag), b.real)});
  return Composer::makeComplex(real, imag);
}

/// The function that moves elements as an operator does, and the slots it takes behind the tensor.
static std::pair<const char *, std::vector<const char *>> getMove(OpKind kind) {
  switch (kind) {
  case OpKind::Reshape:
    return {"torch.reshape", {"shape"}};
  case OpKind::Flatten:
    return {"torch.flatten", {"start_dim", "end_dim"}};
  case OpKind::Transpose:
    return {"torch.transpose", {"dim0", "dim1"}};
  case OpKind::Permute:
    return {"torch.permute", {"dims"}};
  case OpKind::Squeeze:
    return {"torch.squeeze", {"dim"}};
  case OpKind::Unsqueeze:
    return {"torch.unsqueeze", {"dim"}};
  case OpKind::Narrow:
    return {"torch.narrow", {"dim", "start", "length"}};
  case OpKind::Select:
    return {"torch.select", {"dim", "index"}};
  case OpKind::GetItem:
    return {"operator.getitem", {"index"}};
  default: // contiguous, clone, detach
    return {"torch.clone", {}};
  }
}

/// Both parts moved alike.  Rule `<op>_known`: sizes and indices are known before running.
llvm::Expected<Argument> composeMovedParts(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(input, getComplex(composer, "input"));
  auto [function, slots] = getMove(context.getCall().op->kind);
  std::vector<Argument> more;
  for (const char *slot : slots) {
    std::optional<Argument> value = context.getValue(slot).getConstant();
    if (!value)
      return context.fail("known", "wants sizes and indices of complex numbers that are known before the graph runs");
    if (!value->isNone())
      more.push_back(*value);
  }
  auto move = [&, text = function](Node *part) {
    std::vector<Argument> args{part};
    args.insert(args.end(), more.begin(), more.end());
    return composer.function(text, std::move(args));
  };
  return Composer::makeComplex(move(input.real), move(input.imag));
}

} // namespace qfx
