// Reads constructor arguments of observers and checks those that all uniform observers share.
#include "backends/observe/ObserverSettings.h"

#include "backends/observe/AffineQuantize.h"
#include "backends/observe/Observer.h"
#include "ir/Diagnostics.h"
#include "ir/Module.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

ObserverSettings readObserverSettings(llvm::function_ref<const Argument *(llvm::StringRef)> find) {
  ObserverSettings settings;
  if (const Argument *dtype = find("dtype"); dtype && dtype->isDType())
    settings.dtype = dtype->getDType();
  if (const Argument *scheme = find("qscheme"); scheme && scheme->getKind() == Argument::Kind::QScheme)
    settings.scheme = scheme->getQScheme();
  auto readBool = [&](llvm::StringRef name) {
    const Argument *flag = find(name);
    return flag && flag->isBool() && flag->getBool();
  };
  auto readInt = [&](llvm::StringRef name) -> std::optional<int64_t> {
    const Argument *number = find(name);
    return number && number->isInt() ? std::optional(number->getInt()) : std::nullopt;
  };
  auto readNumber = [&](llvm::StringRef name) -> std::optional<double> {
    const Argument *number = find(name);
    return number && number->isNumber() ? std::optional(number->getNumber()) : std::nullopt;
  };
  settings.reduceRange = readBool("reduce_range");
  settings.isDynamic = readBool("is_dynamic");
  settings.givenMin = readInt("quant_min");
  settings.givenMax = readInt("quant_max");
  settings.hasCustomRange = settings.givenMin && settings.givenMax;
  std::tie(settings.quantMin, settings.quantMax) =
      getEffectiveRange(settings.dtype, settings.reduceRange, settings.givenMin, settings.givenMax);
  if (const Argument *target = find("target_dtype"); target && target->isString()) { // the affine family: what codes are stored as
    if (llvm::Expected<AffineTarget> parsed = parseAffineTarget(target->getString())) {
      settings.dtype = parsed->storage;
      settings.quantMin = settings.givenMin.value_or(parsed->codeMin);
      settings.quantMax = settings.givenMax.value_or(parsed->codeMax);
    } else {
      llvm::consumeError(parsed.takeError()); // the constructor says so
    }
  }
  settings.eps = readNumber("eps");
  settings.axis = readInt("ch_axis").value_or(0);
  settings.averagingConstant = readNumber("averaging_constant").value_or(1);
  settings.bins = readInt("bins").value_or(0);
  return settings;
}

ObserverSettings readObserverSettings(const Module &observer) {
  return readObserverSettings([&](llvm::StringRef name) { return observer.findAttribute(name); });
}

llvm::Error checkUniformSettings(const Module &observer, const ObserverSettings &settings) {
  static constexpr DType kAllowed[] = {DType::QInt8, DType::QUInt8, DType::QUInt4x2, DType::QInt32,
                                       DType::Int8,  DType::UInt8,  DType::Int16,    DType::Int32,
                                       DType::Float8E5M2, DType::Float8E4M3FN, DType::UInt16};
  llvm::StringRef name = observer.getClass()->getBaseName();
  if (!llvm::is_contained(kAllowed, settings.dtype))
    return error(observer.getLoc(), "'{0}' does not observe for dtype '{1}'", name,
                 getDTypeInfo(settings.dtype).torchName)
        .code("observer_dtype");
  if (settings.hasCustomRange) {
    int64_t low = *settings.givenMin, high = *settings.givenMax;
    std::string range = std::to_string(low) + ".." + std::to_string(high);
    if (!(low <= 0 && 0 <= high) || low >= high)
      return error(observer.getLoc(), "'{0}' needs a range around 0 with quant_min below quant_max, got {1}", name, range)
          .code("observer_range");
    bool is8Bit = settings.dtype == DType::QInt8 || settings.dtype == DType::Int8;
    bool is32Bit = settings.dtype == DType::QInt32 || settings.dtype == DType::Int32;
    int64_t limit = is8Bit ? 256 : is32Bit ? int64_t(1) << 32 : INT64_MAX;
    // low <= 0 <= high, so the unsigned difference is exact.
    uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    if (span >= static_cast<uint64_t>(limit))
      return error(observer.getLoc(), "'{0}' has a range of more codes than {1} holds: {2}", name,
                   getDTypeInfo(settings.dtype).torchName, range)
          .code("observer_range");
  }
  return llvm::Error::success();
}

} // namespace qfx
