// Reads the .def rows into tables and answers lookups by kind and spelling.
#include "ir/Ops.h"

#include "ir/Infer.h"
#include "ir/OpKind.h"
#include "ir/OpsDetail.h"
#include "ir/Text.h"

#include "llvm/ADT/StringMap.h"

#include <array>
#include <atomic>
#include <iterator>
#include <memory>

namespace qfx {

static constexpr OpInfo kOps[] = {
#define QFX_OP(Kind, signature, traits, infer) {OpKind::Kind, #Kind, signature, traits, infer},
#include "ir/Ops.def"
};

static constexpr TargetInfo kTargets[] = {
#define QFX_FUNCTION(Kind, text, canonical, signature)                                                                  \
  {TargetKind::Function, OpKind::Kind, text, canonical, signature, "", ""},
#define QFX_METHOD(Kind, text, signature) {TargetKind::Method, OpKind::Kind, text, "", signature, "", ""},
#define QFX_MODULE(Kind, text, attributes, tensors, forward)                                                            \
  {TargetKind::Module, OpKind::Kind, text, "", attributes, tensors, forward},
// Spellings only: whoever reads operators need not know them.
#include "ir/ops/quantized_functional.def"

#include "ir/Ops.def"
};

//===----------------------------------------------------------------------===//
// Signature texts
//===----------------------------------------------------------------------===//

static SlotType parseSlotType(llvm::StringRef text) {
  static const std::pair<llvm::StringLiteral, SlotType> kTypes[] = {
      {"T", SlotType::Tensor},  {"T[]", SlotType::TensorList}, {"int", SlotType::Int},   {"ints", SlotType::Ints},
      {"float", SlotType::Float}, {"num", SlotType::Number},   {"bool", SlotType::Bool}, {"str", SlotType::String},
      {"dtype", SlotType::DType}, {"any", SlotType::Any}};
  for (const auto &[name, type] : kTypes)
    if (name == text)
      return type;
  llvm_unreachable("unknown type in a signature text");
}

/// Splits at top-level commas: `padding:ints=(0, 0), groups:int=1`.
static std::vector<llvm::StringRef> splitTopLevel(llvm::StringRef text) {
  std::vector<llvm::StringRef> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  if (!text.substr(start).trim().empty())
    parts.push_back(text.substr(start).trim());
  return parts;
}

/// `text[]` of `T[]` would confuse splitTopLevel's depth only if unbalanced; literals here are short and trusted.
static Argument parseLiteral(llvm::StringRef text) {
  if (text == "None")
    return Argument::none();
  if (text == "True" || text == "False")
    return Argument(text == "True");
  if (startsWith(text, "'"))
    return Argument(text.drop_front().drop_back());
  if (startsWith(text, "(") || startsWith(text, "[")) {
    Argument::Elements elements;
    for (llvm::StringRef part : splitTopLevel(text.drop_front().drop_back()))
      elements.push_back(parseLiteral(part));
    return startsWith(text, "(") ? Argument::tuple(std::move(elements)) : Argument::list(std::move(elements));
  }
  if (startsWith(text, "torch.")) {
    if (auto dtype = parseTorchDType(text))
      return Argument(*dtype);
    if (auto scheme = parseQScheme(text))
      return Argument(*scheme);
    if (auto format = parseMemoryFormat(text))
      return Argument(*format);
  }
  int64_t integer;
  if (!text.getAsInteger(10, integer))
    return Argument(integer);
  double number;
  bool failed = text.getAsDouble(number);
  assert(!failed && "bad literal in a signature text");
  (void)failed;
  return Argument(number);
}

Signature::Signature(llvm::StringRef text) {
  for (llvm::StringRef part : splitTopLevel(text)) {
    SlotInfo slot;
    slot.isVariadic = part.consume_front("*");
    slot.isFixed = part.consume_front("!");
    auto [head, defaultText] = part.split('=');
    auto [name, type] = head.split(':');
    auto [ownName, target] = name.trim().split('@');
    slot.name = ownName.str();
    slot.target = name.contains('@') ? target.str() : slot.name;
    type = type.trim();
    slot.acceptsNone = type.consume_back("?");
    slot.type = parseSlotType(type);
    bool isTensor = slot.type == SlotType::Tensor || slot.type == SlotType::TensorList;
    slot.isOptional = !defaultText.empty() || (isTensor && slot.acceptsNone);
    if (!defaultText.empty())
      slot.defaultValue = parseLiteral(defaultText.trim());
    slots.push_back(std::move(slot));
  }
}

const SlotInfo *Signature::findSlot(llvm::StringRef name) const {
  for (const SlotInfo &slot : slots)
    if (slot.name == name)
      return &slot;
  return nullptr;
}

namespace {
/// A value made when it is first asked for, by whichever thread comes first; it stays until the program ends.
template <class T> class MadeOnce {
public:
  template <class Make> const T &get(Make make) {
    if (const T *known = value.load(std::memory_order_acquire))
      return *known;
    auto made = std::make_unique<const T>(make());
    const T *known = nullptr;
    return value.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel) ? *made.release() : *known;
  }

private:
  std::atomic<const T *> value = nullptr;
};

/// What is derived from the text of a row, for those rows that are used.
struct DerivedFacts {
  MadeOnce<Signature> signature, forward;
  MadeOnce<std::vector<ModuleTensor>> tensors;
};
} // namespace

