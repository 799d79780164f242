// Construction, comparison, addressing and printing of internal patterns.
#include "backends/config/Pattern.h"

#include "ir/Text.h"

namespace qfx {

Pattern Pattern::op(OperatorName head, std::vector<Pattern> args) {
  Pattern result;
  result.head = std::move(head);
  result.args = std::move(args);
  if (!result.args.empty()) {
    Pattern bare;
    bare.head = result.head;
    result.headOnly = std::make_shared<const Pattern>(std::move(bare));
  }
  return result;
}

Pattern Pattern::matchAll() {
  Pattern result;
  result.kind = Kind::MatchAll;
  return result;
}

Pattern Pattern::literal(Argument value) {
  Pattern result;
  result.kind = Kind::Literal;
  result.value = std::move(value);
  return result;
}

Pattern Pattern::fromSimple(llvm::ArrayRef<OperatorName> forward) {
  assert(!forward.empty() && "a pattern names at least one operator");
  Pattern internal = op(forward.front());
  for (const OperatorName &next : forward.drop_front())
    internal = op(next, {std::move(internal)});
  return internal;
}

unsigned Pattern::getLeafCount() const {
  unsigned count = 1;
  for (const Pattern &arg : args)
    count += arg.getLeafCount();
  return count;
}

const Pattern *Pattern::at(llvm::ArrayRef<unsigned> path) const {
  const Pattern *current = this;
  for (unsigned index : path) {
    if (index > current->args.size() || current->args.empty())
      return nullptr;
    current = index == 0 ? current->headOnly.get() : &current->args[index - 1];
  }
  return current;
}

std::vector<unsigned> Pattern::getDefaultRootPath() const {
  std::vector<unsigned> path;
  for (const Pattern *current = this; !current->args.empty(); current = &current->args.back())
    path.push_back(static_cast<unsigned>(current->args.size()));
  return path;
}

bool Pattern::operator==(const Pattern &other) const {
  return kind == other.kind && (kind != Kind::Operator || head == other.head) && args == other.args &&
         value == other.value;
}

static std::string printPattern(const Pattern &pattern, bool isInTuple) {
  switch (pattern.getKind()) {
  case Pattern::Kind::MatchAll:
    return "MatchAllNode";
  case Pattern::Kind::Literal:
    return toString(pattern.getLiteral(), ArgumentStyle::Repr);
  case Pattern::Kind::Operator:
    break;
  }
  const std::string &name = pattern.getHead().text;
  std::string head = pattern.getHead().isMethod() && isInTuple ? formatPythonString(name) : name;
  if (pattern.isSingle())
    return head;
  std::string text = "(" + (pattern.getHead().isMethod() ? formatPythonString(name) : head);
  for (const Pattern &arg : pattern.getArgs())
    text += ", " + printPattern(arg, /*isInTuple=*/true);
  return text + ")";
}

std::string Pattern::toString() const { return printPattern(*this, /*isInTuple=*/false); }

} // namespace qfx
