// A drawing for Graphviz: one box per node, edges from operands to users.
#include "ir/emit/Emit.h"

#include "ir/Text.h"
#include "ir/emit/EmitDetail.h"

#include "llvm/Support/raw_ostream.h"

namespace qfx {

static llvm::StringRef getFillColor(Opcode opcode) {
  switch (opcode) {
  case Opcode::Placeholder:
  case Opcode::Output:
    return "#d9ead3";
  case Opcode::GetAttr:
    return "#fff2cc";
  case Opcode::CallModule:
    return "#cfe2f3";
  case Opcode::CallFunction:
  case Opcode::CallMethod:
    return "#f3f3f3";
  }
  return "#ffffff";
}

/// A DOT string: quotes and backslashes escaped, `\n` for line breaks.
static std::string formatLabel(llvm::ArrayRef<std::string> lines) {
  std::string text = "\"";
  for (size_t i = 0; i < lines.size(); ++i) {
    text += i ? "\\n" : "";
    for (char c : lines[i]) {
      if (c == '"' || c == '\\')
        text += '\\';
      text += c;
    }
  }
  return text + '"';
}

void emitDot(llvm::raw_ostream &os, const GraphModule &model) {
  os << "digraph model {\n  node [shape=box, style=filled, fontname=\"monospace\"]\n";
  for (const Node &node : model.getGraph().nodes()) {
    std::vector<std::string> lines = {node.getName()};
    if (node.is(Opcode::CallModule))
      if (ModuleRef module = model.getModule(node))
        lines.push_back(module->getClassName());
    if (!node.is(Opcode::Output))
      lines.push_back((getOpcodeName(node.getOpcode()) + " " + getFxTarget(node)).str());
    if (node.getType())
      lines.push_back(toString(*node.getType()));
    os << "  " << formatQuoted(node.getName()) << " [label=" << formatLabel(lines) << ", fillcolor=\""
       << getFillColor(node.getOpcode()) << "\"]\n";
  }
  for (const Node &node : model.getGraph().nodes())
    for (const Node *input : node.getInputs())
      os << "  " << formatQuoted(input->getName()) << " -> " << formatQuoted(node.getName()) << '\n';
  os << "}\n";
}

} // namespace qfx
