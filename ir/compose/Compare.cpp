// equal, isclose, allclose and isin: what PyTorch answers with a bool is a bool[] here.
#include "ir/OpKind.h"
#include "ir/compose/Composer.h"

namespace qfx {

/// Every element of a bool tensor.
static Argument all(Composer &composer, Node *x) { return Argument(composer.function("torch.all", {x})); }

static Argument answer(Composer &composer, bool value) {
  return Argument(composer.function("torch.full", {Argument::list({}), value}));
}

/// One shape and all elements equal; codes of one quantizer (operators 12).  Rule `equal_quantized`: both or none, per tensor.
llvm::Expected<Argument> composeEqual(Composer &composer) {
  QFX_TRY(a, composer.input("input", /*takesCodes=*/true));
  QFX_TRY(b, composer.input("other", /*takesCodes=*/true));
  const bool isCode = isQuantized(a.type.dtype);
  if (isCode != isQuantized(b.type.dtype))
    return composer.context.fail("quantized", "wants two quantized tensors or two others, got {0} and {1}", toString(a.type), toString(b.type));
  if (isCode)
    for (const Composer::Input *one : {&a, &b})
      if (llvm::Error err = checkPerTensor(composer.context, one->type, one == &a ? "input" : "other"))
        return err;
  bool mayFit = a.getRank() == b.getRank();
  for (size_t i = 0; mayFit && i < a.getRank(); ++i)
    mayFit = a.size(i).mayEqual(b.size(i));
  if (!mayFit)
    return answer(composer, false);
  if (!a.isStatic() || !b.isStatic() || (isCode && (!a.type.quantizer || !b.type.quantizer)))
    return Argument();
  if (!isCode)
    return all(composer, composer.function("torch.eq", {a.node, b.node}));
  const Quantizer &left = *a.type.quantizer, &right = *b.type.quantizer;
  if (a.type.dtype != b.type.dtype || left.getScale() != right.getScale() || left.getZeroPoint() != right.getZeroPoint())
    return answer(composer, false);
  return all(composer, composer.function("torch.eq", {composer.method("int_repr", {a.node}), composer.method("int_repr", {b.node})}));
}

/// |a - b| <= atol + rtol |b|, equal infinities, and NaNs where asked for.  Rules `<op>_dtype` (two float32 tensors), `<op>_tolerance` (>= 0).
llvm::Expected<Argument> composeIsClose(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(a, composer.input("input"));
  QFX_TRY(b, composer.input("other"));
  if (a.type.dtype != DType::Float32 || b.type.dtype != DType::Float32)
    return context.fail("dtype", "wants two float32 tensors, got {0} and {1}", toString(a.type), toString(b.type));
  QFX_TRY(rtol, context.getNumber("rtol"));
  QFX_TRY(atol, context.getNumber("atol"));
  QFX_TRY(takesNan, context.getBool("equal_nan"));
  if (!(rtol >= 0) || !(atol >= 0))
    return context.fail("tolerance", "wants tolerances >= 0, got {0} and {1}", rtol, atol);
  Node *distance = composer.function("torch.abs", {composer.function("torch.sub", {a.node, b.node})});
  Node *allowed = composer.function("torch.add", {composer.function("torch.abs", {composer.function("torch.mul", {b.node, rtol})}), atol});
  Node *isNear = composer.function("torch.logical_and", {composer.function("torch.isfinite", {distance}),
                                                          composer.function("torch.le", {distance, allowed})});
  Node *close = composer.function("torch.logical_or", {composer.function("torch.eq", {a.node, b.node}), isNear});
  if (takesNan)
    close = composer.function("torch.logical_or", {close, composer.function("torch.logical_and", {composer.function("torch.isnan", {a.node}),
                                                                                                  composer.function("torch.isnan", {b.node})})});
  return context.getCall().op->kind == OpKind::AllClose ? all(composer, close) : Argument(close);
}

/// Which elements are among the test elements.
llvm::Expected<Argument> composeIsIn(Composer &composer) {
  QFX_TRY(elements, composer.input("elements"));
  QFX_TRY(tests, composer.input("test_elements"));
  QFX_TRY(inverts, composer.context.getBool("invert"));
  Node *equal = composer.function("torch.eq", {composer.function("torch.unsqueeze", {elements.node, int64_t(-1)}),
                                               composer.reshape(tests.node, {int64_t(-1)})});
  Node *among = composer.function("torch.any", {equal, int64_t(-1)});
  return Argument(inverts ? composer.function("torch.logical_not", {among}) : among);
}

} // namespace qfx
