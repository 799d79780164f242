// Reads the declarations of a text as far as its graph; looks at what a path leads to.
#include "ir/text/WeightsFiles.h"

#include "ir/text/LexerDetail.h"

#include "llvm/Support/FileSystem.h"

namespace qfx {

std::vector<std::string> findWeightsNames(llvm::StringRef text) {
  std::vector<std::string> names;
  Lexer lexer(text);
  for (Token token = lexer.next(); !token.is(Token::Kind::End) && !token.is(Token::Kind::Bad); token = lexer.next()) {
    if (token.startsLine && token.isWord("graph"))
      break;
    if (!token.startsLine || !token.isWord("weights"))
      continue;
    Token name = lexer.next();
    if (!name.is(Token::Kind::String))
      break;
    names.push_back(name.value);
  }
  return names;
}

std::string getWeightsPath(llvm::StringRef modelPath) {
  llvm::sys::fs::file_status status;
  bool exists = !llvm::sys::fs::status(modelPath, status);
  if (modelPath == "-" || (exists && !llvm::sys::fs::is_regular_file(status) && !llvm::sys::fs::is_directory(status)))
    return {};
  modelPath.consume_back(".qfx");
  return (modelPath + ".safetensors").str();
}

} // namespace qfx
