// Reads operator names, patterns and paths of BackendConfig files (backend_config.md 5.2).
#include "backends/config/BackendReaderDetail.h"
#include "ir/Ops.h"

#include "llvm/ADT/StringExtras.h"

namespace qfx {

static constexpr llvm::StringLiteral kWildcard = "MatchAllNode";

/// A dotted name of identifiers, or a method name of lower-case letters, digits and underscores.
static bool isNameSyntax(llvm::StringRef name) {
  auto isIdentifier = [](llvm::StringRef part, bool allowUpper) {
    if (part.empty() || llvm::isDigit(part.front()))
      return false;
    return llvm::all_of(part, [&](char c) { return c == '_' || llvm::isDigit(c) || (c >= 'a' && c <= 'z') || (allowUpper && c >= 'A' && c <= 'Z'); });
  };
  llvm::SmallVector<llvm::StringRef, 8> parts;
  name.split(parts, '.');
  bool isDotted = parts.size() > 1;
  return llvm::all_of(parts, [&](llvm::StringRef part) { return isIdentifier(part, isDotted); });
}

static const std::vector<std::string> &getDottedNames() {
  static const std::vector<std::string> *names = [] {
    auto *all = new std::vector<std::string>(getTargetNames(TargetKind::Module));
    for (std::string &name : getTargetNames(TargetKind::Function))
      all->push_back(std::move(name));
    return all;
  }();
  return *names;
}

/// Does the operator registry have to know names that start like this?
static bool isLibraryName(llvm::StringRef name) {
  llvm::StringRef first = name.split('.').first;
  return name.contains('.') && (first == "torch" || first == "operator" || first == "builtins");
}

std::optional<OperatorName> readOperator(const JsonCursor &cursor) {
  if (!cursor.expect(JsonValue::Kind::String))
    return std::nullopt;
  const std::string &name = cursor->text;
  if (!isNameSyntax(name)) {
    cursor.error("name-syntax", "'" + name + "' is neither a dotted name nor a method name");
    return std::nullopt;
  }
  OperatorName op = OperatorName::resolve(name);
  if (!op.row && isLibraryName(name)) {
    cursor.error("name-unknown", "unknown name '" + name + "'" + didYouMean(name, getDottedNames()));
    return std::nullopt;
  }
  if (!op.row && op.isMethod())
    cursor.warn("method-unknown", "no operator is called by a method '" + name + "'" +
                                      didYouMean(name, getTargetNames(TargetKind::Method)));
  return op;
}

std::optional<OperatorName> readModuleClass(const JsonCursor &cursor) {
  if (!cursor.expect(JsonValue::Kind::String))
    return std::nullopt;
  // A method-like name would draw a warning about methods, which is beside the point here.
  if (isNameSyntax(cursor->text) && !OperatorName::resolve(cursor->text).isModuleClass() &&
      (OperatorName::resolve(cursor->text).row || !isLibraryName(cursor->text))) {
    cursor.error("name-kind", "'" + cursor->text + "' is not a module class");
    return std::nullopt;
  }
  return readOperator(cursor);
}

/// An operator inside a pattern: neither the wildcard nor an attribute read.
static std::optional<OperatorName> readPatternOperator(const JsonCursor &cursor, llvm::StringRef wildcardMessage) {
  if (cursor->is(JsonValue::Kind::String) && cursor->text == kWildcard) {
    cursor.error("pattern-wildcard", wildcardMessage.str());
    return std::nullopt;
  }
  if (cursor->is(JsonValue::Kind::String) && cursor->text == "builtins.getattr") {
    cursor.error("pattern-getattr", "attribute reads cannot be matched");
    return std::nullopt;
  }
  return readOperator(cursor);
}

std::optional<Pattern> readSimplePattern(const JsonCursor &cursor) {
  constexpr llvm::StringLiteral kNoWildcard = "MatchAllNode is allowed only inside pattern_complex_format";
  if (!cursor->is(JsonValue::Kind::Array)) {
    if (!cursor->is(JsonValue::Kind::String)) {
      cursor.error("wrong-type", "expected an operator or an array of operators, found " +
                                     describeJsonKind(cursor->kind).str());
      return std::nullopt;
    }
    std::optional<OperatorName> op = readPatternOperator(cursor, kNoWildcard);
    return op ? std::optional(Pattern::op(*op)) : std::nullopt;
  }
  std::vector<OperatorName> forward;
  size_t count = cursor->elements.size();
  for (const JsonCursor &element : cursor.getElements()) {
    if (element->is(JsonValue::Kind::Array))
      element.error("pattern-nested", "nested pattern: use pattern_complex_format");
    else if (auto op = readPatternOperator(element, kNoWildcard))
      forward.push_back(*op);
  }
  if (count != 2 && count != 3) {
    cursor.error("pattern-arity", "a simple pattern has 2 or 3 operators, found " + std::to_string(count));
    return std::nullopt;
  }
  if (forward.size() != count)
    return std::nullopt;
  return Pattern::fromSimple(forward);
}

static std::optional<Pattern> readComplex(const JsonCursor &cursor, bool isWhole) {
  using Kind = JsonValue::Kind;
  switch (cursor->kind) {
  case Kind::String: {
    if (!isWhole && cursor->text == kWildcard)
      return Pattern::matchAll();
    std::optional<OperatorName> op = readPatternOperator(cursor, "MatchAllNode cannot be a whole pattern");
    return op ? std::optional(Pattern::op(*op)) : std::nullopt;
  }
  case Kind::Bool:
  case Kind::Integer:
  case Kind::Real:
    if (!isWhole)
      return Pattern::literal(cursor->is(Kind::Bool)      ? Argument(cursor->flag)
                              : cursor->is(Kind::Integer) ? Argument(cursor->integer)
                                                          : Argument(cursor->real));
    [[fallthrough]];
  case Kind::Null:
  case Kind::Object:
    cursor.error("wrong-type", "expected an operator" + std::string(isWhole ? " or an array" : ", an array, a number or a boolean") +
                                   ", found " + describeJsonKind(cursor->kind).str());
    return std::nullopt;
  case Kind::Array:
    break;
  }
  if (cursor->elements.size() < 2) {
    cursor.error("pattern-arity",
                 "a nested pattern has an operator and at least one argument, found " + std::to_string(cursor->elements.size()) + " elements");
    return std::nullopt;
  }
  std::optional<OperatorName> head;
  if (cursor.at(0)->is(Kind::String))
    head = readPatternOperator(cursor.at(0), "MatchAllNode cannot be the first element");
  else
    cursor.at(0).error("pattern-head", "the first element must be an operator");
  std::vector<Pattern> args;
  for (size_t i = 1; i < cursor->elements.size(); ++i)
    if (std::optional<Pattern> arg = readComplex(cursor.at(i), /*isWhole=*/false))
      args.push_back(std::move(*arg));
  if (!head || args.size() + 1 != cursor->elements.size())
    return std::nullopt;
  return Pattern::op(std::move(*head), std::move(args));
}

std::optional<Pattern> readComplexPattern(const JsonCursor &cursor) { return readComplex(cursor, /*isWhole=*/true); }

std::optional<PatternPath> readPath(const JsonCursor &cursor) {
  if (!cursor.expect(JsonValue::Kind::Array))
    return std::nullopt;
  PatternPath path;
  for (const JsonCursor &index : cursor.getElements()) {
    if (!index.expect(JsonValue::Kind::Integer))
      return std::nullopt;
    // Out-of-range indices lead nowhere, which the caller reports.
    int64_t value = index->integer;
    path.push_back(value < 0 || value > INT32_MAX ? UINT32_MAX : static_cast<unsigned>(value));
  }
  return path;
}

} // namespace qfx
