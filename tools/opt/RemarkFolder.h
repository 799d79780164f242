// The remarks of --remarks: those that say the same of many nodes become one.
#ifndef TOOLS_OPT_REMARKFOLDER_H
#define TOOLS_OPT_REMARKFOLDER_H

#include "passes/Pass.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace qfx::tool {

/// Keeps remarks until a pipeline is over.  Two are equal if they differ in nothing but the node that they speak of.
class RemarkFolder {
public:
  /// \param folds  false: every remark comes singly.
  explicit RemarkFolder(bool folds) : folds(folds) {}

  void add(const Remark &remark);
  /// Hands out what was kept, in order of the first of each kind, and forgets it.  Up to three equal ones come singly; of more, the first
  /// comes with a note that has their number and the first names.
  void flush(llvm::function_ref<void(Diagnostic)> show);

private:
  struct Group {
    std::vector<Diagnostic> single; ///< the first ones
    std::vector<std::string> names; ///< of all nodes
  };
  bool folds;
  llvm::StringMap<size_t> indexOfKey;
  std::vector<Group> groups;
};

} // namespace qfx::tool

#endif // TOOLS_OPT_REMARKFOLDER_H
