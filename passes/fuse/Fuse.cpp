// Rewriting matches into calls of fused modules.
#include "passes/fuse/Fuse.h"

#include "ir/GraphModule.h"
#include "passes/Pass.h"
#include "passes/GraphUtils.h"
#include "passes/PassRegistry.h"
#include "passes/ValueOrigin.h"
#include "passes/config/Matcher.h"
#include "passes/eager/DropMarkers.h"
#include "passes/fuse/Fusers.h"
#include "passes/fuse/FusionRecord.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace qfx {

namespace {
class Fusion {
public:
  Fusion(GraphModule &model, const FuseOptions &options, PassContext &context)
      : model(model), options(options), context(context), matcher(model, context.backend, MatchPurpose::Fuse) {}

  llvm::Expected<bool> run() {
    matches = matcher.scan();
    if (llvm::Error err = collect())
      return err;
    findSharedRoots();
    auto graph = std::make_unique<Graph>();
    std::vector<AbsorbedNode> record = loadFusionRecord(model);
    llvm::DenseMap<Node *, Node *> copies;
    auto map = [&](Node *node) -> Argument {
      Node *copy = copies.lookup(node);
      assert(copy && "operands stand before users");
      return copy;
    };
    for (Node &node : model.getGraph().nodes()) {
      if (llvm::Error err = context.checkCancelled("fuse"))
        return err;
      auto it = matchOf.find(&node);
      if (it == matchOf.end()) {
        remarkOnSharing(node);
        copies[&node] = graph->copyNode(node, map);
        continue;
      }
      const Match &match = matches[it->second];
      if (match.anchor != &node)
        continue;
      auto path = fuseModule(it->second);
      if (!path)
        return path.takeError();
      Node *fused = graph->copyNode(*match.root, map);
      std::vector<Argument> args(fused->getArgs().begin(), fused->getArgs().end());
      for (Node *extra : match.extraInputs)
        args.push_back(map(extra));
      fused->setArgs(std::move(args));
      fused->setTargetPath(*path);
      fused->setType(node.getType());
      setValueOrigin(*fused, *match.anchor);
      copies[&node] = fused;
      for (const Node *member : match.nodes)
        if (member != match.root)
          record.push_back(AbsorbedNode::of(*member, model, fused->getName()));
      context.applied("fuse", *fused, llvm::formatv("'{0}' fused into '{1}'", describe(match), fused->getName()));
    }
    for (auto &replacement : replacements)
      model.getRoot().setModule(replacement.first, replacement.second);
    model.setGraph(std::move(graph));
    // Fusing is the first step of prepare too: what that will preserve must still be there.
    std::vector<std::string> preserved = context.customConfig.fuse.getPreservedAttributes();
    const std::vector<std::string> &later = context.customConfig.prepare.getPreservedAttributes();
    preserved.insert(preserved.end(), later.begin(), later.end());
    dropUnreferencedMembers(model, preserved);
    if (!record.empty())
      storeFusionRecord(model, record);
    return !matches.empty();
  }

private:
  /// What decides whether two matches fuse into the same module: the entry and the members (null for functions, whose
  /// module form is made per match).
  using Key = std::pair<const BackendPatternConfig *, std::vector<const void *>>;

  llvm::Error collect() {
    for (size_t i = 0; i < matches.size(); ++i) {
      auto matchMembers = collectMembers(matches[i], model);
      if (!matchMembers)
        return matchMembers.takeError();
      members.push_back(std::move(*matchMembers));
      for (Node *node : matches[i].nodes)
        matchOf[node] = i;
    }
    return llvm::Error::success();
  }

  Key makeKey(size_t index) const {
    Key key{matches[index].entry, {}};
    for (const FusionMember &member : members[index])
      key.second.push_back(member.node->is(Opcode::CallModule) ? static_cast<const void *>(member.module.get())
                                                               : static_cast<const void *>(member.node->getTarget()));
    return key;
  }

  const Module *getRootModule(size_t index) const {
    for (const FusionMember &member : members[index])
      if (member.node == matches[index].root)
        return member.module.get();
    llvm_unreachable("the root is a member");
  }

