// Block-wise affine quantization in float32.
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

static llvm::Error checkFloat32(const Tensor &input) {
  if (input.getDType() == DType::Float32)
    return llvm::Error::success();
  return error({}, "affine quantization takes float32, got {0}", getDTypeInfo(input.getDType()).torchName).code("affine_dtype");
}

llvm::Expected<AffineRange> findAffineRange(const Tensor &input, llvm::ArrayRef<int64_t> blockSize) {
  if (llvm::Error err = checkFloat32(input))
    return err;
  llvm::Expected<BlockLayout> layout = BlockLayout::get(input.getSizes(), blockSize);
  if (!layout)
    return layout.takeError();
  std::vector<float> mins(layout->getNumBlocks(), INFINITY), maxs(layout->getNumBlocks(), -INFINITY);
  std::vector<size_t> blocks = layout->findBlocks();
  for (auto [value, block] : llvm::zip(input.getData<float>(), blocks)) {
    mins[block] = minNan(value, mins[block]);
    maxs[block] = maxNan(value, maxs[block]);
  }
  return AffineRange{Tensor::of<float>(DType::Float32, layout->getParameterShape(), mins),
                     Tensor::of<float>(DType::Float32, layout->getParameterShape(), maxs)};
}

namespace {
/// Bounds and middle of the codes, checked.
struct Codes {
  float min, max;
  double sumAndOne; ///< qmax + qmin + 1
};
} // namespace

