// Pattern matching by spelling (backend_config 7).
#include "passes/config/Matcher.h"

#include "ir/GraphModule.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/config/Operands.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace qfx {

llvm::StringRef getCalledName(const Node &node, const GraphModule &model) {
  if (const TargetInfo *target = node.getTarget())
    return target->getCanonical().text;
  if (!node.is(Opcode::CallModule))
    return {};
  ModuleRef module = model.getModule(node);
  if (!module)
    return {};
  return module->getClass() ? module->getClass()->getCanonical().text : llvm::StringRef(module->getClassName());
}

static bool isMatchableOpcode(const Node &node, const OperatorName &head) {
  if (head.isMethod())
    return node.is(Opcode::CallMethod);
  return node.is(head.isModuleClass() ? Opcode::CallModule : Opcode::CallFunction);
}

/// `torch.add(x, y, alpha=2)`: the fused operators have no place for it.
static bool hasOtherAlpha(const Node &node) {
  if (!node.getTarget() || (node.getTarget()->op != OpKind::Add && node.getTarget()->op != OpKind::Sub))
    return false;
  const Argument *alpha = node.getKwarg("alpha");
  return alpha && !(alpha->isNumber() && alpha->getNumber() == 1.0);
}

namespace {
/// One attempt at one entry; collects the nodes of operators and the arguments under wildcards.
class Attempt {
public:
  Attempt(const GraphModule &model, const llvm::DenseMap<const Node *, llvm::StringRef> &calledNames, bool limitUsers)
      : model(model), calledNames(calledNames), limitUsers(limitUsers) {}

  bool matchArgument(const Argument &argument, const Pattern &pattern) {
    if (pattern.getKind() == Pattern::Kind::MatchAll) {
      wildcards.push_back(argument);
      return true;
    }
    if (pattern.getKind() == Pattern::Kind::Literal)
      return argument == pattern.getLiteral() || refuse("an operand is not the literal {0}", pattern.toString());
    Node *node = argument.getNodeOrNull();
    if (!node)
      return refuse("an operand is a constant where the pattern has '{0}'", pattern.getHead().text);
    if (node->getNumUsers() > 1) {
      if (limitUsers)
        return refuse("'{0}' has {1} users", node->getName(), node->getNumUsers());
      if (!shared)
        shared = node;
    }
    return matchNode(*node, pattern);
  }

  bool matchNode(Node &node, const Pattern &pattern) {
    if (!isMatchableOpcode(node, pattern.getHead()) || calledNames.lookup(&node) != pattern.getHead().text)
      return refuse("'{0}' is {1}, not '{2}'", node.getName(), describeCall(node), pattern.getHead().text);
    nodes.push_back(&node);
    if (pattern.getArgs().empty())
      return true;
    std::vector<Argument> operands = getOperands(node, model);
    if (operands.size() != pattern.getArgs().size())
      return refuse("'{0}' has {1} operands, the pattern {2}", node.getName(), operands.size(), pattern.getArgs().size());
    for (auto [operand, argPattern] : llvm::zip(operands, pattern.getArgs()))
      if (!matchArgument(operand, argPattern))
        return false;
    return true;
  }

  /// Every wildcard must stand for a node outside the match.
  bool areWildcardsFree() {
    bool areFree = llvm::all_of(wildcards, [&](const Argument &argument) {
      return argument.isNode() && !llvm::is_contained(nodes, argument.getNode());
    });
    return areFree || refuse("a wildcard stands for a constant or for a node of the match itself");
  }

  bool hasPlainAlpha() {
    for (Node *node : nodes)
      if (hasOtherAlpha(*node))
        return refuse("'{0}' has alpha other than 1", node->getName());
    return true;
  }

  llvm::SmallVector<Node *, 4> nodes;
  llvm::SmallVector<Argument, 2> wildcards;
  Node *shared = nullptr;
  std::string *reason = nullptr; ///< where the first refusal is written; null: nobody asks

private:
  template <class... Args> bool refuse(const char *format, Args &&...args) {
    if (reason && reason->empty())
      *reason = llvm::formatv(format, std::forward<Args>(args)...).str();
    return false;
  }

