// The graph: header, statements, return.
#include "ir/text/ParserDetail.h"

#include "ir/ModuleGraph.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

Node *Parser::resolveNode(const Token &name) {
  auto it = definitions.find(name.text);
  if (it == definitions.end()) {
    unresolved.push_back({name.text.str(), getLoc(name)});
    statementFailed = true;
    return nullptr;
  }
  statementFailed |= !it->second.node;
  return it->second.node;
}

llvm::Error Parser::checkNewName(const Token &name) {
  Location loc = getLoc(name);
  if (!isIdentifier(name.text))
    return error(loc, "'%{0}' is not a node name: a letter or '_', then letters, digits and '_'", name.text)
        .code("node_name");
  if (isReservedName(name.text))
    return error(loc, "'{0}' is a reserved name; torch.fx would call the node '{0}_1'", name.text).code("node_name");
  auto it = definitions.find(name.text);
  if (it != definitions.end())
    return error(loc, "a second node has the name '{0}'", name.text)
        .code("node_name")
        .note(it->second.loc, "the first one");
  return llvm::Error::success();
}

void Parser::define(const Token &name, Node *node) {
  assert((!node || node->getName() == name.text) && "a legal unused name was changed");
  if (node)
    node->setLoc(getLoc(name));
  definitions.try_emplace(name.text, Definition{node, getLoc(name)});
}

void Parser::applySuffix(Node &node, Suffix suffix, const Location &loc) {
  node.setLoc(loc);
  node.setType(std::move(suffix.type));
  if (suffix.scope) {
    node.setScope(std::move(*suffix.scope));
  } else {
    Scope scope;
    if (node.is(Opcode::CallModule))
      scope = {node.getTargetText().str(), scopeRoot->findModule(node.getTargetText())->getClassName()};
    node.setScope(std::move(scope));
  }
  for (auto &[key, value] : suffix.meta)
    node.setMeta(key, std::move(value));
}

llvm::Expected<Parser::Suffix> Parser::parseSuffix() {
  Suffix suffix;
  if (accept(':')) {
    auto type = parseType();
    if (!type)
      return type.takeError();
    suffix.type = std::move(*type);
  }
  if (token.isWord("scope")) {
    advance();
    if (auto err = expect('(', "after 'scope'"))
      return err;
    if (token.isWord("None")) {
      advance();
      suffix.scope = std::optional<Scope>();
    } else {
      Scope scope;
      auto path = readString("the scope's path in quotes, or None");
      if (!path)
        return path.takeError();
      if (auto err = expect(',', "after the scope's path"))
        return err;
      auto className = readString("the scope's class in quotes");
      if (!className)
        return className.takeError();
      suffix.scope = Scope{std::move(*path), std::move(*className)};
    }
    if (auto err = expect(')', "after the scope"))
      return err;
  }
  if (token.isWord("meta")) {
    advance();
    auto entries = parseConstantDict();
    if (!entries)
      return entries.takeError();
    suffix.meta = std::move(*entries);
  }
  return suffix;
}

llvm::Error Parser::parseInput() {
  if (!token.is(Token::Kind::Value))
    return unexpected("an input as '%name'");
  Token name = token;
  if (auto err = checkNewName(name))
    return err;
  advance();
  Suffix suffix;
  if (accept(':')) {
    auto type = parseType();
    if (!type) {
      define(name, nullptr);
      return type.takeError();
    }
    suffix.type = std::move(*type);
  }
  Node *node = graph->placeholder(name.text, std::nullopt, name.text);
  define(name, node);
  applySuffix(*node, std::move(suffix), getLoc(name));
  return llvm::Error::success();
}

llvm::Error Parser::parseHeader() {
  if (auto err = expect('(', "after 'graph'"))
    return err;
  for (bool comma = true; !accept(')'); comma = accept(',')) {
    if (!comma)
      return unexpected("',' or ')'");
    if (auto err = parseInput())
      return err;
  }
  return expect('{', "before the statements");
}

