// Reads FusedClasses.def and checks modules against it.
#include "ir/FusedClasses.h"

#include "ir/Diagnostics.h"
#include "ir/Module.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace qfx {

llvm::ArrayRef<FusedClass> getFusedClasses() {
  static const std::vector<FusedClass> classes = {
#define QFX_FUSED_CLASS(name, ...) {name, {__VA_ARGS__}},
#include "ir/FusedClasses.def"
  };
  return classes;
}

/// A child of that class, or the reference module that convert made of one.
static bool standsFor(const Module &child, llvm::StringRef wanted) {
  return child.getClassName() == wanted ||
         (child.getClass() && child.getClass()->getOp().name == ("Reference" + requireModuleClass(wanted).getOp().name).str());
}

llvm::Error checkFusedChildren(const Module &module, const Location &loc) {
  if (!module.getClass() || module.getClass()->op != OpKind::Sequence)
    return llvm::Error::success();
  auto row = llvm::find_if(getFusedClasses(), [&](const FusedClass &one) { return one.name == module.getClassName(); });
  if (row == getFusedClasses().end())
    return llvm::Error::success();
  std::vector<std::string> found;
  bool fits = true;
  for (const auto &[name, child] : module.getChildren()) {
    if (child->getClass() && child->getClass()->getOp().has(Traits::Observes))
      continue;
    fits = fits && found.size() < row->children.size() && standsFor(*child, row->children[found.size()]);
    found.push_back(child->getClassName());
  }
  if (fits && found.size() == row->children.size())
    return llvm::Error::success();
  return error(loc, "'{0}' holds {1}, got {2}", row->name, llvm::join(row->children, ", "), found.empty() ? "nothing" : llvm::join(found, ", "))
      .code("module_children");
}

} // namespace qfx
