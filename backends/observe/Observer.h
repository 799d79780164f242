// Observers at work: update an observer module's buffers, read quantization parameters off them.
#ifndef BACKENDS_OBSERVE_OBSERVER_H
#define BACKENDS_OBSERVE_OBSERVER_H

#include "ir/DType.h"
#include "ir/Tensor.h"

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

/// A dense float32 activation or weight as observers see it; `data` has the product of `sizes` elements, in the storage order
/// `strides` (elements), which matters only to per-channel observers.
struct ObservedTensor {
  const float *data;
  llvm::ArrayRef<int64_t> sizes;
  llvm::ArrayRef<int64_t> strides;
  int64_t getNumElements() const;
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
};

/// Null if the class is no observer.  Fake-quantizers are found too (observe = run their inner observer and update scale/zero_point).
const ObserverInfo *findObserver(const Module &module);
const ObserverInfo *findObserver(const TargetInfo &moduleClass);
bool isObserver(const Module &module);

llvm::Error observe(Module &observer, const ObservedTensor &input);
llvm::Expected<QParams> calculateQParams(const Module &observer);
bool hasObserved(const Module &observer);

// Attributes every pass asks of an observer module (see ObserverSpec for the same before building).
DType getObserverDType(const Module &observer);
bool isObserverDynamic(const Module &observer);

/// numerics 2.1, 2.4 as free functions for reuse and tests.
std::pair<int64_t, int64_t> calculateQMinQMax(DType dtype, bool reduceRange);

/// numerics 1.4 / 1.5: the weight tensor quantized with `qparams` (qint8, ...), codes clamped to the observer's range (operators 3.9).
llvm::Expected<Tensor> quantizeTensor(const Tensor &input, const QParams &qparams);
Tensor dequantizeTensor(const Tensor &input);

} // namespace qfx

#endif // BACKENDS_OBSERVE_OBSERVER_H
