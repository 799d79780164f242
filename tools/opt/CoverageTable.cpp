// Collects rows by node and prints them in columns.
#include "tools/opt/CoverageTable.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>

namespace qfx::tool {

void CoverageTable::add(const CoverageRow &row) {
  for (CoverageRow &known : rows) {
    if (known.node != row.node)
      continue;
    known.pass = row.pass;
    known.granted = row.granted;
    if (!row.requested.empty())
      known.requested = row.requested;
    if (!row.reason.empty())
      known.reason = row.reason;
    return;
  }
  if (!row.operation.empty())
    rows.push_back(row);
}

void CoverageTable::print(llvm::raw_ostream &os) const {
  using Line = std::array<std::string, 5>;
  std::vector<Line> lines = {{"node", "operation", "requested", "granted", "reason"}};
  size_t numFloat = 0;
  for (const CoverageRow &row : rows) {
    lines.push_back({row.node, row.operation, row.requested, row.granted, row.reason});
    numFloat += row.granted == "float";
  }
  std::array<size_t, 5> widths{};
  for (const Line &line : lines)
    for (size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  for (const Line &line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i)
      text += line[i] + std::string(i + 1 == line.size() ? 0 : widths[i] - line[i].size() + 2, ' ');
    os << text.substr(0, text.find_last_not_of(' ') + 1) << '\n';
  }
  os << rows.size() - numFloat << " of " << rows.size() << " calls quantized, " << numFloat << " float\n";
}

} // namespace qfx::tool
