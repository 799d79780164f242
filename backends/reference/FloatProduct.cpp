// Packing float weights, and sharing a product out among threads.
#include "backends/reference/FloatProduct.h"

#include <algorithm>
#include <cmath>

namespace qfx::runtime {

llvm::Expected<std::shared_ptr<FloatProduct>> FloatProduct::make(BindContext &context, llvm::StringRef tag,
                                                                 const Tensor &weight, const Tensor &bias) {
  if (weight.getDType() != DType::Float32 || weight.getRank() != 2)
    return context.fail("weight must be a float32 matrix, got {0}", toString(weight.getType()));
  int64_t outputs = weight.getSizes()[0], inputs = weight.getSizes()[1];
  if (bias && (bias.getDType() != DType::Float32 || bias.getNumElements() != outputs))
    return context.fail("bias must be {0} float32 numbers, got {1}", outputs, toString(bias.getType()));
  return context.getCached<FloatProduct>(tag, [&]() -> llvm::Expected<std::shared_ptr<FloatProduct>> {
    const kernels::SgemmKernel &kernel = kernels::selectSgemm();
    std::shared_ptr<std::byte> panels = context.allocatePacked(kernels::getSgemmPackedSize(kernel, outputs, inputs) *
                                                               static_cast<int64_t>(sizeof(float)));
    kernels::packSgemm(kernel, outputs, inputs, weight.getData<float>().data(), inputs, 1,
                       reinterpret_cast<float *>(panels.get()));
    return std::make_shared<FloatProduct>(kernel, inputs, outputs, std::move(panels), bias);
  });
}

llvm::Expected<std::shared_ptr<FloatProduct>> FloatProduct::makeHalf(BindContext &context, llvm::StringRef tag,
                                                                     const Tensor &weight, const Tensor &bias) {
  if ((weight.getDType() != DType::Float32 && weight.getDType() != DType::Float16) || weight.getRank() != 2)
    return context.fail("weight must be a float32 or float16 matrix, got {0}", toString(weight.getType()));
  constexpr float kLargest = 65504;
  Tensor rounded = Tensor::build(DType::Float32, weight.getSizes(), [&](MutableBytes bytes) {
    auto *values = reinterpret_cast<float *>(bytes.data());
    for (int64_t i = 0, n = weight.getNumElements(); i < n; ++i) {
      auto value = static_cast<float>(weight.getElementAsDouble(i));
      values[i] = halfToFloat(floatToHalf(std::isnan(value) ? value : std::clamp(value, -kLargest, kLargest)));
    }
  });
  return make(context, tag, rounded, bias);
}

void FloatProduct::multiplyClamped(RunContext &run, const float *src, int64_t rows, float *dst,
                                   ClampRange clamp) const {
  kernels::SgemmArgs args;
  args.n = getOutputs();
  args.k = getInputs();
  args.a = src;
  args.lda = args.k;
  args.packed = reinterpret_cast<const float *>(panels.get());
  args.bias = bias ? bias.getData<float>().data() : nullptr;
  args.lo = clamp.lo;
  args.hi = clamp.hi;
  args.c = dst;
  args.ldc = args.n;
  if (rows >= 4 * kernel.rows) {
    int64_t blocks = (rows + kernel.rows - 1) / kernel.rows;
    run.parallelFor(blocks, getProductGrain(kernel.rows * args.n * args.k), [&](int64_t begin, int64_t end, void *) {
      kernels::sgemm(kernel, args, begin * kernel.rows, std::min(end * kernel.rows, rows), 0, args.n);
    });
    return;
  }
  int64_t panelCount = (args.n + kernel.columns - 1) / kernel.columns;
  run.parallelFor(panelCount, getProductGrain(rows * kernel.columns * args.k), [&](int64_t begin, int64_t end, void *) {
    kernels::sgemm(kernel, args, 0, rows, begin * kernel.columns, std::min(end * kernel.columns, args.n));
  });
}

} // namespace qfx::runtime
