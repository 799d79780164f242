// Lowering.def resolved to rows of the target table.
#include "backends/config/LoweringTable.h"

#include "backends/config/Pattern.h"
#include "ir/Ops.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace qfx {

/// The row that a spelling of Lowering.def names; null for an unused field.
static const TargetInfo *resolve(llvm::StringRef text) {
  if (text.empty())
    return nullptr;
  OperatorName name = OperatorName::resolve(text);
  assert(name.row && "Lowering.def names something the target table lacks");
  return name.row;
}

namespace {
struct Tables {
  std::vector<LoweringRow> rows;
  llvm::DenseMap<std::pair<unsigned, const TargetInfo *>, const LoweringRow *> byKey;

  Tables() {
#define QFX_LOWER(group, from, inner, prepack, to, toRelu)                                                              \
  rows.push_back({LoweringGroup::group, resolve(from), resolve(inner), resolve(prepack), resolve(to), resolve(toRelu)});
#include "backends/native/Lowering.def"
    for (const LoweringRow &row : rows)
      byKey[{static_cast<unsigned>(row.group), row.from}] = &row;
  }
};
} // namespace

static const Tables &getTables() {
  static const Tables tables;
  return tables;
}

llvm::ArrayRef<LoweringRow> getLoweringRows() { return getTables().rows; }

const LoweringRow *findLowering(LoweringGroup group, const TargetInfo &from) {
  return getTables().byKey.lookup({static_cast<unsigned>(group), &from.getCanonical()});
}

} // namespace qfx
