// The default mappings as the rows of ModuleMappings.def.
#include "passes/eager/ModuleMappings.h"

#include "backends/config/QConfig.h"
#include "ir/Diagnostics.h"
#include "ir/Module.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace qfx {

static constexpr llvm::StringLiteral kSequential = "torch.nn.Sequential";

std::string getCanonicalClassName(llvm::StringRef name) {
  const TargetInfo *row = findModuleClass(name);
  return row ? row->text.str() : name.str();
}

bool isListed(llvm::ArrayRef<std::string> classes, const Module &module) {
  return llvm::is_contained(classes, getCanonicalClassName(module.getClassName()));
}

ModuleMapping::ModuleMapping(const Entries &entries) {
  for (const auto &[from, to] : entries)
    set(from, to);
}

const std::string *ModuleMapping::find(llvm::StringRef from) const {
  std::string key = getCanonicalClassName(from);
  for (const auto &entry : entries)
    if (entry.first == key)
      return &entry.second;
  return nullptr;
}

const std::string *ModuleMapping::find(const Module &module) const { return find(module.getClassName()); }

ModuleMapping &ModuleMapping::set(llvm::StringRef from, llvm::StringRef to) {
  std::string key = getCanonicalClassName(from), value = getCanonicalClassName(to);
  for (auto &entry : entries)
    if (entry.first == key) {
      entry.second = std::move(value);
      return *this;
    }
  entries.emplace_back(std::move(key), std::move(value));
  return *this;
}

ModuleMapping ModuleMapping::combinedWith(const ModuleMapping &extra) const {
  ModuleMapping combined = *this;
  for (const auto &[from, to] : extra.entries)
    combined.set(from, to);
  return combined;
}

namespace {
enum class List : uint8_t {
  Static, Reference, Qat, Dynamic, EmbeddingStatic, EmbeddingQat, SparseStatic, SparseDynamic, FloatToObserved, ObservedToQuantized
};

struct MappingRow {
  List list;
  llvm::StringLiteral from, to;
};
} // namespace

static constexpr MappingRow kRows[] = {
#define QFX_MODULE_MAPPING(list, from, to) {List::list, from, to},
#include "passes/eager/ModuleMappings.def"
};

static ModuleMapping collect(std::initializer_list<List> lists) {
  ModuleMapping mapping;
  for (List list : lists)
    for (const MappingRow &row : kRows)
      if (row.list == list)
        mapping.set(row.from, row.to);
  return mapping;
}

ModuleMapping getDefaultStaticQuantModuleMappings() { return collect({List::Static}); }
ModuleMapping getDefaultStaticQuantReferenceModuleMappings() { return collect({List::Reference}); }
ModuleMapping getEmbeddingStaticQuantModuleMappings() { return collect({List::Static, List::EmbeddingStatic}); }
ModuleMapping getDefaultStaticSparseQuantModuleMappings() { return collect({List::SparseStatic}); }
ModuleMapping getDefaultDynamicQuantModuleMappings() { return collect({List::Dynamic}); }
ModuleMapping getDefaultDynamicSparseQuantModuleMappings() { return collect({List::SparseDynamic}); }
ModuleMapping getDefaultQatModuleMappings() { return collect({List::Qat}); }
ModuleMapping getEmbeddingQatModuleMappings() { return collect({List::Qat, List::EmbeddingQat}); }
ModuleMapping getDefaultFloatToObservedMapping() { return collect({List::FloatToObserved}); }
ModuleMapping getDefaultObservedToQuantizedMapping() { return collect({List::ObservedToQuantized}); }

static void addDistinct(ModuleClassList &classes, llvm::StringRef name) {
  if (!llvm::is_contained(classes, name))
    classes.push_back(name.str());
}

ModuleClassList getDefaultQConfigPropagationList() {
  ModuleClassList classes;
  for (List list : {List::Static, List::Qat, List::Dynamic}) {
    ModuleMapping mapping = collect({list});
    for (const auto &entry : mapping.getEntries())
      addDistinct(classes, entry.first);
  }
  addDistinct(classes, kSequential);
  return classes;
}

ModuleClassList getDefaultCompareOutputModuleList() {
  ModuleClassList classes;
  for (List list : {List::Static, List::Qat, List::Dynamic}) {
    ModuleMapping mapping = collect({list});
    for (const auto &entry : mapping.getEntries()) {
      addDistinct(classes, entry.second);
      addDistinct(classes, entry.first);
    }
  }
  addDistinct(classes, kSequential);
  return classes;
}

static llvm::Expected<std::string> findTwin(const ModuleMapping &mapping, llvm::StringRef floatClass) {
  if (const std::string *found = mapping.find(floatClass))
    return *found;
  std::vector<std::string> known;
  for (const auto &entry : mapping.getEntries())
    known.push_back(entry.first);
  return error({}, "the module class '{0}' has no quantized module class{1}", floatClass, didYouMean(floatClass, known))
      .code("mapping_class");
}

llvm::Expected<std::string> getStaticQuantModuleClass(llvm::StringRef floatClass, const ModuleMapping &extra, bool isReference) {
  return findTwin(collect({isReference ? List::Reference : List::Static}).combinedWith(extra), floatClass);
}

llvm::Expected<std::string> getDynamicQuantModuleClass(llvm::StringRef floatClass, const ModuleMapping &extra) {
  return findTwin(collect({List::Dynamic}).combinedWith(extra), floatClass);
}

std::vector<std::pair<const TargetInfo *, const TargetInfo *>> getDefaultFloatToQuantizedOperatorMappings() {
  return {
#define QFX_OPERATOR_MAPPING(from, to) {&requireFunction(from), &requireFunction(to)},
#include "passes/eager/ModuleMappings.def"
  };
}

llvm::Expected<const TargetInfo *> getQuantizedOperator(llvm::StringRef floatFunction) {
  const TargetInfo *row = findFunction(floatFunction);
  std::vector<std::string> known;
  for (const auto &[from, to] : getDefaultFloatToQuantizedOperatorMappings()) {
    if (row && &row->getCanonical() == from)
      return to;
    known.push_back(from->text.str());
  }
  return error({}, "the function '{0}' has no quantized operator{1}", floatFunction, didYouMean(floatFunction, known))
      .code("mapping_operator");
}

ModuleClassList getNoObserverSet() {
  ModuleClassList classes;
  ModuleMapping mapping = getDefaultFloatToObservedMapping();
  for (const auto &entry : mapping.getEntries())
    classes.push_back(entry.second);
  return classes;
}

const ObserverSpec *findSpecialObserver(const Module &module) {
  static const auto *specs = [] {
    auto *all = new std::map<std::string, ObserverSpec>();
#define QFX_SPECIAL_OBSERVER(className, alias) all->emplace(className, *findObserverAlias(alias));
#include "passes/eager/ModuleMappings.def"
    return all;
  }();
  auto found = specs->find(getCanonicalClassName(module.getClassName()));
  return found == specs->end() ? nullptr : &found->second;
}

} // namespace qfx
