// BackendConfig patterns: operators, tuples of operators, wildcards.
#ifndef BACKENDS_CONFIG_PATTERN_H
#define BACKENDS_CONFIG_PATTERN_H

#include "ir/Argument.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace qfx {

class Module;
class Node;
struct TargetInfo;

/// What a pattern, a qconfig key or a module field names: a row of the target table (by canonical spelling), or a user's own class or
/// function, kept as text.
struct OperatorName {
  const TargetInfo *row = nullptr; ///< canonical row, or null
  std::string text;                ///< canonical spelling

  /// Resolves aliases; a name that no row has becomes a user name.  A name without a dot is a method.
  static OperatorName resolve(llvm::StringRef name);
  static OperatorName of(const TargetInfo &row);
  /// The class of a module object (user classes by name).
  static OperatorName ofClass(const Module &module);

  bool isModuleClass() const; ///< last part starts with a capital (for user names too)
  bool isMethod() const;
  bool isFunction() const { return !isModuleClass() && !isMethod(); }
  bool operator==(const OperatorName &other) const { return text == other.text && isMethod() == other.isMethod(); }
  bool operator!=(const OperatorName &other) const { return !(*this == other); }
};

/// Internal form (backend_config.md 6.2): an operator, optionally with patterns for all its positional arguments; or the wildcard;
/// or a literal.
class Pattern {
public:
  enum class Kind : uint8_t { Operator, MatchAll, Literal };

  static Pattern op(OperatorName head, std::vector<Pattern> args = {});
  static Pattern matchAll();
  static Pattern literal(Argument value);
  /// (a), (a, b), (a, b, c) in forward order -> internal a, (b, a), (c, (b, a)).
  static Pattern fromSimple(llvm::ArrayRef<OperatorName> forward);

  Kind getKind() const { return kind; }
  const OperatorName &getHead() const { return head; }
  llvm::ArrayRef<Pattern> getArgs() const { return args; }
  const Argument &getLiteral() const { return value; }
  bool isSingle() const { return kind == Kind::Operator && args.empty(); }
  /// Operators, wildcards and literals in it: the sort key of 7.4.
  unsigned getLeafCount() const;
  /// The sub-pattern at an index path (section 3): index 0 of a tuple is its head as a bare operator; null if the path leaves the pattern.
  const Pattern *at(llvm::ArrayRef<unsigned> path) const;
  /// Where the default root stands (7.5): last element again and again.
  std::vector<unsigned> getDefaultRootPath() const;
  bool operator==(const Pattern &other) const;
  /// "(torch.nn.ReLU, (torch.nn.BatchNorm2d, torch.nn.Conv2d))", methods quoted inside tuples.
  std::string toString() const;

private:
  Kind kind = Kind::Operator;
  OperatorName head;
  std::vector<Pattern> args;
  Argument value;
  std::shared_ptr<const Pattern> headOnly; ///< what at({0}) of a tuple returns
};

using PatternPath = std::vector<unsigned>;

} // namespace qfx

#endif // BACKENDS_CONFIG_PATTERN_H
