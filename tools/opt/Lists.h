// The lists of --list-*: what is printed, as text and as JSON.
#ifndef TOOLS_OPT_LISTS_H
#define TOOLS_OPT_LISTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <nlohmann/json_fwd.hpp>

namespace llvm {
class raw_ostream;
}

namespace qfx::tool {

struct ListInfo {
  llvm::StringRef flag;    ///< "list-passes"
  llvm::StringRef summary; ///< for --help
  void (*printText)(llvm::raw_ostream &os);
  /// Adds the list as `passes`, and what belongs to it under names of its own (`pipelines`, `observer_aliases`).
  void (*addJson)(nlohmann::ordered_json &document);
};
llvm::ArrayRef<ListInfo> getAllLists();

/// The lists one after another, or one JSON object with all of them.
void printLists(llvm::raw_ostream &os, llvm::ArrayRef<const ListInfo *> lists, bool asJson);

/// Observer and fake-quantizer classes with their arguments, and the named constructors.
void listObservers(llvm::raw_ostream &os);
void addObserversJson(nlohmann::ordered_json &document);
/// The tables of docs/Observers.md.
void printObserverDocs(llvm::raw_ostream &os);

} // namespace qfx::tool

#endif // TOOLS_OPT_LISTS_H
