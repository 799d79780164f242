// The named fusers as rows of one recipe, and the object fuser.
#include "passes/fuse/Fusers.h"

#include "ir/Diagnostics.h"
#include "ir/FusedClasses.h"
#include "ir/GraphModule.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/fuse/FoldBatchNorm.h"

namespace qfx {

namespace {
enum class ResultClass : uint8_t { Entry, Children, Root, ConvAdd, ConvAddReLU };

struct Recipe {
  FuserMethod::Kind kind;
  PatternPath root;
  std::optional<PatternPath> batchNorm, add, activation;
  ResultClass result;
  bool sameMode, hasQat;
};
} // namespace

static const Recipe &getRecipe(FuserMethod::Kind kind) {
  static const std::vector<Recipe> recipes = {
#define QFX_FUSER_RECIPE(name, root, batchNorm, add, activation, result, sameMode, hasQat)                             \
  {FuserMethod::Kind::name, root, batchNorm, add, activation, ResultClass::result, sameMode, hasQat},
#include "passes/fuse/FuserRecipes.def"
  };
  for (const Recipe &recipe : recipes)
    if (recipe.kind == kind)
      return recipe;
  llvm_unreachable("every named fuser has a recipe");
}

/// The module class of torch.nn that does what a function or method does, if it owns no tensors: F.leaky_relu ->
/// LeakyReLU.
static const TargetInfo *findModuleForm(OpKind op) {
  for (const TargetInfo &target : getAllTargets())
    if (target.kind == TargetKind::Module && target.op == op && startsWith(target.text, "torch.nn.") &&
        target.getTensors().empty())
      return &target;
  return nullptr;
}

/// A module that computes what a function call computes: the attributes of the class are filled from the call's
/// arguments.
static ModuleRef makeModuleForm(const Node &node, bool isTraining) {
  const TargetInfo *moduleClass = findModuleForm(node.getTarget()->op);
  if (!moduleClass)
    return nullptr;
  auto module = std::make_shared<Module>(*moduleClass);
  module->setTraining(isTraining);
  module->setLoc(node.getLoc());
  llvm::ArrayRef<SlotInfo> slots = node.getTarget()->getSignature().getSlots();
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!moduleClass->getSignature().findSlot(slots[i].name))
      continue;
    const Argument *value = i < node.getArgs().size() ? &node.getArg(i) : node.getKwarg(slots[i].name);
    if (value && slots[i].name != "inplace")
      module->setAttribute(slots[i].name, *value);
  }
  return module;
}

llvm::Expected<std::vector<FusionMember>> collectMembers(const Match &match, const GraphModule &model) {
  ModuleRef root = match.root->is(Opcode::CallModule) ? model.getModule(*match.root) : nullptr;
  if (!root || !root->getClass())
    return error(match.root->getLoc(), "the root '{0}' of the fusion pattern {1} is not a call of a known module",
                 match.root->getName(), match.entry->pattern.toString())
        .code("fusion_root");
  std::vector<FusionMember> members;
  for (Node *node : match.nodes) {
    FusionMember member;
    member.node = node;
    if (node->is(Opcode::CallModule))
      member.module = model.getModule(*node);
    else
      member.module = makeModuleForm(*node, root->isTraining());
    members.push_back(std::move(member));
  }
  return members;
}

namespace {
/// The work on one match.
class FuserRun {
public:
  FuserRun(const Match &match, const std::vector<FusionMember> &members, bool isQat)
      : match(match), members(members), isQat(isQat) {}

