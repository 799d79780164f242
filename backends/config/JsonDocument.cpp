// Walking a JSON tree and complaining about it with places and pointers.
#include "backends/config/JsonDocument.h"

#include "backends/config/ConfigCodes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace qfx {

llvm::StringRef describeJsonKind(JsonValue::Kind kind) {
  static constexpr llvm::StringLiteral kNames[] = {"null",     "a boolean", "an integer", "a number",
                                                   "a string", "an array",  "an object"};
  return kNames[static_cast<unsigned>(kind)];
}

JsonReport::JsonReport(std::shared_ptr<const SourceText> text) : source(std::move(text)) {
  lineStarts.push_back(0);
  for (size_t i = 0; i < source->text.size(); ++i)
    if (source->text[i] == '\n')
      lineStarts.push_back(i + 1);
}

Location JsonReport::locate(size_t offset) const {
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  size_t line = static_cast<size_t>(next - lineStarts.begin());
  return {source, static_cast<uint32_t>(line), static_cast<uint32_t>(offset - lineStarts[line - 1] + 1)};
}

void JsonReport::add(Severity severity, size_t offset, llvm::StringRef pointer, llvm::StringRef code,
                     std::string message) {
  assert(findConfigCode(code) && findConfigCode(code)->isWarning == (severity == Severity::Warning) && "a row of ConfigCodes.def");
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.loc = locate(offset);
  diagnostic.message = std::move(message);
  diagnostic.code = (code + " #" + pointer).str();
  entries.push_back({offset, std::move(diagnostic)});
  numErrors += severity == Severity::Error;
}

void JsonReport::addSyntax(size_t offset, std::string message) {
  Diagnostic diagnostic;
  diagnostic.loc = locate(offset);
  diagnostic.message = std::move(message);
  diagnostic.code = "json-syntax";
  entries.push_back({offset, std::move(diagnostic)});
  ++numErrors;
}

std::vector<Diagnostic> JsonReport::take() {
  llvm::stable_sort(entries, [](const Entry &a, const Entry &b) { return a.offset < b.offset; });
  std::vector<Diagnostic> all;
  for (Entry &entry : entries)
    all.push_back(std::move(entry.diagnostic));
  entries.clear();
  numErrors = 0;
  return all;
}

static std::string appendKey(const std::string &pointer, llvm::StringRef key) {
  std::string text = pointer + "/";
  for (char c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return text;
}

JsonCursor JsonCursor::at(const JsonMember &member) const {
  return JsonCursor(member.value, appendKey(pointer, member.key), *report);
}

JsonCursor JsonCursor::at(size_t index) const {
  return JsonCursor(value->elements[index], pointer + "/" + std::to_string(index), *report);
}

std::vector<JsonCursor> JsonCursor::getElements() const {
  std::vector<JsonCursor> cursors;
  for (size_t i = 0; i < value->elements.size(); ++i)
    cursors.push_back(at(i));
  return cursors;
}

const JsonMember *JsonCursor::findMember(llvm::StringRef key) const {
  for (const JsonMember &member : llvm::reverse(value->members))
    if (member.key == key)
      return &member;
  return nullptr;
}

void JsonCursor::error(llvm::StringRef code, std::string message) const {
  report->add(Severity::Error, value->offset, pointer, code, std::move(message));
}
void JsonCursor::warn(llvm::StringRef code, std::string message) const {
  report->add(Severity::Warning, value->offset, pointer, code, std::move(message));
}
void JsonCursor::errorAtKey(const JsonMember &member, llvm::StringRef code, std::string message) const {
  report->add(Severity::Error, member.keyOffset, appendKey(pointer, member.key), code, std::move(message));
}
void JsonCursor::warnAtKey(const JsonMember &member, llvm::StringRef code, std::string message) const {
  report->add(Severity::Warning, member.keyOffset, appendKey(pointer, member.key), code, std::move(message));
}

static void complainType(const JsonCursor &cursor, llvm::StringRef expected) {
  cursor.error("wrong-type", ("expected " + expected + ", found " + describeJsonKind(cursor->kind)).str());
}

bool JsonCursor::expect(JsonValue::Kind kind) const {
  if (value->kind == kind)
    return true;
  complainType(*this, describeJsonKind(kind));
  return false;
}

bool JsonCursor::expectNumber() const {
  if (value->isNumber())
    return true;
  complainType(*this, "a number");
  return false;
}

static void checkComment(const JsonCursor &comment) {
  if (comment->is(JsonValue::Kind::String))
    return;
  if (!comment->is(JsonValue::Kind::Array))
    return complainType(comment, "a string or an array of strings");
  for (const JsonCursor &line : comment.getElements())
    line.expect(JsonValue::Kind::String);
}

void JsonCursor::checkKeys(llvm::ArrayRef<llvm::StringRef> known) const {
  std::vector<std::string> candidates(known.begin(), known.end());
  candidates.push_back("comment");
  for (const JsonMember &member : value->members) {
    if (member.key == "comment")
      checkComment(at(member));
    else if (!llvm::is_contained(known, llvm::StringRef(member.key)))
      errorAtKey(member, "unknown-key", "unknown key '" + member.key + "'" + didYouMean(member.key, candidates));
  }
}

} // namespace qfx
