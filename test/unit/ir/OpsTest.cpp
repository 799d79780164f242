// The target table is sound: every row binds, has a rule, and the built-in backend configurations name only known spellings.
#include "Catch.h"

#include "ir/Infer.h"
#include "ir/Module.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <set>

using namespace qfx;

/// The operator's slots that a spelling fills, by whatever means.
static std::set<std::string> getFilledSlots(const TargetInfo &target) {
  std::set<std::string> filled;
  for (const SlotInfo &slot : target.getSignature().getSlots())
    filled.insert(slot.target);
  if (target.kind != TargetKind::Module)
    return filled;
  for (const SlotInfo &slot : target.getForwardSignature().getSlots())
    filled.insert(slot.target);
  for (const ModuleTensor &tensor : target.getTensors())
    filled.insert(tensor.name);
  return filled;
}

TEST_CASE("every operator has a type rule and a spelling or is reached by one", "[ops]") {
  std::set<OpKind> spelled;
  for (const TargetInfo &target : getAllTargets())
    spelled.insert(target.op);
  for (const OpInfo &op : getAllOps()) {
    INFO(op.name.str());
    CHECK((op.infer != nullptr));
    CHECK(spelled.count(op.kind));
    CHECK(&getOpInfo(op.kind) == &op);
  }
}

