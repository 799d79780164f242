// Affine observers as modules.
#include "backends/observe/AffineObserver.h"

#include "backends/observe/BuffersDetail.h"
#include "backends/observe/ObserverRowsDetail.h"
#include "backends/observe/ObserverSettings.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

bool isAffineObserver(const Module &observer) { return observer.getClass() && observer.findAttribute("granularity"); }

/// Messages of text parsers, at the module's place.
static llvm::Error atModule(llvm::Error err, const Module &observer) {
  std::vector<Diagnostic> diagnostics = takeDiagnostics(std::move(err));
  for (Diagnostic &diagnostic : diagnostics) {
    diagnostic.loc = observer.getLoc();
    diagnostic.message = ("'" + observer.getClass()->getBaseName() + "': " + diagnostic.message).str();
  }
  return llvm::make_error<InputError>(std::move(diagnostics));
}

llvm::Expected<Granularity> getGranularity(const Module &observer) {
  llvm::Expected<Granularity> granularity = parseGranularity(observer.getAttribute("granularity").getString());
  if (!granularity)
    return atModule(granularity.takeError(), observer);
  return granularity;
}

llvm::Expected<AffineOptions> getAffineOptions(const Module &observer) {
  AffineOptions options;
  const std::string &mapping = observer.getAttribute("mapping_type").getString();
  std::optional<MappingType> mappingType = parseMappingType(mapping);
  if (!mappingType)
    return error(observer.getLoc(), "'{0}' is no mapping_type{1}", mapping,
                 didYouMean(mapping, {"SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR", "ASYMMETRIC"}))
        .code("affine_options");
  options.mapping = *mappingType;
  llvm::Expected<AffineTarget> target = parseAffineTarget(observer.getAttribute("target_dtype").getString());
  if (!target)
    return atModule(target.takeError(), observer);
  options.target = *target;
  const Argument &domain = observer.getAttribute("zero_point_domain");
  std::optional<ZeroPointDomain> zeroPointDomain = domain.isNone() ? ZeroPointDomain::None : parseZeroPointDomain(domain.getString());
  if (!zeroPointDomain)
    return error(observer.getLoc(), "'{0}' is no zero_point_domain{1}", domain.getString(),
                 didYouMean(domain.getString(), {"INT", "FLOAT", "NONE"}))
        .code("affine_options");
  options.domain = *zeroPointDomain;
  options.preserveZero = observer.getAttribute("preserve_zero").getBool();
  auto find = [&](llvm::StringRef name) -> const Argument * {
    const Argument *value = observer.findAttribute(name);
    return value && !value->isNone() ? value : nullptr;
  };
  if (const Argument *low = find("quant_min"))
    options.quantMin = low->getInt();
  if (const Argument *high = find("quant_max"))
    options.quantMax = high->getInt();
  if (const Argument *eps = find("eps"))
    options.eps = eps->getNumber();
  if (const Argument *dtype = find("scale_dtype"))
    options.scaleDType = dtype->getDType();
  if (const Argument *dtype = find("zero_point_dtype"))
    options.zeroPointDType = dtype->getDType();
  return options;
}

llvm::ArrayRef<int64_t> getObservedBlockSize(const Module &observer) { return observer.getTensor("block_size").getData<int64_t>(); }

std::optional<DType> getOriginalDType(const Module &observer) {
  const Tensor *original = observer.findTensor("original_dtype");
  return original ? std::optional(original->getDType()) : std::nullopt;
}

void setOriginalDType(Module &observer, DType dtype) {
  assert(isAffineValue(dtype) && "no dtype of the affine family");
  observer.setBuffer("original_dtype", Tensor::build(dtype, {0}, [](MutableBytes) {}));
}

