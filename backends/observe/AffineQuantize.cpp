// Block-wise affine quantization in float32, float16 and bfloat16.
#include "backends/observe/AffineQuantize.h"

#include "backends/observe/Float8Detail.h"
#include "backends/observe/NanMinMax.h"
#include "ir/Diagnostics.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace qfx {

llvm::Expected<AffineTarget> parseAffineTarget(llvm::StringRef name) {
  llvm::StringRef text = name;
  text.consume_front("torch.");
  const bool isUnsigned = startsWith(text, "uint");
  llvm::StringRef digits = text;
  unsigned bits;
  if ((digits.consume_front("uint") || digits.consume_front("int")) && !digits.getAsInteger(10, bits) && bits >= 1 && bits < 8) {
    if (isUnsigned)
      return AffineTarget{DType::UInt8, 0, (int64_t(1) << bits) - 1};
    auto [low, high] = getTorchAORange(static_cast<TorchAODType>(bits));
    return AffineTarget{DType::Int8, low, high};
  }
  switch (std::optional<DType> dtype = parseTorchDType(text); dtype.value_or(DType::Bool)) {
  case DType::UInt8:
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
    return AffineTarget{*dtype, getDTypeInfo(*dtype).codeMin, getDTypeInfo(*dtype).codeMax};
  case DType::Float8E5M2:
  case DType::Float8E4M3FN: {
    const int64_t largest = static_cast<int64_t>(getFloat8Max(*dtype));
    return AffineTarget{*dtype, -largest, largest};
  }
  default:
    return error({}, "'{0}' is no target of affine quantization; expected uint1 - uint8, int1 - int8, int16, int32, float8_e5m2 or float8_e4m3fn",
                 name)
        .code("affine_dtype");
  }
}

bool isAffineValue(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float16 || dtype == DType::BFloat16; }

static llvm::Error checkValueDType(DType dtype, const char *verb) {
  if (isAffineValue(dtype))
    return llvm::Error::success();
  return error({}, "affine quantization {0} float32, float16 or bfloat16, got {1}", verb, getDTypeInfo(dtype).torchName).code("affine_dtype");
}

double roundTo(DType dtype, double value) {
  switch (dtype) {
  case DType::Float64:
    return value;
  case DType::Float16:
    return static_cast<double>(halfToFloat(floatToHalf(static_cast<float>(value))));
  case DType::BFloat16:
    return static_cast<double>(bfloat16ToFloat(floatToBFloat16(static_cast<float>(value))));
  default:
    return static_cast<double>(static_cast<float>(value));
  }
}

/// torch.promote_types of a floating-point dtype and any other of the family.
static DType promote(DType a, DType b) {
  if (!isFloat(b) || a == b)
    return a;
  return a == DType::Float64 || b == DType::Float64 ? DType::Float64 : DType::Float32;
}

/// Values as a tensor of a dtype that parameters may have.
static Tensor castTo(DType dtype, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<double> values) {
  return Tensor::build(dtype, sizes, [&](MutableBytes bytes) {
    auto fill = [&](auto *out, auto convert) { llvm::transform(values, out, convert); };
    switch (dtype) {
    case DType::Float64:
      return fill(reinterpret_cast<double *>(bytes.data()), [](double v) { return v; });
    case DType::Float16:
      return fill(reinterpret_cast<uint16_t *>(bytes.data()), [](double v) { return floatToHalf(static_cast<float>(v)); });
    case DType::BFloat16:
      return fill(reinterpret_cast<uint16_t *>(bytes.data()), [](double v) { return floatToBFloat16(static_cast<float>(v)); });
    case DType::Int64:
      return fill(reinterpret_cast<int64_t *>(bytes.data()), [](double v) { return static_cast<int64_t>(v); });
    case DType::Int32:
      return fill(reinterpret_cast<int32_t *>(bytes.data()), [](double v) { return static_cast<int32_t>(v); });
    case DType::Int8:
      return fill(reinterpret_cast<int8_t *>(bytes.data()), [](double v) { return static_cast<int8_t>(static_cast<int32_t>(v)); });
    case DType::UInt8:
      return fill(reinterpret_cast<uint8_t *>(bytes.data()), [](double v) { return static_cast<uint8_t>(static_cast<int32_t>(v)); });
    default:
      return fill(reinterpret_cast<float *>(bytes.data()), [](double v) { return static_cast<float>(v); });
    }
  });
}

Tensor castFloats(const Tensor &values, DType dtype) {
  if (values.getDType() == dtype)
    return values;
  std::vector<double> numbers;
  for (int64_t i = 0; i < values.getNumElements(); ++i)
    numbers.push_back(values.getElementAsDouble(i));
  return castTo(dtype, values.getSizes(), numbers);
}

