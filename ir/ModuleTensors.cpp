// Which parameters and buffers a module object has, by its class and attributes.
#include "ir/Diagnostics.h"
#include "ir/Module.h"
#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

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
/// \param gates  rows of a matrix per hidden unit, as a text.
static void appendRecurrent(const Module &module, llvm::StringRef gates, bool withQParams, std::vector<ModuleTensor> &result) {
  const Argument *layers = module.findAttribute("num_layers");
  int64_t numLayers = layers && layers->isInt() ? std::clamp<int64_t>(layers->getInt(), 0, 1024) : 1;
  bool hasBias = isAttributeOn(module, "bias"), hasProjection = isAttributeOn(module, "proj_size");
  int directions = isAttributeOn(module, "bidirectional") ? 2 : 1;
  const std::string dtype = module.findAttribute("dtype") ? "dtype" : "", state = hasProjection ? "proj_size" : "hidden_size";
  const std::string rows = (gates + "*hidden_size").str(), deepColumns = std::to_string(directions) + "*" + state;
  for (int64_t layer = 0; layer < numLayers; ++layer)
    for (int direction = 0; direction < directions; ++direction) {
      std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      auto add = [&](const char *name, std::vector<std::string> sizes) {
        const bool isWeight = sizes.size() == 2;
        result.push_back({name + suffix, /*isBuffer=*/false, /*isOptional=*/false, "", isWeight ? dtype : "", std::move(sizes)});
        if (!withQParams || !isWeight)
          return;
        for (const char *part : {"_scale", "_zero_point"})
          result.push_back({name + suffix + part, /*isBuffer=*/true, /*isOptional=*/true, "", "", std::nullopt});
      };
      add("weight_ih", {rows, layer == 0 ? "input_size" : deepColumns});
      add("weight_hh", {rows, state});
      if (hasBias)
        add("bias_ih", {rows}), add("bias_hh", {rows});
      if (hasProjection)
        add("weight_hr", {"proj_size", "hidden_size"});
    }
}

std::vector<ModuleTensor> getModuleTensors(const Module &module) {
  std::vector<ModuleTensor> result;
  const TargetInfo *row = module.getClass();
  if (!row)
    return result;
  llvm::StringRef text = row->tensorsText;
  if (text.consume_front("%rnn"))
    appendRecurrent(module, text, /*withQParams=*/false, result);
  else if (text.consume_front("%qrnn"))
    appendRecurrent(module, text, /*withQParams=*/true, result);
  for (const ModuleTensor &tensor : row->getTensors())
    if (areAllOn(module, tensor.presentIf)) {
      result.push_back(tensor);
      result.back().presentIf.clear();
    }
  return result;
}

//===----------------------------------------------------------------------===//
// What attributes say of the tensors
//===----------------------------------------------------------------------===//

/// A number by an attribute (`hidden_size`) or spelled out (`4`); none if the attribute is None.
static std::optional<int64_t> getNumber(const Module &module, llvm::StringRef text) {
  int64_t number;
  if (!text.getAsInteger(10, number))
    return number;
  const Argument *value = module.findAttribute(text);
  return value && value->isInt() ? std::optional<int64_t>(value->getInt()) : std::nullopt;
}

/// Appends what one term stands for.  \param rest  axes that are left for a single number of `*kernel_size`.
static void appendSizes(const Module &module, llvm::StringRef term, size_t rest, std::vector<std::optional<int64_t>> &sizes) {
  if (term.consume_front("*")) {
    const Argument *value = module.findAttribute(term);
    if (!value || !value->isSequence())
      return sizes.resize(sizes.size() + rest, getNumber(module, term));
    for (const Argument &size : value->getElements())
      sizes.push_back(size.isInt() ? std::optional<int64_t>(size.getInt()) : std::nullopt);
    return;
  }
  if (auto [dividend, divisor] = term.split('/'); !divisor.empty()) {
    auto whole = getNumber(module, dividend), parts = getNumber(module, divisor);
    sizes.push_back(whole && parts && *parts > 0 && *whole % *parts == 0 ? *whole / *parts : int64_t(-1));
    return;
  }
  auto [factor, name] = term.split('*');
  auto number = getNumber(module, name.empty() ? term : name), times = name.empty() ? 1 : getNumber(module, factor);
  int64_t product = 0;
  bool isTooLarge = number && times && __builtin_mul_overflow(*number, *times, &product);
  sizes.push_back(!number || !times ? std::nullopt : std::optional<int64_t>(isTooLarge ? -1 : product));
}

static bool hasSizes(const Module &module, const ModuleTensor &wanted, llvm::ArrayRef<int64_t> found) {
  std::vector<std::optional<int64_t>> sizes;
  for (const std::string &term : *wanted.sizes)
    appendSizes(module, term, found.size() - std::min(found.size(), wanted.sizes->size() - 1), sizes);
  return sizes.size() == found.size() && llvm::all_of(llvm::zip(sizes, found), [](auto pair) {
           auto [size, actual] = pair;
           return !size || *size == actual;
         });
}

/// `in_channels=4, groups=3`: the attributes that the sizes are made of, for a message.
static std::string describeAttributes(const Module &module, const ModuleTensor &wanted) {
  std::string text;
  for (const std::string &term : *wanted.sizes)
    for (llvm::StringRef name : llvm::split(term, term.find('/') == std::string::npos ? "*" : "/"))
      if (const Argument *value = module.findAttribute(name); value && text.find(name.str() + "=") == std::string::npos)
        text += (text.empty() ? "" : ", ") + name.str() + "=" + toString(*value, ArgumentStyle::Qfx);
  return text;
}

static llvm::Error checkTensor(const Module &module, const ModuleTensor &wanted, const Tensor &tensor, const Location &loc) {
  auto fail = [&](const std::string &wants) {
    return error(loc, "'{0}' wants its '{1}' {2}, got {3}", module.getClassName(), wanted.name, wants, toString(tensor.getType()))
        .code("module_tensor");
  };
  if (wanted.sizes && !hasSizes(module, wanted, tensor.getSizes())) {
    const std::string attributes = describeAttributes(module, wanted);
    return fail("of shape [" + llvm::join(*wanted.sizes, ", ") + "]" + (attributes.empty() ? "" : " with " + attributes));
  }
  const Argument *attribute = wanted.dtype.empty() ? nullptr : module.findAttribute(wanted.dtype);
  std::optional<DType> dtype = attribute ? attribute->isDType() ? std::optional<DType>(attribute->getDType()) : std::nullopt
                                         : parseDTypeText(wanted.dtype);
  if (dtype && *dtype != tensor.getDType())
    return fail("of dtype " + (attribute ? toString(*attribute, ArgumentStyle::Qfx) : wanted.dtype));
  return llvm::Error::success();
}

llvm::Error checkModuleTensors(const Module &module, const Location &loc) {
  const std::vector<ModuleTensor> known = getModuleTensors(module);
  for (const auto *named : {&module.getParameters(), &module.getBuffers()})
    for (const auto &[name, tensor] : *named) {
      auto wanted = llvm::find_if(known, [&, &name = name](const ModuleTensor &one) { return one.name == name; });
      if (wanted == known.end()) {
        std::vector<std::string> names;
        for (const ModuleTensor &one : known)
          names.push_back(one.name);
        return error(loc, "'{0}' has no tensor '{1}'{2}", module.getClassName(), name, didYouMean(name, names)).code("module_tensor");
      }
      if (llvm::Error err = checkTensor(module, *wanted, tensor, loc))
        return err;
    }
  return llvm::Error::success();
}

} // namespace qfx