/// A check that the arguments mean something, by choosing parameters of the range [-1, 1].
static llvm::Error constructAffine(Module &observer) {
  llvm::Expected<Granularity> granularity = getGranularity(observer);
  if (!granularity)
    return granularity.takeError();
  llvm::Expected<AffineOptions> options = getAffineOptions(observer);
  if (!options)
    return options.takeError();
  const AffineRange probe{Tensor::of<float>(DType::Float32, {}, -1.0f), Tensor::of<float>(DType::Float32, {}, 1.0f)};
  if (llvm::Expected<AffineQParams> qparams = chooseQParamsAffineWithMinMax(probe, *options); !qparams)
    return atModule(qparams.takeError(), observer);
  observer.setBuffer("block_size", Tensor::of<int64_t>(DType::Int64, {0}, llvm::ArrayRef<int64_t>()));
  return llvm::Error::success();
}

llvm::Error constructAffineMinMax(Module &observer) {
  if (llvm::Error err = constructAffine(observer))
    return err;
  ObserverSettings settings = readObserverSettings(observer);
  if (settings.isDynamic && settings.averagingConstant != 1)
    return error(observer.getLoc(), "'{0}' can be dynamic only with averaging_constant 1", observer.getClass()->getBaseName())
        .code("observer_dynamic");
  setVector(observer, "min_val", {});
  setVector(observer, "max_val", {});
  return llvm::Error::success();
}

llvm::Error constructAffinePlaceholder(Module &observer) { return constructAffine(observer); }

llvm::Error constructAffineFixed(Module &observer) {
  if (llvm::Error err = constructAffine(observer))
    return err;
  setVector(observer, "scale", static_cast<float>(observer.getAttribute("scale").getNumber()));
  setVector(observer, "zero_point", static_cast<float>(observer.getAttribute("zero_point").getNumber()));
  return llvm::Error::success();
}

/// A row-major tensor of the values.
static Tensor toTensor(const ObservedTensor &input) {
  llvm::SmallVector<int64_t, 4> contiguous = getContiguousStrides(input.sizes);
  return Tensor::build(DType::Float32, input.sizes, [&](MutableBytes bytes) {
    float *values = reinterpret_cast<float *>(bytes.data());
    for (int64_t i = 0, n = input.getNumElements(); i < n; ++i) {
      int64_t rest = i, offset = 0;
      for (size_t d = 0; d < input.sizes.size(); ++d) {
        offset += rest / contiguous[d] * input.strides[d];
        rest %= contiguous[d];
      }
      values[i] = input.getData()[offset];
    }
  });
}

llvm::Error observeAffinePlaceholder(Module &observer, const ObservedTensor &input) {
  llvm::Expected<Granularity> granularity = getGranularity(observer);
  if (!granularity)
    return granularity.takeError();
  llvm::Expected<std::vector<int64_t>> blockSize = getBlockSize(input.sizes, *granularity);
  if (!blockSize)
    return atModule(blockSize.takeError(), observer);
  observer.setBuffer("block_size", Tensor::of<int64_t>(DType::Int64, static_cast<int64_t>(blockSize->size()), *blockSize));
  if (!getOriginalDType(observer))
    setOriginalDType(observer, DType::Float32);
  return llvm::Error::success();
}

llvm::Error mergeAffineBlocks(Module &observer, const Module &other) {
  if (std::optional<DType> dtype = getOriginalDType(other); dtype && !getOriginalDType(observer)) {
    observer.setBuffer("block_size", other.getTensor("block_size"));
    setOriginalDType(observer, *dtype);
  }
  return llvm::Error::success();
}

static llvm::Error observeRange(Module &observer, const ObservedTensor &input,
                                llvm::function_ref<float(float old, float now, bool isMin)> merge) {
  if (input.getNumElements() == 0)
    return llvm::Error::success();
  const bool isFirst = !hasAffineObserved(observer);
  if (isFirst)
    if (llvm::Error err = observeAffinePlaceholder(observer, input))
      return err;
  llvm::Expected<AffineRange> range = findAffineRange(toTensor(input), getObservedBlockSize(observer));
  if (!range)
    return atModule(range.takeError(), observer);
  (void)input.getRange();
  if (!isFirst) {
    const Tensor &low = observer.getTensor("min_val"), &high = observer.getTensor("max_val");
    if (low.getSizes() != range->min.getSizes())
      return error(observer.getLoc(), "'{0}' has seen ranges of {1}, now {2}", observer.getClass()->getBaseName(), toString(low.getType()),
                   toString(range->min.getType()))
          .code("observer_channels");
    auto combine = [&](const Tensor &old, const Tensor &now, bool isMin) {
      std::vector<float> merged;
      for (auto [before, current] : llvm::zip(old.getData<float>(), now.getData<float>()))
        merged.push_back(merge(before, current, isMin));
      return Tensor::of<float>(DType::Float32, now.getSizes(), merged);
    };
    *range = {combine(low, range->min, true), combine(high, range->max, false)};
  }
  observer.setBuffer("min_val", range->min);
  observer.setBuffer("max_val", range->max);
  return llvm::Error::success();
}

