// A strict parser for the header's subset of JSON that knows the byte of everything it complains about.
#include "ir/weights/SafetensorsHeaderDetail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"

namespace qfx {

static constexpr std::pair<llvm::StringLiteral, DType> kDTypes[] = {
    {"F32", DType::Float32},     {"F16", DType::Float16}, {"BF16", DType::BFloat16}, {"F64", DType::Float64},
    {"I8", DType::Int8},         {"U8", DType::UInt8},    {"I16", DType::Int16},     {"U16", DType::UInt16},
    {"I32", DType::Int32},       {"I64", DType::Int64},   {"BOOL", DType::Bool},     {"F8_E5M2", DType::Float8E5M2},
    {"F8_E4M3", DType::Float8E4M3FN}};

llvm::StringRef getSafetensorsDType(DType dtype) {
  for (const auto &[text, one] : kDTypes)
    if (one == dtype)
      return text;
  return {};
}

namespace {

class HeaderParser {
public:
  HeaderParser(llvm::StringRef text, size_t start, llvm::StringRef name, const LoadLimits &limits)
      : text(text), start(start), name(name), limits(limits) {}

  llvm::Expected<SafetensorsHeader> parse() {
    size_t badByte = 0;
    if (!llvm::json::isUTF8(text, &badByte)) {
      position = badByte;
      return fail("the header is not UTF-8");
    }
    if (text.empty() || text[0] != '{') // the format wants it as the very first byte
      return fail("the header does not start with '{'");
    llvm::StringSet<> keys;
    auto err = parseObject([&](std::string key, size_t keyPosition) -> llvm::Error {
      if (!keys.insert(key).second)
        return failAt(keyPosition, "the key '" + key + "' stands twice");
      if (key == "__metadata__")
        return parseMetadata();
      if (header.entries.size() == limits.maxTensors)
        return fileError(name, "the file has more tensors than the limit of {0}", limits.maxTensors).code("tensor_size");
      HeaderEntry entry;
      entry.key = std::move(key);
      entry.position = start + keyPosition;
      if (auto err = parseEntry(entry))
        return err;
      header.entries.push_back(std::move(entry));
      return llvm::Error::success();
    });
    if (err)
      return err;
    skipBlank();
    if (position != text.size())
      return fail("something stands behind the header's object");
    return std::move(header);
  }

private:
  ErrorBuilder failAt(size_t where, const std::string &message) const {
    return fileError(name, "{0}, at byte {1}", message, start + where).code("weights_header");
  }
  ErrorBuilder fail(const std::string &message) const { return failAt(position, message); }

