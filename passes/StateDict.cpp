// Entries of a state dict, one module after the other.
#include "passes/StateDict.h"

#include "ir/Diagnostics.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "passes/WeightQParams.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace qfx {

const Tensor *StateDict::find(llvm::StringRef key) const {
  for (const auto &[name, tensor] : tensors)
    if (name == key)
      return &tensor;
  return nullptr;
}

namespace {
/// How a class's members stand in a state dict.
enum class Layout : uint8_t { Plain, PackedLinear, PackedEmbedding, PackedObject, PackedRecurrent, PackedCell };

/// One entry: its key below the module, and the member that it shows.
struct Entry {
  enum class Kind : uint8_t { Parameter, Buffer, Scale, ZeroPoint, Axis, Config };
  Kind kind;
  std::string key, member;
  bool mayBeMissing = false;
};
} // namespace

static Layout getLayout(const Module &module) {
  if (!module.getClass())
    return Layout::Plain;
  switch (module.getClass()->op) {
  case OpKind::QuantizedLinear:
  case OpKind::QuantizedLinearRelu:
  case OpKind::QuantizedLinearLeakyRelu:
  case OpKind::QuantizedLinearTanh:
  case OpKind::DynamicLinear:
  case OpKind::DynamicLinearRelu:
    return Layout::PackedLinear;
  case OpKind::QuantizedEmbedding:
  case OpKind::QuantizedEmbeddingBag:
    return Layout::PackedEmbedding;
  case OpKind::PackedWeights:
    return Layout::PackedObject;
  case OpKind::DynamicLstm:
  case OpKind::DynamicGru:
    return Layout::PackedRecurrent;
  case OpKind::DynamicLstmCell:
  case OpKind::DynamicGruCell:
  case OpKind::DynamicRnnCell:
    return Layout::PackedCell;
  default:
    return Layout::Plain;
  }
}

