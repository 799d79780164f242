// The weights of a quantized layer, wherever they stand: packed in a module of their own, or in the called module.
#ifndef BACKENDS_NATIVE_QUANTIZEDWEIGHTS_H
#define BACKENDS_NATIVE_QUANTIZEDWEIGHTS_H

#include "backends/runtime/BindContext.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/ConvGeometry.h"
#include "ir/weights/MappedFile.h"
#include "kernels/requant/Requant.h"

#include <memory>
#include <vector>

namespace qfx::runtime {

struct QuantizedWeights {
  Tensor weight;                        ///< qint8, per tensor or per channel along axis 0
  Tensor bias;                          ///< float32 or null
  std::shared_ptr<const Module> packed; ///< where both came from, if they are packed
  std::vector<double> scale;            ///< [1] or [channels]
  std::vector<int32_t> zeroPoint;
  int64_t getChannels() const { return weight.getSizes()[0]; }
};

/// Reads and checks the slots `packed` or `weight` and `bias`.
llvm::Expected<QuantizedWeights> getQuantizedWeights(BindContext &context);

/// Checks dtypes, sizes and scheme of `weight` and `bias`, and fills in `scale` and `zeroPoint`.
llvm::Expected<QuantizedWeights> checkQuantizedWeights(BindContext &context, QuantizedWeights weights);

/// The same of a transposed convolution, [in, out / groups, k...] per tensor or per channel along axis 1, turned into
/// those of the convolution that does its work: [out, in / groups, k reversed...] along axis 0.
llvm::Expected<QuantizedWeights> getTransposedWeights(BindContext &context, int64_t groups);

/// The tables of an output stage, with their memory.
struct RequantTables {
  kernels::RequantParams params;
  std::shared_ptr<std::byte> memory;
};

/// Tables of a layer with code output; picks stage F or Q by the program's engine (operators 3.6, 3.7) and takes in a
/// clamp that follows. \param depth      products per output. \param weightSum  s32 [channels].
llvm::Expected<RequantTables> makeRequantTables(BindContext &context, const QuantizedWeights &weights,
                                                const CodeOperand &input, const kernels::QParams &output, bool relu,
                                                int64_t depth, const int32_t *weightSum);

/// Tables of a layer with float output: y = f32(acc) * f32(s_x * s_w) + b.
RequantTables makeDequantTables(BindContext &context, const QuantizedWeights &weights, const kernels::QParams &input,
                                int64_t depth, const int32_t *weightSum);

/// Tables of a dynamic convolution, whose output has the input's parameters, found while running (operators 11.3).
/// \param memory  getRequantBytes(channels) bytes.
kernels::RequantParams prepareDynamicRequant(const QuantizedWeights &weights, const kernels::QParams &params,
                                             int64_t depth, const int32_t *weightSum, void *memory);

} // namespace qfx::runtime

#endif // BACKENDS_NATIVE_QUANTIZEDWEIGHTS_H
