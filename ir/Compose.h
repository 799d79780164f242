// Operators that are graphs of other operators: one graph serves type inference and every runtime.
#ifndef IR_COMPOSE_H
#define IR_COMPOSE_H

#include "ir/Graph.h"
#include "ir/Infer.h"

#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace qfx {

/// A call written as calls of simpler operators.  The placeholders stand for the call's tensors, in order.
struct Composition {
  struct Input {
    std::string slot;
    std::optional<size_t> element; ///< of a list of tensors, or 0 and 1: the parts of a complex value
  };
  Graph graph;
  std::vector<Input> inputs;
};

/// Is an operand complex, and has the operator a composition for that (QFX_COMPLEX)?  There is no complex dtype: a complex value is a dictionary
/// {"real": tensor, "imag": tensor} of two float32 tensors of one shape.
bool takesComplex(const InferContext &context);
/// The parts of a complex value, if it is one.
std::optional<std::pair<TensorType, TensorType>> getComplexParts(const ValueType &value);

/// The composition of a call (a row of ir/compose/Compositions.def), made for the types of its operands; null while it
/// depends on sizes that are not known yet.  Every node has the call's place.  Errors: the operator's own rules.
llvm::Expected<std::shared_ptr<Composition>> compose(const InferContext &context);

} // namespace qfx

#endif // IR_COMPOSE_H
