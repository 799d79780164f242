// Tensor data as text; private to ir/text.
#ifndef IR_TEXT_TENSORTEXTDETAIL_H
#define IR_TEXT_TENSORTEXTDETAIL_H

#include "ir/Tensor.h"

namespace llvm {
class raw_ostream;
}

namespace qfx {

/// `[[1.0, 2.0], [3.0, 4.0]]`, or a single number for a tensor without dimensions.  f32 and narrower floats print as the shortest text
/// that reads back to the same bits.
void printTensorData(llvm::raw_ostream &os, const Tensor &tensor);

/// `9408 elements, -0.5 to 0.25, fnv1a 0123456789abcdef`
void printTensorDigest(llvm::raw_ostream &os, const Tensor &tensor);

} // namespace qfx

#endif // IR_TEXT_TENSORTEXTDETAIL_H
