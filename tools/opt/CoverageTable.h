// The coverage table: per call of the model what was requested and what it became.
#ifndef TOOLS_OPT_COVERAGETABLE_H
#define TOOLS_OPT_COVERAGETABLE_H

#include "passes/Pass.h"

namespace llvm {
class raw_ostream;
}

namespace qfx::tool {

class CoverageTable {
public:
  /// A later row about a node replaces an earlier one; what it leaves empty stays.
  void add(const CoverageRow &row);
  /// One line per node in graph order, then a line that counts: "7 of 9 calls quantized, 2 float".
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<CoverageRow> rows;
};

} // namespace qfx::tool

#endif // TOOLS_OPT_COVERAGETABLE_H
