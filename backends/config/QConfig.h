// QConfig: which observer (or fake-quantizer) watches activations and weights.
#ifndef BACKENDS_CONFIG_QCONFIG_H
#define BACKENDS_CONFIG_QCONFIG_H

#include "ir/Argument.h"
#include "ir/DType.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace qfx {

struct TargetInfo;
class Module;
using ModuleRef = std::shared_ptr<Module>;

/// An observer constructor (numerics 3.1): a class plus the keywords that were given.  Keywords decide equality; everything else is the
/// class's default.
struct ObserverSpec {
  const TargetInfo *observerClass = nullptr; ///< row of ir/ops/observer.def: HistogramObserver, FakeQuantize, ...
  bool isPartial = false;                    ///< made by with_args; a bare class and with_args() differ in qconfig_equals
  std::vector<std::pair<std::string, Argument>> keywords;
  std::shared_ptr<const ObserverSpec> observer; ///< the nested `observer` keyword of fake-quantizers

  // The attributes an instance would have, without building it.
  DType getDType() const;
  QScheme getQScheme() const;
  bool isDynamic() const;
  std::optional<int64_t> getQuantMin() const; ///< after reduce_range; none for classes without a range
  std::optional<int64_t> getQuantMax() const;
  std::optional<double> getEps() const; ///< none for classes without eps
  /// scale and zero point of a FixedQParamsObserver or FixedQParamsFakeQuantize
  std::optional<std::pair<double, int64_t>> getFixedQParams() const;
  bool isFixedQParams() const { return getFixedQParams().has_value(); }
  bool isReuseInput() const;
  bool isPlaceholder() const;
  bool isNoop() const;
  bool isFakeQuantize() const;

  /// A fresh module of the class with its initial buffers.  Errors are the constructor's (bad range, scheme, dtype).
  llvm::Expected<ModuleRef> build() const;

  Argument toArgument() const;
  static llvm::Expected<ObserverSpec> fromArgument(const Argument &argument);
};

struct QConfig {
  std::optional<ObserverSpec> activation, weight;

  Argument toArgument() const; ///< a dict, for `meta` lines
  static llvm::Expected<QConfig> fromArgument(const Argument &argument);
  /// `QConfig(activation=..., weight=...)` as PyTorch prints it.
  std::string toString() const;
  /// The name in numerics 5.2 of an equal qconfig, or empty.
  std::string getAliasName() const;
};

/// numerics 5.6.
bool qconfigEquals(const std::optional<QConfig> &a, const std::optional<QConfig> &b);
bool observerSpecEquals(const std::optional<ObserverSpec> &a, const std::optional<ObserverSpec> &b);

/// Tables of numerics 3.11, 4.7, 5.2; none if there is no such alias.
std::optional<ObserverSpec> findObserverAlias(llvm::StringRef name);
std::optional<QConfig> findQConfigAlias(llvm::StringRef name);
std::vector<std::string> getObserverAliasNames();
std::vector<std::string> getQConfigAliasNames();

/// Is there a default qconfig (and so a default mapping) of that name: x86, fbgemm, qnnpack, onednn?
bool hasDefaultQConfig(llvm::StringRef backend);
/// numerics 5.3, 5.4; an unknown backend or version is an error.
llvm::Expected<QConfig> getDefaultQConfig(llvm::StringRef backend = "x86", int version = 0);
llvm::Expected<QConfig> getDefaultQatQConfig(llvm::StringRef backend = "x86", int version = 1);

} // namespace qfx

#endif // BACKENDS_CONFIG_QCONFIG_H
