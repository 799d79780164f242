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

/// Packed weights as an operator sees them: from a packed-weights module or a prepack call.
struct PackedWeights {
  const Module *module = nullptr; ///< null for the result of a prepack call
  TensorType weight;
  bool hasBias = false;
  /// Convolutions only: one number per spatial axis.
  llvm::SmallVector<int64_t, 3> stride, padding, outputPadding, dilation;
  int64_t groups = 1;
  bool isTransposed = false;
};

/// A Python number that data decides (`x.item()`): known only when the graph runs.
struct DataNumber {
  DTypeKind kind; ///< Float, Integer or Bool
};

/// What a node's value is, as far as it is known before running: a tensor type, a host value (number, tuple, dtype), an integer
/// that depends on a symbolic size, a number that depends on data, a list/tuple/dict of values, packed weights, or unknown.
class ValueType {
public:
  struct Sequence { Argument::Kind kind; std::vector<ValueType> elements; };
  struct Dictionary { std::vector<std::pair<std::string, ValueType>> entries; };

  ValueType() = default; ///< unknown
  ValueType(TensorType type) : value(std::move(type)) {}
  ValueType(Dim integer) : value(std::move(integer)) {}
  ValueType(DataNumber number) : value(number) {}
  static ValueType host(Argument constant); ///< node-free argument; ints become Dims, sequences Sequences
  static ValueType sequence(Argument::Kind listOrTuple, std::vector<ValueType> elements);
  static ValueType dictionary(std::vector<std::pair<std::string, ValueType>> entries);
  static ValueType packed(PackedWeights weights);

  bool isUnknown() const { return std::holds_alternative<std::monostate>(value); }
  const TensorType *getTensor() const { return std::get_if<TensorType>(&value); }
  const Dim *getDim() const { return std::get_if<Dim>(&value); }
  const DataNumber *getDataNumber() const { return std::get_if<DataNumber>(&value); }
  const Argument *getHost() const { return std::get_if<Argument>(&value); } ///< neither int nor sequence
  const Sequence *getSequence() const;
  const Dictionary *getDictionary() const;
  const PackedWeights *getPacked() const;
  /// The kind of a Python number, known or not; none for anything else.
  std::optional<DTypeKind> getNumberKind() const;
  /// The value as a node-free Argument if all of it is static host data.
  std::optional<Argument> getConstant() const;

private:
  std::variant<std::monostate, TensorType, Dim, DataNumber, Argument, std::shared_ptr<const Sequence>,
               std::shared_ptr<const Dictionary>, std::shared_ptr<const PackedWeights>>
      value;
};

using TypeLookup = llvm::function_ref<ValueType(const Node *)>;

/// What an operator's rule sees: the bound call and the types of its operands.
class InferContext {
public:
  /// `model` holds the tensors that get_attr nodes read; null: none can be read.
  InferContext(const BoundCall &call, TypeLookup lookup, const GraphModule *model = nullptr)
      : call(call), lookup(lookup), model(model) {}

  const BoundCall &getCall() const { return call; }
  const GraphModule *getModel() const { return model; }
  TypeLookup getLookup() const { return lookup; }
  /// Type of the value in slot `name`, constants included; unknown if the slot is None.
  ValueType getValue(llvm::StringRef name) const;
  /// The tensor in that slot; an error `[<op>_input]` that says what was found otherwise.
  llvm::Expected<TensorType> getTensor(llvm::StringRef name) const;
  std::optional<TensorType> getOptionalTensor(llvm::StringRef name) const;
  bool hasValue(llvm::StringRef name) const; ///< bound to something other than None
  /// True if what stands in the slot is not known before running: a rule then yields unknown.
  bool isUnknown(llvm::StringRef name) const;
  /// The tensor's data when it is a module's own or a get_attr of the model; null otherwise.
  const Tensor *getConstantTensor(llvm::StringRef name) const;
  /// A number given as such or as a one-element constant tensor; none when it is known only at run time.
  std::optional<double> findNumber(llvm::StringRef name) const;
  /// Host values; asserted present, since binding has filled defaults.  A number that depends on a symbol is an error.
  llvm::Expected<int64_t> getInt(llvm::StringRef name) const;
  llvm::Expected<double> getNumber(llvm::StringRef name) const;
  llvm::Expected<bool> getBool(llvm::StringRef name) const;
  /// One or a list; a single number is repeated `count` times (count 0: as given).
  llvm::Expected<llvm::SmallVector<int64_t, 4>> getInts(llvm::StringRef name, size_t count = 0) const;
  llvm::Expected<llvm::SmallVector<Dim, 4>> getDims(llvm::StringRef name) const;

  /// An error at the node: `'<Op>' <message>`, code `<op>_<rule>` (`conv2d_channels`).
  template <class... Args> ErrorBuilder fail(llvm::StringRef rule, const char *format, Args &&...args) const {
    std::string message = llvm::formatv(format, std::forward<Args>(args)...).str();
    return error(call.loc, "'{0}' {1}", call.op->name, message).code(makeCode(rule));
  }

private:
  std::string makeCode(llvm::StringRef rule) const;

  const BoundCall &call;
  TypeLookup lookup;
  const GraphModule *model;
};

/// Types of all values of a graph.
using TypeMap = llvm::DenseMap<const Node *, ValueType>;

/// Infers every node from the placeholders' types (declared, or given by `inputs` in placeholder order).  Errors carry the node's
/// location; with `collectAll` the rest of the graph is still inferred and all errors come together.
llvm::Expected<TypeMap> inferTypes(const GraphModule &model, llvm::ArrayRef<TensorType> inputs = {});

/// What a bound call yields: the operator's rule, then `tensor_size` (no tensor of more than 2^62 elements).
llvm::Expected<ValueType> inferCall(const InferContext &context);

/// The result of one call whose operands' types `lookup` knows.
llvm::Expected<ValueType> inferNode(const GraphModule &model, const Node &node, TypeLookup lookup);

} // namespace qfx

#endif // IR_INFER_H
