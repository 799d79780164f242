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
    std::optional<size_t> element; ///< of a list of tensors
  };
  Graph graph;
  std::vector<Input> inputs;
};

/// The composition of a call (a row of ir/compose/Compositions.def), made for the types of its operands; null while it
/// depends on sizes that are not known yet.  Every node has the call's place.  Errors: the operator's own rules.
llvm::Expected<std::shared_ptr<Composition>> compose(const InferContext &context);

} // namespace qfx

#endif // IR_COMPOSE_H
