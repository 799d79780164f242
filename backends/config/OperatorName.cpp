// Names of operators: spellings folded to their canonical row, or users' own classes and functions.
#include "backends/config/Pattern.h"
#include "ir/Module.h"
#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/StringExtras.h"

namespace qfx {

static llvm::StringRef getLastPart(llvm::StringRef name) { return name.substr(name.rfind('.') + 1); }

/// `operator.__add__` is the function object that `operator.add` is.
static std::string foldOperatorAlias(llvm::StringRef name) {
  llvm::StringRef base = name;
  if (base.consume_front("operator.__") && base.consume_back("__"))
    return ("operator." + base).str();
  return name.str();
}

OperatorName OperatorName::of(const TargetInfo &row) {
  const TargetInfo &canonical = row.getCanonical();
  return {&canonical, canonical.text.str()};
}

OperatorName OperatorName::resolve(llvm::StringRef name) {
  OperatorName user{nullptr, name.str()};
  if (user.isMethod()) {
    const TargetInfo *row = findMethod(name);
    return row ? of(*row) : user;
  }
  const TargetInfo *row = findModuleClass(name);
  if (!row)
    row = findFunction(name);
  if (!row)
    row = findFunction(foldOperatorAlias(name));
  return row ? of(*row) : user;
}

OperatorName OperatorName::ofClass(const Module &module) {
  if (const TargetInfo *row = module.getClass())
    return of(*row);
  return {nullptr, module.getClassName()};
}

bool OperatorName::isModuleClass() const {
  if (row)
    return row->kind == TargetKind::Module;
  llvm::StringRef last = getLastPart(text);
  return !isMethod() && !last.empty() && last.front() >= 'A' && last.front() <= 'Z';
}

bool OperatorName::isMethod() const { return row ? row->kind == TargetKind::Method : text.find('.') == std::string::npos; }

} // namespace qfx
