// The observer table and the questions asked of any observer module.
#include "backends/observe/Observer.h"

#include "backends/observe/ObserverRowsDetail.h"
#include "backends/observe/ObserverSettings.h"
#include "ir/Module.h"
#include "ir/Ops.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx {

static const llvm::DenseMap<const TargetInfo *, ObserverInfo> &getRows() {
  static const auto *rows = [] {
    auto *all = new llvm::DenseMap<const TargetInfo *, ObserverInfo>();
    auto add = [&](llvm::StringRef className, auto construct, auto observe, auto calculate, auto hasObserved) {
      const TargetInfo &row = requireModuleClass(className);
      all->try_emplace(&row, ObserverInfo{&row, construct, observe, calculate, hasObserved});
    };
#define QFX_OBSERVER(className, construct, observe, calculate, hasObserved)                                            \
  add(className, construct, observe, calculate, hasObserved);
#include "backends/observe/Observers.def"
    return all;
  }();
  return *rows;
}

int64_t ObservedTensor::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

const ObserverInfo *findObserver(const TargetInfo &moduleClass) {
  auto found = getRows().find(&moduleClass);
  return found == getRows().end() ? nullptr : &found->second;
}

const ObserverInfo *findObserver(const Module &module) {
  return module.getClass() ? findObserver(*module.getClass()) : nullptr;
}

bool isObserver(const Module &module) { return findObserver(module) != nullptr; }

static const ObserverInfo &requireObserver(const Module &module) {
  const ObserverInfo *info = findObserver(module);
  assert(info && "not an observer");
  return *info;
}

llvm::Error observe(Module &observer, const ObservedTensor &input) {
  return requireObserver(observer).observe(observer, input);
}
llvm::Expected<QParams> calculateQParams(const Module &observer) {
  return requireObserver(observer).calculateQParams(observer);
}
bool hasObserved(const Module &observer) { return requireObserver(observer).hasObserved(observer); }

/// The observer that holds the attributes: the one inside a fake-quantizer.
static const Module &getInner(const Module &observer) {
  ModuleRef inner = observer.findChild("activation_post_process");
  return inner ? *inner : observer; // the parent keeps the child alive
}

DType getObserverDType(const Module &observer) {
  const Module &inner = getInner(observer);
  const Argument *dtype = inner.findAttribute("dtype");
  return dtype && dtype->isDType() ? dtype->getDType() : DType::QUInt8; // ReuseInputObserver has no keyword: quint8
}

bool isObserverDynamic(const Module &observer) { return readObserverSettings(getInner(observer)).isDynamic; }

} // namespace qfx
