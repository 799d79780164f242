// Products of float rows with int8 weights: the rows are quantized by their own range on every run.
#ifndef BACKENDS_NATIVE_DYNAMICPRODUCT_H
#define BACKENDS_NATIVE_DYNAMICPRODUCT_H

#include "backends/native/PackedLinear.h"
#include "backends/native/QuantizedWeights.h"
#include "backends/observe/ChooseQuantizationParams.h"
#include "backends/runtime/Product.h"
#include "kernels/gemm/Gemm.h"
#include "kernels/histogram/Histogram.h"
#include "kernels/quantize/Quantize.h"
#include "kernels/requant/RowDequant.h"

namespace qfx::runtime {

/// Does the model ask for a scale and zero point per row of a dynamic product (its meta `dynamic`, operators 11.1)?
bool hasRowParameters(const GraphModule &model);

/// linear_dynamic (operators 11.1): one scale and zero point, chosen from the range of all rows of a call; or, by the model's option, one
/// pair per row, so that a row's result does not depend on the others.
class DynamicProduct final : public Product {
public:
  /// Packs a qint8 weight [N, K] (per tensor or per channel) with bias f32 [N] (null tensor: none) once per called
  /// module and `tag`.  \param reduceRange  7-bit activations; qnnpack's engine ignores it.
  static llvm::Expected<std::shared_ptr<DynamicProduct>>
  make(BindContext &context, llvm::StringRef tag, const Tensor &weight, const Tensor &bias, bool reduceRange);

  struct Options {
    ChooseOptions choose;
    bool perRow = false;
    bool fusesBias = true; ///< product and bias rounded once, as FBGEMM does; not so with qnnpack
    int threads = 1; ///< of the program
  };
  /// \param tables  getRequantBytes(N) bytes.
  DynamicProduct(QuantizedWeights weights, std::shared_ptr<PackedLinear> packed, std::shared_ptr<std::byte> tables,
                 const Options &options);

  int64_t getSharedBytes(int64_t rows) const override;
  int64_t getScratchBytes(int64_t rows, int threads) const override;
  void multiply(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared) const override {
    multiplyRelu(run, src, rows, dst, shared, /*relu=*/false);
  }
  /// The same, with max(y, 0) at the end if `relu`.  Values that are not finite are an error; with parameters per row they make their
  /// row NaN.
  void multiplyRelu(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared, bool relu) const;
  /// The same with parameters that do not come from the values.
  void multiplyBy(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared, bool relu,
                  const kernels::QParams &params) const;

private:
  struct RowParams {
    float scale;
    int32_t zeroPoint;
  };
  void multiplyTogether(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared, bool relu) const;
  void multiplyByRow(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared, bool relu) const;
  RowParams quantizeRow(const float *src, uint8_t *codes) const;
  kernels::RequantSpec makeSpec(const kernels::QParams &params, bool relu) const;
  kernels::GemmPlan plan(int64_t rows) const;          ///< for as many threads as find work
  int64_t getGrain(const kernels::GemmPlan &plan) const; ///< units worth a thread of their own

  QuantizedWeights weights;
  std::shared_ptr<PackedLinear> packed;
  std::shared_ptr<std::byte> tables;
  kernels::RequantParams units; ///< in `tables`: of codes with scale 1 and zero point 0
  Options options;
  const kernels::HistogramKernels &ranges = kernels::selectHistogram();
  const kernels::QuantizeKernels &quantize = kernels::selectQuantize();
  const kernels::RowDequantKernels &rowDequant = kernels::selectRowDequant();
};

} // namespace qfx::runtime

#endif // BACKENDS_NATIVE_DYNAMICPRODUCT_H
