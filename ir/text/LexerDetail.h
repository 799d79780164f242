// Tokens of .qfx text; private to ir/text.
#ifndef IR_TEXT_LEXERDETAIL_H
#define IR_TEXT_LEXERDETAIL_H

#include "ir/Diagnostics.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace qfx {

struct Token {
  enum class Kind : uint8_t {
    End,
    Bad,    ///< a character or literal that no token starts with; `value` holds the message
    Word,   ///< letters, digits, '_' and inner dots: graph, torch.float32, layer1.0
    Value,  ///< %name; `text` without the percent sign
    Int,    ///< `integer`
    Float,  ///< `number`; inf and nan too
    String, ///< `value`, escapes resolved
    Ellipsis,
    Punct   ///< one of ( ) [ ] { } , : = * ?
  };
  Kind kind = Kind::End;
  bool startsLine = false; ///< first token of its line
  uint32_t line = 1, column = 1;
  size_t offset = 0;    ///< of its first byte
  llvm::StringRef text; ///< as written
  std::string value;
  int64_t integer = 0;
  double number = 0;

  bool is(Kind other) const { return kind == other; }
  bool isPunct(char c) const { return kind == Kind::Punct && text[0] == c; }
  bool isWord(llvm::StringRef word) const { return kind == Kind::Word && text == word; }
};

/// Splits a text into tokens, one at a time.  Comments run from `#` or `//` to the end of the line.
class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : text(text) {}

  Token next();
  /// Reads the text of `token` again as a path: letters, digits, '_' and dots, which may start with a digit.
  Token rereadAsPath(const Token &token);

private:
  char peek(size_t ahead = 0) const { return position + ahead < text.size() ? text[position + ahead] : '\0'; }
  void advance();
  void skipBlank();
  void lexNumber(Token &token);
  void lexString(Token &token);
  bool lexUnicodeEscape(std::string &out);
  void finish(Token &token, Token::Kind kind);

  llvm::StringRef text;
  size_t position = 0;
  uint32_t line = 1;
  size_t lineStart = 0;
  bool atLineStart = true;
};

/// How a token reads in a message: 'graph', '%x', the end of the file.
std::string describeToken(const Token &token);

/// May `path` stand unquoted: non-empty parts of letters, digits and '_' between dots?
bool isBarePath(llvm::StringRef path);
/// A legal node name: a letter or '_', then letters, digits, '_'.
bool isIdentifier(llvm::StringRef name);

} // namespace qfx

#endif // IR_TEXT_LEXERDETAIL_H