  /// Finds the root modules that have a use other than as root of equal matches.
  void findSharedRoots() {
    std::map<const Module *, Key> keys;
    for (size_t i = 0; i < matches.size(); ++i) {
      auto [it, isNew] = keys.emplace(getRootModule(i), makeKey(i));
      if (!isNew && it->second != makeKey(i))
        sharedRoots.insert(it->first);
    }
    for (const Node &node : model.getGraph().nodes()) {
      if (node.is(Opcode::CallModule)) {
        auto it = matchOf.find(&node);
        if (it == matchOf.end() || matches[it->second].root != &node)
          sharedRoots.insert(model.getModule(node).get());
      } else if (node.is(Opcode::GetAttr)) {
        for (llvm::StringRef path = splitPath(node.getTargetText()).first; !path.empty(); path = splitPath(path).first)
          sharedRoots.insert(model.getRoot().findModule(path).get());
      }
    }
  }

  /// The path under which the fused module of a match stands.
  llvm::Expected<std::string> fuseModule(size_t index) {
    const Match &match = matches[index];
    std::string path = match.root->getTargetText().str();
    bool isShared = sharedRoots.contains(getRootModule(index));
    Fused &fused = fusedModules[makeKey(index)];
    if (!fused.module) {
      auto module = runFuser(match, members[index], options.isQat);
      if (!module)
        return module.takeError();
      fused.module = std::move(*module);
    }
    if (isShared) {
      if (fused.freshPath.empty())
        fused.freshPath = makeFreshPath(path);
      path = fused.freshPath;
    }
    replacements[path] = fused.module;
    return path;
  }

  std::string makeFreshPath(llvm::StringRef path) {
    auto [parentPath, name] = splitPath(path);
    ModuleRef parent = parentPath.empty() ? nullptr : model.getRoot().findModule(parentPath);
    const Module &owner = parent ? *parent : model.getRoot();
    for (unsigned i = 1;; ++i) {
      std::string candidate = llvm::formatv("{0}_{1}", name, i);
      std::string full = joinPath(parentPath, candidate);
      if (!owner.hasMember(candidate) && !replacements.count(full))
        return full;
    }
  }

  static std::string describe(const Match &match) {
    std::string text;
    for (const Node *node : llvm::reverse(match.nodes))
      text += (text.empty() ? "" : " + ") + node->getName();
    return text;
  }

  void remarkOnSharing(Node &node) {
    if (!context.onRemark)
      return;
    Node *shared = matcher.findSharedInterior(node);
    if (!shared)
      return;
    Remark remark;
    remark.pass = "fuse";
    remark.node = node.getName();
    remark.diagnostic.severity = Severity::Remark;
    remark.diagnostic.loc = node.getLoc();
    remark.diagnostic.code = "fuse_users";
    remark.diagnostic.message =
        llvm::formatv("'{0}' not fused: '{1}' has {2} users", node.getName(), shared->getName(), shared->getNumUsers());
    context.onRemark(remark);
  }

  struct Fused {
    ModuleRef module;
    std::string freshPath; ///< set when the root's own path has other users
  };

  GraphModule &model;
  const FuseOptions &options;
  PassContext &context;
  Matcher matcher;
  std::vector<Match> matches;
  std::vector<std::vector<FusionMember>> members; ///< parallel to matches
  llvm::DenseMap<const Node *, size_t> matchOf;
  llvm::DenseSet<const Module *> sharedRoots;
  std::map<Key, Fused> fusedModules;
  std::map<std::string, ModuleRef> replacements;
};

/// `fuse{mode=qat}`.
class FusePass final : public Pass {
public:
  explicit FusePass(FuseOptions options) : options(options) {}
  llvm::Expected<bool> run(GraphModule &model, PassContext &context) override { return fuse(model, options, context); }

private:
  FuseOptions options;
};
} // namespace

llvm::Expected<bool> fuse(GraphModule &model, const FuseOptions &options, PassContext &context) {
  bool hadMarkers = dropEagerMarkers(model); // FX's tracer does not record them
  auto fused = Fusion(model, options, context).run();
  return fused ? llvm::Expected<bool>(*fused || hadMarkers) : fused.takeError();
}

std::unique_ptr<Pass> createFuse(const PassOptions &options) {
  return std::make_unique<FusePass>(FuseOptions{options.getString("mode") == "qat"});
}

} // namespace qfx
