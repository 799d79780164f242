// nlohmann's event parser turned into a tree with byte offsets.
#include "backends/config/JsonDocument.h"

#include "llvm/ADT/StringSet.h"

#include <nlohmann/json.hpp>

namespace qfx {

namespace {

/// Reads the text and tells how many bytes the lexer has taken.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(const char *position, size_t *taken) : position(position), taken(taken) {}
  reference operator*() const { return *position; }
  CountingIterator &operator++() {
    ++position;
    ++*taken;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator &other) const { return position == other.position; }
  bool operator!=(const CountingIterator &other) const { return position != other.position; }

private:
  const char *position;
  size_t *taken;
};

/// Builds the tree.  Events come right after the lexer has read their token, so the token ends at `taken`, except numbers, behind
/// which the lexer has looked at one more byte.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
public:
  TreeBuilder(const std::string &text, const size_t &taken, JsonValue &root, JsonReport &report)
      : text(text), taken(taken), root(root), report(report) {}

  bool null() override { return add(JsonValue::Kind::Null, taken - 4), true; }
  bool boolean(bool flag) override {
    add(JsonValue::Kind::Bool, taken - (flag ? 4 : 5)).flag = flag;
    return true;
  }
  bool number_integer(number_integer_t number) override { return addInteger(number); }
  bool number_unsigned(number_unsigned_t number) override {
    if (number > static_cast<number_unsigned_t>(INT64_MAX))
      return addReal(static_cast<double>(number));
    return addInteger(static_cast<int64_t>(number));
  }
  bool number_float(number_float_t number, const string_t &) override { return addReal(number); }
  bool string(string_t &value) override {
    add(JsonValue::Kind::String, findStringStart()).text = value;
    return true;
  }
  bool binary(binary_t &) override { return false; }
  bool start_object(size_t) override { return open(JsonValue::Kind::Object); }
  bool start_array(size_t) override { return open(JsonValue::Kind::Array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &name) override {
    stack.back()->members.push_back({name, findStringStart(), JsonValue()});
    isKeyRepeated = !keys.back().insert(name).second; // reported where the second value starts
    return true;
  }
  bool parse_error(size_t position, const std::string &, const nlohmann::json::exception &exception) override {
    report.addSyntax(std::min(position ? position - 1 : 0, text.size()), describe(exception.what()));
    return false;
  }

private:
  static constexpr size_t kMaxDepth = 200;

  /// "[json.exception.parse_error.101] parse error at line 1, column 5: REASON" -> "not valid JSON: REASON".
  static std::string describe(llvm::StringRef what) {
    size_t column = what.find(", column ");
    llvm::StringRef reason = column == llvm::StringRef::npos ? what.substr(what.find(']') + 1).trim()
                                                             : what.substr(what.find(": ", column) + 2);
    return ("not valid JSON: " + reason).str();
  }

  JsonValue &add(JsonValue::Kind kind, size_t offset) {
    JsonValue *slot = &root;
    if (!stack.empty()) {
      JsonValue &parent = *stack.back();
      slot = parent.is(JsonValue::Kind::Array) ? &parent.elements.emplace_back() : &parent.members.back().value;
      if (isKeyRepeated)
        repeated.push_back({offset, parent.members.back().key, getPointer(parent.members.back().key)});
      isKeyRepeated = false;
    }
    slot->kind = kind;
    slot->offset = offset;
    return *slot;
  }

  bool open(JsonValue::Kind kind) {
    if (stack.size() >= kMaxDepth) {
      report.addSyntax(taken - 1, "not valid JSON: nested deeper than " + std::to_string(kMaxDepth) + " levels");
      return false;
    }
    stack.push_back(&add(kind, taken - 1));
    keys.emplace_back();
    return true;
  }

  bool close() {
    stack.pop_back();
    keys.pop_back();
    return true;
  }

  bool addInteger(int64_t number) {
    JsonValue &value = add(JsonValue::Kind::Integer, findNumberStart());
    value.integer = number;
    value.real = static_cast<double>(number);
    return true;
  }

  bool addReal(double number) {
    add(JsonValue::Kind::Real, findNumberStart()).real = number;
    return true;
  }

  /// The opening quote: the nearest quote before the closing one that no backslash escapes.
  size_t findStringStart() const {
    size_t i = taken - 1;
    while (i > 0) {
      --i;
      if (text[i] != '"')
        continue;
      size_t slashes = 0;
      while (slashes < i && text[i - 1 - slashes] == '\\')
        ++slashes;
      if (slashes % 2 == 0)
        break;
    }
    return i;
  }

  size_t findNumberStart() const {
    auto isNumberByte = [](char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; };
    size_t end = taken;
    while (end > 0 && !isNumberByte(text[end - 1]))
      --end;
    size_t start = end;
    while (start > 0 && isNumberByte(text[start - 1]))
      --start;
    return start;
  }

  /// The pointer of the member `key` of the innermost open object.
  std::string getPointer(const std::string &key) const {
    std::string pointer;
    for (size_t level = 0; level + 1 < stack.size(); ++level) {
      const JsonValue &parent = *stack[level];
      JsonCursor cursor(parent, pointer, report);
      pointer = parent.is(JsonValue::Kind::Array) ? cursor.at(parent.elements.size() - 1).getPointer()
                                                  : cursor.at(parent.members.back()).getPointer();
    }
    return JsonCursor(*stack.back(), pointer, report).at(JsonMember{key, 0, JsonValue()}).getPointer();
  }

public:
  struct Repeated {
    size_t offset;
    std::string key, pointer;
  };
  std::vector<Repeated> repeated;

private:
  const std::string &text;
  const size_t &taken;
  JsonValue &root;
  JsonReport &report;
  std::vector<JsonValue *> stack; // an element's address holds while it is open: siblings come after it is closed
  std::vector<llvm::StringSet<>> keys; // of the open values
  bool isKeyRepeated = false;
};

} // namespace

bool parseJson(const SourceText &source, JsonValue &root, JsonReport &report) {
  constexpr size_t kMaxSizeBytes = size_t(1) << 26;
  if (source.text.size() > kMaxSizeBytes) {
    report.addSyntax(0, "the file is larger than 64 MB");
    return false;
  }
  size_t taken = 0;
  const char *begin = source.text.data(), *end = begin + source.text.size();
  TreeBuilder builder(source.text, taken, root, report);
  bool isParsed = nlohmann::json::sax_parse(CountingIterator(begin, &taken), CountingIterator(end, &taken), &builder);
  for (TreeBuilder::Repeated &again : builder.repeated)
    report.add(Severity::Error, again.offset, again.pointer, "json-duplicate-key",
               "key '" + again.key + "' is given twice");
  return isParsed;
}

} // namespace qfx
