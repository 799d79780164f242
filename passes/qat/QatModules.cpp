// from_float and to_float of torch.ao.nn.qat and torch.ao.nn.intrinsic.qat.
#include "passes/qat/QatModules.h"

#include "backends/config/QConfigPredicates.h"
#include "ir/Diagnostics.h"
#include "ir/GraphModule.h"
#include "ir/ModuleGraph.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "passes/ModuleUtils.h"
#include "passes/config/ModuleFacts.h"
#include "passes/fuse/FoldBatchNorm.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx {

namespace {
struct QatRow {
  llvm::StringLiteral qat, root, fused;
};
constexpr QatRow kRows[] = {
#define QFX_QAT(qat, root, fused) {llvm::StringLiteral(qat), llvm::StringLiteral(root), llvm::StringLiteral(fused)},
#include "passes/qat/QatModules.def"
};
} // namespace

static const QatRow *findRow(const Module &module) {
  for (const QatRow &row : kRows)
    if (module.getClassName() == row.qat)
      return &row;
  return nullptr;
}

bool isQatModule(const Module &module) { return findRow(module) != nullptr; }

llvm::Expected<ModuleRef> makeQatModule(const Module &floatModule, const TargetInfo &qatClass, const QConfig &qconfig) {
  if (!qconfig.weight)
    return error(floatModule.getLoc(), "'{0}' cannot be trained with {1}: the qconfig has no weight fake-quantizer", floatModule.getClassName(),
                 qconfig.toString())
        .code("qat_qconfig");
  auto refuse = [&](llvm::StringRef why) {
    return error(floatModule.getLoc(), "'{0}' cannot be made from '{1}' with {2}: {3}", qatClass.text, floatModule.getClassName(),
                 qconfig.toString(), why)
        .code("qat_qconfig");
  };
  if (qatClass.text == "torch.ao.nn.qat.dynamic.Linear" && !isActivationMemoryless(qconfig))
    return refuse("dynamic training wants a memoryless activation observer, a moving average with averaging_constant 1");
  if ((qatClass.op == OpKind::QatEmbedding || qatClass.op == OpKind::QatEmbeddingBag) &&
      qconfig.weight->getQScheme() != QScheme::PerChannelAffineFloatQParams)
    return refuse("the weights of an embedding want the scheme torch.per_channel_affine_float_qparams");
  bool isFused = isFusedFloatModule(floatModule);
  ModuleRef first = isFused ? floatModule.findChild("0") : nullptr;
  const Module &root = first ? *first : floatModule;
  ModuleRef made = makeModuleFrom(qatClass, root);
  made->setTraining(floatModule.isTraining());
  if (isFused)
    for (const auto &[name, child] : floatModule.getChildren())
      if (child->findAttribute("num_features") && qatClass.getSignature().findSlot("eps")) {
        made->setChild("bn", child);
        made->setAttribute("eps", child->getAttribute("eps"));
        made->setAttribute("momentum", child->getAttribute("momentum"));
        made->setAttribute("bias", root.findTensor("bias") != nullptr);
      }
  auto fakeQuantize = qconfig.weight->build();
  if (!fakeQuantize)
    return fakeQuantize.takeError();
  (*fakeQuantize)->setTraining(floatModule.isTraining());
  made->setChild("weight_fake_quant", std::move(*fakeQuantize));
  return made;
}

llvm::Expected<ModuleRef> makeFloatFromQat(const Module &module, const Location &loc) {
  const QatRow *row = findRow(module);
  assert(row && "not a QAT module");
  ModuleRef root = makeModuleFrom(requireModuleClass(row->root), module);
  root->setTraining(module.isTraining());
  if (root->getClass()->getSignature().findSlot("bias"))
    root->setAttribute("bias", module.findTensor("bias") != nullptr);
  if (ModuleRef batchNorm = module.findChild("bn")) {
    auto folded = foldBatchNorm(*root, *batchNorm, loc);
    if (!folded)
      return folded.takeError();
    root = std::move(*folded);
  }
  if (row->fused.empty())
    return root;
  auto fused = std::make_shared<Module>(requireModuleClass(row->fused));
  fused->setTraining(module.isTraining());
  fused->setLoc(module.getLoc());
  auto relu = std::make_shared<Module>(requireModuleClass("torch.nn.ReLU"));
  relu->setTraining(module.isTraining());
  relu->setLoc(module.getLoc());
  fused->setChild("0", std::move(root));
  fused->setChild("1", std::move(relu));
  return fused;
}

