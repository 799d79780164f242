// A list of named values in the order of their first setting, with quick lookup however long it grows.
#ifndef IR_NAMEDLIST_H
#define IR_NAMEDLIST_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <initializer_list>
#include <list>
#include <string>
#include <utility>

namespace qfx {

/// Names are unique.  Short lists are searched; from kIndexed entries on a hash table finds them, so that building, reading and
/// emptying a list of n entries takes O(n).
template <class T> class NamedList {
public:
  using Entry = std::pair<std::string, T>;
  using const_iterator = typename std::list<Entry>::const_iterator;

  NamedList() = default;
  NamedList(std::initializer_list<Entry> entries) : entries(entries) { buildIndex(); }
  NamedList(const NamedList &other) : entries(other.entries) { buildIndex(); }
  NamedList(NamedList &&) = default;
  NamedList &operator=(NamedList other) {
    entries.swap(other.entries);
    std::swap(index, other.index);
    return *this;
  }

  const_iterator begin() const { return entries.begin(); }
  const_iterator end() const { return entries.end(); }
  size_t size() const { return entries.size(); }
  bool empty() const { return entries.empty(); }
  const Entry &front() const { return entries.front(); }

  const T *find(llvm::StringRef name) const {
    auto entry = const_cast<NamedList *>(this)->locate(name);
    return entry == entries.end() ? nullptr : &entry->second;
  }

  /// Adds at the end, or replaces in place.
  void set(llvm::StringRef name, T value) {
    if (auto entry = locate(name); entry != entries.end()) {
      entry->second = std::move(value);
      return;
    }
    entries.emplace_back(name.str(), std::move(value));
    if (!index.empty())
      index[name] = std::prev(entries.end());
    else
      buildIndex();
  }

  void remove(llvm::StringRef name) {
    auto entry = locate(name);
    if (entry == entries.end())
      return;
    index.erase(name); // before the entry: `name` may be its own
    entries.erase(entry);
  }

private:
  using iterator = typename std::list<Entry>::iterator;
  static constexpr size_t kIndexed = 24;

  iterator locate(llvm::StringRef name) {
    if (!index.empty()) {
      auto found = index.find(name);
      return found == index.end() ? entries.end() : found->second;
    }
    auto entry = entries.begin();
    while (entry != entries.end() && entry->first != name)
      ++entry;
    return entry;
  }

  void buildIndex() {
    if (entries.size() < kIndexed)
      return;
    for (auto entry = entries.begin(); entry != entries.end(); ++entry)
      index[entry->first] = entry;
  }

  std::list<Entry> entries;
  llvm::StringMap<iterator> index; ///< empty, or every entry
};

} // namespace qfx

#endif // IR_NAMEDLIST_H
