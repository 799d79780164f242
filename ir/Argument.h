// FX Arguments: what stands in the args and kwargs of a node.
#ifndef IR_ARGUMENT_H
#define IR_ARGUMENT_H

#include "ir/DType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace qfx {

class Node;

/// None | bool | int | float | string | dtype | qscheme | memory format | device | Ellipsis | node | slice | list | tuple | dict,
/// nested freely.  A value type; aggregates share immutable storage, so copies are cheap.
class Argument {
public:
  enum class Kind : uint8_t {
    None, Bool, Int, Float, String, DType, QScheme, MemoryFormat, Device, Ellipsis, Node, Slice, List, Tuple, Dict
  };
  using Elements = std::vector<Argument>;
  using DictEntries = std::vector<std::pair<std::string, Argument>>;

  Argument() = default;
  // Out of line: the variant's copy code would else be made anew in every file that holds a list of arguments.
  Argument(const Argument &other);
  Argument(Argument &&other) noexcept;
  Argument &operator=(const Argument &other);
  Argument &operator=(Argument &&other) noexcept;
  ~Argument();
  Argument(Node *node) : kind(Kind::Node), value(node) {}
  Argument(bool flag) : kind(Kind::Bool), value(flag) {}
  Argument(int number) : kind(Kind::Int), value(static_cast<int64_t>(number)) {}
  Argument(int64_t number) : kind(Kind::Int), value(number) {}
  Argument(double number) : kind(Kind::Float), value(number) {}
  Argument(std::string text) : kind(Kind::String), value(std::move(text)) {}
  Argument(llvm::StringRef text) : Argument(text.str()) {}
  Argument(const char *text) : Argument(std::string(text)) {}
  Argument(qfx::DType dtype) : kind(Kind::DType), value(static_cast<int64_t>(dtype)) {}
  Argument(qfx::QScheme scheme) : kind(Kind::QScheme), value(static_cast<int64_t>(scheme)) {}
  Argument(qfx::MemoryFormat format) : kind(Kind::MemoryFormat), value(static_cast<int64_t>(format)) {}
  static Argument none() { return Argument(); }
  static Argument ellipsis();
  static Argument device(llvm::StringRef name);
  static Argument list(Elements elements) { return aggregate(Kind::List, std::move(elements)); }
  static Argument tuple(Elements elements) { return aggregate(Kind::Tuple, std::move(elements)); }
  static Argument slice(Argument start, Argument stop, Argument step);
  static Argument dict(DictEntries entries);
  /// A tuple of ints, the form in which PyTorch keeps kernel sizes and the like.
  static Argument ints(llvm::ArrayRef<int64_t> numbers);

  Kind getKind() const { return kind; }
  bool isNone() const { return kind == Kind::None; }
  bool isBool() const { return kind == Kind::Bool; }
  bool isInt() const { return kind == Kind::Int; }
  bool isFloat() const { return kind == Kind::Float; }
  bool isNumber() const { return isInt() || isFloat() || isBool(); }
  bool isString() const { return kind == Kind::String; }
  bool isDType() const { return kind == Kind::DType; }
  bool isNode() const { return kind == Kind::Node; }
  bool isSequence() const { return kind == Kind::List || kind == Kind::Tuple; }
  bool isDict() const { return kind == Kind::Dict; }

  // Accessors assert the kind.
  Node *getNode() const { return std::get<Node *>(value); }
  bool getBool() const { return std::get<bool>(value); }
  int64_t getInt() const { return std::get<int64_t>(value); }
  double getFloat() const { return std::get<double>(value); }
  const std::string &getString() const { return std::get<std::string>(value); }
  qfx::DType getDType() const { return static_cast<qfx::DType>(std::get<int64_t>(value)); }
  qfx::QScheme getQScheme() const { return static_cast<qfx::QScheme>(std::get<int64_t>(value)); }
  qfx::MemoryFormat getMemoryFormat() const { return static_cast<qfx::MemoryFormat>(std::get<int64_t>(value)); }
  /// List, tuple and slice (start, stop, step) elements.
  llvm::ArrayRef<Argument> getElements() const { return *std::get<std::shared_ptr<const Elements>>(value); }
  const DictEntries &getEntries() const { return *std::get<std::shared_ptr<const DictEntries>>(value); }

  /// Any number as a double; bool counts as 0 or 1 (asserts isNumber).
  double getNumber() const;
  /// The dict's value under `key`, or null.
  const Argument *find(llvm::StringRef key) const;
  /// Node if this is one, else null.
  Node *getNodeOrNull() const { return isNode() ? getNode() : nullptr; }

  /// Calls `visit` for every node in it, in FX's order (depth first, slices and dicts included).
  void forEachNode(llvm::function_ref<void(Node *)> visit) const;
  /// A copy in which each node is replaced by what `map` gives (which may be any Argument); aggregates keep their kind.
  Argument mapNodes(llvm::function_ref<Argument(Node *)> map) const;

  /// Structural equality; Int 1, Float 1.0 and Bool true are different.
  bool operator==(const Argument &other) const;
  bool operator!=(const Argument &other) const { return !(*this == other); }

private:
  static Argument aggregate(Kind kind, Elements elements);

  Kind kind = Kind::None;
  std::variant<std::monostate, bool, int64_t, double, std::string, Node *, std::shared_ptr<const Elements>,
               std::shared_ptr<const DictEntries>>
      value;
};

/// How an Argument prints: FX's graph text (`%x`, bare strings), Python's repr (nodes bare, strings quoted) or .qfx text.
enum class ArgumentStyle : uint8_t { Fx, Repr, Qfx };
void printArgument(llvm::raw_ostream &os, const Argument &argument, ArgumentStyle style);
std::string toString(const Argument &argument, ArgumentStyle style);

} // namespace qfx

#endif // IR_ARGUMENT_H