llvm::Expected<AffineRange> findAffineRange(const Tensor &input, llvm::ArrayRef<int64_t> blockSize) {
  if (llvm::Error err = checkValueDType(input.getDType(), "takes"))
    return err;
  llvm::Expected<BlockLayout> layout = BlockLayout::get(input.getSizes(), blockSize);
  if (!layout)
    return layout.takeError();
  std::vector<double> mins(layout->getNumBlocks(), INFINITY), maxs(layout->getNumBlocks(), -INFINITY);
  std::vector<size_t> blocks = layout->findBlocks();
  for (size_t i = 0; i < blocks.size(); ++i) {
    const double value = input.getElementAsDouble(static_cast<int64_t>(i));
    mins[blocks[i]] = minNan(value, mins[blocks[i]]);
    maxs[blocks[i]] = maxNan(value, maxs[blocks[i]]);
  }
  return AffineRange{castTo(input.getDType(), layout->getParameterShape(), mins), castTo(input.getDType(), layout->getParameterShape(), maxs)};
}

namespace {
/// Bounds and middle of the codes, checked.
struct Codes {
  double min, max;
  double sumAndOne; ///< qmax + qmin + 1
  double getMiddle() const { return roundTo(DType::Float32, sumAndOne / 2); }
};
} // namespace

static llvm::Expected<Codes> getCodes(const AffineOptions &options) {
  const int64_t low = options.quantMin.value_or(options.target.codeMin), high = options.quantMax.value_or(options.target.codeMax);
  if (low < options.target.codeMin || high > options.target.codeMax || low > high)
    return error({}, "affine quantization to {0}..{1} got the bounds {2}..{3}", options.target.codeMin, options.target.codeMax, low, high)
        .code("affine_options");
  return Codes{static_cast<double>(low), static_cast<double>(high), static_cast<double>(low) + static_cast<double>(high) + 1};
}

static llvm::Error checkOptions(const AffineOptions &options) {
  const bool isSymmetricMapping = options.mapping != MappingType::Asymmetric;
  auto fail = [](const char *what) { return error({}, "affine quantization {0}", what).code("affine_options"); };
  if (options.target.isFloat8() && options.mapping != MappingType::Symmetric)
    return fail("to float8 needs the mapping SYMMETRIC");
  if (isSymmetricMapping && !options.preserveZero)
    return fail("with a symmetric mapping needs preserve_zero");
  if (isSymmetricMapping && options.domain == ZeroPointDomain::Float)
    return fail("with a symmetric mapping has no zero points in the domain FLOAT");
  if (!isSymmetricMapping && !options.preserveZero && options.domain == ZeroPointDomain::Int)
    return fail("without preserve_zero needs zero points in the domain FLOAT");
  return llvm::Error::success();
}

static bool isParameterDType(DType dtype) {
  constexpr DType kDTypes[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int64, DType::Int32, DType::Int8, DType::UInt8};
  return llvm::is_contained(kDTypes, dtype);
}

/// torch.finfo(dtype).eps
static double getEps(DType dtype) {
  return dtype == DType::Float16 ? 0x1p-10 : dtype == DType::BFloat16 ? 0x1p-7 : 0x1p-23;
}

/// PyTorch's clamp makes its bounds numbers of the tensor's dtype and refuses those that are infinite there.
static llvm::Error checkBounds(const Codes &codes, DType dtype) {
  if (std::isfinite(roundTo(dtype, codes.min)) && std::isfinite(roundTo(dtype, codes.max)))
    return llvm::Error::success();
  return error({}, "affine quantization to {0}..{1} in {2}, which holds no such codes", static_cast<int64_t>(codes.min), static_cast<int64_t>(codes.max),
               getDTypeInfo(dtype).torchName)
      .code("affine_options");
}

