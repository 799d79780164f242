// The file's frame: version, declarations, error recovery and the final checks.
#include "ir/text/ParserDetail.h"

#include "ir/ModuleGraph.h"
#include "ir/Ops.h"
#include "ir/verify/Verifier.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

namespace qfx {

static constexpr llvm::StringLiteral kDeclarations[] = {"weights", "root", "module", "parameter", "buffer", "meta", "graph"};

void Parser::recover(bool inGraph) {
  while (!token.is(Token::Kind::End)) {
    if (token.startsLine) {
      bool startsStatement = inGraph ? token.is(Token::Kind::Value) || token.isWord("return") || token.isPunct('}')
                                     : token.is(Token::Kind::Word) && llvm::is_contained(kDeclarations, token.text);
      if (startsStatement)
        return;
    }
    advance();
  }
}

llvm::Error Parser::parseVersion() {
  Location loc = getLoc();
  if (!token.isWord("qfx"))
    return error(loc, "a .qfx file starts with 'qfx {0}', got {1}", kQfxVersion, describeToken(token)).code("text_version");
  advance();
  if (!token.is(Token::Kind::Int))
    return error(getLoc(), "expected the version number, got {0}", describeToken(token)).code("text_version");
  if (token.integer != kQfxVersion)
    return error(getLoc(), "the file has version {0}, this build reads version {1}{2}", token.integer, kQfxVersion,
                 token.integer > kQfxVersion ? "; a newer qfx wrote it" : "")
        .code("text_version");
  advance();
  return llvm::Error::success();
}

llvm::Expected<ModuleRef> Parser::parseModuleBody(const Location &loc) {
  Location classLoc = getLoc();
  auto className = readPath("a module class");
  if (!className)
    return className.takeError();
  std::vector<Keyword> attributes;
  if (auto err = parseCallArguments(nullptr, attributes))
    return err;
  const TargetInfo *row = findModuleClass(*className);
  ModuleRef module = row ? std::make_shared<Module>(*row) : std::make_shared<Module>(*className);
  module->setLoc(loc);
  ErrorList wrong;
  llvm::StringSet<> names;
  for (Keyword &attribute : attributes) {
    if (!names.insert(attribute.name).second) {
      wrong.add(error(attribute.loc, "attribute '{0}' stands twice", attribute.name).code("module_attr"));
      continue;
    }
    if (row) {
      const SlotInfo *slot = row->getSignature().findSlot(attribute.name);
      if (!slot) {
        std::vector<std::string> known;
        for (const SlotInfo &one : row->getSignature().getSlots())
          known.push_back(one.name);
        wrong.add(error(attribute.loc, "'{0}' has no attribute '{1}'{2}", row->text, attribute.name,
                        didYouMean(attribute.name, known))
                      .code("module_attr"));
        continue;
      }
      wrong.add(checkAttribute(row->text, *slot, attribute.value, attribute.loc));
    }
    module->setAttribute(attribute.name, std::move(attribute.value));
  }
  if (row)
    for (const SlotInfo &slot : row->getSignature().getSlots())
      if (!slot.isOptional && !names.contains(slot.name))
        wrong.add(error(classLoc, "'{0}' needs the attribute '{1}'", row->text, slot.name).code("module_attr"));
  if (auto err = wrong.take())
    return err;
  if (token.isWord("training") && !token.startsLine) {
    module->setTraining(true);
    advance();
  }
  return module;
}

llvm::Error Parser::parseModule() {
  ModuleDecl decl;
  decl.loc = getLoc();
  auto path = readPath("a module path");
  if (!path)
    return path.takeError();
  decl.path = *path;
  declarations.broken.insert(decl.path);
  if (decl.path.empty())
    return error(decl.loc, "a module path is not empty; the root is declared with 'root'").code("text_syntax");
  if (accept('=')) {
    decl.aliasLoc = getLoc();
    auto target = readPath("a module path");
    if (!target)
      return target.takeError();
    decl.aliasOf = *target;
  } else {
    if (auto err = expect(':', "or '=' after a module path"))
      return err;
    auto module = parseModuleBody(decl.loc);
    if (!module)
      return module.takeError();
    decl.module = std::move(*module);
  }
  declarations.broken.erase(decl.path);
  declarations.modules.push_back(std::move(decl));
  return llvm::Error::success();
}

llvm::Error Parser::parseRoot() {
  Location loc = getLoc();
  if (declarations.root->getLoc().isKnown())
    return error(loc, "the root is declared twice").code("module_path").note(declarations.root->getLoc(), "first here");
  if (auto err = expect(':', "after 'root'"))
    return err;
  auto module = parseModuleBody(loc);
  if (!module)
    return module.takeError();
  declarations.root = std::move(*module);
  return llvm::Error::success();
}

llvm::Error Parser::parseTensor(bool isParameter) {
  TensorDecl decl;
  decl.isParameter = isParameter;
  decl.loc = getLoc();
  auto path = readPath("a tensor path");
  if (!path)
    return path.takeError();
  decl.path = *path;
  declarations.broken.insert(decl.path);
  if (accept('=')) {
    decl.aliasLoc = getLoc();
    auto target = readPath("a tensor path");
    if (!target)
      return target.takeError();
    decl.aliasOf = *target;
  } else {
    if (auto err = expect(':', "or '=' after a tensor path"))
      return err;
    auto type = parseStaticType();
    if (!type)
      return type.takeError();
    if (accept('=')) {
      auto data = parseInit(*type);
      if (!data)
        return data.takeError();
      decl.data = std::move(*data);
    }
    decl.type = std::move(*type);
  }
  declarations.broken.erase(decl.path);
  declarations.tensors.push_back(std::move(decl));
  return llvm::Error::success();
}

llvm::Error Parser::parseMeta() {
  Location loc = getLoc();
  auto name = readPath("the name of a fact");
  if (!name)
    return name.takeError();
  if (llvm::any_of(meta, [&](const auto &entry) { return entry.first == *name; }))
    return error(loc, "meta '{0}' stands twice", *name).code("text_syntax");
  if (auto err = expect('=', "after the name"))
    return err;
  auto value = parseConstant();
  if (!value)
    return value.takeError();
  meta.emplace_back(std::move(*name), std::move(*value));
  return llvm::Error::success();
}

llvm::Error Parser::parseDeclaration() {
  if (!token.is(Token::Kind::Word) || !llvm::is_contained(kDeclarations, token.text)) {
    std::vector<std::string> known(std::begin(kDeclarations), std::end(kDeclarations));
    if (token.is(Token::Kind::Word))
      return error(getLoc(), "unknown declaration '{0}'{1}", token.text, didYouMean(token.text, known)).code("text_syntax");
    return unexpected("'weights', 'root', 'module', 'parameter', 'buffer', 'meta' or 'graph'");
  }
  llvm::StringRef word = token.text;
  advance();
  if (word == "weights") {
    Location loc = getLoc();
    auto file = readString("a file name in quotes");
    if (!file)
      return file.takeError();
    declarations.weights.push_back({std::move(*file), loc});
    return llvm::Error::success();
  }
  if (word == "root")
    return parseRoot();
  if (word == "module")
    return parseModule();
  if (word == "meta")
    return parseMeta();
  return parseTensor(word == "parameter");
}

void Parser::parseDeclarations() {
  while (!token.isWord("graph") && !token.is(Token::Kind::End) && !hasTooManyErrors()) {
    bool isKeyword = token.is(Token::Kind::Word) && llvm::is_contained(kDeclarations, token.text);
    llvm::Error err = parseDeclaration();
    if (!err && !token.startsLine && !token.is(Token::Kind::End))
      err = unexpected("a line break after the declaration");
    if (!err)
      continue;
    errors.add(std::move(err));
    if (!isKeyword && !token.is(Token::Kind::End))
      advance(); // a word that starts nothing is not worth a second message
    recover(/*inGraph=*/false);
  }
}

void Parser::reportMissingTensors() {
  llvm::DenseSet<const Module *> needed;
  auto need = [&](auto &self, const Module &module) -> void {
    if (needed.insert(&module).second)
      for (const auto &child : module.getChildren())
        self(self, *child.second);
  };
  auto needCalled = [&](const Graph &calls, const Module &owner) {
    for (const Node &node : calls.nodes())
      if (node.is(Opcode::CallModule) || node.is(Opcode::GetAttr)) // get_attr may read packed weights
        if (ModuleRef module = owner.findModule(node.getTargetText()); module && !hasGraph(*module))
          need(need, *module);
  };
  needCalled(*graph, *tree.root);
  for (const ModuleRef &owner : graphOwners)
    needCalled(*readGraph(*owner), *owner);
  for (MissingTensor &missing : tree.missing)
    if (needed.contains(missing.module) && !hasTooManyErrors())
      errors.add(llvm::make_error<InputError>(std::move(missing.diagnostic)));
}

/// Findings in the order of the text; those without a place first.
llvm::Error Parser::finish() {
  bool tooMany = hasTooManyErrors();
  std::vector<Diagnostic> all = takeDiagnostics(errors.take());
  std::stable_sort(all.begin(), all.end(), [](const Diagnostic &a, const Diagnostic &b) {
    return std::pair(a.loc.line, a.loc.column) < std::pair(b.loc.line, b.loc.column);
  });
  if (tooMany)
    all.back().notes.push_back(error(Location(), "too many errors: the rest of the text was not read").take());
  return llvm::make_error<InputError>(std::move(all));
}

/// `PATH:NAME` is a fact about the graph of the module at that path.
static void setMeta(GraphModule &model, llvm::StringRef name, Argument value) {
  auto [path, key] = name.rsplit(':');
  ModuleRef module = key.empty() ? nullptr : model.getRoot().findModule(path);
  if (!module || !hasGraph(*module))
    return model.setMeta(name, std::move(value));
  Argument::DictEntries facts = readGraphMeta(*module);
  facts.emplace_back(key.str(), std::move(value));
  writeGraphMeta(*module, std::move(facts));
}

llvm::Expected<GraphModule> Parser::parse() {
  size_t badByte = 0;
  if (!llvm::json::isUTF8(source->text, &badByte)) {
    llvm::StringRef before = llvm::StringRef(source->text).take_front(badByte);
    auto line = static_cast<uint32_t>(before.count('\n') + 1);
    auto column = static_cast<uint32_t>(badByte - (before.rfind('\n') + 1) + 1); // npos + 1 is 0
    return error({source, line, column}, "the text is not UTF-8 at byte {0}", badByte).code("text_syntax");
  }
  if (auto err = parseVersion())
    return err;
  parseDeclarations();
  if (!hasTooManyErrors())
    tree = buildModuleTree(declarations, source->name, options, errors);
  else
    tree.root = declarations.root;
  if (!hasTooManyErrors())
    parseModuleGraphs();
  if (!hasTooManyErrors())
    parseGraph();
  if (!hasTooManyErrors()) {
    reportUnresolved();
    reportMissingTensors();
  }
  if (!errors.empty())
    return finish();
  GraphModule model(std::move(tree.root), std::move(graph));
  for (auto &[name, value] : meta)
    setMeta(model, name, std::move(value));
  if (auto err = verify(model))
    return err;
  return model;
}

llvm::Expected<GraphModule> parseQfx(std::shared_ptr<const SourceText> source, const LoadOptions &options) {
  if (source->text.size() > options.limits.maxFileBytes)
    return error({source, 0, 0}, "the text has {0} bytes, the limit is {1}", source->text.size(),
                 options.limits.maxFileBytes)
        .code("tensor_size");
  return Parser(std::move(source), options).parse();
}

} // namespace qfx
