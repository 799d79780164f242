// NumPy's .npy format: one array per file.
#ifndef IR_WEIGHTS_NPY_H
#define IR_WEIGHTS_NPY_H

#include "ir/Tensor.h"
#include "ir/weights/LoadLimits.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class raw_ostream;
}

namespace qfx {

/// Reads a little-endian, C-order array of dtype f2 f4 f8 i1 i2 i4 i8 u1 u2 b1, format versions 1 to 3, mapping the file.
/// Errors `npy_header` (magic, version, header text, order, dtype, byte order), `npy_data` (too few or too many bytes),
/// `tensor_size`, `file_read`; each names the file.
llvm::Expected<Tensor> readNpy(llvm::StringRef path, const LoadLimits &limits = {});
llvm::Expected<Tensor> parseNpy(std::shared_ptr<const Storage> bytes, llvm::StringRef name, const LoadLimits &limits = {});

/// Writes version 1.0.  A dtype NumPy lacks is written as one it has: bf16 as f4, quantized tensors as their codes.
/// Packed 4- and 2-bit codes are written one per byte, f8 as its u1 bits.
void writeNpy(llvm::raw_ostream &os, const Tensor &tensor);
llvm::Error writeNpyFile(llvm::StringRef path, const Tensor &tensor);

} // namespace qfx

#endif // IR_WEIGHTS_NPY_H
