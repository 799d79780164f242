// Building observer constructors by name; private to config/.
#ifndef BACKENDS_CONFIG_OBSERVERSPECDETAIL_H
#define BACKENDS_CONFIG_OBSERVERSPECDETAIL_H

#include "backends/config/QConfig.h"

namespace qfx {

using Keyword = std::pair<std::string, Argument>;

/// The row of an observer class by its own name ("MinMaxObserver") or its full one; torch.nn.Identity counts.  Null if there is none.
const TargetInfo *findObserverClass(llvm::StringRef name);
std::vector<std::string> getObserverClassNames();

/// Shorthands of the alias rows: a keyword; an alias or a bare class; a class with arguments; a fake-quantizer with its observer.
/// Names must exist (asserted).
inline Keyword makeKeyword(llvm::StringRef name, Argument value) { return {name.str(), std::move(value)}; }
ObserverSpec makeNamedSpec(llvm::StringRef aliasOrClass);
ObserverSpec makeSpec(llvm::StringRef className, std::vector<Keyword> keywords);
ObserverSpec makeFakeQuantizeSpec(llvm::StringRef className, llvm::StringRef observer, std::vector<Keyword> keywords);

/// Does a keyword exist for this class (fake-quantizers pass theirs on to the observer) and have the right kind of value?
/// The error has no place; `name` may be "observer" only for fake-quantizers, which callers handle themselves.
llvm::Error checkKeyword(const ObserverSpec &spec, llvm::StringRef name, const Argument &value);

/// A keyword's text in files as a value: torch.quint8 for "quint8", torch.per_tensor_affine for "per_tensor_affine"; the text itself where the class
/// takes text (`target_dtype` of the affine family, which names dtypes that tensors do not have).
std::optional<Argument> parseKeywordText(const ObserverSpec &spec, llvm::StringRef name, llvm::StringRef text);

/// The alias equal to this constructor, or empty.
std::string findAliasNameOf(const ObserverSpec &spec);

} // namespace qfx

#endif // BACKENDS_CONFIG_OBSERVERSPECDETAIL_H
