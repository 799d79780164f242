// What a reference pattern becomes on a backend: the rows that the lower pass reads.
#ifndef BACKENDS_CONFIG_LOWERINGTABLE_H
#define BACKENDS_CONFIG_LOWERINGTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace qfx {

struct TargetInfo;
struct OperatorName;
class Module;
class Node;

/// The groups of workflow 6; a group decides how a match is rewritten.
enum class LoweringGroup : uint8_t {
  StaticModule,      ///< dequantize -> reference module -> quantize
  StaticFused,       ///< the same with a fused module whose child 0 is `inner`
  StaticTwoInputs,   ///< fused module with two dequantized inputs
  DynamicModule,     ///< quantize_per_tensor_dynamic -> dequantize -> reference module
  DynamicFused,
  WeightOnlyModule,  ///< reference module alone
  DynamicFunction,     ///< quantize_per_tensor_dynamic -> dequantize -> functional with a quantized weight
  DynamicHalfFunction, ///< the same in float16
  StaticFunction,    ///< functional with a quantized weight; `prepack` packs it
  BinaryFunction,    ///< add, mul, matmul
  FixedQParams,      ///< drop dequantize and quantize; Softmax also swaps its module
  Default,           ///< swap the module or call `to` with the output's scale and zero point
  Copy,              ///< drop dequantize and quantize
  Shape,             ///< drop dequantize and quantize
  Other,             ///< drop every dequantize and the quantize
};

/// One row of Lowering.def.  Unused fields are null.
struct LoweringRow {
  LoweringGroup group;
  const TargetInfo *from;    ///< module class, function (canonical) or method
  const TargetInfo *inner;   ///< class of child 0 of a fused module
  const TargetInfo *prepack; ///< function that packs weight, bias and geometry
  const TargetInfo *to;      ///< quantized module class or function
  const TargetInfo *toRelu;  ///< the same with relu fused; null if there is none
};

/// All rows, in table order.
llvm::ArrayRef<LoweringRow> getLoweringRows();

/// The row of `group` for this target (functions by canonical spelling), or null.
const LoweringRow *findLowering(LoweringGroup group, const TargetInfo &from);

} // namespace qfx

#endif // BACKENDS_CONFIG_LOWERINGTABLE_H
