// Recursive descent over .qfx tokens; private to ir/text.
#ifndef IR_TEXT_PARSERDETAIL_H
#define IR_TEXT_PARSERDETAIL_H

#include "ir/text/DeclarationsDetail.h"
#include "ir/text/LexerDetail.h"

#include "llvm/ADT/StringMap.h"

namespace qfx {

constexpr unsigned kMaxNesting = 64;

/// The token under the cursor and the ways to step over it.
class TokenReader {
public:
  explicit TokenReader(std::shared_ptr<const SourceText> source)
      : source(std::move(source)), lexer(this->source->text), token(lexer.next()) {}

protected:
  Location getLoc(const Token &at) const { return {source, at.line, at.column}; }
  Location getLoc() const { return getLoc(token); }
  void advance() { token = lexer.next(); }
  /// Steps over a punctuation character if it is next.
  bool accept(char punct);
  llvm::Error expect(char punct, llvm::StringRef where);
  /// `text_syntax`: "expected WHAT, got TOKEN" (or the token's own complaint).
  ErrorBuilder unexpected(llvm::StringRef what) const;
  /// A bare or quoted path; `what` names it in errors.
  llvm::Expected<std::string> readPath(llvm::StringRef what);
  llvm::Expected<std::string> readString(llvm::StringRef what);

  std::shared_ptr<const SourceText> source;
  Lexer lexer;
  Token token;
};

/// Arguments, types and tensor data.
class ValueParser : public TokenReader {
protected:
  ValueParser(std::shared_ptr<const SourceText> source, const LoadOptions &options)
      : TokenReader(std::move(source)), options(options) {}
  virtual ~ValueParser() = default;

  struct Keyword {
    std::string name;
    Argument value;
    Location loc;
  };

  /// The node a `%name` token stands for; null (noted elsewhere) if there is none.
  virtual Node *resolveNode(const Token &name) = 0;

  llvm::Expected<Argument> parseArgument(unsigned depth = 0);
  /// Up to the closing character, which is stepped over.
  llvm::Expected<Argument::Elements> parseElements(char close, unsigned depth, bool *hadTrailingComma = nullptr);
  /// `{"key": arg, ...}`
  llvm::Expected<Argument::DictEntries> parseDict(unsigned depth);
  /// The same without node references, for attributes and meta.
  llvm::Expected<Argument> parseConstant();
  llvm::Expected<Argument::DictEntries> parseConstantDict();
  /// `(a, b, key=c)`; positional ones are an error if `positional` is null.
  llvm::Error parseCallArguments(Argument::Elements *positional, std::vector<Keyword> &keywords);

  llvm::Expected<TensorType> parseType();
  /// A declared tensor's type: numbers only, within the limits.
  llvm::Expected<TensorType> parseStaticType();
  /// What follows `=` in a tensor line.
  llvm::Expected<Tensor> parseInit(const TensorType &type);

  const LoadOptions &options;

private:
  llvm::Expected<Argument> parseWord();
  llvm::Expected<Dim> parseDim();
  llvm::Error parseQuantizer(TensorType &type);
  llvm::Expected<double> parseNumber(llvm::StringRef what);
  llvm::Expected<int64_t> parseInteger(llvm::StringRef what);
  llvm::Expected<Quantizer> parsePerChannel(int64_t axis);
  llvm::Error claimBytes(uint64_t bytes, const Location &loc);
  llvm::Error parseElement(DType dtype, MutableBytes bytes, uint64_t index);
  llvm::Error parseNestedList(const TensorType &type, llvm::ArrayRef<int64_t> sizes, MutableBytes bytes, uint64_t &next);
  llvm::Expected<Tensor> parseRandom(const TensorType &type, const Location &loc);

  bool nodesAllowed = true;
  uint64_t generatedBytes = 0;
};

/// Writes `value` as element `index` of `dtype`, rounded to nearest even; false if an integer dtype cannot hold it.
/// The f8 dtypes take their codes.
bool storeElement(DType dtype, MutableBytes bytes, uint64_t index, double value);

/// The whole file.
class Parser final : public ValueParser {
public:
  Parser(std::shared_ptr<const SourceText> source, const LoadOptions &options) : ValueParser(std::move(source), options) {}
  llvm::Expected<GraphModule> parse();

private:
  struct Unresolved {
    std::string name;
    Location loc;
  };
  struct Suffix {
    std::optional<TensorType> type;
    std::optional<std::optional<Scope>> scope; ///< unset: the default
    Argument::DictEntries meta;
  };

  Node *resolveNode(const Token &name) override;
  llvm::Error parseVersion();
  void parseDeclarations();
  llvm::Error parseDeclaration();
  llvm::Error parseModule();
  llvm::Error parseRoot();
  llvm::Expected<ModuleRef> parseModuleBody(const Location &loc);
  llvm::Error parseTensor(bool isParameter);
  llvm::Error parseMeta();

  /// `graph PATH(...) {...}`: graphs of modules, before the model's own.
  void parseModuleGraphs();
  void parseGraph();
  llvm::Error parseHeader();
  void checkReturn(const Location &end);
  llvm::Error parseInput();
  void parseBody();
  llvm::Error parseStatement();
  llvm::Error parseReturn();
  llvm::Expected<Suffix> parseSuffix();
  llvm::Error checkNewName(const Token &name);
  void define(const Token &name, Node *node);
  void applySuffix(Node &node, Suffix suffix, const Location &loc);
  llvm::Expected<Node *> makeNode(llvm::StringRef opcode, const Location &opcodeLoc, const std::string &target,
                                  const Location &targetLoc, Argument::Elements args, Kwargs kwargs, llvm::StringRef name);
  llvm::Error checkModuleTarget(const std::string &path, const Location &loc);
  llvm::Error checkTensorTarget(const std::string &path, const Location &loc);

  /// Skips to the next line that starts with something a statement (or declaration) starts with.
  void recover(bool inGraph);
  bool hasTooManyErrors() const { return errors.size() >= kMaxErrors; }
  void reportUnresolved();
  void reportMissingTensors();
  llvm::Error finish();

  Declarations declarations;
  ModuleTree tree;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::vector<std::pair<std::string, Argument>> meta;
  ErrorList errors;
  struct Definition {
    Node *node = nullptr; ///< null: its statement failed, so errors about it have been told
    Location loc;
  };
  llvm::StringMap<Definition> definitions;
  std::vector<Unresolved> unresolved;
  bool statementFailed = false; ///< an operand of the current statement is unknown; noted already
  std::vector<ModuleRef> graphOwners; ///< modules that have a graph of their own
  ModuleRef scopeRoot; ///< where paths of the graph that is being read start
  bool sawGraph = false, sawReturn = false;
  llvm::StringSet<> reportedClasses;
};

} // namespace qfx

#endif // IR_TEXT_PARSERDETAIL_H
