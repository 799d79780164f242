// Characters to tokens, with line and column of each.
#include "ir/text/LexerDetail.h"

#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace qfx {

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool isWordChar(char c) { return isWordStart(c) || isDigit(c); }

void Lexer::advance() {
  if (text[position++] == '\n') {
    ++line;
    lineStart = position;
    atLineStart = true;
  }
}

void Lexer::skipBlank() {
  while (position < text.size()) {
    char c = peek();
    if (c == '#' || (c == '/' && peek(1) == '/')) {
      while (position < text.size() && peek() != '\n')
        ++position;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      advance();
    } else {
      return;
    }
  }
}

void Lexer::finish(Token &token, Token::Kind kind) {
  token.kind = kind;
  token.text = text.slice(token.offset, position);
}

Token Lexer::next() {
  skipBlank();
  Token token;
  token.startsLine = atLineStart;
  token.line = line;
  token.column = static_cast<uint32_t>(position - lineStart + 1);
  token.offset = position;
  atLineStart = false;
  if (position >= text.size())
    return token;
  char c = peek();
  if (isWordStart(c)) {
    while (isWordChar(peek()) || (peek() == '.' && isWordChar(peek(1))))
      ++position;
    finish(token, Token::Kind::Word);
    if (token.text == "inf" || token.text == "nan") {
      token.kind = Token::Kind::Float;
      token.number = token.text == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
  } else if (c == '%') {
    ++position;
    while (isWordChar(peek()))
      ++position;
    finish(token, Token::Kind::Value);
    token.text = token.text.drop_front();
  } else if (c == '"') {
    lexString(token);
  } else if (c == '.' && peek(1) == '.' && peek(2) == '.') {
    position += 3;
    finish(token, Token::Kind::Ellipsis);
  } else if (isDigit(c) || c == '-' || c == '+' || c == '.') {
    lexNumber(token);
  } else if (llvm::StringRef("()[]{},:=*?").contains(c)) {
    ++position;
    finish(token, Token::Kind::Punct);
  } else {
    ++position;
    while (static_cast<unsigned char>(peek()) >> 6 == 2) // the rest of a UTF-8 sequence
      ++position;
    finish(token, Token::Kind::Bad);
    unsigned char byte = static_cast<unsigned char>(c);
    token.value = byte < 0x20 || byte == 0x7f ? llvm::formatv("unexpected control character 0x{0:x-2}", byte).str()
                                              : ("unexpected character '" + token.text + "'").str();
  }
  return token;
}

Token Lexer::rereadAsPath(const Token &token) {
  // Tokens hold no line break before their end, so the line counters stay right.
  Token path = token;
  position = token.offset;
  while (isWordChar(peek()) || (peek() == '.' && isWordChar(peek(1))))
    ++position;
  finish(path, Token::Kind::Word);
  return path;
}

void Lexer::lexNumber(Token &token) {
  bool negative = peek() == '-';
  if (peek() == '-' || peek() == '+')
    ++position;
  if (isWordStart(peek())) {
    size_t start = position;
    while (isWordChar(peek()))
      ++position;
    llvm::StringRef word = text.slice(start, position);
    finish(token, Token::Kind::Float);
    token.number = word == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    if (word != "inf" && word != "nan") {
      token.kind = Token::Kind::Bad;
      token.value = ("'" + token.text + "' is not a number").str();
    } else if (negative) {
      token.number = std::copysign(token.number, -1.0);
    }
    return;
  }
  bool isFloat = false;
  while (isWordChar(peek()) || peek() == '.' || ((peek() == '-' || peek() == '+') && (text[position - 1] == 'e' || text[position - 1] == 'E'))) {
    isFloat |= !isDigit(peek());
    ++position;
  }
  finish(token, isFloat ? Token::Kind::Float : Token::Kind::Int);
  llvm::StringRef digits = token.text;
  digits.consume_front("+");
  const char *end = digits.data() + digits.size();
  std::from_chars_result result;
  if (isFloat) {
    result = std::from_chars(digits.data(), end, token.number);
    if (result.ec == std::errc::result_out_of_range) { // too small is zero, too large is an error
      token.number = std::strtod(digits.str().c_str(), nullptr);
      if (std::abs(token.number) <= 1)
        result.ec = std::errc();
    }
  } else {
    result = std::from_chars(digits.data(), end, token.integer);
  }
  if (result.ec == std::errc() && result.ptr == end)
    return;
  token.kind = Token::Kind::Bad;
  bool tooLarge = result.ec == std::errc::result_out_of_range;
  token.value = ("'" + token.text + "' is " + (tooLarge ? "out of range" : "not a number")).str();
}

/// After `\u`: four hexadecimal digits, and a second escape for a surrogate pair.
bool Lexer::lexUnicodeEscape(std::string &out) {
  auto readUnit = [&](unsigned &unit) {
    if (position + 4 > text.size() || text.substr(position, 4).getAsInteger(16, unit))
      return false;
    position += 4;
    return true;
  };
  unsigned unit, low;
  if (!readUnit(unit))
    return false;
  llvm::UTF32 point = unit;
  if (unit >= 0xd800 && unit < 0xdc00) {
    if (peek() != '\\' || peek(1) != 'u')
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

void Lexer::lexString(Token &token) {
  auto fail = [&](llvm::StringRef message) {
    finish(token, Token::Kind::Bad);
    token.value = message.str();
  };
  ++position;
  while (true) {
    char c = peek();
    if (position >= text.size() || c == '\n')
      return fail("a string that does not end on its line");
    ++position;
    if (c == '"')
      return finish(token, Token::Kind::String);
    if (c != '\\') {
      token.value += c;
      continue;
    }
    char escaped = peek();
    if (position >= text.size() || escaped == '\n')
      return fail("a string that does not end on its line");
    ++position;
    static constexpr llvm::StringLiteral kEscapes = "\"\\/nrtbf", kMeanings = "\"\\/\n\r\t\b\f";
    size_t which = kEscapes.find(escaped);
    if (which != llvm::StringRef::npos)
      token.value += kMeanings[which];
    else if (escaped != 'u' || !lexUnicodeEscape(token.value))
      return fail("an escape in a string is one of \\\" \\\\ \\/ \\n \\r \\t \\b \\f \\uXXXX");
  }
}

std::string describeToken(const Token &token) {
  switch (token.kind) {
  case Token::Kind::End:
    return "the end of the file";
  case Token::Kind::Bad:
    return token.value;
  case Token::Kind::Value:
    return ("'%" + token.text + "'").str();
  default:
    return ("'" + token.text.take_front(40) + (token.text.size() > 40 ? "..." : "") + "'").str();
  }
}

bool isBarePath(llvm::StringRef path) {
  bool expectPart = true;
  for (char c : path) {
    if (c == '.' ? expectPart : !isWordChar(c))
      return false;
    expectPart = c == '.';
  }
  return !expectPart;
}

bool isIdentifier(llvm::StringRef name) {
  return !name.empty() && isWordStart(name[0]) && llvm::all_of(name, isWordChar);
}

} // namespace qfx
