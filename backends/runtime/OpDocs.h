// The reference page of operators, printed from the tables.
#ifndef BACKENDS_RUNTIME_OPDOCS_H
#define BACKENDS_RUNTIME_OPDOCS_H

namespace llvm {
class raw_ostream;
}

namespace qfx {

/// Markdown: every operator with its spellings, its kernels (float, quantized, dynamic; vectorized or plain) and where
/// it differs from PyTorch.  docs/Ops.md is what this prints.
void printOpsDoc(llvm::raw_ostream &os);

} // namespace qfx

#endif // BACKENDS_RUNTIME_OPDOCS_H
