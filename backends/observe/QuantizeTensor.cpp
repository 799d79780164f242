// Float tensors to quantized ones and back (numerics 1.4 - 1.7, operators 3.9).
#include "backends/observe/Observer.h"
#include "ir/Diagnostics.h"
#include "kernels/quantize/Quantize.h"

#include <algorithm>
#include <cmath>

namespace qfx {

namespace {

/// A tensor as [outer, channels, inner] around its quantization axis; one channel if per tensor.
struct ChannelView {
  int64_t outer = 1, channels = 1, inner = 1;
};

/// \param axis  negative: per tensor.
ChannelView makeChannelView(llvm::ArrayRef<int64_t> sizes, int64_t axis) {
  ChannelView view;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t dim = static_cast<int64_t>(i);
    (dim == axis ? view.channels : dim < axis ? view.outer : view.inner) *= sizes[i];
  }
  return view;
}

int64_t roundHalfEven(float value) {
  // Saturates where a conversion would be undefined; NaN goes to the lowest code (numerics 1.8).
  if (std::isnan(value))
    return INT32_MIN;
  return static_cast<int64_t>(std::nearbyint(std::clamp(value, -4294967296.0f, 4294967296.0f)));
}

/// Codes one by one: float zero points (1.6) and packed dtypes (1.7).
int64_t quantizeElement(float value, const QParams &qparams, size_t channel) {
  float scale = qparams.scales[channel], inverse = scale == 0 ? 1.0f : 1.0f / scale;
  if (!qparams.floatZeroPoints.empty())
    return roundHalfEven(value * inverse + qparams.floatZeroPoints[channel]);
  return roundHalfEven(std::nearbyint(value * inverse) + static_cast<float>(qparams.zeroPoints[channel]));
}

Tensor packCodes(const Tensor &input, const QParams &qparams, const ChannelView &view, QuantizerRef quantizer) {
  const DTypeInfo &info = getDTypeInfo(qparams.dtype);
  llvm::ArrayRef<float> values = input.getData<float>();
  return Tensor::build(
      qparams.dtype, input.getSizes(),
      [&](MutableBytes bytes) {
        const size_t perByte = 8 / info.bits;
        for (size_t i = 0; i < values.size(); ++i) {
          size_t channel = static_cast<size_t>(static_cast<int64_t>(i) / view.inner % view.channels);
          int64_t code = std::clamp(quantizeElement(values[i], qparams, channel), info.codeMin, info.codeMax);
          code = std::clamp(code, qparams.quantMin.value_or(code), qparams.quantMax.value_or(code));
          // The first element of a byte overwrites it; bytes start as zero.
          bytes[i / perByte] |= static_cast<std::byte>((code & ((1 << info.bits) - 1)) << (i % perByte * info.bits));
        }
      },
      std::move(quantizer));
}

/// The codes of `values`, which are elements `first`, first + 1, ... of the tensor that `view` describes.
template <class T>
void quantizePiece(llvm::ArrayRef<float> values, T *codes, int64_t first, const QParams &qparams, const ChannelView &view) {
  const auto count = static_cast<int64_t>(values.size());
  for (int64_t i = 0; i < count;) {
    int64_t row = (first + i) / view.inner, stop = std::min((row + 1) * view.inner - first, count);
    auto channel = static_cast<size_t>(row % view.channels);
    double scale = qparams.scales[channel];
    auto zeroPoint = static_cast<int32_t>(qparams.zeroPoints[channel]);
    kernels::quantizePerChannel<T>(values.data() + i, codes + i, 1, 1, stop - i, &scale, &zeroPoint);
    i = stop;
  }
  const DTypeInfo &info = getDTypeInfo(qparams.dtype);
  int64_t low = std::max(qparams.quantMin.value_or(info.codeMin), info.codeMin);
  int64_t high = std::min(qparams.quantMax.value_or(info.codeMax), info.codeMax);
  if (low > info.codeMin || high < info.codeMax)
    for (int64_t i = 0; i < count; ++i)
      codes[i] = static_cast<T>(std::clamp<int64_t>(codes[i], low, high));
}

template <class T>
Tensor quantizeCodes(const Tensor &input, const QParams &qparams, const ChannelView &view, QuantizerRef quantizer) {
  return Tensor::computed(
      qparams.dtype, input.getSizes(),
      [=](size_t offset, MutableBytes out) {
        constexpr size_t kRatio = sizeof(float) / sizeof(T);
        input.visitBytes(offset * kRatio, (offset + out.size()) * kRatio, [&](size_t at, std::span<const std::byte> bytes) {
          llvm::ArrayRef<float> values(reinterpret_cast<const float *>(bytes.data()), bytes.size() / sizeof(float));
          quantizePiece(values, reinterpret_cast<T *>(out.data() + (at / kRatio - offset)), static_cast<int64_t>(at / sizeof(float)), qparams,
                        view);
        });
      },
      std::move(quantizer));
}

} // namespace

