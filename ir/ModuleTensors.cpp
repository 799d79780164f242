// Which parameters and buffers a module object has, by its class and attributes.
#include "ir/Module.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>

namespace qfx {

/// True unless the attribute is absent, False, None or 0.
static bool isAttributeOn(const Module &module, llvm::StringRef name) {
  const Argument *value = module.findAttribute(name);
  if (!value || value->isNone())
    return false;
  return !value->isNumber() || value->getNumber() != 0;
}

static bool areAllOn(const Module &module, llvm::StringRef conditions) {
  llvm::SmallVector<llvm::StringRef, 2> names;
  conditions.split(names, '&', -1, /*KeepEmpty=*/false);
  return llvm::all_of(names, [&](llvm::StringRef name) { return isAttributeOn(module, name); });
}

/// weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, [weight_hr_l0], then the same with _reverse, then l1 ...; with qparams also the
/// buffers weight_ih_l0_scale and weight_ih_l0_zero_point of each weight.
static void appendRecurrent(const Module &module, bool withQParams, std::vector<ModuleTensor> &result) {
  const Argument *layers = module.findAttribute("num_layers");
  int64_t numLayers = layers && layers->isInt() ? std::clamp<int64_t>(layers->getInt(), 0, 1024) : 1;
  bool hasBias = isAttributeOn(module, "bias"), hasProjection = isAttributeOn(module, "proj_size");
  int directions = isAttributeOn(module, "bidirectional") ? 2 : 1;
  for (int64_t layer = 0; layer < numLayers; ++layer)
    for (int direction = 0; direction < directions; ++direction) {
      std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      std::vector<std::string> names = {"weight_ih", "weight_hh"};
      if (hasBias)
        names.insert(names.end(), {"bias_ih", "bias_hh"});
      if (hasProjection)
        names.push_back("weight_hr");
      for (const std::string &name : names) {
        result.push_back({name + suffix, /*isBuffer=*/false, /*isOptional=*/false, ""});
        if (!withQParams || name[0] != 'w')
          continue;
        result.push_back({name + suffix + "_scale", /*isBuffer=*/true, /*isOptional=*/true, ""});
        result.push_back({name + suffix + "_zero_point", /*isBuffer=*/true, /*isOptional=*/true, ""});
      }
    }
}

std::vector<ModuleTensor> getModuleTensors(const Module &module) {
  std::vector<ModuleTensor> result;
  const TargetInfo *row = module.getClass();
  if (!row)
    return result;
  llvm::StringRef text = row->tensorsText;
  if (text == "%rnn" || text == "%qrnn")
    appendRecurrent(module, /*withQParams=*/text == "%qrnn", result);
  for (const ModuleTensor &tensor : row->getTensors())
    if (areAllOn(module, tensor.presentIf)) {
      result.push_back(tensor);
      result.back().presentIf.clear();
    }
  return result;
}

} // namespace qfx
