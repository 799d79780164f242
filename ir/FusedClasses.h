// The fused float module classes and what they hold.
#ifndef IR_FUSEDCLASSES_H
#define IR_FUSEDCLASSES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace qfx {

struct Location;
class Module;

struct FusedClass {
  llvm::StringRef name;
  std::vector<llvm::StringRef> children; ///< classes of the children "0", "1", ...
};

/// The rows of FusedClasses.def.
llvm::ArrayRef<FusedClass> getFusedClasses();

/// Rule `module_children`: a fused module's children are exactly those of its row; the first may have become a reference module, and there
/// may be observers.
llvm::Error checkFusedChildren(const Module &module, const Location &loc);

} // namespace qfx

#endif // IR_FUSEDCLASSES_H