llvm::Expected<Tensor> quantizeTensor(const Tensor &input, const QParams &qparams) {
  if (input.getDType() != DType::Float32)
    return error(Location(), "quantization takes float32, got {0}", getDTypeInfo(input.getDType()).torchName).code("quantize_dtype");
  if (!isQuantized(qparams.dtype))
    return error(Location(), "cannot quantize to {0}", getDTypeInfo(qparams.dtype).torchName).code("quantize_dtype");
  bool isByChannel = isPerChannel(qparams.scheme);
  int64_t rank = static_cast<int64_t>(input.getRank()), axis = qparams.axis < 0 ? qparams.axis + rank : qparams.axis;
  if (isByChannel && (axis < 0 || axis >= rank))
    return error(Location(), "quantization axis {0} is outside a tensor of rank {1}", std::to_string(qparams.axis), std::to_string(rank))
        .code("quantize_axis");
  ChannelView view = makeChannelView(input.getSizes(), isByChannel ? axis : -1);
  if (static_cast<int64_t>(qparams.scales.size()) != view.channels)
    return error(Location(), "quantization of {0} channels got {1} scales", std::to_string(view.channels), std::to_string(qparams.scales.size()))
        .code("quantize_axis");
  std::vector<double> scales(qparams.scales.begin(), qparams.scales.end());
  QuantizerRef quantizer = std::make_shared<const Quantizer>(
      !qparams.floatZeroPoints.empty() ? Quantizer::perChannelFloat(qparams.scales, qparams.floatZeroPoints, axis)
      : isByChannel                    ? Quantizer::perChannel(scales, qparams.zeroPoints, axis)
                                       : Quantizer::perTensor(scales[0], qparams.zeroPoints[0]));
  if (llvm::Error err = quantizer->verify(qparams.dtype, input.getSizes(), Location()))
    return err;
  if (!qparams.floatZeroPoints.empty() || getDTypeInfo(qparams.dtype).bits < 8)
    return packCodes(input, qparams, view, std::move(quantizer));
  switch (qparams.dtype) {
  case DType::QInt8:
    return quantizeCodes<int8_t>(input, qparams, view, std::move(quantizer));
  case DType::QInt32:
    return quantizeCodes<int32_t>(input, qparams, view, std::move(quantizer));
  default:
    return quantizeCodes<uint8_t>(input, qparams, view, std::move(quantizer));
  }
}

Tensor dequantizeTensor(const Tensor &input) {
  const Quantizer &quantizer = *input.getQuantizer();
  ChannelView view = makeChannelView(input.getSizes(), quantizer.isPerTensor() ? -1 : quantizer.getAxis());
  bool hasFloatZeroPoint = !quantizer.getFloatZeroPoints().empty();
  return Tensor::build(DType::Float32, input.getSizes(), [&](MutableBytes bytes) {
    float *values = reinterpret_cast<float *>(bytes.data());
    for (int64_t i = 0; i < input.getNumElements(); ++i) {
      size_t c = static_cast<size_t>(i / view.inner % view.channels);
      double code = input.getElementAsDouble(i);
      double scale = quantizer.getScales()[c];
      if (hasFloatZeroPoint)
        values[i] = (static_cast<float>(code) - quantizer.getFloatZeroPoints()[c]) * static_cast<float>(scale);
      else if (quantizer.isPerTensor())
        values[i] = static_cast<float>(scale) * static_cast<float>(code - static_cast<double>(quantizer.getZeroPoint()));
      else
        values[i] = static_cast<float>(static_cast<double>(static_cast<float>(code) - static_cast<float>(quantizer.getZeroPoints()[c])) * scale);
    }
  });
}

} // namespace qfx
