// Short forms for building and feeding observers in tests.
#ifndef TEST_UNIT_BACKENDS_OBSERVE_OBSERVERTESTUTILS_H
#define TEST_UNIT_BACKENDS_OBSERVE_OBSERVERTESTUTILS_H

#include "backends/config/QConfig.h"
#include "backends/observe/Observer.h"
#include "ir/Module.h"

#include <string>
#include <vector>

namespace qfx::test {

inline llvm::Expected<ModuleRef> tryBuild(const std::string &className, Argument::DictEntries keywords = {}) {
  keywords.insert(keywords.begin(), {"class", Argument(className)});
  llvm::Expected<ObserverSpec> spec = ObserverSpec::fromArgument(Argument::dict(keywords));
  if (!spec)
    return spec.takeError();
  return spec->build();
}

inline ModuleRef buildObserver(const std::string &className, Argument::DictEntries keywords = {}) {
  return llvm::cantFail(tryBuild(className, std::move(keywords)));
}

/// One batch of one dimension.
inline llvm::Error feed(Module &observer, const std::vector<float> &values) {
  const int64_t size = static_cast<int64_t>(values.size()), stride = 1;
  return observe(observer, {values.data(), size, stride});
}

inline bool isRefused(llvm::Error err) {
  if (!err)
    return false;
  llvm::consumeError(std::move(err));
  return true;
}

inline bool isBuildRefused(const std::string &className, Argument::DictEntries keywords = {}) {
  llvm::Expected<ModuleRef> module = tryBuild(className, std::move(keywords));
  return !module && isRefused(module.takeError());
}

} // namespace qfx::test

#endif // TEST_UNIT_BACKENDS_OBSERVE_OBSERVERTESTUTILS_H