/// weight_ih_l1_reverse of a bidirectional layer -> _all_weight_values.3.param.0: the parameters of a direction are one packed object, in the
/// order w_ih, w_hh, b_ih, b_hh, w_hr.
static std::string getRecurrentKey(const Module &module, llvm::StringRef name) {
  static constexpr llvm::StringLiteral kParts[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"};
  auto [part, rest] = name.split("_l");
  auto index = llvm::find(kParts, part) - std::begin(kParts);
  const Argument *bidirectional = module.findAttribute("bidirectional");
  unsigned directions = bidirectional && *bidirectional == Argument(true) ? 2 : 1, layer = 0;
  bool isReverse = rest.consume_back("_reverse");
  if (rest.getAsInteger(10, layer) || index == std::end(kParts) - std::begin(kParts))
    return name.str();
  return "_all_weight_values." + std::to_string(layer * directions + isReverse) + ".param." + std::to_string(index);
}

static std::string getTensorKey(const Module &module, Layout layout, llvm::StringRef name) {
  switch (layout) {
  case Layout::PackedLinear:
    return name == "weight" ? "_packed_params._packed_params.0" : "_packed_params._packed_params.1";
  case Layout::PackedEmbedding:
    return "_packed_params._packed_weight";
  case Layout::PackedObject:
    return name == "weight" ? "0" : "1";
  case Layout::PackedRecurrent:
    return getRecurrentKey(module, name);
  case Layout::PackedCell: { // weight_ih, bias_ih -> _packed_weight_ih.0, .1
    auto [kind, part] = name.split('_');
    return "_packed_weight_" + part.str() + (kind == "weight" ? ".0" : ".1");
  }
  case Layout::Plain:
    break;
  }
  return name.str();
}

/// Modules whose parameters upstream loses on saving (operators 13.1).
static bool isSavedHereOnly(const Module &module) {
  switch (module.getClass()->op) {
  case OpKind::QuantizedElu:
  case OpKind::QuantizedSigmoid:
  case OpKind::QuantizedSoftmax:
  case OpKind::QuantizedPrelu:
  case OpKind::QuantizedHardswish:
    return true;
  default:
    return false;
  }
}

static bool isReference(const Module &module) { return module.getClass() && module.getClass()->getSignature().findSlot("weight_qscheme"); }

/// Dynamic modules save scale 1 and zero point 0, which nothing reads.
static bool savesUnusedQParams(const Module &module) {
  return getLayout(module) == Layout::PackedLinear || (module.getClass() && startsWith(module.getClass()->getOp().name, "DynamicConv"));
}

static std::vector<Entry> getEntries(const Module &module) {
  Layout layout = getLayout(module);
  std::vector<Entry> entries;
  if (module.getClass() && module.getClass()->getSignature().findSlot("scale") &&
      startsWith(module.getClassName(), "torch.ao.nn.") && !module.findTensor("scale")) {
    entries.push_back({Entry::Kind::Scale, "scale", "scale", isSavedHereOnly(module)});
    entries.push_back({Entry::Kind::ZeroPoint, "zero_point", "zero_point", isSavedHereOnly(module)});
  } else if (savesUnusedQParams(module)) {
    entries.push_back({Entry::Kind::Scale, "scale", "", true});
    entries.push_back({Entry::Kind::ZeroPoint, "zero_point", "", true});
  }
  for (const auto &[name, tensor] : module.getParameters())
    entries.push_back({Entry::Kind::Parameter, getTensorKey(module, layout, name), name, module.getClass() && isSavedHereOnly(module)});
  for (const auto &[name, tensor] : module.getBuffers()) {
    entries.push_back({Entry::Kind::Buffer, getTensorKey(module, layout, name), name});
    if (llvm::StringRef weight = name; isReference(module) && weight.consume_back("_zero_point"))
      entries.push_back({Entry::Kind::Axis, weight.str() + "_axis", "weight_axis"});
  }
  if (layout == Layout::PackedObject && module.findAttribute("stride"))
    entries.push_back({Entry::Kind::Config, "config", ""});
  return entries;
}

/// operators 5.4: [spatial dimensions, stride, padding, dilation, output padding, groups, flags]; a 1-D convolution packs as a 2-D one.
static Tensor makeConfig(const Module &packed) {
  size_t spatial = packed.getTensor("weight").getRank() - 2;
  size_t packedSpatial = std::max<size_t>(spatial, 2);
  std::vector<int16_t> config{static_cast<int16_t>(packedSpatial)};
  auto add = [&](const char *name, int16_t filler) {
    const Argument *value = packed.findAttribute(name);
    if (spatial == 1)
      config.push_back(filler);
    for (size_t i = 0; i < spatial; ++i) {
      bool isSequence = value->isSequence();
      const Argument &number = isSequence ? value->getElements()[std::min(i, value->getElements().size() - 1)] : *value;
      config.push_back(static_cast<int16_t>(number.getInt()));
    }
  };
  add("stride", 1);
  add("padding", 0);
  add("dilation", 1);
  add("output_padding", 0);
  config.push_back(static_cast<int16_t>(packed.getAttribute("groups").getInt()));
  config.push_back(packed.getAttribute("transpose").getBool() ? 1 : 0);
  return Tensor::of<int16_t>(DType::Int16, {static_cast<int64_t>(config.size())}, config);
}

static Tensor widen(const Tensor &half) {
  std::vector<float> values(static_cast<size_t>(half.getNumElements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(half.getElementAsDouble(static_cast<int64_t>(i)));
  return Tensor::of<float>(DType::Float32, half.getSizes(), values);
}

static Tensor getValue(const Module &module, const Entry &entry) {
  switch (entry.kind) {
  case Entry::Kind::Scale: {
    const Argument *value = entry.member.empty() ? nullptr : module.findAttribute(entry.member);
    double scale = !value ? 1.0 : value->isInt() ? static_cast<double>(value->getInt()) : value->getFloat();
    return Tensor::of<float>(DType::Float32, {}, {static_cast<float>(scale)});
  }
  case Entry::Kind::ZeroPoint: {
    const Argument *value = entry.member.empty() ? nullptr : module.findAttribute(entry.member);
    return Tensor::of<int64_t>(DType::Int64, {}, {value ? value->getInt() : int64_t(0)});
  }
  case Entry::Kind::Axis:
    return Tensor::of<int32_t>(DType::Int32, {}, {static_cast<int32_t>(module.getAttribute(entry.member).getInt())});
  case Entry::Kind::Config:
    return makeConfig(module);
  case Entry::Kind::Parameter:
  case Entry::Kind::Buffer:
    break;
  }
  const Tensor &tensor = module.getTensor(entry.member);
  if (getLayout(module) != Layout::Plain && tensor.getDType() == DType::Float16)
    return widen(tensor); // upstream unpacks half precision to float32
  if (getLayout(module) != Layout::PackedObject || tensor.getRank() != 3)
    return tensor;
  llvm::ArrayRef<int64_t> sizes = tensor.getSizes(); // a 1-D convolution packs as a 2-D one
  return tensor.reshaped({sizes[0], sizes[1], 1, sizes[2]});
}

/// Calls visit(path, module) for the root and every module below it.
static void forEachWithRoot(const GraphModule &model, llvm::function_ref<void(const std::string &, Module &)> visit) {
  visit("", const_cast<Module &>(model.getRoot()));
  model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &module) { visit(path, *module); });
}

StateDict getStateDict(const GraphModule &model) {
  StateDict state;
  forEachWithRoot(model, [&](const std::string &path, Module &module) {
    for (const Entry &entry : getEntries(module))
      state.tensors.emplace_back(joinPath(path, entry.key), getValue(module, entry));
    Layout layout = getLayout(module);
    if (layout == Layout::PackedLinear || layout == Layout::PackedEmbedding)
      state.metadata.emplace_back(joinPath(path, "_packed_params.dtype"), getDTypeInfo(module.getTensor("weight").getDType()).torchName.str());
    if (isReference(module) && module.findTensor("weight")) { // recurrent layers do not save them
      const Argument &scheme = module.getAttribute("weight_qscheme");
      state.metadata.emplace_back(joinPath(path, "weight_qscheme"), scheme.isNone() ? "None" : getQSchemeName(scheme.getQScheme()).str());
      state.metadata.emplace_back(joinPath(path, "weight_dtype"), getDTypeInfo(module.getAttribute("weight_dtype").getDType()).torchName.str());
    }
  });
  return state;
}

static llvm::Error checkTensor(llvm::StringRef key, const Tensor &given, const Tensor &expected, const Entry &entry) {
  bool sameShape = given.getSizes() == expected.getSizes() ||
                   (entry.kind != Entry::Kind::Parameter && given.getNumElements() == 1 && expected.getNumElements() == 1);
  // Observers' buffers grow with what they see: their number of elements is part of the state.
  // So do the parameters of a weight, which come with the scheme.
  bool isStatistic = entry.kind == Entry::Kind::Buffer && (entry.member == "min_val" || entry.member == "max_val" || entry.member == "histogram" ||
                                                           endsWith(entry.member, "_scale") || endsWith(entry.member, "_zero_point"));
  bool sameDType = given.getDType() == expected.getDType() || endsWith(entry.member, "_zero_point"); // 32 or 64 bits, or float
  if (sameDType && (sameShape || isStatistic))
    return llvm::Error::success();
  return error({}, "state dict entry '{0}' is {1}, the model has {2}", key, toString(given.getType()), toString(expected.getType()))
      .code("state_dict_tensor");
}

static void assign(Module &module, const Entry &entry, const Tensor &value) {
  switch (entry.kind) {
  case Entry::Kind::Parameter: { // the weight of a 1-D convolution comes as that of a 2-D one
    const bool isHalf = module.getTensor(entry.member).getDType() == DType::Float16 && value.getDType() == DType::Float32;
    return module.setParameter(entry.member, (isHalf ? saturateToHalf(value) : value).reshaped(module.getTensor(entry.member).getSizes()));
  }
  case Entry::Kind::Buffer:
    return module.setBuffer(entry.member, value);
  case Entry::Kind::Scale:
    if (!entry.member.empty())
      module.setAttribute(entry.member, value.getElementAsDouble(0));
    return;
  case Entry::Kind::ZeroPoint:
    if (!entry.member.empty())
      module.setAttribute(entry.member, static_cast<int64_t>(value.getElementAsDouble(0)));
    return;
  case Entry::Kind::Axis:
    module.setAttribute(entry.member, static_cast<int64_t>(value.getElementAsDouble(0)));
    return;
  case Entry::Kind::Config:
    return; // checked to be the model's own
  }
}

/// Keys of older versions and what they are called now: quantized linear layers before packed parameters were a tuple, convolutions with batch
/// norm of quantization-aware training before it was a child.
static llvm::ArrayRef<std::pair<llvm::StringLiteral, llvm::StringLiteral>> getOldKeys(const Module &module) {
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kLinear[] = {{"weight", "_packed_params._packed_params.0"},
                                                                                  {"bias", "_packed_params._packed_params.1"},
                                                                                  {"_packed_params.weight", "_packed_params._packed_params.0"},
                                                                                  {"_packed_params.bias", "_packed_params._packed_params.1"}};
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kBatchNorm[] = {{"gamma", "bn.weight"},
                                                                                     {"beta", "bn.bias"},
                                                                                     {"running_mean", "bn.running_mean"},
                                                                                     {"running_var", "bn.running_var"},
                                                                                     {"num_batches_tracked", "bn.num_batches_tracked"}};
  if (getLayout(module) == Layout::PackedLinear)
    return kLinear;
  if (module.getClass() && startsWith(module.getClass()->getOp().name, "QatConvBn"))
    return kBatchNorm;
  return {};
}

/// What stands of a reference module's weight_qscheme and weight_dtype in the metadata.  Rule `state_dict_tensor`.
static llvm::Error readWeightScheme(const std::string &path, const StringPairs &metadata,
                                    llvm::function_ref<void(const char *name, Argument value)> set) {
  for (const auto &[key, value] : metadata) {
    auto scheme = parseQScheme(value);
    auto dtype = parseTorchDType(value);
    if (key == joinPath(path, "weight_qscheme") && (scheme || value == "None"))
      set("weight_qscheme", scheme ? Argument(*scheme) : Argument::none());
    else if (key == joinPath(path, "weight_dtype") && dtype)
      set("weight_dtype", Argument(*dtype));
    else if (key == joinPath(path, "weight_qscheme") || key == joinPath(path, "weight_dtype"))
      return error({}, "state dict entry '{0}' is '{1}', which is no {2}", key, value, endsWith(key, "dtype") ? "dtype" : "qscheme")
          .code("state_dict_tensor");
  }
  return llvm::Error::success();
}

/// The state with the keys of today.
static StateDict renameOldKeys(const GraphModule &model, const StateDict &state) {
  StateDict renamed = state;
  forEachWithRoot(model, [&](const std::string &path, Module &module) {
    for (const auto &[before, now] : getOldKeys(module))
      if (const std::string key = joinPath(path, now); !renamed.find(key))
        for (auto &entry : renamed.tensors)
          if (entry.first == joinPath(path, before))
            entry.first = key;
  });
  return renamed;
}

llvm::Error loadStateDict(GraphModule &model, const StateDict &given) {
  const StateDict state = renameOldKeys(model, given);
  struct Assignment {
    Module *module;
    Entry entry;
    const Tensor *value;
  };
  std::vector<Assignment> assignments;
  llvm::StringSet<> expected;
  std::vector<std::string> missing, unexpected;
  ErrorList problems;
  std::vector<std::pair<Module *, std::pair<const char *, Argument>>> attributes;
  forEachWithRoot(model, [&](const std::string &path, Module &module) {
    if (isReference(module))
      problems.add(readWeightScheme(path, state.metadata, [&](const char *name, Argument value) {
        attributes.push_back({&module, {name, std::move(value)}});
      }));
    for (Entry &entry : getEntries(module)) {
      std::string key = joinPath(path, entry.key);
      expected.insert(key);
      const Tensor *value = state.find(key);
      if (!value) {
        if (!entry.mayBeMissing)
          missing.push_back("'" + key + "'");
        continue;
      }
      Tensor own = getValue(module, entry);
      problems.add(checkTensor(key, *value, own, entry));
      if (entry.kind == Entry::Kind::Config && !value->equals(own))
        problems.add(error({}, "state dict entry '{0}' describes another convolution than the model's", key).code("state_dict_tensor"));
      assignments.push_back({&module, std::move(entry), value});
    }
  });
  for (const auto &[key, tensor] : state.tensors)
    if (!expected.contains(key))
      unexpected.push_back("'" + key + "'");
  if (!missing.empty() || !unexpected.empty())
    problems.add(error(model.getRoot().getLoc(), "the state dict does not fit the model: missing {0}; unexpected {1}",
                       missing.empty() ? "none" : llvm::join(missing, ", "), unexpected.empty() ? "none" : llvm::join(unexpected, ", "))
                     .code("state_dict_keys"));
  if (llvm::Error err = problems.take())
    return err;
  for (const auto &[module, attribute] : attributes)
    module->setAttribute(attribute.first, attribute.second);
  for (const Assignment &assignment : assignments)
    assign(*assignment.module, assignment.entry, *assignment.value);
  return llvm::Error::success();
}

llvm::Error saveStateDictFile(const GraphModule &model, llvm::StringRef path) {
  StateDict state = getStateDict(model);
  return writeSafetensorsFile(path, state.tensors, state.metadata);
}

llvm::Expected<StateDict> loadStateDictFile(llvm::StringRef path) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  auto tensors = file->readAll();
  if (!tensors)
    return tensors.takeError();
  return StateDict{std::move(*tensors), file->getMetadata()};
}

} // namespace qfx