const Signature &OpInfo::getSignature() const {
  static std::array<MadeOnce<Signature>, std::size(kOps)> signatures;
  return signatures[static_cast<size_t>(this - std::begin(kOps))].get([&] { return Signature(signatureText); });
}

//===----------------------------------------------------------------------===//
// Target rows
//===----------------------------------------------------------------------===//

namespace {
/// The rows by name.
struct TargetTables {
  llvm::StringMap<const TargetInfo *> functions, methods, modules;

  TargetTables() {
    for (const TargetInfo &target : kTargets) {
      auto &names = target.kind == TargetKind::Function ? functions : target.kind == TargetKind::Method ? methods : modules;
      bool isNew = names.try_emplace(target.text, &target).second;
      assert(isNew && "two rows with one spelling");
      (void)isNew;
    }
  }
};
} // namespace

static std::vector<ModuleTensor> parseTensors(llvm::StringRef text) {
  std::vector<ModuleTensor> result;
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    if (startsWith(part, "%"))
      continue; // getModuleTensors() spells a recurrent layer's weights out
    ModuleTensor tensor;
    tensor.isBuffer = part.consume_front("~");
    auto [head, condition] = part.split('?');
    auto [typed, sizes] = head.split('[');
    auto [name, dtype] = typed.split(':');
    tensor.name = name.str();
    tensor.dtype = dtype.str();
    if (sizes.consume_back("]")) {
      tensor.sizes.emplace();
      for (llvm::StringRef size : splitTopLevel(sizes))
        tensor.sizes->push_back(size.str());
    }
    tensor.isOptional = endsWith(part, "?");
    tensor.presentIf = condition.str();
    result.push_back(std::move(tensor));
  }
  return result;
}

/// The signature of a module's forward: its own text, else the operator's tensors that the module does not own.
static Signature makeForward(const TargetInfo &target) {
  if (!target.forwardText.empty())
    return Signature(target.forwardText);
  std::string text;
  for (const SlotInfo &slot : target.getOp().getSignature().getSlots()) {
    bool isTensor = slot.type == SlotType::Tensor || slot.type == SlotType::TensorList;
    bool owned = llvm::any_of(target.getTensors(), [&](const ModuleTensor &tensor) { return tensor.name == slot.name; });
    if (!isTensor || owned)
      continue;
    if (!text.empty())
      text += ", ";
    text += slot.name + (slot.type == SlotType::Tensor ? ":T" : ":T[]") + (slot.acceptsNone ? "?" : "");
  }
  return Signature(text);
}

static DerivedFacts &getFacts(const TargetInfo &target) {
  static std::array<DerivedFacts, std::size(kTargets)> facts;
  return facts[static_cast<size_t>(&target - std::begin(kTargets))];
}