  void skipBlank() {
    while (position < text.size() && llvm::StringRef(" \t\r\n").contains(text[position]))
      ++position;
  }
  bool accept(char c) {
    skipBlank();
    if (position == text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }
  llvm::Error expect(char c) {
    if (accept(c))
      return llvm::Error::success();
    return fail(llvm::formatv("expected '{0}' in the header", c).str());
  }

  /// Calls `member(key, position)` at each value.
  template <class Member> llvm::Error parseObject(Member member) {
    if (auto err = expect('{'))
      return err;
    if (accept('}'))
      return llvm::Error::success();
    do {
      skipBlank();
      size_t keyPosition = position;
      std::string key;
      if (auto err = parseString(key))
        return err;
      if (auto err = expect(':'))
        return err;
      if (llvm::Error err = member(std::move(key), keyPosition))
        return err;
    } while (accept(','));
    return expect('}');
  }

  bool readUnit(unsigned &unit) {
    if (position + 4 > text.size() || text.substr(position, 4).getAsInteger(16, unit))
      return false;
    position += 4;
    return true;
  }

  bool parseUnicode(std::string &out) {
    unsigned unit, low;
    if (!readUnit(unit))
      return false;
    llvm::UTF32 point = unit;
    if (unit >= 0xd800 && unit < 0xdc00) {
      if (text.substr(position, 2) != "\\u")
        return false;
      position += 2;
      if (!readUnit(low) || low < 0xdc00 || low > 0xdfff)
        return false;
      point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    char buffer[8], *end = buffer;
    if (!llvm::ConvertCodePointToUTF8(point, end))
      return false;
    out.append(buffer, end);
    return true;
  }

  llvm::Error parseString(std::string &out) {
    skipBlank();
    if (auto err = expect('"'))
      return err;
    while (position < text.size()) {
      char c = text[position++];
      if (c == '"')
        return llvm::Error::success();
      if (static_cast<unsigned char>(c) < 0x20)
        return fail("a control character in a string");
      if (c != '\\') {
        out += c;
        continue;
      }
      char escaped = position < text.size() ? text[position++] : '\0';
      static constexpr llvm::StringLiteral kEscapes = "\"\\/nrtbf", kMeanings = "\"\\/\n\r\t\b\f";
      size_t which = kEscapes.find(escaped);
      if (which != llvm::StringRef::npos)
        out += kMeanings[which];
      else if (escaped != 'u' || !parseUnicode(out))
        return fail("a bad escape in a string");
    }
    return fail("a string without an end");
  }

  llvm::Error parseSize(uint64_t &value) {
    skipBlank();
    size_t first = position;
    while (position < text.size() && text[position] >= '0' && text[position] <= '9')
      ++position;
    llvm::StringRef digits = text.slice(first, position);
    bool leadingZero = digits.size() > 1 && digits[0] == '0';
    if (digits.empty() || leadingZero || digits.getAsInteger(10, value) || value > uint64_t(INT64_MAX))
      return failAt(first, "expected a number from 0 to 2^63 - 1");
    return llvm::Error::success();
  }

  llvm::Error parseSizes(std::vector<uint64_t> &values) {
    if (auto err = expect('['))
      return err;
    if (accept(']'))
      return llvm::Error::success();
    do {
      values.emplace_back();
      if (auto err = parseSize(values.back()))
        return err;
    } while (accept(','));
    return expect(']');
  }

  llvm::Error parseMetadata() {
    llvm::StringSet<> keys;
    return parseObject([&](std::string key, size_t keyPosition) -> llvm::Error {
      if (!keys.insert(key).second)
        return failAt(keyPosition, "the metadata key '" + key + "' stands twice");
      std::string value;
      if (auto err = parseString(value))
        return err;
      header.metadata.emplace_back(std::move(key), std::move(value));
      return llvm::Error::success();
    });
  }

  llvm::Error parseEntry(HeaderEntry &entry) {
    bool sawDType = false, sawShape = false, sawOffsets = false;
    auto err = parseObject([&](std::string field, size_t fieldPosition) -> llvm::Error {
      if (field == "dtype" && !sawDType) {
        sawDType = true;
        skipBlank();
        size_t where = position;
        std::string text;
        if (auto err = parseString(text))
          return err;
        for (const auto &[known, dtype] : kDTypes)
          if (known == text) {
            entry.dtype = dtype;
            return llvm::Error::success();
          }
        std::string known;
        for (const auto &row : kDTypes)
          known += (known.empty() ? "" : " ") + row.first.str();
        return fileError(name, "tensor '{0}' has the dtype '{1}', at byte {2}; this build reads {3}", entry.key, text,
                         start + where, known)
            .code("weights_dtype");
      }
      std::vector<uint64_t> sizes;
      if (field == "shape" && !sawShape) {
        sawShape = true;
        if (auto err = parseSizes(sizes))
          return err;
        entry.shape.assign(sizes.begin(), sizes.end());
        return llvm::Error::success();
      }
      if (field == "data_offsets" && !sawOffsets) {
        sawOffsets = true;
        skipBlank();
        size_t where = position;
        if (auto err = parseSizes(sizes))
          return err;
        if (sizes.size() != 2)
          return failAt(where, "tensor '" + entry.key + "' needs two data_offsets");
        entry.begin = sizes[0];
        entry.end = sizes[1];
        return llvm::Error::success();
      }
      bool isTwice = field == "dtype" || field == "shape" || field == "data_offsets";
      return failAt(fieldPosition, "tensor '" + entry.key + "' has the field '" + field +
                                       (isTwice ? "' twice" : "'; expected dtype, shape and data_offsets"));
    });
    if (err)
      return err;
    if (sawDType && sawShape && sawOffsets)
      return llvm::Error::success();
    return failAt(entry.position - start, "tensor '" + entry.key + "' lacks its " +
                                              (!sawDType ? "dtype" : !sawShape ? "shape" : "data_offsets"));
  }

  llvm::StringRef text;
  size_t position = 0, start;
  llvm::StringRef name;
  const LoadLimits &limits;
  SafetensorsHeader header;
};

} // namespace

llvm::Expected<SafetensorsHeader> parseSafetensorsHeader(llvm::StringRef text, size_t start, llvm::StringRef name,
                                                         const LoadLimits &limits) {
  return HeaderParser(text, start, name, limits).parse();
}

} // namespace qfx
