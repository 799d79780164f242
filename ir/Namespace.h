// FX's naming rules: unique, legal Python identifiers.
#ifndef IR_NAMESPACE_H
#define IR_NAMESPACE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace qfx {

/// Hands out node names as torch.fx does (workflow 1.2).  A name is never released.
class Namespace {
public:
  /// A fresh name made from `candidate`: illegal characters become '_', Python keywords and builtins and taken names get a
  /// number that counts on from the last one given to the same base.
  std::string createName(llvm::StringRef candidate);

  bool isUsed(llvm::StringRef name) const { return used.contains(name); }

private:
  llvm::StringSet<> used;
  llvm::StringMap<int64_t> lastNumber;
};

/// `myLinear` -> `my_linear`, `L1.0` -> `l1.0`: '_' between a lower-case and an upper-case letter, then lower case.
std::string toSnakeCase(llvm::StringRef text);

/// A Python keyword, builtin or a name FX reserves (`inf`, `torch`, ...), which a node may not carry.
bool isReservedName(llvm::StringRef name);

} // namespace qfx

#endif // IR_NAMESPACE_H
