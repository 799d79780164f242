// Lookup of complaint codes.
#include "backends/config/ConfigCodes.h"

namespace qfx {

static constexpr ConfigCode kCodes[] = {
#define QFX_CONFIG_CODE(about, code, isWarning, text) {ConfigTopic::about, llvm::StringLiteral(code), isWarning, llvm::StringLiteral(text)},
#include "backends/config/ConfigCodes.def"
};

llvm::ArrayRef<ConfigCode> getConfigCodes() { return kCodes; }

const ConfigCode *findConfigCode(llvm::StringRef code) {
  for (const ConfigCode &row : kCodes)
    if (row.code == code)
      return &row;
  return nullptr;
}

} // namespace qfx
