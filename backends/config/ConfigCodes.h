// The codes of complaints about configuration files.
#ifndef BACKENDS_CONFIG_CONFIGCODES_H
#define BACKENDS_CONFIG_CONFIGCODES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace qfx {

/// What a complaint is about: the first four in BackendConfig files, some of them and the next in QConfigMapping files,
/// the last in files of --custom-config.
enum class ConfigTopic : uint8_t { Document, Patterns, DTypes, Entries, Mapping, Custom };

/// One row of ConfigCodes.def.
struct ConfigCode {
  ConfigTopic topic;
  llvm::StringLiteral code;
  bool isWarning;           ///< warnings do not make loading fail
  llvm::StringLiteral text; ///< what is wrong, in Markdown
};

/// All rows, in table order.
llvm::ArrayRef<ConfigCode> getConfigCodes();
/// The row of a code, or null.
const ConfigCode *findConfigCode(llvm::StringRef code);

} // namespace qfx

#endif // BACKENDS_CONFIG_CONFIGCODES_H