/// What propagate_qconfig_ gives the module at `path`.
/// \param classesFrom  levels of shorter paths are plain modules, whatever class their code came from.
static OptionalQConfig propagate(const Module &root, const QConfigMapping &mapping, llvm::StringRef path, size_t classesFrom) {
  OptionalQConfig qconfig = mapping.getGlobal();
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    llvm::StringRef level = path.take_front(end);
    if (level.size() >= classesFrom)
      if (const OptionalQConfig *entry = mapping.findObjectType(OperatorName::ofClass(*root.findModule(level))))
        qconfig = *entry;
    for (const auto &entry : mapping.getModuleNames())
      if (entry.first == level)
        qconfig = entry.second;
    if (end == llvm::StringRef::npos)
      return qconfig;
  }
}

/// The backend's QAT class of a module class, or null.
static const TargetInfo *findQatClass(const BackendConfig &backend, const OperatorName &moduleClass) {
  const TargetInfo *found = nullptr;
  for (const auto &[floatClass, qatClass] : backend.getModuleToQatModule())
    if (floatClass == moduleClass)
      found = qatClass.row; // later entries win
  return found;
}

namespace {
/// The swap over a graph and those of the standalone modules that it calls.
class QatSwap {
public:
  QatSwap(GraphModule &model, const BackendConfig &backend, const QConfigMapping &mapping, const PrepareCustomConfig &custom)
      : root(model.getRoot()), backend(backend), mapping(mapping), custom(custom) {}

  /// \param standalone  path of the module whose graph it is; empty: the model's.
  llvm::Error run(const Graph &graph, llvm::StringRef standalone) {
    for (const Node &node : graph.nodes()) {
      std::string path = joinPath(standalone, node.getTargetText());
      ModuleRef module = node.is(Opcode::CallModule) ? root.findModule(path) : nullptr;
      if (!module)
        continue;
      if (hasGraph(*module) && (!standalone.empty() || custom.findStandalone(path, OperatorName::ofClass(*module))))
        if (llvm::Error err = run(*readGraph(*module), path))
          return err;
      if (module->getClass())
        if (llvm::Error err = swap(path, module, standalone.empty() ? path.size() : standalone.size()))
          return err;
    }
    return llvm::Error::success();
  }

private:
  llvm::Error swap(const std::string &path, const ModuleRef &module, size_t classesFrom) {
    if (ModuleRef done = swapped.lookup(module.get())) {
      root.setModule(path, done);
      return llvm::Error::success();
    }
    const TargetInfo *qatClass = findQatClass(backend, OperatorName::ofClass(*module));
    OptionalQConfig qconfig = qatClass ? propagate(root, mapping, path, classesFrom) : std::nullopt;
    if (!qconfig)
      return llvm::Error::success();
    // The weight's observer is that of the member that holds it.
    if (ModuleRef first = isFusedFloatModule(*module) ? module->findChild("0") : nullptr)
      if (const OptionalQConfig *own = mapping.findObjectType(OperatorName::ofClass(*first)); own && *own)
        qconfig = *own;
    auto qat = makeQatModule(*module, *qatClass, *qconfig);
    if (!qat)
      return qat.takeError();
    replaced.push_back(module);
    swapped[module.get()] = *qat;
    root.setModule(path, *qat);
    return llvm::Error::success();
  }

  Module &root;
  const BackendConfig &backend;
  const QConfigMapping &mapping;
  const PrepareCustomConfig &custom;
  llvm::DenseMap<const Module *, ModuleRef> swapped;
  std::vector<ModuleRef> replaced; ///< keeps the keys of `swapped` alive
};
} // namespace

llvm::Error swapToQatModules(GraphModule &model, const BackendConfig &backend, const QConfigMapping &mapping, const PrepareCustomConfig &custom) {
  return QatSwap(model, backend, mapping, custom).run(model.getGraph(), "");
}

void addQatObjectTypes(QConfigMapping &mapping, const BackendConfig &backend) {
  auto entries = mapping.getObjectTypes(); // a copy: entries are added while we look
  for (const auto &[type, qconfig] : entries)
    if (const TargetInfo *qatClass = type.isModuleClass() ? findQatClass(backend, type) : nullptr)
      mapping.setObjectType(OperatorName::of(*qatClass), qconfig);
}

} // namespace qfx
