// from_float and to_float of torch.ao.nn.qat and torch.ao.nn.intrinsic.qat.
#include "passes/qat/QatModules.h"

#include "ir/Diagnostics.h"
#include "ir/GraphModule.h"
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

/// What propagate_qconfig_ gives the module at `path`; levels between the root and it are plain modules.
static OptionalQConfig propagate(const QConfigMapping &mapping, llvm::StringRef path, const OperatorName &moduleClass) {
  OptionalQConfig qconfig = mapping.getGlobal();
  auto applyName = [&](llvm::StringRef prefix) {
    for (const auto &entry : mapping.getModuleNames())
      if (entry.first == prefix)
        qconfig = entry.second;
  };
  for (size_t dot = path.find('.'); dot != llvm::StringRef::npos; dot = path.find('.', dot + 1))
    applyName(path.take_front(dot));
  if (const OptionalQConfig *entry = mapping.findObjectType(moduleClass))
    qconfig = *entry;
  applyName(path);
  return qconfig;
}

/// The backend's QAT class of a module class, or null.
static const TargetInfo *findQatClass(const BackendConfig &backend, const OperatorName &moduleClass) {
  const TargetInfo *found = nullptr;
  for (const auto &[floatClass, qatClass] : backend.getModuleToQatModule())
    if (floatClass == moduleClass)
      found = qatClass.row; // later entries win
  return found;
}

llvm::Error swapToQatModules(GraphModule &model, const BackendConfig &backend, const QConfigMapping &mapping) {
  llvm::DenseMap<const Module *, ModuleRef> swapped;
  std::vector<ModuleRef> replaced; // keeps the keys of `swapped` alive
  for (const Node &node : model.getGraph().nodes()) {
    ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
    if (!module || !module->getClass())
      continue;
    if (ModuleRef done = swapped.lookup(module.get())) {
      model.getRoot().setModule(node.getTargetText(), done);
      continue;
    }
    OperatorName moduleClass = OperatorName::ofClass(*module);
    const TargetInfo *qatClass = findQatClass(backend, moduleClass);
    OptionalQConfig qconfig = qatClass ? propagate(mapping, node.getTargetText(), moduleClass) : std::nullopt;
    if (!qconfig)
      continue;
    // The weight's observer is that of the member that holds it.
    if (ModuleRef first = isFusedFloatModule(*module) ? module->findChild("0") : nullptr)
      if (const OptionalQConfig *own = mapping.findObjectType(OperatorName::ofClass(*first)); own && *own)
        qconfig = *own;
    auto qat = makeQatModule(*module, *qatClass, *qconfig);
    if (!qat)
      return qat.takeError();
    replaced.push_back(module);
    swapped[module.get()] = *qat;
    model.getRoot().setModule(node.getTargetText(), *qat);
  }
  return llvm::Error::success();
}

void addQatObjectTypes(QConfigMapping &mapping, const BackendConfig &backend) {
  auto entries = mapping.getObjectTypes(); // a copy: entries are added while we look
  for (const auto &[type, qconfig] : entries)
    if (const TargetInfo *qatClass = type.isModuleClass() ? findQatClass(backend, type) : nullptr)
      mapping.setObjectType(OperatorName::of(*qatClass), qconfig);
}

} // namespace qfx
