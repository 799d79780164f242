// The parameters that codes have once they are lowered: not always those of the quantize that stood there.
#ifndef PASSES_LOWER_CODESQPARAMS_H
#define PASSES_LOWER_CODESQPARAMS_H

#include "passes/lower/LowerDetail.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx {

/// Follows the parameters of codes through the special patterns.  A sigmoid has those of its own, a dropout those of its input, a cat those of
/// its first operand, whatever the quantize behind it says.
class CodesQParams {
public:
  explicit CodesQParams(const LowerState &state) : state(state) {}

  /// Of the codes of `dtype` that `codes` gives; nullopt where nothing says so (a custom module).
  std::optional<OutputQParams> find(const Node &codes, DType dtype) const;
  /// `ref` gives codes from now on, by `row`, in place of `quantize`; `operand` is its first operand's codes.
  void replace(const Node &quantize, const Node &ref, const LoweringRow &row, const Node &operand);

private:
  const LowerState &state;
  llvm::DenseMap<const Node *, OutputQParams> known;
};

} // namespace qfx

#endif // PASSES_LOWER_CODESQPARAMS_H