static llvm::Expected<Codes> getCodes(const AffineOptions &options) {
  const int64_t low = options.quantMin.value_or(options.target.codeMin), high = options.quantMax.value_or(options.target.codeMax);
  if (low < options.target.codeMin || high > options.target.codeMax || low > high)
    return error({}, "affine quantization to {0}..{1} got the bounds {2}..{3}", options.target.codeMin, options.target.codeMax, low, high)
        .code("affine_options");
  return Codes{static_cast<float>(low), static_cast<float>(high), static_cast<double>(low) + static_cast<double>(high) + 1};
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

/// float32 values as a tensor of another dtype.
static Tensor castTo(DType dtype, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<float> values) {
  return Tensor::build(dtype, sizes, [&](MutableBytes bytes) {
    auto fill = [&](auto *out, auto convert) { llvm::transform(values, out, convert); };
    switch (dtype) {
    case DType::Float64:
      return fill(reinterpret_cast<double *>(bytes.data()), [](float v) { return static_cast<double>(v); });
    case DType::Float16:
      return fill(reinterpret_cast<uint16_t *>(bytes.data()), floatToHalf);
    case DType::BFloat16:
      return fill(reinterpret_cast<uint16_t *>(bytes.data()), floatToBFloat16);
    case DType::Int64:
      return fill(reinterpret_cast<int64_t *>(bytes.data()), [](float v) { return static_cast<int64_t>(v); });
    case DType::Int32:
      return fill(reinterpret_cast<int32_t *>(bytes.data()), [](float v) { return static_cast<int32_t>(v); });
    case DType::Int8:
      return fill(reinterpret_cast<int8_t *>(bytes.data()), [](float v) { return static_cast<int8_t>(static_cast<int32_t>(v)); });
    case DType::UInt8:
      return fill(reinterpret_cast<uint8_t *>(bytes.data()), [](float v) { return static_cast<uint8_t>(static_cast<int32_t>(v)); });
    default:
      return fill(reinterpret_cast<float *>(bytes.data()), [](float v) { return v; });
    }
  });
}

static bool isParameterDType(DType dtype) {
  constexpr DType kDTypes[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int64, DType::Int32, DType::Int8, DType::UInt8};
  return llvm::is_contained(kDTypes, dtype);
}

llvm::Expected<AffineQParams> chooseQParamsAffineWithMinMax(const AffineRange &range, const AffineOptions &options) {
  llvm::Expected<Codes> codes = getCodes(options);
  if (!codes)
    return codes.takeError();
  if (llvm::Error err = checkOptions(options))
    return err;
  const DType scaleDType = options.scaleDType.value_or(DType::Float32), zeroPointDType = options.zeroPointDType.value_or(DType::Float32);
  if (!isFloat(scaleDType) || !isParameterDType(scaleDType) || !isParameterDType(zeroPointDType))
    return error({}, "affine quantization cannot store a scale as {0} and a zero point as {1}", getDTypeInfo(scaleDType).torchName,
                 getDTypeInfo(zeroPointDType).torchName)
        .code("affine_options");
  const float eps = static_cast<float>(options.eps.value_or(1.1920928955078125e-07));
  const float middle = static_cast<float>(codes->sumAndOne / 2);
  const float levels = codes->max - codes->min, half = static_cast<float>((static_cast<double>(codes->max) - codes->min) / 2);
  std::vector<float> scales, zeroPoints;
  for (auto [low, high] : llvm::zip(range.min.getData<float>(), range.max.getData<float>())) {
    const float n = options.preserveZero ? minNan(low, 0.0f) : low, p = options.preserveZero ? maxNan(high, 0.0f) : high;
    if (options.mapping == MappingType::Asymmetric) {
      const float scale = maxNan((p - n) / levels, eps);
      scales.push_back(scale);
      zeroPoints.push_back(options.preserveZero ? maxNan(minNan(codes->min - std::nearbyint(n / scale), codes->max), codes->min)
                                                : n + scale * middle);
      continue;
    }
    float scale = maxNan(-n, p) / half;
    if (options.mapping == MappingType::SymmetricNoClippingErr) {
      const float fromMin = n / codes->min, fromMax = p / codes->max;
      scale = fromMin > fromMax ? fromMin : fromMax;
    }
    scales.push_back(maxNan(scale, eps));
    zeroPoints.push_back(static_cast<float>(std::trunc(codes->sumAndOne / 2)));
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

/// The parameters as float32 and the block of each element.
namespace {
struct BlockParameters {
  std::vector<float> scales, zeroPoints;
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
  result.blocks = layout->findBlocks();
  for (int64_t i = 0; i < numBlocks; ++i) {
    result.scales.push_back(static_cast<float>(qparams.scale.getElementAsDouble(i)));
    result.zeroPoints.push_back(needsZeroPoint ? static_cast<float>(qparams.zeroPoint.getElementAsDouble(i)) : 0.0f);
  }
  return result;
}

template <class T> static void writeCode(MutableBytes bytes, size_t i, float code) {
  reinterpret_cast<T *>(bytes.data())[i] = static_cast<T>(static_cast<int64_t>(code));
}

llvm::Expected<Tensor> quantizeAffine(const Tensor &input, llvm::ArrayRef<int64_t> blockSize, const AffineQParams &qparams,
                                      const AffineOptions &options) {
  if (llvm::Error err = checkFloat32(input))
    return err;
  llvm::Expected<Codes> codes = getCodes(options);
  if (!codes)
    return codes.takeError();
  const ZeroPointDomain domain = options.target.isFloat8() ? ZeroPointDomain::None : options.domain;
  llvm::Expected<BlockParameters> parameters = getBlockParameters(input, blockSize, qparams, domain);
  if (!parameters)
    return parameters.takeError();
  const float middle = static_cast<float>(codes->sumAndOne / 2);
  llvm::ArrayRef<float> values = input.getData<float>();
  return Tensor::build(options.target.storage, input.getSizes(), [&](MutableBytes bytes) {
    for (size_t i = 0; i < values.size(); ++i) {
      const float scale = parameters->scales[parameters->blocks[i]], zeroPoint = parameters->zeroPoints[parameters->blocks[i]];
      float code = domain == ZeroPointDomain::Float ? (values[i] - (zeroPoint - scale * middle)) / scale : values[i] * (1.0f / scale);
      if (!options.target.isFloat8())
        code = std::nearbyint(code);
      if (domain == ZeroPointDomain::Int)
        code += zeroPoint;
      code = code > codes->min ? std::min(code, codes->max) : codes->min; // NaN: the lowest
      switch (options.target.storage) {
      case DType::UInt8:
        writeCode<uint8_t>(bytes, i, code);
        break;
      case DType::Int8:
        writeCode<int8_t>(bytes, i, code);
        break;
      case DType::Int16:
        writeCode<int16_t>(bytes, i, code);
        break;
      case DType::Int32:
        // 2^31 as a float is one above the largest code
        writeCode<int32_t>(bytes, i, std::min(code, 2147483520.0f));
        break;
      default:
        bytes[i] = static_cast<std::byte>(toFloat8(code, options.target.storage));
      }
    }
  });
}

llvm::Expected<Tensor> dequantizeAffine(const Tensor &codes, llvm::ArrayRef<int64_t> blockSize, const AffineQParams &qparams,
                                        const AffineOptions &options) {
  if (codes.getDType() != options.target.storage)
    return error({}, "affine dequantization of {0} got {1}", getDTypeInfo(options.target.storage).torchName,
                 getDTypeInfo(codes.getDType()).torchName)
        .code("affine_dtype");
  llvm::Expected<Codes> bounds = getCodes(options);
  if (!bounds)
    return bounds.takeError();
  const ZeroPointDomain domain = options.target.isFloat8() ? ZeroPointDomain::None : options.domain;
  llvm::Expected<BlockParameters> parameters = getBlockParameters(codes, blockSize, qparams, domain);
  if (!parameters)
    return parameters.takeError();
  const float middle = static_cast<float>(bounds->sumAndOne / 2);
  return Tensor::build(DType::Float32, codes.getSizes(), [&](MutableBytes bytes) {
    float *values = reinterpret_cast<float *>(bytes.data());
    for (int64_t i = 0; i < codes.getNumElements(); ++i) {
      const size_t block = parameters->blocks[static_cast<size_t>(i)];
      const float scale = parameters->scales[block], zeroPoint = parameters->zeroPoints[block];
      if (options.target.isFloat8())
        values[i] = fromFloat8(static_cast<uint8_t>(codes.getBytes()[i]), options.target.storage) * scale;
      else if (domain == ZeroPointDomain::Float)
        values[i] = (static_cast<float>(codes.getElementAsDouble(i)) - middle) * scale + zeroPoint;
      else
        // a difference of int32s
        values[i] = static_cast<float>(codes.getElementAsDouble(i) - std::trunc(static_cast<double>(zeroPoint))) * scale;
    }
  });
}

} // namespace qfx