llvm::Error Parser::checkModuleTarget(const std::string &path, const Location &loc) {
  ModuleRef module = path.empty() ? nullptr : scopeRoot->findModule(path);
  if (!module) {
    statementFailed = true;
    bool isDeclared = llvm::any_of(declarations.modules, [&](const ModuleDecl &decl) { return decl.path == path; });
    if (isDeclared || declarations.broken.contains(path))
      return llvm::Error::success();
    return error(loc, "no module '{0}'{1}", path, didYouMean(path, getModulePaths(*scopeRoot))).code("node_target");
  }
  if (module->getClass() || hasGraph(*module))
    return llvm::Error::success();
  statementFailed = true;
  if (!reportedClasses.insert(module->getClassName()).second)
    return llvm::Error::success();
  ErrorBuilder builder =
      error(loc, "module '{0}' is called, but its class '{1}' is not in the operator table{2}", path,
            module->getClassName(), didYouMean(module->getClassName(), getTargetNames(TargetKind::Module)))
          .code("module_class");
  if (module->getLoc().isKnown())
    return std::move(builder).note(module->getLoc(), "declared here");
  return builder;
}

llvm::Error Parser::checkTensorTarget(const std::string &path, const Location &loc) {
  if (scopeRoot->findTensorAt(path))
    return llvm::Error::success();
  ModuleRef module = path.empty() ? nullptr : scopeRoot->findModule(path);
  if (module && module->getClass() && module->getClass()->op == OpKind::PackedWeights)
    return llvm::Error::success();
  statementFailed = true;
  // Where the declarations had errors the tensors were not loaded: no follow-up message.
  bool isDeclared = declarations.broken.contains(path) ||
                    llvm::any_of(declarations.tensors, [&](const TensorDecl &decl) { return decl.path == path; });
  bool isMissing = llvm::any_of(tree.missing, [&](const MissingTensor &missing) {
    return scopeRoot->findModule(splitPath(path).first).get() == missing.module;
  });
  if (isDeclared || isMissing)
    return llvm::Error::success();
  return error(loc, "no parameter or buffer '{0}'{1}", path, didYouMean(path, getTensorPaths(*scopeRoot)))
      .code("node_target");
}

/// Why a function or method of PyTorch has no row; empty if there is no such reason.  `torch.unique`, `unique` and `aten.unique.default` are one.
static llvm::StringRef findRefusal(llvm::StringRef name) {
  if (startsWith(name, "aten."))
    name = name.split('.').second.split('.').first;
  name = name.rsplit('.').second.empty() ? name : name.rsplit('.').second;
#define QFX_REFUSED(refused, reason)                                                                                   \
  if (name == refused)                                                                                                 \
    return reason;
#include "ir/ops/Refused.def"
  return {};
}

static std::string describeUnknownTarget(llvm::StringRef what, llvm::StringRef name, TargetKind kind) {
  if (llvm::StringRef reason = findRefusal(name); !reason.empty())
    return llvm::formatv("{0} '{1}' is not taken: {2}", what, name, reason).str();
  return llvm::formatv("{0} '{1}' is not in the operator table{2}", what, name, didYouMean(name, getTargetNames(kind))).str();
}