llvm::Error observeAffineMinMax(Module &observer, const ObservedTensor &input) {
  return observeRange(observer, input, [](float old, float now, bool isMin) {
    return std::isnan(now) || (isMin ? now < old : now > old) ? now : old;
  });
}

llvm::Error observeAffineMovingAverage(Module &observer, const ObservedTensor &input) {
  const double constant = static_cast<double>(static_cast<float>(readObserverSettings(observer).averagingConstant));
  const DType dtype = getOriginalDType(observer).value_or(DType::Float32);
  return observeRange(observer, input, [constant, dtype](float old, float now, bool) {
    const double change = roundTo(dtype, static_cast<double>(now) - static_cast<double>(old));
    return static_cast<float>(roundTo(dtype, static_cast<double>(old) + roundTo(dtype, constant * change)));
  });
}

bool hasAffineObserved(const Module &observer) {
  return observer.getTensor("min_val").getNumElements() != 0;
}

llvm::Expected<AffineQParams> calculateAffineQParams(const Module &observer) {
  llvm::Expected<AffineOptions> options = getAffineOptions(observer);
  if (!options)
    return options.takeError();
  if (observer.findTensor("scale"))
    return AffineQParams{observer.getTensor("scale"), observer.getTensor("zero_point")};
  if (!observer.findTensor("min_val") || !hasAffineObserved(observer))
    return error(observer.getLoc(), "'{0}' has no quantization parameters", observer.getClass()->getBaseName()).code("observer_qparams");
  const DType dtype = getOriginalDType(observer).value_or(DType::Float32);
  llvm::Expected<AffineQParams> qparams = chooseQParamsAffineWithMinMax(
      {castFloats(observer.getTensor("min_val"), dtype), castFloats(observer.getTensor("max_val"), dtype)}, *options);
  if (!qparams)
    return atModule(qparams.takeError(), observer);
  return qparams;
}

llvm::Expected<QParams> calculateAffine(const Module &observer) {
  llvm::Expected<AffineQParams> affine = calculateAffineQParams(observer);
  if (!affine)
    return affine.takeError();
  llvm::Expected<AffineOptions> options = getAffineOptions(observer);
  llvm::Expected<Granularity> granularity = getGranularity(observer);
  if (!options || !granularity)
    return llvm::joinErrors(options.takeError(), granularity.takeError());
  const auto *axis = std::get_if<PerAxis>(&*granularity);
  if ((!axis && !std::holds_alternative<PerTensor>(*granularity)) || options->domain != ZeroPointDomain::Int)
    return error(observer.getLoc(), "'{0}' has parameters per block; only PerTensor and PerAxis with integer zero points fit a quantized tensor",
                 observer.getClass()->getBaseName())
        .code("observer_qparams");
  QParams qparams;
  qparams.dtype = options->target.storage;
  qparams.scheme = axis ? QScheme::PerChannelAffine : QScheme::PerTensorAffine;
  qparams.axis = axis ? axis->axis : 0;
  qparams.quantMin = options->quantMin.value_or(options->target.codeMin);
  qparams.quantMax = options->quantMax.value_or(options->target.codeMax);
  for (int64_t i = 0; i < affine->scale.getNumElements(); ++i) {
    qparams.scales.push_back(static_cast<float>(affine->scale.getElementAsDouble(i)));
    qparams.zeroPoints.push_back(static_cast<int64_t>(affine->zeroPoint.getElementAsDouble(i)));
  }
  return qparams;
}

} // namespace qfx