llvm::Expected<AffineQParams> chooseQParamsAffineWithMinMax(const AffineRange &range, const AffineOptions &options) {
  const DType dtype = range.min.getDType();
  if (llvm::Error err = checkValueDType(dtype, "takes"))
    return err;
  llvm::Expected<Codes> codes = getCodes(options);
  if (!codes)
    return codes.takeError();
  if (llvm::Error err = checkOptions(options))
    return err;
  if (llvm::Error err = checkBounds(*codes, dtype))
    return err;
  const DType scaleDType = options.scaleDType.value_or(dtype), zeroPointDType = options.zeroPointDType.value_or(dtype);
  if (!isFloat(scaleDType) || !isParameterDType(scaleDType) || !isParameterDType(zeroPointDType))
    return error({}, "affine quantization cannot store a scale as {0} and a zero point as {1}", getDTypeInfo(scaleDType).torchName,
                 getDTypeInfo(zeroPointDType).torchName)
        .code("affine_options");
  auto round = [dtype](double value) { return roundTo(dtype, value); };
  const double eps = round(options.eps.value_or(getEps(dtype)));
  // numbers beside a tensor keep float32's digits, as clamp's bounds do not
  const double middle = codes->getMiddle(), qmin = round(codes->min), qmax = round(codes->max);
  const double levels = roundTo(DType::Float32, codes->max - codes->min), half = roundTo(DType::Float32, (codes->max - codes->min) / 2);
  std::vector<double> scales, zeroPoints;
  for (int64_t i = 0; i < range.min.getNumElements(); ++i) {
    const double low = range.min.getElementAsDouble(i), high = range.max.getElementAsDouble(i);
    const double n = options.preserveZero ? minNan(low, 0.0) : low, p = options.preserveZero ? maxNan(high, 0.0) : high;
    if (options.mapping == MappingType::Asymmetric) {
      const double scale = maxNan(round(round(p - n) / levels), eps);
      scales.push_back(scale);
      zeroPoints.push_back(options.preserveZero ? maxNan(minNan(round(qmin - std::nearbyint(round(n / scale))), qmax), qmin)
                                                : round(n + round(scale * middle)));
      continue;
    }
    double scale = round(maxNan(-n, p) / half);
    if (options.mapping == MappingType::SymmetricNoClippingErr) {
      const double fromMin = round(n / codes->min), fromMax = round(p / codes->max);
      scale = fromMin > fromMax ? fromMin : fromMax;
    }
    scales.push_back(maxNan(scale, eps));
    zeroPoints.push_back(round(std::trunc(codes->sumAndOne / 2)));
  }
  AffineQParams qparams;
  qparams.scale = castTo(scaleDType, range.min.getSizes(), scales);
  if (options.domain != ZeroPointDomain::None || options.mapping != MappingType::Asymmetric)
    qparams.zeroPoint = castTo(zeroPointDType, range.min.getSizes(), zeroPoints);
  return qparams;
}

llvm::Expected<AffineQParams> chooseQParamsAffine(const Tensor &input, llvm::ArrayRef<int64_t> blockSize, const AffineOptions &options) {
  llvm::Expected<AffineRange> range = findAffineRange(input, blockSize);
  if (!range)
    return range.takeError();
  return chooseQParamsAffineWithMinMax(*range, options);
}

/// The parameters, their dtypes and the block of each element.
namespace {
struct BlockParameters {
  DType scaleDType, zeroPointDType; ///< of the zero point: the scale's where there is none
  std::vector<double> scales, zeroPoints;
  std::vector<size_t> blocks;
};
} // namespace

static llvm::Expected<BlockParameters> getBlockParameters(const Tensor &tensor, llvm::ArrayRef<int64_t> blockSize,
                                                          const AffineQParams &qparams, ZeroPointDomain domain) {
  llvm::Expected<BlockLayout> layout = BlockLayout::get(tensor.getSizes(), blockSize);
  if (!layout)
    return layout.takeError();
  const int64_t numBlocks = static_cast<int64_t>(layout->getNumBlocks());
  const bool needsZeroPoint = domain != ZeroPointDomain::None;
  if (qparams.scale.getNumElements() != numBlocks ||
      (needsZeroPoint && (!qparams.zeroPoint || qparams.zeroPoint.getNumElements() != numBlocks)))
    return error({}, "affine quantization of {0} blocks got {1} scales and {2} zero points", numBlocks, qparams.scale.getNumElements(),
                 qparams.zeroPoint ? qparams.zeroPoint.getNumElements() : 0)
        .code("granularity_shape");
  BlockParameters result;
  result.scaleDType = qparams.scale.getDType();
  result.zeroPointDType = needsZeroPoint ? qparams.zeroPoint.getDType() : result.scaleDType;
  result.blocks = layout->findBlocks();
  for (int64_t i = 0; i < numBlocks; ++i) {
    result.scales.push_back(qparams.scale.getElementAsDouble(i));
    result.zeroPoints.push_back(needsZeroPoint ? qparams.zeroPoint.getElementAsDouble(i) : 0);
  }
  return result;
}

template <class T> static void writeCode(MutableBytes bytes, size_t i, double code) {
  reinterpret_cast<T *>(bytes.data())[i] = static_cast<T>(static_cast<int64_t>(code));
}

static void writeCode(MutableBytes bytes, size_t i, double code, DType storage) {
  switch (storage) {
  case DType::UInt8:
    return writeCode<uint8_t>(bytes, i, code);
  case DType::Int8:
    return writeCode<int8_t>(bytes, i, code);
  case DType::Int16:
    return writeCode<int16_t>(bytes, i, code);
  case DType::Int32:
    return writeCode<int32_t>(bytes, i, code);
  default:
    bytes[i] = static_cast<std::byte>(toFloat8(static_cast<float>(code), storage));
  }
}