static const TargetTables &getTables() {
  static const TargetTables *tables = new TargetTables();
  return *tables;
}

const OpInfo &TargetInfo::getOp() const { return getOpInfo(op); }

const Signature &TargetInfo::getSignature() const {
  if (kind != TargetKind::Module && signatureText.empty())
    return getOp().getSignature();
  return getFacts(*this).signature.get([&] { return Signature(signatureText); });
}

const Signature &TargetInfo::getForwardSignature() const {
  assert(kind == TargetKind::Module && "only modules have a forward");
  return getFacts(*this).forward.get([&] { return makeForward(*this); });
}

llvm::ArrayRef<ModuleTensor> TargetInfo::getTensors() const {
  assert(kind == TargetKind::Module && "only modules own tensors");
  return getFacts(*this).tensors.get([&] { return parseTensors(tensorsText); });
}

const TargetInfo &TargetInfo::getCanonical() const {
  if (canonicalText.empty())
    return *this;
  const TargetInfo *row = findFunction(canonicalText);
  assert(row && "canonical spelling without a row");
  return *row;
}

llvm::StringRef TargetInfo::getBaseName() const {
  llvm::StringRef base = text;
  // `aten.conv2d.default`: the overload is not part of the function's name.
  if (startsWith(base, "aten."))
    base = base.drop_front(5).split('.').first;
  size_t dot = base.rfind('.');
  return dot == llvm::StringRef::npos ? base : base.drop_front(dot + 1);
}

const OpInfo &getOpInfo(OpKind kind) { return kOps[static_cast<unsigned>(kind)]; }
llvm::ArrayRef<OpInfo> getAllOps() { return kOps; }
llvm::ArrayRef<TargetInfo> getAllTargets() { return kTargets; }

const TargetInfo *findFunction(llvm::StringRef text) {
  const auto &functions = getTables().functions;
  if (const TargetInfo *row = functions.lookup(text))
    return row;
  if (text.consume_front("torch.ops.aten."))
    return functions.lookup(("aten." + text).str());
  if (startsWith(text, "torch.ops.quantized.") && text.consume_back(".default"))
    return functions.lookup(text);
  return nullptr;
}
const TargetInfo *findMethod(llvm::StringRef name) { return getTables().methods.lookup(name); }

/// backend_config.md 2.1: older homes of the fused, QAT and reference classes.
static std::string foldModuleAlias(llvm::StringRef name) {
  static const std::pair<llvm::StringLiteral, llvm::StringLiteral> kPrefixes[] = {
      {"torch.nn.intrinsic.", "torch.ao.nn.intrinsic."},
      {"torch.nn.qat.", "torch.ao.nn.qat."},
      {"torch.nn.quantized._reference.", "torch.ao.nn.quantized.reference."},
      {"torch.nn.quantized.", "torch.ao.nn.quantized."},
      {"torch.nn.quantizable.", "torch.ao.nn.quantizable."}};
  for (const auto &[old, current] : kPrefixes)
    if (startsWith(name, old))
      return (current + name.drop_front(old.size())).str();
  return name.str();
}

const TargetInfo *findModuleClass(llvm::StringRef name) {
  if (const TargetInfo *row = getTables().modules.lookup(name))
    return row;
  return getTables().modules.lookup(foldModuleAlias(name));
}

static const TargetInfo &require(const TargetInfo *row) {
  assert(row && "the target table lacks a row that the code relies on");
  return *row;
}
const TargetInfo &requireFunction(llvm::StringRef text) { return require(findFunction(text)); }
const TargetInfo &requireMethod(llvm::StringRef name) { return require(findMethod(name)); }
const TargetInfo &requireModuleClass(llvm::StringRef name) { return require(findModuleClass(name)); }

std::vector<std::string> getTargetNames(TargetKind kind) {
  std::vector<std::string> names;
  for (const TargetInfo &target : kTargets)
    if (target.kind == kind)
      names.push_back(target.text.str());
  return names;
}

} // namespace qfx
