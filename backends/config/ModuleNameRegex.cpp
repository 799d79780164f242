// Regular expressions over module paths: Python's re.match through std::regex.
#include "backends/config/QConfigMapping.h"

#include <memory>
#include <mutex>
#include <regex>
#include <unordered_map>

namespace qfx {

namespace {
struct CompiledRegex {
  std::optional<std::regex> regex;
  std::string error;
};
} // namespace

/// libstdc++'s matcher that goes through the text once: time and stack do not depend on how often a pattern could be tried again, or on the
/// length of a path.  It has no back-references.
#ifdef __GLIBCXX__
static constexpr auto kSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
static constexpr auto kSyntax = std::regex::ECMAScript;
#endif

/// Compiles each pattern once; passes ask for every node.
static std::shared_ptr<const CompiledRegex> compileRegex(llvm::StringRef text) {
  static std::mutex mutex;
  static auto *cache = new std::unordered_map<std::string, std::shared_ptr<const CompiledRegex>>();
  std::lock_guard lock(mutex);
  std::shared_ptr<const CompiledRegex> &slot = (*cache)[text.str()];
  if (slot)
    return slot;
  auto compiled = std::make_shared<CompiledRegex>();
  constexpr size_t kMaxLength = 1000; // std::regex recurses over the pattern
  if (text.size() > kMaxLength) {
    compiled->error = "longer than 1000 characters";
  } else {
    try {
      compiled->regex.emplace(text.begin(), text.end(), kSyntax);
    } catch (const std::regex_error &failure) {
      compiled->error = failure.what();
    }
  }
  return slot = compiled;
}

bool matchesModuleNameRegex(llvm::StringRef regex, llvm::StringRef path) {
  std::shared_ptr<const CompiledRegex> compiled = compileRegex(regex);
  if (!compiled->regex)
    return false;
  try {
    return std::regex_search(path.begin(), path.end(), *compiled->regex, std::regex_constants::match_continuous);
  } catch (const std::regex_error &) { // the pattern needs more steps than std::regex allows
    return false;
  }
}

std::string findRegexError(llvm::StringRef regex) { return compileRegex(regex)->error; }

} // namespace qfx
