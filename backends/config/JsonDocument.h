// A JSON text as a tree that remembers where every value stands, and a list of complaints about it.
#ifndef BACKENDS_CONFIG_JSONDOCUMENT_H
#define BACKENDS_CONFIG_JSONDOCUMENT_H

#include "ir/Diagnostics.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace qfx {

struct JsonMember;

/// One value; `offset` is the byte at which its text starts.
struct JsonValue {
  enum class Kind : uint8_t { Null, Bool, Integer, Real, String, Array, Object };
  Kind kind = Kind::Null;
  size_t offset = 0;
  bool flag = false;
  int64_t integer = 0; ///< Integer
  double real = 0;     ///< Integer and Real
  std::string text;    ///< String
  std::vector<JsonValue> elements;
  std::vector<JsonMember> members; ///< in document order, repeated keys included

  bool is(Kind other) const { return kind == other; }
  bool isNumber() const { return kind == Kind::Integer || kind == Kind::Real; }
};

struct JsonMember {
  std::string key;
  size_t keyOffset;
  JsonValue value;
};

/// "a string", "an object", ...
llvm::StringRef describeJsonKind(JsonValue::Kind kind);

/// Collects diagnostics of one document and hands them out in document order.
class JsonReport {
public:
  explicit JsonReport(std::shared_ptr<const SourceText> source);

  /// The place of a byte; columns count bytes.
  Location locate(size_t offset) const;
  void add(Severity severity, size_t offset, llvm::StringRef pointer, llvm::StringRef code, std::string message);
  /// A syntax error, which has no pointer.
  void addSyntax(size_t offset, std::string message);
  bool hasErrors() const { return numErrors != 0; }
  /// Sorted by place; the report is empty afterwards.
  std::vector<Diagnostic> take();

private:
  struct Entry {
    size_t offset;
    Diagnostic diagnostic;
  };
  std::shared_ptr<const SourceText> source;
  std::vector<size_t> lineStarts;
  std::vector<Entry> entries;
  size_t numErrors = 0;
};

/// Parses `source` into `root`; syntax errors and repeated keys go to `report`.
/// \returns false if there is no tree to look at.
bool parseJson(const SourceText &source, JsonValue &root, JsonReport &report);

/// A value together with its RFC 6901 pointer: what readers walk with.
class JsonCursor {
public:
  JsonCursor(const JsonValue &value, std::string pointer, JsonReport &report)
      : value(&value), pointer(std::move(pointer)), report(&report) {}

  const JsonValue &operator*() const { return *value; }
  const JsonValue *operator->() const { return value; }
  const std::string &getPointer() const { return pointer; }
  JsonReport &getReport() const { return *report; }

  JsonCursor at(const JsonMember &member) const;
  JsonCursor at(size_t index) const;
  std::vector<JsonCursor> getElements() const;
  /// The member of that name, the last one if repeated; null value pointer if absent.
  const JsonMember *findMember(llvm::StringRef key) const;

  void error(llvm::StringRef code, std::string message) const;
  void warn(llvm::StringRef code, std::string message) const;
  /// The same, placed at a member's key instead of its value.
  void errorAtKey(const JsonMember &member, llvm::StringRef code, std::string message) const;
  void warnAtKey(const JsonMember &member, llvm::StringRef code, std::string message) const;

  /// Complains `wrong-type` unless the value is of `kind`.
  bool expect(JsonValue::Kind kind) const;
  bool expectNumber() const;
  /// Complains `unknown-key` for every member that is neither in `known` nor `comment`, whose form is checked.
  void checkKeys(llvm::ArrayRef<llvm::StringRef> known) const;

private:
  const JsonValue *value;
  std::string pointer;
  JsonReport *report;
};

} // namespace qfx

#endif // BACKENDS_CONFIG_JSONDOCUMENT_H
