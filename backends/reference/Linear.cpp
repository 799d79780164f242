// Float linear layers.
#include "backends/reference/FloatLinear.h"

#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/Kernels.h"
#include "kernels/sgemm/Sgemm.h"

namespace qfx::runtime {

namespace {

struct PackedLinear {
  const kernels::SgemmKernel *kernel;
  int64_t n, k;
  std::shared_ptr<std::byte> panels;
  Tensor bias;
};

} // namespace

llvm::Expected<RuntimeValue> emitFloatLinear(BindContext &context, const View &input, const Tensor &weight,
                                             const Tensor &bias) {
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  if (weight.getDType() != DType::Float32 || weight.getRank() != 2)
    return context.fail("weight must be a float32 matrix, got {0}", toString(weight.getType()));
  if (bias && bias.getDType() != DType::Float32)
    return context.fail("bias must be float32, got {0}", toString(bias.getType()));
  auto packed = context.getCached<PackedLinear>("sgemm", [&]() -> llvm::Expected<std::shared_ptr<PackedLinear>> {
    auto made = std::make_shared<PackedLinear>();
    made->kernel = &kernels::selectSgemm();
    made->n = weight.getSizes()[0];
    made->k = weight.getSizes()[1];
    made->bias = bias;
    made->panels = context.allocatePacked(kernels::getSgemmPackedSize(*made->kernel, made->n, made->k) *
                                          static_cast<int64_t>(sizeof(float)));
    kernels::packSgemm(*made->kernel, made->n, made->k, weight.getData<float>().data(), made->k, 1,
                       reinterpret_cast<float *>(made->panels.get()));
    return made;
  });
  if (!packed)
    return packed.takeError();
  std::shared_ptr<PackedLinear> weights = *packed;
  View src = context.toOrder(input, StorageOrder::RowMajor);
  if (src.sizes.empty() || src.sizes.back() != weights->k)
    return context.fail("the input's last dimension must be {0}, got {1}", weights->k, toString(input.type));
  ClampRange clamp = context.absorbClamp();
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  int64_t rows =
      weights->k ? src.getNumElements() / weights->k : dst.getNumElements() / std::max<int64_t>(weights->n, 1);
  context.emit({&src}, {&dst}, [src, dst, weights, rows, clamp](RunContext &run) {
    kernels::SgemmArgs args;
    args.n = weights->n;
    args.k = weights->k;
    args.a = src.getData<float>();
    args.lda = weights->k;
    args.packed = reinterpret_cast<const float *>(weights->panels.get());
    args.bias = weights->bias ? weights->bias.getData<float>().data() : nullptr;
    args.lo = clamp.lo;
    args.hi = clamp.hi;
    args.c = dst.getData<float>();
    args.ldc = weights->n;
    const kernels::SgemmKernel &kernel = *weights->kernel;
    int64_t panels = (weights->n + kernel.columns - 1) / kernel.columns;
    if (rows >= 4 * kernel.rows) {
      int64_t blocks = (rows + kernel.rows - 1) / kernel.rows;
      run.parallelFor(blocks, 2, [&](int64_t begin, int64_t end, void *) {
        kernels::sgemm(kernel, args, begin * kernel.rows, std::min(end * kernel.rows, rows), 0, weights->n);
      });
      return;
    }
    run.parallelFor(panels, 8, [&](int64_t begin, int64_t end, void *) {
      kernels::sgemm(kernel, args, 0, rows, begin * kernel.columns, std::min(end * kernel.columns, weights->n));
    });
  });
  return RuntimeValue(dst);
}

llvm::Expected<RuntimeValue> bindLinear(BindContext &context) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<Tensor> bias = context.getOptionalConstant("bias");
  if (!bias)
    return bias.takeError();
  return emitFloatLinear(context, *input, *weight, *bias);
}

} // namespace qfx::runtime
