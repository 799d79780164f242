// QConfigMapping: which QConfig applies where.
#ifndef BACKENDS_CONFIG_QCONFIGMAPPING_H
#define BACKENDS_CONFIG_QCONFIGMAPPING_H

#include "backends/config/Pattern.h"
#include "backends/config/QConfig.h"
#include "ir/Diagnostics.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace qfx {

using OptionalQConfig = std::optional<QConfig>; ///< none = do not quantize

/// workflow 2.1.  Re-setting a key keeps its position.
class QConfigMapping {
public:
  struct OrderKey {
    std::string modulePath;
    OperatorName type;
    unsigned index;
    std::string toString() const; ///< ('layer.0', 'torch.relu', 1)
    bool operator==(const OrderKey &other) const {
      return modulePath == other.modulePath && type == other.type && index == other.index;
    }
  };

  QConfigMapping &setGlobal(OptionalQConfig qconfig);
  QConfigMapping &setObjectType(OperatorName type, OptionalQConfig qconfig);
  QConfigMapping &setModuleNameRegex(std::string regex, OptionalQConfig qconfig);
  QConfigMapping &setModuleName(std::string path, OptionalQConfig qconfig);
  QConfigMapping &setModuleNameObjectTypeOrder(OrderKey key, OptionalQConfig qconfig);

  const OptionalQConfig &getGlobal() const { return global; }
  const std::vector<std::pair<OperatorName, OptionalQConfig>> &getObjectTypes() const { return objectTypes; }
  const std::vector<std::pair<std::string, OptionalQConfig>> &getModuleNameRegexes() const { return regexes; }
  const std::vector<std::pair<std::string, OptionalQConfig>> &getModuleNames() const { return names; }
  const std::vector<std::pair<OrderKey, OptionalQConfig>> &getModuleNameObjectTypeOrders() const { return orders; }
  /// Entry for a type, or null when there is none (an entry may hold "none").
  const OptionalQConfig *findObjectType(const OperatorName &type) const;

  /// Where a rule stands in the file it came from; nowhere for rules that code made.  `section` is the JSON key, `rule` the entry's text
  /// (for module_name_object_type_order: OrderKey::toString).
  QConfigMapping &setRuleLoc(llvm::StringRef section, llvm::StringRef rule, Location loc);
  Location getRuleLoc(llvm::StringRef section, llvm::StringRef rule) const;

  Argument toArgument() const;
  static llvm::Expected<QConfigMapping> fromArgument(const Argument &argument);
  std::string toString() const; ///< PyTorch's print

private:
  OptionalQConfig global;
  std::vector<std::pair<OperatorName, OptionalQConfig>> objectTypes;
  std::vector<std::pair<std::string, OptionalQConfig>> regexes, names;
  std::vector<std::pair<OrderKey, OptionalQConfig>> orders;
  std::map<std::pair<std::string, std::string>, Location> ruleLocs; ///< (section, rule)
};

/// workflow 2.2 / numerics 5.5.
llvm::Expected<QConfigMapping> getDefaultQConfigMapping(llvm::StringRef backend = "x86", int version = 0);
llvm::Expected<QConfigMapping> getDefaultQatQConfigMapping(llvm::StringRef backend = "x86", int version = 1);
QConfigMapping getSymmetricQnnpackQConfigMapping();
QConfigMapping getSymmetricQnnpackQatQConfigMapping();

/// Python's re.match: does `regex` match a prefix of `path`?  The pattern must be valid (files are checked when read); an invalid one
/// matches nothing.
bool matchesModuleNameRegex(llvm::StringRef regex, llvm::StringRef path);
/// What is wrong with a regex, or empty.  ECMAScript syntax, which Python's common forms share; at most 1000 characters.
std::string findRegexError(llvm::StringRef regex);

/// The JSON form (docs/QConfig.md); PyTorch's to_dict with names for classes and functions is one too.  All errors come together with line,
/// column and pointer; warnings go to `warnings` unless that is null.
llvm::Expected<QConfigMapping> parseQConfigMapping(std::shared_ptr<const SourceText> text, std::vector<Diagnostic> *warnings = nullptr);
llvm::Expected<QConfigMapping> loadQConfigMapping(llvm::StringRef path, std::vector<Diagnostic> *warnings = nullptr);
std::string writeQConfigMapping(const QConfigMapping &mapping);

} // namespace qfx

#endif // BACKENDS_CONFIG_QCONFIGMAPPING_H
