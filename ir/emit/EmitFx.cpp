// str(graph) and graph.print_tabular() of torch 2.13.
#include "ir/emit/Emit.h"
#include "ir/emit/EmitDetail.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace qfx {

/// Node.format_node.
static void printNode(llvm::raw_ostream &os, const Node &node) {
  if (node.is(Opcode::Output)) {
    os << "return " << formatPythonStr(node.getArg(0));
    return;
  }
  os << '%' << node.getName() << " : ";
  if (const std::string *type = findTypeAnnotation(node))
    os << *type << ' ';
  os << "[num_users=" << node.getNumUsers() << "] = " << getOpcodeName(node.getOpcode())
     << "[target=" << getFxTarget(node) << ']';
  if (node.is(Opcode::GetAttr))
    return;
  if (node.is(Opcode::Placeholder)) {
    if (!node.getArgs().empty())
      os << "(default=" << formatPythonStr(node.getArg(0)) << ')';
    return;
  }
  os << "(args = " << toString(Argument::tuple(node.getArgs().vec()), ArgumentStyle::Fx)
     << ", kwargs = " << toString(Argument::dict(node.getKwargs()), ArgumentStyle::Fx) << ')';
}

std::string formatFx(const Graph &graph) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "graph():";
  for (const Node &node : graph.nodes()) {
    os << "\n    ";
    printNode(os, node);
  }
  return os.str();
}

std::string formatTabular(const Graph &graph) {
  std::vector<std::vector<std::string>> rows = {{"opcode", "name", "target", "args", "kwargs"}, {}};
  for (const Node &node : graph.nodes())
    rows.push_back({getOpcodeName(node.getOpcode()).str(), node.getName(), getFxTarget(node),
                    toString(Argument::tuple(node.getArgs().vec()), ArgumentStyle::Repr),
                    toString(Argument::dict(node.getKwargs()), ArgumentStyle::Repr)});
  // tabulate makes a column two characters wider than its header, or as wide as its widest cell.
  std::vector<size_t> widths;
  for (size_t i = 0; i < rows[0].size(); ++i) {
    size_t width = rows[0][i].size() + 2;
    for (const auto &row : rows)
      if (i < row.size())
        width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  for (size_t width : widths)
    rows[1].push_back(std::string(width, '-'));
  std::string text = formatColumns(rows, widths);
  text.pop_back();
  return text;
}

} // namespace qfx
