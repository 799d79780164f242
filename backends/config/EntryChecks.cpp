// Warnings that need the whole list of entries (backend_config.md 5.4).
#include "backends/config/BackendReaderDetail.h"

namespace qfx {

/// The entries that `own` warns about must themselves be in `all`, at their place.
void checkAcrossEntries(const std::vector<ReadEntry> &own, const BackendConfig &all) {
  for (const ReadEntry &entry : own) {
    const BackendPatternConfig &config = entry.config;
    auto warnUnconfigured = [&](const std::optional<OperatorName> &module, llvm::StringRef key, llvm::StringRef code) {
      const JsonMember *member = entry.cursor.findMember(key);
      if (module && member && !all.findSingle(*module))
        entry.cursor.at(*member).warn(code, "no entry has '" + module->text + "' as its pattern");
    };
    warnUnconfigured(config.qatModule, "qat_module", "qat-module-unconfigured");
    // Only a fuser makes the fused class appear; without one, fused-module-unused says so.
    if (config.fuserMethod)
      warnUnconfigured(config.fusedModule, "fused_module", "fused-module-unconfigured");
    if (!config.rootModule || !config.referenceQuantizedModule)
      continue;
    for (const BackendPatternConfig &earlier : all.getConfigs()) {
      if (earlier.pattern == config.pattern)
        break;
      if (earlier.rootModule == config.rootModule && earlier.referenceQuantizedModule &&
          *earlier.referenceQuantizedModule != *config.referenceQuantizedModule) {
        const JsonMember *member = entry.cursor.findMember("reference_quantized_module");
        if (!member)
          member = entry.cursor.findMember("reference_quantized_module_for_root");
        entry.cursor.warnAtKey(*member, "root-reference-conflict",
                               "'" + config.rootModule->text + "' already has the reference module '" +
                                   earlier.referenceQuantizedModule->text + "'; the later one wins");
        break;
      }
    }
  }
}

} // namespace qfx