/// The largest code of the target that is a number of `dtype`: 2^31 as a float32 is one above int32's largest.
static double getLargestCode(const Codes &codes, DType dtype) {
  const double rounded = roundTo(dtype, codes.max);
  if (rounded <= codes.max)
    return rounded;
  const int digits = dtype == DType::BFloat16 ? 8 : dtype == DType::Float16 ? 11 : 24;
  return rounded - std::ldexp(1, std::ilogb(codes.max) + 1 - digits);
}

llvm::Expected<Tensor> quantizeAffine(const Tensor &input, llvm::ArrayRef<int64_t> blockSize, const AffineQParams &qparams,
                                      const AffineOptions &options) {
  if (llvm::Error err = checkValueDType(input.getDType(), "takes"))
    return err;
  llvm::Expected<Codes> codes = getCodes(options);
  if (!codes)
    return codes.takeError();
  const ZeroPointDomain domain = options.target.isFloat8() ? ZeroPointDomain::None : options.domain;
  llvm::Expected<BlockParameters> parameters = getBlockParameters(input, blockSize, qparams, domain);
  if (!parameters)
    return parameters.takeError();
  const double middle = codes->getMiddle();
  const DType scaleDType = parameters->scaleDType, zeroPointDType = parameters->zeroPointDType;
  const DType shiftDType = promote(scaleDType, zeroPointDType), productDType = promote(input.getDType(), scaleDType);
  const DType sumDType = promote(productDType, zeroPointDType);
  const DType result = domain == ZeroPointDomain::None ? productDType : sumDType;
  if (llvm::Error err = checkBounds(*codes, result))
    return err;
  const double low = roundTo(result, codes->min), high = getLargestCode(*codes, result);
  return Tensor::build(options.target.storage, input.getSizes(), [&](MutableBytes bytes) {
    for (size_t i = 0; i < parameters->blocks.size(); ++i) {
      const double value = input.getElementAsDouble(static_cast<int64_t>(i));
      const double scale = parameters->scales[parameters->blocks[i]], zeroPoint = parameters->zeroPoints[parameters->blocks[i]];
      double code;
      if (domain == ZeroPointDomain::Float)
        code = roundTo(sumDType, roundTo(sumDType, value - roundTo(shiftDType, zeroPoint - roundTo(scaleDType, scale * middle))) / scale);
      else
        code = roundTo(productDType, value * roundTo(scaleDType, 1 / scale));
      if (!options.target.isFloat8())
        code = std::nearbyint(code);
      if (domain == ZeroPointDomain::Int)
        code = roundTo(sumDType, code + zeroPoint);
      writeCode(bytes, i, code > low ? std::min(code, high) : low, options.target.storage); // NaN: the lowest
    }
  });
}

llvm::Expected<Tensor> dequantizeAffine(const Tensor &codes, llvm::ArrayRef<int64_t> blockSize, const AffineQParams &qparams,
                                        const AffineOptions &options, DType output) {
  if (codes.getDType() != options.target.storage)
    return error({}, "affine dequantization of {0} got {1}", getDTypeInfo(options.target.storage).torchName,
                 getDTypeInfo(codes.getDType()).torchName)
        .code("affine_dtype");
  if (llvm::Error err = checkValueDType(output, "gives"))
    return err;
  llvm::Expected<Codes> bounds = getCodes(options);
  if (!bounds)
    return bounds.takeError();
  const ZeroPointDomain domain = options.target.isFloat8() ? ZeroPointDomain::None : options.domain;
  llvm::Expected<BlockParameters> parameters = getBlockParameters(codes, blockSize, qparams, domain);
  if (!parameters)
    return parameters.takeError();
  const double middle = bounds->getMiddle();
  const DType productDType = promote(output, parameters->scaleDType), sumDType = promote(output, parameters->zeroPointDType);
  std::vector<double> values;
  for (size_t i = 0; i < parameters->blocks.size(); ++i) {
    const double scale = parameters->scales[parameters->blocks[i]], zeroPoint = parameters->zeroPoints[parameters->blocks[i]];
    const double code = options.target.isFloat8()
                            ? static_cast<double>(fromFloat8(static_cast<uint8_t>(codes.getBytes()[i]), options.target.storage))
                            : codes.getElementAsDouble(static_cast<int64_t>(i));
    if (domain == ZeroPointDomain::Float) {
      const double product = roundTo(output, roundTo(productDType, roundTo(output, roundTo(DType::Float32, roundTo(DType::Float32, code) - middle)) * scale));
      values.push_back(roundTo(output, roundTo(sumDType, product + zeroPoint)));
    } else {
      // a difference of int32s
      values.push_back(roundTo(output, roundTo(productDType, roundTo(output, code - std::trunc(zeroPoint)) * scale)));
    }
  }
  return castTo(output, codes.getSizes(), values);
}

} // namespace qfx
