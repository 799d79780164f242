// docs/Ops.md from the target table, Kernels.def, VectorKernels.def and OpNotes.def.
#include "backends/runtime/OpDocs.h"

#include "backends/runtime/Kernels.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace qfx {

static bool isVector(runtime::BindFunction bind) {
  static constexpr runtime::BindFunction kVector[] = {
#define QFX_VECTOR(bind) runtime::bind,
#include "backends/runtime/VectorKernels.def"
  };
  return llvm::is_contained(kVector, bind);
}

/// What stands in docs/Differences.md about it, in a sentence; empty: nothing.
static llvm::StringRef getNote(OpKind op) {
  switch (op) {
#define QFX_NOTE(Op, text)                                                                                             \
  case OpKind::Op:                                                                                                     \
    return text;
#include "backends/runtime/OpNotes.def"
  default:
    return "";
  }
}

/// "float vector, quantized plain"; "-" without a kernel.
static std::string getKernels(const OpInfo &op) {
  std::vector<std::string> forms;
  for (auto [form, name] :
       {std::pair(runtime::KernelForm::Float, "float"), std::pair(runtime::KernelForm::Quantized, "quantized")})
    if (runtime::BindFunction bind = runtime::findKernel(op.kind, form)) {
      const bool isDynamic = startsWith(op.name, "Dynamic");
      forms.push_back((isDynamic ? "dynamic" : name) + std::string(isVector(bind) ? " SIMD" : " plain"));
    }
  return forms.empty() ? "-" : llvm::join(forms, ", ");
}

static llvm::StringRef getKindName(TargetKind kind) {
  return kind == TargetKind::Function ? "" : kind == TargetKind::Method ? "method " : "module ";
}

void printOpsDoc(llvm::raw_ostream &os) {
  os << "# Operators\n\nPrinted by `qfx-opt --print-docs=ops` from the target table (`ir/ops/*.def`) and the kernel "
        "tables "
        "(`backends/runtime/*.def`); a test compares it.\n\n"
        "Kernels: `float`, `quantized` (8-bit codes in and out) and `dynamic` (float in and out, codes inside) run on "
        "floats and "
        "on codes; `SIMD` has rows per instruction set (all with the same bits), `plain` is C++ for any processor, `-` "
        "has no "
        "kernel: such a row is rewritten before a graph runs, answers from shapes alone, or is refused when a program "
        "is "
        "compiled.\n\n| operator | spellings | kernels | difference from PyTorch |\n|---|---|---|---|\n";
  for (const OpInfo &op : getAllOps()) {
    os << "| " << op.name << " | ";
    bool isFirst = true;
    for (const TargetInfo &target : getAllTargets())
      if (target.op == op.kind) {
        os << (isFirst ? "" : "<br>") << getKindName(target.kind) << '`' << target.text << '`';
        isFirst = false;
      }
    os << " | " << getKernels(op) << " | " << getNote(op.kind) << " |\n";
  }
}

} // namespace qfx
