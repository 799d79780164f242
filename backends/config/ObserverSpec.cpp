// What an observer constructor would build: its attributes without building, and the module itself.
#include "backends/config/EqualizationConfig.h"
#include "backends/config/ObserverSpecDetail.h"
#include "backends/observe/Observer.h"
#include "backends/observe/ObserverSettings.h"
#include "ir/Diagnostics.h"
#include "ir/Module.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

static bool isClass(const ObserverSpec &spec, llvm::StringRef name) { return spec.observerClass->getBaseName() == name; }

static const Argument *findKeyword(const ObserverSpec &spec, llvm::StringRef name) {
  for (const auto &[key, value] : spec.keywords)
    if (key == name)
      return &value;
  return nullptr;
}

/// The keyword or the class's default.
static const Argument *findAttribute(const ObserverSpec &spec, llvm::StringRef name) {
  if (const Argument *value = findKeyword(spec, name))
    return value;
  const SlotInfo *slot = spec.observerClass->getSignature().findSlot(name);
  return slot && slot->defaultValue ? &*slot->defaultValue : nullptr;
}

static void setKeyword(ObserverSpec &spec, llvm::StringRef name, Argument value) {
  for (auto &[key, old] : spec.keywords)
    if (key == name) {
      old = std::move(value);
      return;
    }
  spec.keywords.emplace_back(name.str(), std::move(value));
}

/// The observer that a fake-quantizer would hold: its `observer` with the passed-on keywords on top (numerics 4.2).  Observers are
/// themselves.
static ObserverSpec getInnerSpec(const ObserverSpec &spec) {
  if (!spec.isFakeQuantize())
    return spec;
  ObserverSpec inner = spec.observer ? *spec.observer : makeNamedSpec("MovingAverageMinMaxObserver");
  if (isClass(spec, "FixedQParamsFakeQuantize"))
    return inner;
  const Argument *low = findAttribute(spec, "quant_min"), *high = findAttribute(spec, "quant_max");
  for (const auto &[key, value] : spec.keywords)
    if (key != "quant_min" && key != "quant_max")
      setKeyword(inner, key, value);
  if (low && high && low->isInt() && high->isInt()) {
    setKeyword(inner, "quant_min", *low);
    setKeyword(inner, "quant_max", *high);
  }
  setKeyword(inner, "is_dynamic", *findAttribute(spec, "is_dynamic"));
  return inner;
}

static ObserverSettings getSettings(const ObserverSpec &spec) {
  ObserverSpec inner = getInnerSpec(spec);
  return readObserverSettings([&](llvm::StringRef name) { return findAttribute(inner, name); });
}

DType ObserverSpec::getDType() const {
  ObserverSpec inner = getInnerSpec(*this);
  if (isClass(inner, "Identity"))
    return DType::Float32; // no observer at all
  return getSettings(inner).dtype;
}
QScheme ObserverSpec::getQScheme() const { return getSettings(*this).scheme; }
bool ObserverSpec::isDynamic() const { return getSettings(*this).isDynamic; }

/// Placeholder and fixed observers keep the bounds as given; uniform ones compute theirs; the rest have none (equalization observers hand them on).
static std::optional<int64_t> getBound(const ObserverSpec &spec, bool isMax) {
  ObserverSpec inner = getInnerSpec(spec);
  ObserverSettings settings = getSettings(inner);
  if (!inner.observerClass->getSignature().findSlot("quant_min") || isEqualizationSpec(inner))
    return std::nullopt;
  if (isClass(inner, "PlaceholderObserver") || isClass(inner, "FixedQParamsObserver"))
    return isMax ? settings.givenMax : settings.givenMin;
  return isMax ? settings.quantMax : settings.quantMin;
}
std::optional<int64_t> ObserverSpec::getQuantMin() const { return getBound(*this, false); }
std::optional<int64_t> ObserverSpec::getQuantMax() const { return getBound(*this, true); }

std::optional<double> ObserverSpec::getEps() const {
  ObserverSpec inner = getInnerSpec(*this);
  if (!inner.observerClass->getSignature().findSlot("eps"))
    return std::nullopt;
  return getSettings(inner).eps.value_or(1.1920928955078125e-07); // the placeholder's eps=None means this
}

