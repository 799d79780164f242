// cat between dequantize and quantize as quantized::cat.
#ifndef PASSES_LOWER_QUANTIZEDCAT_H
#define PASSES_LOWER_QUANTIZEDCAT_H

#include "ir/Graph.h"

#include <vector>

namespace qfx {

/// The values whose dequantized forms the torch.cat joins that only `quantize`, a quantize_per_tensor, reads; empty if there is no such cat.
std::vector<Node *> getJoinedCodes(const Node &quantize);

/// cat([dequantize(a), dequantize(b)]) -> quantize(s, z) becomes quantized::cat([a, b], dim, s, z), which brings every operand to s and z;
/// torch.cat of codes brings them to the first one's parameters.  getJoinedCodes must not be empty.
void lowerToQuantizedCat(Node &quantize);

} // namespace qfx

#endif // PASSES_LOWER_QUANTIZEDCAT_H
