// graph_module.code of torch 2.13: the graph as a Python function.
#include "ir/Ops.h"
#include "ir/Text.h"
#include "ir/emit/Emit.h"
#include "ir/emit/EmitDetail.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cctype>

namespace qfx {

static bool isPythonIdentifier(llvm::StringRef text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         llvm::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

/// _format_target: `self.layer1` and `getattr(self.layer1, "0")`.
static std::string formatAttribute(std::string base, llvm::StringRef path) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  path.split(parts, '.');
  for (llvm::StringRef part : parts)
    base = isPythonIdentifier(part) ? base + "." + part.str() : "getattr(" + base + ", \"" + part.str() + "\")";
  return base;
}

/// str.format with positional braces; what the format does not ask for is left out.
static std::string fillFormat(llvm::StringRef format, llvm::ArrayRef<Argument> args) {
  std::string text;
  for (const Argument &arg : args) {
    size_t brace = format.find("{}");
    if (brace == llvm::StringRef::npos)
      break;
    text += format.take_front(brace).str() + toString(arg, ArgumentStyle::Repr);
    format = format.drop_front(brace + 2);
  }
  return text + format.str();
}

static llvm::StringRef findFormat(llvm::StringRef name, bool inplace) {
  struct Row {
    bool inplace;
    llvm::StringLiteral name, format;
  };
  static constexpr Row kRows[] = {
#define QFX_INFIX(name, format) {false, name, format},
#define QFX_INPLACE(name, format) {true, name, format},
#include "ir/emit/PythonOperators.def"
  };
  for (const Row &row : kRows)
    if (row.inplace == inplace && row.name == name)
      return row.format;
  return {};
}

/// The global name that stands for a function: torch's under their own path, Python's builtins bare, others as one identifier.
static std::string formatFunction(const Node &node) {
  std::string name = getFxTarget(node);
  llvm::StringRef text = name;
  if (startsWith(text, "torch."))
    return name;
  if (text.consume_front("builtins."))
    return text.str();
  std::string global = text.str();
  std::replace(global.begin(), global.end(), '.', '_');
  return global;
}

static std::string formatArguments(llvm::ArrayRef<Argument> args, const Kwargs &kwargs) {
  std::string text;
  for (const Argument &arg : args)
    text += (text.empty() ? "" : ", ") + toString(arg, ArgumentStyle::Repr);
  for (const auto &[key, value] : kwargs)
    text += (text.empty() ? "" : ", ") + key + " = " + toString(value, ArgumentStyle::Repr);
  return text;
}

static std::string formatAnnotation(const Node &node) {
  const std::string *type = findTypeAnnotation(node);
  return type ? " : " + *type : "";
}

static std::string formatFunctionCall(const Node &node, const std::string &result) {
  llvm::StringRef target = node.getTargetText();
  if (target.consume_front("operator.")) {
    if (llvm::StringRef format = findFormat(target, /*inplace=*/false); !format.empty())
      return result + fillFormat(format, node.getArgs());
    if (llvm::StringRef format = findFormat(target, /*inplace=*/true); !format.empty())
      return fillFormat(format, node.getArgs()) + ";  " + result + toString(node.getArg(0), ArgumentStyle::Repr);
  }
  std::string name = formatFunction(node);
  bool readsAttribute = name == "getattr" && node.getArgs().size() == 2 && node.getArg(1).isString() &&
                        isPythonIdentifier(node.getArg(1).getString());
  if (readsAttribute)
    return result + formatAttribute(toString(node.getArg(0), ArgumentStyle::Repr), node.getArg(1).getString());
  return result + name + '(' + formatArguments(node.getArgs(), node.getKwargs()) + ')';
}

static std::string formatStatement(const Node &node) {
  std::string result = node.getName() + formatAnnotation(node) + " = ";
  switch (node.getOpcode()) {
  case Opcode::GetAttr:
    return result + formatAttribute("self", node.getTargetText());
  case Opcode::CallModule:
    return result + formatAttribute("self", node.getTargetText()) + '(' +
           formatArguments(node.getArgs(), node.getKwargs()) + ')';
  case Opcode::CallMethod: {
    std::string receiver = node.getArgs().empty() ? "" : toString(node.getArg(0), ArgumentStyle::Repr);
    return result + formatAttribute(std::move(receiver), node.getTargetText()) + '(' +
           formatArguments(node.getArgs().drop_front(node.getArgs().empty() ? 0 : 1), node.getKwargs()) + ')';
  }
  case Opcode::CallFunction:
    return formatFunctionCall(node, result);
  case Opcode::Output:
    return "return " + toString(node.getArg(0), ArgumentStyle::Repr);
  case Opcode::Placeholder:
    break;
  }
  return {};
}

std::string formatCode(const Graph &graph, llvm::StringRef outputType) {
  // What each node is the last to use, in the order of its inputs: freed behind it.
  llvm::DenseMap<const Node *, std::vector<const Node *>> lastUses;
  llvm::DenseMap<const Node *, const Node *> lastUser;
  std::vector<const Node *> nodes;
  for (const Node &node : graph.nodes())
    nodes.push_back(&node);
  for (const Node *node : llvm::reverse(nodes))
    for (const Node *input : node->getInputs())
      if (lastUser.try_emplace(input, node).second)
        lastUses[node].push_back(input);

  std::string parameters = "self", body;
  for (const Node *node : nodes) {
    if (node->is(Opcode::Placeholder)) {
      llvm::StringRef target = node->getTargetText();
      parameters += ", " + target.str() + formatAnnotation(*node);
      if (!node->getArgs().empty())
        parameters += " = " + toString(node->getArg(0), ArgumentStyle::Repr);
      std::string bare = target.str();
      bare.erase(std::remove(bare.begin(), bare.end(), '*'), bare.end());
      if (bare != node->getName())
        body += "    " + node->getName() + " = " + bare + '\n';
      continue;
    }
    body += "    " + formatStatement(*node);
    if (node->is(Opcode::Output)) {
      if (const std::string *type = findTypeAnnotation(*node))
        outputType = *type;
      body += '\n';
      continue;
    }
    std::vector<const Node *> freed = lastUses.lookup(node);
    if (node->getUsers().empty())
      freed.push_back(node);
    if (!freed.empty()) {
      body += ";  ";
      for (const Node *one : freed)
        body += one->getName() + " = ";
      body += "None";
    }
    body += '\n';
  }
  std::string arrow = outputType.empty() ? "" : " -> " + outputType.str();
  return "\n\n\ndef forward(" + parameters + ")" + arrow + ":\n" + body + "    ";
}

} // namespace qfx
