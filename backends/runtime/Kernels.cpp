// Lookup in Kernels.def.
#include "backends/runtime/Kernels.h"

#include "ir/OpKind.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

namespace qfx::runtime {

static constexpr size_t kNumOps = 0
#define QFX_OP(...) +1
#include "ir/Ops.def"
    ;

namespace {

const PointwiseRow kPointwiseRows[] = {
#define QFX_POINTWISE_KERNEL(Op, Kind, slots) {OpKind::Op, kernels::PointwiseKind::Kind, slots},
#include "backends/runtime/Kernels.def"
};

const RowwiseRow kRowwiseRows[] = {
#define QFX_ROWWISE_KERNEL(Op, Kind) {OpKind::Op, kernels::RowwiseKind::Kind},
#include "backends/runtime/Kernels.def"
};

struct KernelTable {
  std::array<BindFunction, kNumOps> byForm[2] = {};
  std::array<const FunctionRow *, kNumOps> functions = {};
  std::array<const PointwiseRow *, kNumOps> pointwise = {};
  std::array<const RowwiseRow *, kNumOps> rowwise = {};
};

const FunctionRow kFunctionRows[] = {
#define QFX_FUNCTION_KERNEL(Op, Kind, Rule, a, b, c) {OpKind::Op, kernels::UnaryKind::Kind, CodeRule::Rule, {a, b, c}},
#include "backends/runtime/Kernels.def"
};

const KernelTable &getTable() {
  static const KernelTable table = [] {
    KernelTable made;
    for (const FunctionRow &row : kFunctionRows) {
      size_t op = static_cast<size_t>(row.op);
      made.functions[op] = &row;
      made.byForm[0][op] = getOpInfo(row.op).has(Traits::Quantized) ? nullptr : bindFloatFunction;
      made.byForm[1][op] = row.codeRule == CodeRule::None ? nullptr : bindCodeFunction;
    }
    for (const PointwiseRow &row : kPointwiseRows) {
      made.pointwise[static_cast<size_t>(row.op)] = &row;
      made.byForm[0][static_cast<size_t>(row.op)] = bindPointwise;
    }
    for (const RowwiseRow &row : kRowwiseRows) {
      made.rowwise[static_cast<size_t>(row.op)] = &row;
      made.byForm[0][static_cast<size_t>(row.op)] = bindRowwise;
    }
#define QFX_KERNEL(Op, Form, bind)                                                                                     \
  made.byForm[static_cast<size_t>(KernelForm::Form)][static_cast<size_t>(OpKind::Op)] = bind;
#include "backends/runtime/Kernels.def"
    return made;
  }();
  return table;
}

} // namespace

BindFunction findKernel(OpKind kind, KernelForm form) {
  return getTable().byForm[static_cast<size_t>(form)][static_cast<size_t>(kind)];
}

bool hasKernel(OpKind kind) { return findKernel(kind, KernelForm::Float) || findKernel(kind, KernelForm::Quantized); }

bool readsHalfItself(OpKind op) {
  static constexpr OpKind kOps[] = {
#define QFX_HALF_KERNEL(Op) OpKind::Op,
#include "backends/runtime/Kernels.def"
  };
  return llvm::is_contained(kOps, op);
}

const FunctionRow *findFunctionRow(OpKind op) { return getTable().functions[static_cast<size_t>(op)]; }

const PointwiseRow *findPointwiseRow(OpKind op) { return getTable().pointwise[static_cast<size_t>(op)]; }

const RowwiseRow *findRowwiseRow(OpKind op) { return getTable().rowwise[static_cast<size_t>(op)]; }

} // namespace qfx::runtime