llvm::Expected<Node *> Parser::makeNode(llvm::StringRef opcode, const Location &opcodeLoc, const std::string &target,
                                        const Location &targetLoc, Argument::Elements args, Kwargs kwargs,
                                        llvm::StringRef name) {
  auto stop = [&](llvm::Error err) -> llvm::Expected<Node *> {
    if (err)
      return err;
    return nullptr;
  };
  if (opcode == "call_function") {
    const TargetInfo *row = findFunction(target);
    if (!row)
      return error(targetLoc, "{0}", describeUnknownTarget("function", target, TargetKind::Function)).code("node_target");
    return statementFailed ? nullptr : graph->callFunction(*row, std::move(args), std::move(kwargs), name);
  }
  if (opcode == "call_method") {
    const TargetInfo *row = findMethod(target);
    if (!row)
      return error(targetLoc, "{0}", describeUnknownTarget("method", target, TargetKind::Method)).code("node_target");
    return statementFailed ? nullptr : graph->callMethod(*row, std::move(args), std::move(kwargs), name);
  }
  if (opcode == "call_module") {
    llvm::Error err = checkModuleTarget(target, targetLoc);
    if (err || statementFailed)
      return stop(std::move(err));
    return graph->callModule(target, std::move(args), std::move(kwargs), name);
  }
  bool isPlaceholder = opcode == "placeholder";
  if (!isPlaceholder && opcode != "get_attr") {
    static const std::vector<std::string> kOpcodes = {"placeholder", "get_attr", "call_function", "call_method",
                                                      "call_module"};
    return error(opcodeLoc, "unknown opcode '{0}'{1}", opcode, didYouMean(opcode, kOpcodes)).code("text_syntax");
  }
  if (!kwargs.empty() || args.size() > (isPlaceholder ? 1 : 0))
    return error(opcodeLoc, isPlaceholder ? "a placeholder takes at most a default value" : "get_attr takes no arguments")
        .code("node_arity");
  if (isPlaceholder)
    return graph->placeholder(target, args.empty() ? std::nullopt : std::optional<Argument>(args[0]), name);
  llvm::Error err = checkTensorTarget(target, targetLoc);
  if (err || statementFailed)
    return stop(std::move(err));
  return graph->getAttr(target, name);
}

llvm::Error Parser::parseStatement() {
  Token name = token;
  if (!name.is(Token::Kind::Value))
    return unexpected("a statement as '%name = ...', 'return' or '}'");
  llvm::Error nameError = checkNewName(name);
  bool isNew = !nameError;
  if (nameError)
    errors.add(std::move(nameError));
  advance();
  auto parseRest = [&]() -> llvm::Expected<Node *> {
    if (auto err = expect('=', "after the node's name"))
      return err;
    Location opcodeLoc = getLoc();
    if (!token.is(Token::Kind::Word))
      return unexpected("an opcode such as 'call_module'");
    std::string opcode = token.text.str();
    advance();
    if (auto err = expect('[', "before the target"))
      return err;
    Location targetLoc = getLoc();
    auto target = readPath("a target");
    if (!target)
      return target.takeError();
    if (auto err = expect(']', "after the target"))
      return err;
    Argument::Elements args;
    std::vector<Keyword> keywords;
    statementFailed = !isNew;
    if (auto err = parseCallArguments(&args, keywords))
      return err;
    auto suffix = parseSuffix();
    if (!suffix)
      return suffix.takeError();
    Kwargs kwargs;
    for (Keyword &keyword : keywords) {
      for (const auto &other : kwargs)
        if (other.first == keyword.name)
          return error(keyword.loc, "the keyword argument '{0}' stands twice", keyword.name).code("node_arity");
      kwargs.emplace_back(keyword.name, std::move(keyword.value));
    }
    if (!isNew)
      return nullptr;
    auto node = makeNode(opcode, opcodeLoc, *target, targetLoc, std::move(args), std::move(kwargs), name.text);
    if (node && *node)
      applySuffix(**node, std::move(*suffix), getLoc(name));
    return node;
  };
  auto node = parseRest();
  if (isNew)
    define(name, node ? *node : nullptr);
  return node ? llvm::Error::success() : node.takeError();
}

llvm::Error Parser::parseReturn() {
  Location loc = getLoc();
  if (sawReturn)
    return error(loc, "a second 'return'").code("node_output");
  sawReturn = true;
  advance();
  statementFailed = false;
  auto value = parseArgument();
  if (!value)
    return value.takeError();
  auto suffix = parseSuffix();
  if (!suffix)
    return suffix.takeError();
  if (!statementFailed)
    applySuffix(*graph->output(std::move(*value)), std::move(*suffix), loc);
  return llvm::Error::success();
}

