// How a composition is built: tensors of the call as placeholders, calls of other operators on them.
#ifndef IR_COMPOSE_COMPOSER_H
#define IR_COMPOSE_COMPOSER_H

#include "ir/Compose.h"
#include "ir/InferDetail.h"

namespace qfx {

class Composer {
public:
  Composer(const InferContext &context, Composition &into) : context(context), into(into) {}

  const InferContext &context;

  /// A tensor of the call and what is known of it.
  struct Input {
    Node *node;
    TensorType type;
    size_t getRank() const { return type.getRank(); }
    const Dim &size(size_t dim) const { return type.shape[dim]; }
    bool isStatic() const { return type.isStatic(); }
  };
  /// The tensor in a slot.  Rules `<op>_input`, `<op>_quantized` (unless `takesCodes`).
  llvm::Expected<Input> input(llvm::StringRef slot, bool takesCodes = false);
  llvm::Expected<std::vector<Input>> inputs(llvm::StringRef slot, bool takesCodes = false);

  /// A complex value of the call: its parts, which have one type.
  struct ComplexInput {
    Node *real, *imag;
    TensorType type;
  };
  /// The complex value in a slot; `imag` is null if a real tensor stands there.  Rules `<op>_input`, `<op>_dtype` (float32).
  llvm::Expected<ComplexInput> complexInput(llvm::StringRef slot);
  static Argument makeComplex(Node *real, Node *imag) { return Argument::dict({{"real", real}, {"imag", imag}}); }

  Node *function(llvm::StringRef text, std::vector<Argument> args, Kwargs kwargs = {}) {
    return into.graph.callFunction(requireFunction(text), std::move(args), std::move(kwargs));
  }
  Node *method(llvm::StringRef name, std::vector<Argument> args, Kwargs kwargs = {}) {
    return into.graph.callMethod(requireMethod(name), std::move(args), std::move(kwargs));
  }
  /// A child of the called module, by its path below it, and the observer that eager mode hooked to it.  Rule `<op>_children`: it is there.
  llvm::Expected<Node *> callChild(llvm::StringRef path, std::vector<Argument> args, Kwargs kwargs = {});
  Node *item(Node *sequence, int64_t index) { return function("operator.getitem", {sequence, index}); }
  /// A size: a number if it is known, else a call that asks for it.
  Argument sizeOf(const Input &tensor, size_t dim) {
    return tensor.size(dim).isStatic() ? Argument(tensor.size(dim).getValue())
                                       : Argument(method("size", {tensor.node, static_cast<int64_t>(dim)}));
  }
  Node *reshape(Node *x, Argument::Elements sizes) { return method("reshape", {x, Argument::list(std::move(sizes))}); }
  Node *permute(Node *x, llvm::ArrayRef<int64_t> dims) { return method("permute", {x, Argument::ints(dims)}); }

private:
  Composition &into;
  std::string modulePath; ///< of the called module, once a child was called
};

/// Writes one operator.  \returns the call's value: a node or a tuple of nodes; None if sizes are not known yet.
using ComposeFunction = llvm::Expected<Argument> (*)(Composer &);

#define QFX_COMPOSE(Op, function) llvm::Expected<Argument> function(Composer &composer);
#define QFX_COMPLEX(Op, function) llvm::Expected<Argument> function(Composer &composer);
#include "ir/compose/Compositions.def"

} // namespace qfx

#endif // IR_COMPOSE_COMPOSER_H
