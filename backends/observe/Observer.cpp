// The observer table and the questions asked of any observer module.
#include "backends/observe/Observer.h"

#include "backends/observe/EqualizationObserver.h"
#include "backends/observe/LooksAtValues.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "backends/observe/ObserverSettings.h"
#include "ir/Module.h"
#include "ir/Ops.h"

#include "llvm/ADT/DenseMap.h"

#include <cmath>

namespace qfx {

namespace {
struct ObserverTable {
  std::vector<ObserverInfo> rows;
  llvm::DenseMap<const TargetInfo *, size_t> byClass;

  ObserverTable() {
    auto add = [&](llvm::StringRef className, auto construct, auto observe, auto calculate, auto hasObserved, auto merge,
                   llvm::StringRef summary, llvm::StringRef mergeSummary) {
      const TargetInfo &row = requireModuleClass(className);
      byClass.try_emplace(&row, rows.size());
      rows.push_back({&row, construct, observe, calculate, hasObserved, merge, summary, mergeSummary});
    };
#define QFX_OBSERVER(className, construct, observe, calculate, hasObserved, merge, summary, mergeSummary)              \
  add(className, construct, observe, calculate, hasObserved, merge, summary, mergeSummary);
#include "backends/observe/Observers.def"
  }
};
} // namespace

static const ObserverTable &getTable() {
  static const auto *table = new ObserverTable();
  return *table;
}

llvm::ArrayRef<ObserverInfo> getAllObservers() { return getTable().rows; }

int64_t ObservedTensor::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

void ObservedTensor::visit(llvm::function_ref<void(int64_t, llvm::ArrayRef<float>)> look) const {
  if (!tensor)
    return look(0, llvm::ArrayRef<float>(data, static_cast<size_t>(getNumElements())));
  tensor->visitBytes(0, tensor->getSizeBytes(), [&](size_t offset, std::span<const std::byte> bytes) {
    look(static_cast<int64_t>(offset / sizeof(float)), {reinterpret_cast<const float *>(bytes.data()), bytes.size() / sizeof(float)});
  });
}

const kernels::MinMax &ObservedTensor::getRange() const {
  if (!range) {
    range.emplace();
    visit([&](int64_t, llvm::ArrayRef<float> values) {
      range->merge(kernels::selectHistogram().minMax(values.data(), static_cast<int64_t>(values.size())));
    });
  }
  return *range;
}

/// The observer that holds the attributes: the one inside a fake-quantizer.
static const Module &getInner(const Module &observer) {
  ModuleRef inner = observer.findChild(kInnerObserver);
  return inner ? *inner : observer; // the parent keeps the child alive
}

NonFiniteCounts getNonFiniteCounts(const Module &observer) {
  ModuleRef counts = getInner(observer).findChild(kNonFinite);
  if (!counts)
    return {};
  auto read = [&](llvm::StringRef name) { return counts->getTensor(name).getData<int64_t>().front(); };
  return {read("infinite"), read("nan")};
}

void countNonFinite(Module &observer, const ObservedTensor &tensor) {
  if (!tensor.range || tensor.getNumElements() == 0 || (std::isfinite(tensor.range->min) && std::isfinite(tensor.range->max)))
    return;
  NonFiniteCounts counts = getNonFiniteCounts(observer);
  for (float value : llvm::ArrayRef<float>(tensor.getData(), static_cast<size_t>(tensor.getNumElements()))) {
    counts.numInfinite += std::isinf(value);
    counts.numNaN += std::isnan(value);
  }
  auto kept = std::make_shared<Module>();
  kept->setBuffer("infinite", Tensor::of<int64_t>(DType::Int64, {}, counts.numInfinite));
  kept->setBuffer("nan", Tensor::of<int64_t>(DType::Int64, {}, counts.numNaN));
  observer.setChild(kNonFinite, std::move(kept));
}

const ObserverInfo *findObserver(const TargetInfo &moduleClass) {
  const ObserverTable &table = getTable();
  auto found = table.byClass.find(&moduleClass);
  return found == table.byClass.end() ? nullptr : &table.rows[found->second];
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
  llvm::Error err = requireObserver(observer).observe(observer, input);
  if (!observer.findChild(kInnerObserver)) // those inside fake-quantizers count for themselves
    countNonFinite(observer, input);
  return err;
}
llvm::Expected<QParams> calculateQParams(const Module &observer) {
  return requireObserver(observer).calculateQParams(observer);
}
bool hasObserved(const Module &observer) { return requireObserver(observer).hasObserved(observer); }
bool looksAtValues(const Module &observer) { return requireObserver(observer).observe != &observeNothing; }

DType getObserverDType(const Module &observer) {
  const Module &inner = getInner(observer);
  if (inner.findAttribute("target_dtype"))
    return readObserverSettings(inner).dtype;
  const Argument *dtype = inner.findAttribute("dtype");
  return dtype && dtype->isDType() ? dtype->getDType() : DType::QUInt8; // ReuseInputObserver has no keyword: quint8
}

bool isObserverDynamic(const Module &observer) { return readObserverSettings(getInner(observer)).isDynamic; }

} // namespace qfx
