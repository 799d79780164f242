// Float products with packed weights.
#ifndef BACKENDS_REFERENCE_FLOATPRODUCT_H
#define BACKENDS_REFERENCE_FLOATPRODUCT_H

#include "backends/runtime/BindContext.h"
#include "backends/runtime/Product.h"
#include "kernels/sgemm/Sgemm.h"

namespace qfx::runtime {

class FloatProduct final : public Product {
public:
  /// Packs weight f32 [N, K] with bias f32 [N] (null tensor: none) once per called module and `tag`.  An error if dtype
  /// or size of either is another.
  static llvm::Expected<std::shared_ptr<FloatProduct>> make(BindContext &context, llvm::StringRef tag,
                                                            const Tensor &weight, const Tensor &bias);
  /// The same with the weight rounded to half precision and back: saturated to +-65504, half to even (operators 11.2).
  /// \param weight  f32 or f16.
  static llvm::Expected<std::shared_ptr<FloatProduct>> makeHalf(BindContext &context, llvm::StringRef tag,
                                                                const Tensor &weight, const Tensor &bias);

  FloatProduct(const kernels::SgemmKernel &kernel, int64_t inputs, int64_t outputs, std::shared_ptr<std::byte> panels,
               Tensor bias)
      : Product(inputs, outputs), kernel(kernel), panels(std::move(panels)), bias(std::move(bias)) {}

  int64_t getSharedBytes(int64_t) const override { return 0; }
  int64_t getScratchBytes(int64_t, int) const override { return 0; }
  void multiply(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *) const override {
    multiplyClamped(run, src, rows, dst, ClampRange());
  }
  /// The same, the results clamped; NaN passes through.
  void multiplyClamped(RunContext &run, const float *src, int64_t rows, float *dst, ClampRange clamp) const;

private:
  const kernels::SgemmKernel &kernel;
  std::shared_ptr<std::byte> panels;
  Tensor bias;
};

} // namespace qfx::runtime

#endif // BACKENDS_REFERENCE_FLOATPRODUCT_H