  llvm::Expected<ModuleRef> runNamed(const Recipe &recipe) {
    ModuleRef root = getModule(recipe.root);
    ModuleRef batchNorm = recipe.batchNorm ? getModule(*recipe.batchNorm) : nullptr;
    ModuleRef activation = recipe.activation ? getModule(*recipe.activation) : nullptr;
    if (recipe.sameMode)
      if (llvm::Error err = checkModes())
        return err;
    if (isQat && !recipe.hasQat)
      return error(getLoc(), "fusing {0} is not supported in QAT", match.entry->pattern.toString()).code("fuse_qat");
    if (recipe.activation && !activation)
      return error(getLoc(), "the last function of {0} has no module form", match.entry->pattern.toString())
          .code("fuse_class");
    std::vector<ModuleRef> children{root};
    if (batchNorm && isQat) {
      if (llvm::Error err = checkQatBatchNorm(*root, *batchNorm))
        return err;
      children.push_back(batchNorm);
    } else if (batchNorm) {
      auto folded = fold(*root, *batchNorm);
      if (!folded)
        return folded.takeError();
      children.front() = std::move(*folded);
    }
    bool isAdd = recipe.result == ResultClass::ConvAdd || recipe.result == ResultClass::ConvAddReLU;
    if (activation && !isAdd)
      children.push_back(activation);
    if (isAdd)
      return makeConvAdd(recipe, children.front(), activation);
    if (children.size() == 1)
      return children.front();
    if (recipe.result == ResultClass::Entry)
      return makeEntryClass(children);
    return makeClassOf(children);
  }

  llvm::Expected<ModuleRef> runObject(const FuserMethod &fuser) {
    if (llvm::Error err = checkModes())
      return err;
    std::vector<ModuleRef> children;
    for (const PatternPath &path : fuser.children) {
      ModuleRef child = getModule(path);
      if (!child)
        return error(getLoc(), "the operator at child path {0} of {1} has no module form", children.size(),
                     match.entry->pattern.toString())
            .code("fuse_class");
      children.push_back(std::move(child));
    }
    if (fuser.foldBatchNorm) {
      if (isQat)
        return error(getLoc(), "folding the batch norm of {0} is not supported in QAT", match.entry->pattern.toString())
            .code("fuse_qat");
      auto folded = fold(*children.front(), *getModule(*fuser.foldBatchNorm));
      if (!folded)
        return folded.takeError();
      children.front() = std::move(*folded);
    }
    return makeEntryClass(children);
  }

private:
  const Location &getLoc() const { return match.anchor->getLoc(); }

  /// The operators of the pattern and Match::nodes have one order: depth first, a tuple's head before its arguments.
  static bool findIndex(const Pattern &pattern, llvm::ArrayRef<unsigned> path, size_t &index) {
    if (pattern.getKind() != Pattern::Kind::Operator)
      return false;
    if (path.empty() || path.front() == 0)
      return true;
    ++index;
    for (unsigned i = 0; i < pattern.getArgs().size(); ++i) {
      if (i + 1 == path.front())
        return findIndex(pattern.getArgs()[i], path.drop_front(), index);
      index += countOperators(pattern.getArgs()[i]);
    }
    return false;
  }
  static size_t countOperators(const Pattern &pattern) {
    size_t count = pattern.getKind() == Pattern::Kind::Operator;
    for (const Pattern &arg : pattern.getArgs())
      count += countOperators(arg);
    return count;
  }

  const FusionMember &getMember(const PatternPath &path) const {
    size_t index = 0;
    bool found = findIndex(match.entry->pattern, path, index);
    assert(found && index < members.size() && "paths are checked when a backend is read");
    (void)found;
    return members[index];
  }
  ModuleRef getModule(const PatternPath &path) const { return getMember(path).module; }

  llvm::Error checkModes() const {
    const FusionMember *first = nullptr;
    for (const FusionMember &member : members) {
      if (!member.module)
        continue;
      if (!first)
        first = &member;
      else if (member.module->isTraining() != first->module->isTraining())
        return error(member.node->getLoc(),
                     "'{0}' and '{1}' must be in the same mode to be fused: one is in training mode",
                     first->node->getName(), member.node->getName())
            .code("fuse_mode");
    }
    return llvm::Error::success();
  }

  llvm::Expected<ModuleRef> fold(const Module &root, const Module &batchNorm) const {
    if (root.isTraining() || batchNorm.isTraining())
      return error(getLoc(), "'{0}' is in training mode: a batch norm folds in eval mode only", match.root->getName())
          .code("fuse_mode");
    return foldBatchNorm(root, batchNorm, getLoc());
  }