void Parser::parseBody() {
  while (!token.isPunct('}') && !token.is(Token::Kind::End) && !hasTooManyErrors()) {
    bool isReturn = token.isWord("return"), progress = isReturn || token.is(Token::Kind::Value);
    llvm::Error err = llvm::Error::success();
    if (!isReturn && sawReturn)
      err = error(getLoc(), "a statement behind the 'return', which must be the last one").code("node_output");
    else
      err = isReturn ? parseReturn() : parseStatement();
    if (!err && !token.startsLine && !token.isPunct('}') && !token.is(Token::Kind::End))
      err = unexpected("a line break after the statement");
    if (!err)
      continue;
    bool isMisplaced = !isReturn && sawReturn;
    errors.add(std::move(err));
    if (!progress || isMisplaced)
      advance();
    recover(/*inGraph=*/true);
  }
}

void Parser::parseGraph() {
  if (!token.isWord("graph")) {
    errors.add(unexpected("'graph'"));
    return;
  }
  scopeRoot = tree.root;
  advance();
  sawGraph = true;
  if (llvm::Error err = parseHeader()) {
    errors.add(std::move(err));
    recover(/*inGraph=*/true);
  }
  parseBody();
  if (hasTooManyErrors())
    return;
  Location end = getLoc();
  if (!accept('}'))
    errors.add(unexpected("'}' after the statements"));
  else if (!token.is(Token::Kind::End))
    errors.add(unexpected("nothing after the graph"));
  checkReturn(end);
}

void Parser::checkReturn(const Location &end) {
  if (!sawReturn)
    errors.add(error(end, "the graph has no 'return'").code("node_output"));
}

void Parser::parseModuleGraphs() {
  while (token.isWord("graph") && !hasTooManyErrors()) {
    Lexer saved = lexer;
    Token word = token;
    advance();
    if (token.isPunct('(')) { // the model's own
      lexer = saved;
      token = word;
      return;
    }
    Location loc = getLoc();
    auto path = readPath("the path of the module that the graph belongs to, or '('");
    if (!path) {
      errors.add(path.takeError());
      return;
    }
    scopeRoot = tree.root->findModule(*path);
    if (!scopeRoot || scopeRoot->getClass() || hasGraph(*scopeRoot)) {
      errors.add(!scopeRoot ? error(loc, "no module '{0}'{1}", *path, didYouMean(*path, getModulePaths(*tree.root))).code("node_target")
                            : error(loc, "module '{0}' of class '{1}' {2}", *path, scopeRoot->getClassName(),
                                    hasGraph(*scopeRoot) ? "has a graph already" : "is in the operator table: it has no graph of its own")
                                  .code("module_graph"));
      scopeRoot = tree.root;
    }
    ModuleRef owner = scopeRoot;
    if (llvm::Error err = parseHeader()) {
      errors.add(std::move(err));
      recover(/*inGraph=*/true);
    }
    parseBody();
    checkReturn(getLoc());
    if (!accept('}'))
      errors.add(unexpected("'}' after the statements"));
    reportUnresolved();
    if (owner != tree.root && errors.empty()) {
      writeGraph(*owner, *graph);
      graphOwners.push_back(owner);
    }
    graph = std::make_unique<Graph>();
    definitions.clear();
    unresolved.clear();
    sawReturn = false;
  }
}

void Parser::reportUnresolved() {
  std::vector<std::string> names;
  for (const auto &entry : definitions)
    names.push_back(entry.getKey().str());
  for (const Unresolved &use : unresolved) {
    if (hasTooManyErrors()) // each searches all names for the nearest
      return;
    auto it = definitions.find(use.name);
    if (it != definitions.end())
      errors.add(error(use.loc, "'%{0}' is used before it is defined", use.name)
                     .code("node_order")
                     .note(it->second.loc, "defined here"));
    else
      errors.add(error(use.loc, "no node '%{0}'{1}", use.name, didYouMean(use.name, names)).code("node_order"));
  }
}

} // namespace qfx
