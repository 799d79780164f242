// FX Arguments from tokens.
#include "ir/text/ParserDetail.h"

namespace qfx {

bool TokenReader::accept(char punct) {
  if (!token.isPunct(punct))
    return false;
  advance();
  return true;
}

ErrorBuilder TokenReader::unexpected(llvm::StringRef what) const {
  if (token.is(Token::Kind::Bad))
    return error(getLoc(), "{0}; expected {1}", token.value, what).code("text_syntax");
  return error(getLoc(), "expected {0}, got {1}", what, describeToken(token)).code("text_syntax");
}

llvm::Error TokenReader::expect(char punct, llvm::StringRef where) {
  if (accept(punct))
    return llvm::Error::success();
  return unexpected(llvm::formatv("'{0}' {1}", punct, where).str());
}

llvm::Expected<std::string> TokenReader::readPath(llvm::StringRef what) {
  if (token.is(Token::Kind::String))
    return readString(what);
  Lexer saved = lexer;
  Token path = lexer.rereadAsPath(token);
  if (path.text.empty()) {
    lexer = saved;
    return unexpected(what);
  }
  advance();
  return path.text.str();
}

llvm::Expected<std::string> TokenReader::readString(llvm::StringRef what) {
  if (!token.is(Token::Kind::String))
    return unexpected(what);
  std::string value = std::move(token.value);
  advance();
  return value;
}

llvm::Expected<Argument::Elements> ValueParser::parseElements(char close, unsigned depth, bool *hadTrailingComma) {
  Argument::Elements elements;
  bool comma = true;
  while (!accept(close)) {
    if (!comma)
      return unexpected(llvm::formatv("',' or '{0}'", close).str());
    auto element = parseArgument(depth + 1);
    if (!element)
      return element.takeError();
    elements.push_back(std::move(*element));
    comma = accept(',');
  }
  if (hadTrailingComma)
    *hadTrailingComma = comma && !elements.empty();
  return elements;
}

llvm::Expected<Argument::DictEntries> ValueParser::parseDict(unsigned depth) {
  if (auto err = expect('{', "before the entries of a dict"))
    return err;
  Argument::DictEntries entries;
  bool comma = true;
  llvm::StringSet<> keys;
  while (!accept('}')) {
    if (!comma)
      return unexpected("',' or '}'");
    Location keyLoc = getLoc();
    auto key = readString("a quoted key");
    if (!key)
      return key.takeError();
    if (!keys.insert(*key).second)
      return error(keyLoc, "the key '{0}' stands twice in a dict", *key).code("text_syntax");
    if (auto err = expect(':', "after a key"))
      return err;
    auto value = parseArgument(depth + 1);
    if (!value)
      return value.takeError();
    entries.emplace_back(std::move(*key), std::move(*value));
    comma = accept(',');
  }
  return entries;
}

llvm::Expected<Argument> ValueParser::parseWord() {
  llvm::StringRef word = token.text;
  auto take = [&](Argument value) {
    advance();
    return value;
  };
  if (word == "None")
    return take(Argument::none());
  if (word == "True" || word == "False")
    return take(Argument(word == "True"));
  llvm::StringRef name = word;
  if (name.consume_front("torch.")) {
    if (auto dtype = parseTorchDType(name))
      return take(*dtype);
    if (auto scheme = parseQScheme(name))
      return take(*scheme);
    if (auto format = parseMemoryFormat(name))
      return take(*format);
    return unexpected("a dtype, qscheme or memory format");
  }
  if (word == "device") {
    advance();
    if (auto err = expect('(', "after 'device'"))
      return err;
    auto device = readString("a device name in quotes");
    if (!device)
      return device.takeError();
    if (auto err = expect(')', "after the device name"))
      return err;
    return Argument::device(*device);
  }
  return unexpected("an argument");
}

llvm::Expected<Argument> ValueParser::parseArgument(unsigned depth) {
  Location loc = getLoc();
  if (depth > kMaxNesting)
    return error(loc, "arguments are nested more than {0} levels deep", kMaxNesting).code("text_syntax");
  switch (token.kind) {
  case Token::Kind::Value: {
    if (!nodesAllowed)
      return error(loc, "'%{0}' is a node; only constants may stand here", token.text).code("text_syntax");
    Node *node = resolveNode(token);
    advance();
    return node ? Argument(node) : Argument::none();
  }
  case Token::Kind::Int: {
    Argument value(token.integer);
    advance();
    return value;
  }
  case Token::Kind::Float: {
    Argument value(token.number);
    advance();
    return value;
  }
  case Token::Kind::String:
    if (auto text = readString("a string"))
      return Argument(std::move(*text));
    else
      return text.takeError();
  case Token::Kind::Ellipsis:
    advance();
    return Argument::ellipsis();
  case Token::Kind::Word: {
    if (!token.isWord("slice"))
      return parseWord();
    advance();
    if (auto err = expect('(', "after 'slice'"))
      return err;
    auto parts = parseElements(')', depth);
    if (!parts)
      return parts.takeError();
    if (parts->size() != 3)
      return error(loc, "'slice' has three parts (start, stop, step), got {0}", parts->size()).code("text_syntax");
    return Argument::slice((*parts)[0], (*parts)[1], (*parts)[2]);
  }
  case Token::Kind::Punct:
    if (accept('[')) {
      auto elements = parseElements(']', depth);
      if (!elements)
        return elements.takeError();
      return Argument::list(std::move(*elements));
    }
    if (accept('(')) {
      bool trailingComma = false;
      auto elements = parseElements(')', depth, &trailingComma);
      if (!elements)
        return elements.takeError();
      if (elements->size() == 1 && !trailingComma)
        return error(loc, "a tuple of one element is written with a comma, '(x,)'").code("text_syntax");
      return Argument::tuple(std::move(*elements));
    }
    if (token.isPunct('{')) {
      auto entries = parseDict(depth);
      if (!entries)
        return entries.takeError();
      return Argument::dict(std::move(*entries));
    }
    return unexpected("an argument");
  default:
    return unexpected("an argument");
  }
}

llvm::Expected<Argument> ValueParser::parseConstant() {
  nodesAllowed = false;
  auto value = parseArgument();
  nodesAllowed = true;
  return value;
}

llvm::Expected<Argument::DictEntries> ValueParser::parseConstantDict() {
  nodesAllowed = false;
  auto entries = parseDict(0);
  nodesAllowed = true;
  return entries;
}

llvm::Error ValueParser::parseCallArguments(Argument::Elements *positional, std::vector<Keyword> &keywords) {
  if (auto err = expect('(', "before the arguments"))
    return err;
  bool comma = true;
  while (!accept(')')) {
    if (!comma)
      return unexpected("',' or ')'");
    Location loc = getLoc();
    // `name=` needs one token more than the cursor shows: a word that starts no argument.
    bool isKeyword = token.is(Token::Kind::Word) || token.is(Token::Kind::Float);
    Lexer saved = lexer;
    Token word = token;
    if (isKeyword) {
      advance();
      isKeyword = token.isPunct('=');
      if (!isKeyword) {
        lexer = saved;
        token = word;
      }
    }
    if (isKeyword) {
      advance();
      auto value = parseArgument(1);
      if (!value)
        return value.takeError();
      keywords.push_back({word.text.str(), std::move(*value), loc});
    } else {
      if (!positional)
        return unexpected("an attribute as 'name=value'");
      if (!keywords.empty())
        return error(loc, "a positional argument stands behind the keyword argument '{0}'", keywords.back().name)
            .code("text_syntax");
      auto value = parseArgument(1);
      if (!value)
        return value.takeError();
      positional->push_back(std::move(*value));
    }
    comma = accept(',');
  }
  return llvm::Error::success();
}

} // namespace qfx