  std::string describeCall(const Node &node) const {
    llvm::StringRef name = calledNames.lookup(&node);
    return name.empty() ? "no call of an operator" : ("'" + name + "'").str();
  }

  const GraphModule &model;
  const llvm::DenseMap<const Node *, llvm::StringRef> &calledNames;
  bool limitUsers;
};
} // namespace

/// The node that stands at an index path of a match: 0 is the node itself, i its i-th operand.
static Node *findNodeAt(Node &anchor, const PatternPath &path, const GraphModule &model) {
  Node *node = &anchor;
  for (unsigned index : path) {
    if (index == 0)
      continue;
    std::vector<Argument> operands = getOperands(*node, model);
    assert(index <= operands.size() && "path was checked against the pattern");
    node = operands[index - 1].getNodeOrNull();
    assert(node && "path ends at an operator or a wildcard over a node");
  }
  return node;
}

Matcher::Matcher(GraphModule &model, const BackendConfig &backend, MatchPurpose purpose) : model(model) {
  for (const Node &node : model.getGraph().nodes())
    if (llvm::StringRef name = getCalledName(node, model); !name.empty())
      calledNames[&node] = name;
  for (const BackendPatternConfig *entry : backend.getSortedConfigs()) {
    if (purpose == MatchPurpose::Fuse && !entry->fuserMethod)
      continue;
    byAnchor[entry->pattern.getHead().text].push_back(entry);
  }
}

llvm::ArrayRef<const BackendPatternConfig *> Matcher::getCandidates(const Node &node) const {
  llvm::StringRef name = calledNames.lookup(&node);
  if (name.empty())
    return {};
  auto it = byAnchor.find(name);
  if (it == byAnchor.end())
    return {};
  return it->second;
}

std::optional<Match> Matcher::match(Node &node, const BackendPatternConfig &entry) const {
  Attempt attempt(model, calledNames, /*limitUsers=*/true);
  if (!attempt.matchNode(node, entry.pattern) || !attempt.areWildcardsFree())
    return std::nullopt;
  if (entry.fuserMethod && !attempt.hasPlainAlpha())
    return std::nullopt;
  Match result;
  result.entry = &entry;
  result.anchor = &node;
  result.nodes = std::move(attempt.nodes);
  result.root = findNodeAt(node, entry.getRootPath(), model);
  for (const PatternPath &path : entry.extraInputPaths)
    result.extraInputs.push_back(findNodeAt(node, path, model));
  return result;
}

std::vector<Match> Matcher::scan() const {
  std::vector<Match> matches;
  llvm::DenseSet<const Node *> claimed;
  for (Node &node : llvm::reverse(model.getGraph().nodes())) {
    if (claimed.contains(&node))
      continue;
    for (const BackendPatternConfig *entry : getCandidates(node)) {
      std::optional<Match> found = match(node, *entry);
      if (!found)
        continue;
      claimed.insert(found->nodes.begin(), found->nodes.end());
      matches.push_back(std::move(*found));
      break;
    }
  }
  return matches;
}

Node *Matcher::findSharedInterior(Node &node) const {
  for (const BackendPatternConfig *entry : getCandidates(node)) {
    Attempt attempt(model, calledNames, /*limitUsers=*/false);
    if (attempt.matchNode(node, entry->pattern) && attempt.shared && attempt.areWildcardsFree())
      return attempt.shared;
  }
  return nullptr;
}

std::string Matcher::explainMismatch(Node &node, const BackendPatternConfig &entry) const {
  std::string reason;
  Attempt attempt(model, calledNames, /*limitUsers=*/true);
  attempt.reason = &reason;
  if (attempt.matchNode(node, entry.pattern) && attempt.areWildcardsFree() && entry.fuserMethod)
    attempt.hasPlainAlpha();
  return reason;
}

} // namespace qfx
