// A remark's key is its text without the node's name.
#include "tools/opt/RemarkFolder.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace qfx::tool {

static constexpr size_t kFew = 3;        ///< equal remarks that stand singly
static constexpr size_t kNamesShown = 5; ///< of the nodes that a note counts

/// `text` with every `'name'` as `'%'`.
static std::string withoutName(std::string text, const std::string &name) {
  std::string quoted = "'" + name + "'";
  for (size_t at = text.find(quoted); !name.empty() && at != std::string::npos; at = text.find(quoted, at + 3))
    text.replace(at, quoted.size(), "'%'");
  return text;
}

void RemarkFolder::add(const Remark &remark) {
  Diagnostic shown = remark.diagnostic;
  shown.severity = Severity::Remark;
  shown.message = "[" + remark.pass + "] " + shown.message;
  std::string key = withoutName(shown.message, remark.node) + "\n" + shown.code;
  for (const Diagnostic &note : shown.notes)
    key += "\n" + withoutName(note.message, remark.node);
  auto [it, isNew] = indexOfKey.try_emplace(key, groups.size());
  if (isNew)
    groups.emplace_back();
  Group &group = groups[it->second];
  group.names.push_back(remark.node);
  if (!folds || group.single.size() < kFew)
    group.single.push_back(std::move(shown));
}

void RemarkFolder::flush(llvm::function_ref<void(Diagnostic)> show) {
  for (Group &group : groups) {
    if (!folds || group.names.size() <= kFew) {
      for (Diagnostic &diagnostic : group.single)
        show(std::move(diagnostic));
      continue;
    }
    size_t numMore = group.names.size() - 1, numShown = std::min(numMore, kNamesShown);
    std::string names;
    for (size_t i = 1; i <= numShown; ++i)
      names += (i > 1 ? ", '" : "'") + group.names[i] + "'";
    Diagnostic note;
    note.severity = Severity::Note;
    note.message = llvm::formatv("the same of {0} more nodes: {1}{2}", numMore, names, numShown < numMore ? ", ... (--coverage lists all)" : "");
    group.single.front().notes.push_back(std::move(note));
    show(std::move(group.single.front()));
  }
  groups.clear();
  indexOfKey.clear();
}

} // namespace qfx::tool
