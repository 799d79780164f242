// Observers at work: update an observer module's buffers, read quantization parameters off them.
#ifndef BACKENDS_OBSERVE_OBSERVER_H
#define BACKENDS_OBSERVE_OBSERVER_H

#include "ir/DType.h"
#include "ir/Tensor.h"
#include "kernels/histogram/Histogram.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace qfx {

class Module;
struct TargetInfo;

/// What calculate_qparams yields (numerics 2.4): float32 scales and int64 zero points (float ones for float-qparams).
struct QParams {
  DType dtype = DType::QUInt8;
  QScheme scheme = QScheme::PerTensorAffine; ///< symmetric schemes reported as the observer has them
  int64_t axis = 0;                          ///< per channel only
  std::vector<float> scales;
  std::vector<int64_t> zeroPoints;
  std::vector<float> floatZeroPoints;
  std::optional<int64_t> quantMin, quantMax; ///< the observer's effective range, where it has one
};

/// A dense float32 activation or weight as observers see it, with the product of `sizes` elements in the storage order `strides`
/// (elements), which matters only to per-channel observers.  A view: what it was made of lives longer.
class ObservedTensor {
public:
  ObservedTensor(const float *data, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides)
      : sizes(sizes), strides(strides), data(data) {}
  /// \param tensor  float32 and dense.
  explicit ObservedTensor(const Tensor &tensor) : sizes(tensor.getSizes()), strides(tensor.getStrides()), tensor(&tensor) {}

  llvm::ArrayRef<int64_t> sizes, strides;
  /// Smallest and largest value, filled by whoever reads the data first.
  mutable std::optional<kernels::MinMax> range;

  int64_t getNumElements() const;
  const float *getData() const { return tensor ? tensor->getData<float>().data() : data; }
  /// All elements in ascending pieces, for observers that need no more at a time; see Tensor::computed.
  void visit(llvm::function_ref<void(int64_t first, llvm::ArrayRef<float> values)> look) const;
  const kernels::MinMax &getRange() const;

private:
  const float *data = nullptr;
  const Tensor *tensor = nullptr; ///< instead of `data`
};

/// Values that no quantization parameters can follow.
struct NonFiniteCounts {
  int64_t numInfinite = 0, numNaN = 0;
  bool any() const { return numInfinite || numNaN; }
};

/// One row of Observers.def: what a class does.
struct ObserverInfo {
  const TargetInfo *observerClass;
  /// PyTorch's __init__: checks the module's attributes and sets its initial buffers.  A fake-quantizer's child
  /// `activation_post_process` must be there already.
  llvm::Error (*construct)(Module &observer);
  /// Updates the module's buffers with one batch.  Non-finite data that PyTorch refuses is an error; the state then stays as before.
  llvm::Error (*observe)(Module &observer, const ObservedTensor &input);
  /// numerics 2.4 / 3.x; an error for classes without qparams (placeholder, recording, noop).
  llvm::Expected<QParams> (*calculateQParams)(const Module &observer);
  /// Has it seen data (true for classes that need none: fixed, placeholder)?
  bool (*hasObserved)(const Module &observer);
  /// Takes in what `other`, an observer of the same class and arguments, has seen; see mergeObserver.
  llvm::Error (*merge)(Module &observer, const Module &other);
  /// For docs/Observers.md: what it keeps, what a merge gives.
  llvm::StringRef summary, mergeSummary;
};

/// The rows of Observers.def in its order.
llvm::ArrayRef<ObserverInfo> getAllObservers();

/// Null if the class is no observer.  Fake-quantizers are found too (observe = run their inner observer and update scale/zero_point).
const ObserverInfo *findObserver(const Module &module);
const ObserverInfo *findObserver(const TargetInfo &moduleClass);
bool isObserver(const Module &module);

/// Runs the row's function.  Infinities and NaN in the data are counted, whether the observer takes them or not.
llvm::Error observe(Module &observer, const ObservedTensor &input);
llvm::Expected<QParams> calculateQParams(const Module &observer);
bool hasObserved(const Module &observer);

/// All that this observer has met so far, kept with the model (child `non_finite`, which only observers have that met some).
NonFiniteCounts getNonFiniteCounts(const Module &observer);

/// The state after `observer` and `other` have each seen a part of the data: exact for minimum and maximum, percentile, entropy and MSE
/// (the state that all of the data gives in any order); histograms are moved to the common range and added; recordings are appended.
/// Nothing changes where `other` has seen nothing; where only `other` has, its state is taken.
/// Errors: other class or arguments (`merge_class`), moving averages that both saw data, whose result would depend on the order
/// (`merge_order`), channel counts that differ (`merge_shape`).
llvm::Error mergeObserver(Module &observer, const Module &other);

/// What a RecordingObserver has seen, in order.
std::vector<Tensor> getRecordedTensors(const Module &observer);

/// Back to the state before the first batch: classes with min_val and max_val but the histogram's (numerics 3.3, 3.7); else an error.
llvm::Error resetMinMaxVals(Module &observer);

// Attributes every pass asks of an observer module (see ObserverSpec for the same before building).
DType getObserverDType(const Module &observer);
bool isObserverDynamic(const Module &observer);

/// numerics 1.4 / 1.5: the weight tensor quantized with `qparams` (qint8, ...), codes clamped to the observer's range (operators 3.9).  Large
/// tensors compute their codes when they are read (Tensor::computed).
llvm::Expected<Tensor> quantizeTensor(const Tensor &input, const QParams &qparams);
Tensor dequantizeTensor(const Tensor &input);

} // namespace qfx

#endif // BACKENDS_OBSERVE_OBSERVER_H