std::optional<std::pair<double, int64_t>> ObserverSpec::getFixedQParams() const {
  ObserverSpec inner = getInnerSpec(*this);
  if (!isClass(inner, "FixedQParamsObserver"))
    return std::nullopt;
  const Argument *scale = findKeyword(inner, "scale"), *zeroPoint = findKeyword(inner, "zero_point");
  return std::pair<double, int64_t>(scale && scale->isNumber() ? scale->getNumber() : 1.0,
                                    zeroPoint && zeroPoint->isInt() ? zeroPoint->getInt() : 0);
}

bool ObserverSpec::isReuseInput() const { return isClass(*this, "ReuseInputObserver"); }
bool ObserverSpec::isPlaceholder() const { return isClass(*this, "PlaceholderObserver"); }
bool ObserverSpec::isNoop() const { return isClass(*this, "NoopObserver"); }
bool ObserverSpec::isFakeQuantize() const {
  return isClass(*this, "FakeQuantize") || isClass(*this, "FusedMovingAvgObsFakeQuantize") ||
         isClass(*this, "FixedQParamsFakeQuantize");
}

static bool hasKind(const Argument &value, const SlotInfo &slot) {
  if (value.isNone())
    return slot.acceptsNone;
  switch (slot.type) {
  case SlotType::Int:
    return value.isInt();
  case SlotType::Float:
  case SlotType::Number:
    return value.isInt() || value.isFloat();
  case SlotType::Bool:
    return value.isBool();
  case SlotType::String:
    return value.isString();
  case SlotType::DType:
    return value.isDType();
  default:
    return value.getKind() == Argument::Kind::QScheme; // the one keyword of another type is qscheme
  }
}

llvm::Error checkKeyword(const ObserverSpec &spec, llvm::StringRef name, const Argument &value) {
  const SlotInfo *slot = spec.observerClass->getSignature().findSlot(name);
  std::vector<std::string> candidates;
  for (const SlotInfo &known : spec.observerClass->getSignature().getSlots())
    candidates.push_back(known.name);
  if (!slot && spec.isFakeQuantize() && !isClass(spec, "FixedQParamsFakeQuantize")) {
    const ObserverSpec inner = spec.observer ? *spec.observer : makeNamedSpec("MovingAverageMinMaxObserver");
    slot = inner.observerClass->getSignature().findSlot(name);
    for (const SlotInfo &known : inner.observerClass->getSignature().getSlots())
      candidates.push_back(known.name);
  }
  if (!slot)
    return error(Location(), "'{0}' has no argument '{1}'{2}", spec.observerClass->getBaseName(), name, didYouMean(name, candidates))
        .code("observer_argument");
  if (!hasKind(value, *slot))
    return error(Location(), "'{0}' has an argument '{1}' that does not take {2}", spec.observerClass->getBaseName(), name,
                 toString(value, ArgumentStyle::Repr))
        .code("observer_argument");
  return llvm::Error::success();
}

/// A module of a class whose keywords are its attributes.
static llvm::Expected<ModuleRef> buildPlain(const ObserverSpec &spec, std::vector<Keyword> attributes, ModuleRef inner) {
  auto module = std::make_shared<Module>(*spec.observerClass);
  for (Keyword &attribute : attributes)
    module->setAttribute(attribute.first, std::move(attribute.second));
  if (inner)
    module->setChild("activation_post_process", std::move(inner));
  if (const ObserverInfo *info = findObserver(*module))
    if (llvm::Error err = info->construct(*module))
      return err;
  return module;
}

llvm::Expected<ModuleRef> ObserverSpec::build() const {
  for (const auto &[key, value] : keywords)
    if (llvm::Error err = checkKeyword(*this, key, value))
      return err;
  if (!isFakeQuantize())
    return buildPlain(*this, keywords, nullptr);
  ObserverSpec innerSpec = getInnerSpec(*this);
  if (innerSpec.isFakeQuantize())
    return error(Location(), "'{0}' needs an observer, got '{1}'", observerClass->getBaseName(), innerSpec.observerClass->getBaseName())
        .code("observer_argument");
  llvm::Expected<ModuleRef> inner = innerSpec.build();
  if (!inner)
    return inner.takeError();
  std::vector<Keyword> own;
  llvm::copy_if(keywords, std::back_inserter(own), [&](const Keyword &keyword) {
    return observerClass->getSignature().findSlot(keyword.first) != nullptr;
  });
  return buildPlain(*this, std::move(own), std::move(*inner));
}

} // namespace qfx
