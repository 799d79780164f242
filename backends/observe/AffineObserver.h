// Observers of torchao's affine family: statistics per block of a granularity.
#ifndef BACKENDS_OBSERVE_AFFINEOBSERVER_H
#define BACKENDS_OBSERVE_AFFINEOBSERVER_H

#include "backends/observe/AffineQuantize.h"
#include "ir/Module.h"

namespace qfx {

/// One of AffineQuantizedMinMaxObserver, AffineQuantizedMovingAverageMinMaxObserver, AffineQuantizedPlaceholderObserver,
/// AffineQuantizedFixedQParamObserver?  They are modules like other observers: `observe` updates the buffers `min_val`, `max_val` and
/// `block_size`, which are empty before, and `original_dtype`, which is not there before.
bool isAffineObserver(const Module &observer);

/// Its constructor arguments: mapping_type, target_dtype, quant_min, quant_max, eps, scale_dtype, zero_point_dtype, preserve_zero,
/// zero_point_domain.  Errors: names that mean nothing, at the module's place.
llvm::Expected<AffineOptions> getAffineOptions(const Module &observer);
llvm::Expected<Granularity> getGranularity(const Module &observer);

/// The block size that the data gave; empty before the first batch.
llvm::ArrayRef<int64_t> getObservedBlockSize(const Module &observer);

/// The dtype of the data, kept as that of the empty buffer `original_dtype`; none before the first batch.
std::optional<DType> getOriginalDType(const Module &observer);
/// For data that is not float32: called before `observe`, which takes values widened to float32.  \param dtype  isAffineValue
void setOriginalDType(Module &observer, DType dtype);

/// Scale and zero point per block, by arithmetic in the dtype of the data.  (calculateQParams gives them as QParams where the granularity is PerTensor or PerAxis and zero points are
/// codes.)  Errors: nothing seen, a placeholder, those of chooseQParamsAffine.
llvm::Expected<AffineQParams> calculateAffineQParams(const Module &observer);

} // namespace qfx

#endif // BACKENDS_OBSERVE_AFFINEOBSERVER_H