  llvm::Error checkQatBatchNorm(const Module &root, const Module &batchNorm) const {
    int64_t features = batchNorm.getAttribute("num_features").getInt();
    const Argument *channels = root.findAttribute("out_channels");
    if (!channels)
      channels = root.findAttribute("out_features");
    if (!channels || channels->getInt() != features)
      return error(getLoc(),
                   "QAT fusion needs a batch norm of as many features as '{0}' has output channels, got {1} and {2}",
                   match.root->getName(), features, channels ? channels->getInt() : 0)
          .code("fuse_qat_bn");
    if (!batchNorm.getAttribute("affine").getBool())
      return error(getLoc(), "QAT fusion needs a batch norm with affine=True").code("fuse_qat_bn");
    if (!batchNorm.getAttribute("track_running_stats").getBool())
      return error(getLoc(), "QAT fusion needs a batch norm with track_running_stats=True").code("fuse_qat_bn");
    return llvm::Error::success();
  }

  ModuleRef wrap(const OperatorName &fusedClass, const std::vector<ModuleRef> &children) const {
    ModuleRef fused =
        fusedClass.row ? std::make_shared<Module>(*fusedClass.row) : std::make_shared<Module>(fusedClass.text);
    fused->setTraining(children.front()->isTraining());
    fused->setLoc(children.front()->getLoc());
    for (size_t i = 0; i < children.size(); ++i)
      fused->setChild(std::to_string(i), children[i]);
    return fused;
  }

  static bool holds(const FusedClass &fused, const std::vector<ModuleRef> &children) {
    if (fused.children.size() != children.size())
      return false;
    for (size_t i = 0; i < children.size(); ++i)
      if (children[i]->getClassName() != fused.children[i])
        return false;
    return true;
  }

  llvm::Expected<ModuleRef> refuse(llvm::StringRef fusedName, const std::vector<ModuleRef> &children) const {
    std::string got;
    for (const ModuleRef &child : children)
      got += (got.empty() ? "" : ", ") + child->getClassName();
    return error(getLoc(), "'{0}' cannot hold ({1})", fusedName, got).code("fuse_class");
  }

  llvm::Expected<ModuleRef> makeEntryClass(const std::vector<ModuleRef> &children) const {
    assert(match.entry->fusedModule && "checked when a backend is read");
    for (const ModuleRef &child : children)
      if (!child)
        return error(getLoc(), "a function of {0} has no module form", match.entry->pattern.toString())
            .code("fuse_class");
    const OperatorName &name = *match.entry->fusedModule;
    for (const FusedClass &known : getFusedClasses())
      if (known.name == name.text && !holds(known, children))
        return refuse(name.text, children);
    return wrap(name, children);
  }

  llvm::Expected<ModuleRef> makeClassOf(const std::vector<ModuleRef> &children) const {
    for (const FusedClass &known : getFusedClasses())
      if (holds(known, children))
        return wrap(OperatorName::resolve(known.name), children);
    return refuse("torch.ao.nn.intrinsic", children);
  }

  llvm::Expected<ModuleRef> makeConvAdd(const Recipe &recipe, const ModuleRef &root,
                                        const ModuleRef &activation) const {
    llvm::StringRef name = recipe.result == ResultClass::ConvAdd ? "torch.ao.nn.intrinsic.ConvAdd2d"
                                                                 : "torch.ao.nn.intrinsic.ConvAddReLU2d";
    if (root->getClassName() != "torch.nn.Conv2d")
      return refuse(name, {root});
    ModuleRef fused = wrap(OperatorName::resolve(name), {root});
    if (activation)
      fused->setChild("relu", activation);
    return fused;
  }

  const Match &match;
  const std::vector<FusionMember> &members;
  bool isQat;
};
} // namespace

llvm::Expected<ModuleRef> runFuser(const Match &match, const std::vector<FusionMember> &members, bool isQat) {
  const FuserMethod &fuser = *match.entry->fuserMethod;
  FuserRun run(match, members, isQat);
  if (fuser.kind == FuserMethod::Kind::Object)
    return run.runObject(fuser);
  return run.runNamed(getRecipe(fuser.kind));
}

} // namespace qfx
