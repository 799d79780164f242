// Products of float rows with int8 weights: the rows are quantized by their own range on every run.
#ifndef BACKENDS_NATIVE_DYNAMICPRODUCT_H
#define BACKENDS_NATIVE_DYNAMICPRODUCT_H

#include "backends/native/QuantizedWeights.h"
#include "backends/observe/ChooseQuantizationParams.h"
#include "backends/runtime/Product.h"
#include "kernels/gemm/Gemm.h"
#include "kernels/histogram/Histogram.h"
#include "kernels/quantize/Quantize.h"

namespace qfx::runtime {

/// linear_dynamic (operators 11.1): one scale and zero point, chosen from the range of all rows of a call.
class DynamicProduct final : public Product {
public:
  /// Packs a qint8 weight [N, K] (per tensor or per channel) with bias f32 [N] (null tensor: none) once per called
  /// module and `tag`.  \param reduceRange  7-bit activations; qnnpack's engine ignores it.
  static llvm::Expected<std::shared_ptr<DynamicProduct>>
  make(BindContext &context, llvm::StringRef tag, const Tensor &weight, const Tensor &bias, bool reduceRange);

  DynamicProduct(QuantizedWeights weights, const kernels::PackedGemm &packed, std::shared_ptr<std::byte> memory,
                 ChooseOptions choose, int threads);

  int64_t getSharedBytes(int64_t rows) const override;
  int64_t getScratchBytes(int64_t rows, int threads) const override;
  void multiply(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared) const override;

private:
  QuantizedWeights weights;
  kernels::PackedGemm packed;
  std::shared_ptr<std::byte> memory; ///< of `packed`
  ChooseOptions choose;
  int threads; ///< of the program
  const kernels::HistogramKernels &ranges = kernels::selectHistogram();
  const kernels::QuantizeKernels &quantize = kernels::selectQuantize();
};

} // namespace qfx::runtime

#endif // BACKENDS_NATIVE_DYNAMICPRODUCT_H