/// conv2d of Conv2d, as in rule codes.
static std::string snakeCase(llvm::StringRef name) {
  std::string text;
  for (char c : name) {
    bool isUpper = c >= 'A' && c <= 'Z';
    text += isUpper && !text.empty() ? "_" : "";
    text += isUpper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

TEST_CASE("every operator has its text test", "[ops]") {
  for (const OpInfo &op : getAllOps()) {
    INFO(op.name.str());
    CHECK(std::filesystem::exists(QFX_SOURCE_DIR "/test/ir/ops/" + snakeCase(op.name) + ".qfx"));
  }
}

TEST_CASE("every spelling fills the operator's required slots and no other", "[ops]") {
  for (const TargetInfo &target : getAllTargets()) {
    INFO(target.text.str());
    std::set<std::string> filled = getFilledSlots(target);
    std::set<std::string> known;
    for (const SlotInfo &slot : target.getOp().getSignature().getSlots()) {
      known.insert(slot.name);
      if (!slot.isOptional && !slot.acceptsNone && !slot.isVariadic) {
        INFO(slot.name);
        CHECK(filled.count(slot.name));
      }
    }
    // Arguments must lead somewhere; a module's attributes may be facts that only describe its tensors.
    llvm::ArrayRef<SlotInfo> arguments =
        target.kind == TargetKind::Module ? target.getForwardSignature().getSlots() : target.getSignature().getSlots();
    for (const SlotInfo &slot : arguments) {
      INFO(slot.name);
      CHECK((slot.target.empty() || known.count(slot.target)));
    }
  }
}

TEST_CASE("required arguments stand before optional ones", "[ops]") {
  for (const TargetInfo &target : getAllTargets()) {
    INFO(target.text.str());
    bool sawOptional = false;
    for (const SlotInfo &slot : target.getSignature().getSlots()) {
      bool isTensor = slot.type == SlotType::Tensor || slot.type == SlotType::TensorList;
      // PyTorch itself writes optional tensors before required numbers: batch_norm(input, weight?, bias?, ..., training).
      if (slot.isOptional && !isTensor && !slot.isFixed && target.kind != TargetKind::Module)
        sawOptional = true;
      else if (!slot.isOptional && !slot.isVariadic && target.kind != TargetKind::Module)
        CHECK_FALSE(sawOptional);
    }
  }
}

TEST_CASE("canonical spellings exist and are their own", "[ops]") {
  for (const TargetInfo &target : getAllTargets()) {
    INFO(target.text.str());
    CHECK(target.getCanonical().canonicalText.empty());
    CHECK(target.getCanonical().op == target.op);
  }
}

TEST_CASE("lookups know aliases and refuse strangers", "[ops]") {
  CHECK(findModuleClass("torch.nn.intrinsic.ConvReLU2d") == &requireModuleClass("torch.ao.nn.intrinsic.ConvReLU2d"));
  CHECK(findModuleClass("torch.nn.intrinsic.qat.ConvBn2d") == &requireModuleClass("torch.ao.nn.intrinsic.qat.ConvBn2d"));
  CHECK(findModuleClass("torch.nn.qat.Conv2d") == &requireModuleClass("torch.ao.nn.qat.Conv2d"));
  CHECK(findModuleClass("torch.nn.quantized._reference.Linear") ==
        &requireModuleClass("torch.ao.nn.quantized.reference.Linear"));
  CHECK(findModuleClass("torch.nn.quantized.dynamic.Linear") == &requireModuleClass("torch.ao.nn.quantized.dynamic.Linear"));
  CHECK(findFunction("torch.ops.aten.conv2d.default") == &requireFunction("aten.conv2d.default"));
  CHECK(findFunction("torch.ops.quantized.add.default") == &requireFunction("torch.ops.quantized.add"));
  CHECK(&requireFunction("torch._C._nn.linear").getCanonical() == &requireFunction("torch.nn.functional.linear"));
  CHECK_FALSE(findFunction("torch.nothing"));
  CHECK_FALSE(findFunction("relu"));
  CHECK_FALSE(findMethod("torch.relu"));
  CHECK_FALSE(findModuleClass("torch.nn.Conv4d"));
}

static void collectNames(const nlohmann::json &value, bool isPattern, std::set<std::string> &names) {
  if (value.is_string()) {
    std::string text = value;
    bool isDotted = text.rfind("torch.", 0) == 0 || text.rfind("operator.", 0) == 0;
    bool isMethod = isPattern && text.find('.') == std::string::npos && text != "MatchAllNode";
    if (isDotted || isMethod)
      names.insert(text);
    return;
  }
  if (!value.is_structured())
    return;
  for (const auto &[key, element] : value.items())
    collectNames(element, isPattern || (value.is_object() && key.rfind("pattern", 0) == 0), names);
}

TEST_CASE("the built-in backend configurations name only known spellings", "[ops]") {
  std::set<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(QFX_SOURCE_DIR "/backends/builtin"))
    if (entry.path().extension() == ".json" && entry.path().filename() != "schema.json") {
      std::ifstream file(entry.path());
      collectNames(nlohmann::json::parse(file), false, names);
    }
  CHECK(names.size() > 150);
  for (const std::string &name : names) {
    INFO(name);
    bool isKnown = findFunction(name) || findMethod(name) || findModuleClass(name);
    CHECK(isKnown);
  }
}

TEST_CASE("signature texts", "[ops]") {
  Signature signature("self@input:T, *dims:ints, bias_@:bool=True, !mode:str='reflect', scale:float?=None, sizes:ints=(1, 2), other:T?");
  llvm::ArrayRef<SlotInfo> slots = signature.getSlots();
  REQUIRE(slots.size() == 7);
  CHECK((slots[0].name == "self" && slots[0].target == "input" && !slots[0].isOptional));
  CHECK((slots[1].isVariadic && slots[1].type == SlotType::Ints));
  CHECK((slots[2].target.empty() && *slots[2].defaultValue == Argument(true)));
  CHECK((slots[3].isFixed && *slots[3].defaultValue == Argument("reflect")));
  CHECK((slots[4].acceptsNone && slots[4].defaultValue->isNone()));
  CHECK(*slots[5].defaultValue == Argument::ints({1, 2}));
  CHECK((slots[6].acceptsNone && slots[6].isOptional && !slots[6].defaultValue));
}

TEST_CASE("tensors of module objects", "[ops]") {
  auto names = [](const char *className, Module::Named<Argument> attributes) {
    std::vector<std::string> result;
    for (const ModuleTensor &tensor : getModuleTensors(Module(requireModuleClass(className), std::move(attributes))))
      result.push_back(tensor.name);
    return result;
  };
  using Names = std::vector<std::string>;
  CHECK(names("torch.nn.Conv2d", {}) == Names{"weight", "bias"});
  CHECK(names("torch.nn.Conv2d", {{"bias", false}}) == Names{"weight"});
  CHECK(names("torch.nn.LayerNorm", {{"bias", false}}) == Names{"weight"});
  CHECK(names("torch.nn.LayerNorm", {{"elementwise_affine", false}}) == Names{});
  CHECK(names("torch.nn.BatchNorm2d", {{"affine", false}}) == Names{"running_mean", "running_var", "num_batches_tracked"});
  CHECK(names("torch.nn.GRU", {{"bidirectional", true}, {"bias", false}}) ==
        Names{"weight_ih_l0", "weight_hh_l0", "weight_ih_l0_reverse", "weight_hh_l0_reverse"});
  CHECK(names("torch.nn.LSTM", {{"num_layers", 2}, {"proj_size", 3}}) ==
        Names{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0", "weight_ih_l1", "weight_hh_l1", "bias_ih_l1",
              "bias_hh_l1", "weight_hr_l1"});
  CHECK(getModuleTensors(Module("my.Block")).empty());
}
