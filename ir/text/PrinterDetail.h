// What printing shares with saving and comparing; private to ir/text.
#ifndef IR_TEXT_PRINTERDETAIL_H
#define IR_TEXT_PRINTERDETAIL_H

#include "ir/text/QfxText.h"
#include "ir/weights/Safetensors.h"

namespace qfx {

/// Prints, and hands out the tensors whose numbers the text does not hold, under the keys it expects them.
void printQfx(llvm::raw_ostream &os, const GraphModule &model, const PrintOptions &options, NamedTensors &external);

/// Does it count that two paths hold the same elements?  For parameters it does (tied weights); a small buffer, such as an
/// observer's minimum, is a value that happens to be shared.
inline bool isTiable(const Tensor &tensor, bool isParameter) {
  constexpr int64_t kLargeBuffer = 64;
  return tensor.getNumElements() > 0 && (isParameter || tensor.getNumElements() >= kLargeBuffer);
}

} // namespace qfx

#endif // IR_TEXT_PRINTERDETAIL_H
