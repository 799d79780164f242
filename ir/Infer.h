// Shape and dtype inference: what a call yields, given what its operands are.
#ifndef IR_INFER_H
#define IR_INFER_H

#include "ir/Argument.h"
#include "ir/Bind.h"
#include "ir/TensorType.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <variant>
#include <vector>

namespace qfx {

class GraphModule;
class Module;

/// What a node's value is, as far as it is known before running: a tensor type, a host value (number, tuple, dtype), an integer
/// that depends on a symbolic size, a list/tuple/dict of values, packed weights, or unknown.
class ValueType {
public:
  struct Sequence { Argument::Kind kind; std::vector<ValueType> elements; };
  struct Dictionary { std::vector<std::pair<std::string, ValueType>> entries; };

  ValueType() = default; ///< unknown
  ValueType(TensorType type) : value(std::move(type)) {}
  ValueType(Dim integer) : value(std::move(integer)) {}
  static ValueType host(Argument constant); ///< node-free argument; ints become Dims, sequences Sequences
  static ValueType sequence(Argument::Kind listOrTuple, std::vector<ValueType> elements);
  static ValueType dictionary(std::vector<std::pair<std::string, ValueType>> entries);
  static ValueType packed(const Module *module); ///< packed weights of the quantized:: operators

  bool isUnknown() const { return std::holds_alternative<std::monostate>(value); }
  const TensorType *getTensor() const { return std::get_if<TensorType>(&value); }
  const Dim *getDim() const { return std::get_if<Dim>(&value); }
  const Argument *getHost() const { return std::get_if<Argument>(&value); } ///< neither int nor sequence
  const Sequence *getSequence() const;
  const Dictionary *getDictionary() const;
  const Module *getPacked() const;
  /// The value as a node-free Argument if all of it is static host data.
  std::optional<Argument> getConstant() const;

private:
  std::variant<std::monostate, TensorType, Dim, Argument, std::shared_ptr<const Sequence>,
               std::shared_ptr<const Dictionary>, const Module *>
      value;
};

using TypeLookup = llvm::function_ref<ValueType(const Node *)>;

/// What an operator's rule sees: the bound call and the types of its operands.
class InferContext {
public:
  InferContext(const BoundCall &call, TypeLookup lookup) : call(call), lookup(lookup) {}

  const BoundCall &getCall() const { return call; }
  /// Type of the value in slot `name`, constants included; unknown if the slot is None.
  ValueType getValue(llvm::StringRef name) const;
  /// The tensor in that slot; an error `[<op>_input]` that says what was found otherwise.
  llvm::Expected<TensorType> getTensor(llvm::StringRef name) const;
  std::optional<TensorType> getOptionalTensor(llvm::StringRef name) const;
  bool hasValue(llvm::StringRef name) const; ///< bound to something other than None
  /// Host values; asserted present, since binding has filled defaults.  A number that depends on a symbol is an error.
  llvm::Expected<int64_t> getInt(llvm::StringRef name) const;
  llvm::Expected<double> getNumber(llvm::StringRef name) const;
  llvm::Expected<bool> getBool(llvm::StringRef name) const;
  /// One or a list; a single number is repeated `count` times (count 0: as given).
  llvm::Expected<llvm::SmallVector<int64_t, 4>> getInts(llvm::StringRef name, size_t count = 0) const;
  llvm::Expected<llvm::SmallVector<Dim, 4>> getDims(llvm::StringRef name) const;

  /// error(node location, ...) with the operator's name and code.
  template <class... Args> ErrorBuilder fail(llvm::StringRef code, const char *format, Args &&...args) const {
    return error(call.loc, format, std::forward<Args>(args)...).code(code);
  }

private:
  const BoundCall &call;
  TypeLookup lookup;
};

/// Types of all values of a graph.
using TypeMap = llvm::DenseMap<const Node *, ValueType>;

/// Infers every node from the placeholders' types (declared, or given by `inputs` in placeholder order).  Errors carry the node's
/// location; with `collectAll` the rest of the graph is still inferred and all errors come together.
llvm::Expected<TypeMap> inferTypes(const GraphModule &model, llvm::ArrayRef<TensorType> inputs = {});

/// The result of one call whose operands' types `lookup` knows.
llvm::Expected<ValueType> inferNode(const GraphModule &model, const Node &node, TypeLookup lookup);

} // namespace qfx

#endif // IR_INFER_H
