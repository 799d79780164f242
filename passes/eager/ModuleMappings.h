// torch.ao.quantization.quantization_mappings: which module class, or function, is the quantized twin of which.
#ifndef PASSES_EAGER_MODULEMAPPINGS_H
#define PASSES_EAGER_MODULEMAPPINGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace qfx {

class Module;
struct ObserverSpec;
struct TargetInfo;

/// An ordered map from class name to class name, in PyTorch's spelling.  Names of classes that the target table knows are canonical, so
/// `torch.nn.quantized.Linear` finds `torch.ao.nn.quantized.Linear`; others stay as they are.
class ModuleMapping {
public:
  using Entries = std::vector<std::pair<std::string, std::string>>;

  ModuleMapping() = default;
  explicit ModuleMapping(const Entries &entries);

  /// The class that stands for `from`, or null.
  const std::string *find(llvm::StringRef from) const;
  const std::string *find(const Module &module) const;
  /// Adds an entry; a known key keeps its place.
  ModuleMapping &set(llvm::StringRef from, llvm::StringRef to);
  /// get_combined_dict: a copy in which the entries of `extra` win.
  ModuleMapping combinedWith(const ModuleMapping &extra) const;
  const Entries &getEntries() const { return entries; }

private:
  Entries entries;
};

/// Distinct class names, in the order of their first appearance.
using ModuleClassList = std::vector<std::string>;

/// "torch.ao.nn.quantized.Linear" for each spelling of that class; unknown names as they are.
std::string getCanonicalClassName(llvm::StringRef name);
/// Is the class among `classes`?
bool isListed(llvm::ArrayRef<std::string> classes, const Module &module);

// The getters of quantization_mappings.  Each returns a copy that the caller may change (the dynamic ones upstream hand out the map itself).
ModuleMapping getDefaultStaticQuantModuleMappings();
ModuleMapping getDefaultStaticQuantReferenceModuleMappings();
/// The static one and the QAT embeddings.
ModuleMapping getEmbeddingStaticQuantModuleMappings();
ModuleMapping getDefaultStaticSparseQuantModuleMappings();
ModuleMapping getDefaultDynamicQuantModuleMappings();
ModuleMapping getDefaultDynamicSparseQuantModuleMappings();
ModuleMapping getDefaultQatModuleMappings();
/// The QAT one and the embeddings.
ModuleMapping getEmbeddingQatModuleMappings();

/// Classes that prepare watches where they are leaves: the keys of the static, QAT and dynamic mappings, and Sequential.
ModuleClassList getDefaultQConfigPropagationList();
/// Keys and values of the static, QAT and dynamic mappings, and Sequential.
ModuleClassList getDefaultCompareOutputModuleList();

/// The quantized twin of a float class: the default mapping (the reference one if `isReference`) overridden by `extra`.
/// Errors: a class without a twin (`mapping_class`), with the nearest class that has one.
llvm::Expected<std::string> getStaticQuantModuleClass(llvm::StringRef floatClass, const ModuleMapping &extra = {},
                                                      bool isReference = false);
llvm::Expected<std::string> getDynamicQuantModuleClass(llvm::StringRef floatClass, const ModuleMapping &extra = {});

/// Float function -> torch.ops.quantized function, by canonical spelling, in table order.
std::vector<std::pair<const TargetInfo *, const TargetInfo *>> getDefaultFloatToQuantizedOperatorMappings();
/// The quantized operator of a float function, under any of its spellings.  Errors: a function without one (`mapping_operator`).
llvm::Expected<const TargetInfo *> getQuantizedOperator(llvm::StringRef floatFunction);

/// Observed custom modules that get no observer of their own: quantizable.LSTM and quantizable.MultiheadAttention.
ModuleClassList getNoObserverSet();

/// The custom module mappings that prepare and convert use when none is given (workflow 7.4).
ModuleMapping getDefaultFloatToObservedMapping();
ModuleMapping getDefaultObservedToQuantizedMapping();

/// What watches the output of `module` in training instead of its qconfig's observer (Sigmoid, Tanh, ...), or null.
const ObserverSpec *findSpecialObserver(const Module &module);

} // namespace qfx

#endif // PASSES_EAGER_MODULEMAPPINGS_H
