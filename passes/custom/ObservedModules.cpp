// Custom modules change their class and keep their members; LSTM and attention are taken apart.
#include "passes/custom/ObservedModules.h"

#include "backends/observe/ChooseQuantizationParams.h"
#include "backends/observe/Observer.h"
#include "ir/Ops.h"
#include "passes/ModuleUtils.h"
#include "passes/custom/QuantizableModules.h"
#include "passes/eager/Pieces.h"

#include <algorithm>

namespace qfx {

/// Of a class of the table what the class knows; of another class everything.
static ModuleRef changeClass(const Module &module, const OperatorName &newClass) {
  if (newClass.row) {
    ModuleRef made = makeModuleFrom(*newClass.row, module);
    for (const auto &[name, child] : module.getChildren())
      made->setChild(name, child);
    return made;
  }
  auto made = std::make_shared<Module>(newClass.text);
  made->setTraining(module.isTraining());
  made->setLoc(module.getLoc());
  for (const auto &[name, value] : module.getAttributes())
    made->setAttribute(name, value);
  for (const auto &[name, tensor] : module.getParameters())
    made->setParameter(name, tensor);
  for (const auto &[name, tensor] : module.getBuffers())
    made->setBuffer(name, tensor);
  for (const auto &[name, child] : module.getChildren())
    made->setChild(name, child);
  return made;
}

llvm::Expected<ModuleRef> makeObservedCustomModule(const Module &module, const OperatorName &observedClass, const QConfig &qconfig) {
  llvm::StringRef from = module.getClassName(), to = observedClass.text;
  bool isLstm = from == "torch.nn.LSTM" && to == "torch.ao.nn.quantizable.LSTM";
  bool isAttention = from == "torch.nn.MultiheadAttention" && to == "torch.ao.nn.quantizable.MultiheadAttention";
  if (!isLstm && !isAttention)
    return changeClass(module, observedClass);
  auto made = isLstm ? makeQuantizableLstm(module) : makeQuantizableAttention(module);
  if (made)
    if (llvm::Error err = preparePieces(*made, qconfig))
      return err;
  return made;
}

/// nnq.MultiheadAttention.from_observed: the rows that extend key and value become codes.  QFX: bias_v by its own range.
static llvm::Error quantizeExtraRows(Module &attention) {
  for (const char *name : {"bias_k", "bias_v"}) {
    const Tensor *rows = attention.findTensor(name);
    if (!rows || rows->getDType() != DType::Float32)
      continue;
    llvm::ArrayRef<float> values = rows->getData<float>();
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    auto chosen = chooseQuantizationParams(*low, *high, 0, 255);
    if (!chosen)
      return chosen.takeError();
    QParams qparams;
    qparams.dtype = DType::QUInt8;
    qparams.scales = {static_cast<float>(chosen->scale)};
    qparams.zeroPoints = {chosen->zeroPoint};
    auto codes = quantizeTensor(*rows, qparams);
    if (!codes)
      return codes.takeError();
    attention.removeTensor(name);
    attention.setParameter(name, std::move(*codes));
  }
  return llvm::Error::success();
}

llvm::Expected<ModuleRef> makeQuantizedCustomModule(const Module &observed, const OperatorName &quantizedClass, const QConfig &qconfig) {
  if (!isInPieces(observed))
    return changeClass(observed, quantizedClass);
  auto converted = convertPieces(observed, qconfig);
  if (!converted)
    return converted;
  ModuleRef made = changeClass(**converted, quantizedClass);
  if (llvm::Error err = quantizeExtraRows(*made))
    return err;
  return made;
}

} // namespace qfx
