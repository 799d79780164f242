// Methods of quantized tensors: the quantizer's own questions here, the rest through the operators' kernels.
#include "backends/native/TensorMethodsDetail.h"

#include "backends/runtime/Program.h"
#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "kernels/quantize/Quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qfx::tensors {

llvm::Error wantPerTensor(llvm::StringRef method, const Tensor &self) {
  if (!self.getQuantizer() || self.getQuantizer()->isPerTensor())
    return llvm::Error::success();
  return refuse(method, "takes tensors quantized per tensor, got {0}", toString(self.getType()));
}

llvm::Expected<std::vector<Tensor>> callMethod(llvm::StringRef name, llvm::ArrayRef<Tensor> tensors,
                                               llvm::ArrayRef<Argument> args) {
  const TargetInfo *method = findMethod(name);
  if (!method)
    return refuse(name, "is no method of tensors");
  GraphModule model;
  std::vector<Argument> operands;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string path = "operand" + std::to_string(i);
    model.getRoot().setBuffer(path, tensors[i]);
    operands.push_back(model.getGraph().getAttr(path));
  }
  operands.insert(operands.end(), args.begin(), args.end());
  model.getGraph().output(model.getGraph().callMethod(*method, std::move(operands)));
  auto program = Program::compile(model);
  if (!program)
    return program.takeError();
  auto values = (*program)->run(llvm::ArrayRef<Tensor>());
  if (!values)
    return values.takeError();
  std::vector<Tensor> results;
  for (NamedValue &value : *values)
    if (value.value.isTensor())
      results.push_back(std::move(value.value.tensor));
  return results;
}

static llvm::Expected<Tensor> callForOne(llvm::StringRef name, llvm::ArrayRef<Tensor> tensors,
                                         llvm::ArrayRef<Argument> args = {}) {
  auto results = callMethod(name, tensors, args);
  if (!results)
    return results.takeError();
  return (*results)[0];
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

llvm::Expected<Tensor> view(const Tensor &self, llvm::ArrayRef<int64_t> sizes) {
  return callForOne("view", {self}, {Argument::ints(sizes)});
}

llvm::Expected<Tensor> flatten(const Tensor &self, int64_t startDim, int64_t endDim) {
  return callForOne("flatten", {self}, {startDim, endDim});
}

llvm::Expected<Tensor> expand(const Tensor &self, llvm::ArrayRef<int64_t> sizes) {
  if (llvm::Error err = wantPerTensor("expand", self))
    return err;
  return callForOne("expand", {self}, {Argument::ints(sizes)});
}

llvm::Expected<Tensor> select(const Tensor &self, int64_t dim, int64_t index) {
  return callForOne("select", {self}, {dim, index});
}

/// Visits the offsets of all elements in row-major order.
static void forEachOffset(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides, int64_t offset,
                          llvm::function_ref<void(int64_t)> visit) {
  if (sizes.empty())
    return visit(offset);
  for (int64_t i = 0; i < sizes[0]; ++i)
    forEachOffset(sizes.drop_front(), strides.drop_front(), offset + i * strides[0], visit);
}

llvm::Expected<Tensor> asStrided(const Tensor &self, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                                 int64_t offset) {
  if (llvm::Error err = wantPerTensor("as_strided", self))
    return err;
  if (sizes.size() != strides.size() || offset < 0)
    return refuse("as_strided", "wants a stride per size and an offset >= 0, got {0}, {1} and {2}", sizes.size(),
                  strides.size(), offset);
  const std::optional<int64_t> count = checkedNumElements(sizes);
  if (!count)
    return refuse("as_strided", "has more than 2^62 elements");
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] < 0)
      return refuse("as_strided", "wants strides >= 0, got {0}", strides[i]);
    int64_t reach = 0;
    if (sizes[i] > 0 &&
        (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) || __builtin_add_overflow(last, reach, &last)))
      return refuse("as_strided", "reaches beyond all memory");
  }
  if (*count > 0 && last >= self.getNumElements())
    return refuse("as_strided", "reaches element {0} of a tensor of {1}", last, self.getNumElements());
  const auto bytes = static_cast<int64_t>(getDTypeInfo(self.getDType()).bits / 8);
  if (bytes == 0)
    return refuse("as_strided", "takes whole bytes, got {0}", toString(self.getType()));
  return Tensor::build(
      self.getDType(), sizes,
      [&](MutableBytes dst) {
        std::byte *to = dst.data();
        if (*count > 0)
          forEachOffset(sizes, strides, offset, [&](int64_t at) {
            std::memcpy(to, self.getBytes() + at * bytes, static_cast<size_t>(bytes));
            to += bytes;
          });
      },
      self.getQuantizer());
}

llvm::Expected<Tensor> resize(const Tensor &self, llvm::ArrayRef<int64_t> sizes) {
  if (llvm::Error err = wantPerTensor("resize_", self))
    return err;
  if (!checkedNumElements(sizes))
    return refuse("resize_", "wants sizes >= 0 and at most 2^62 elements");
  return Tensor::build(
      self.getDType(), sizes,
      [&](MutableBytes dst) {
        const size_t kept = std::min(dst.size(), self.getSizeBytes());
        std::memcpy(dst.data(), self.getBytes(), kept);
        std::fill(dst.begin() + static_cast<ptrdiff_t>(kept), dst.end(), std::byte(0));
      },
      self.getQuantizer());
}

Tensor clone(const Tensor &self) { return self; }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

llvm::Expected<Tensor> dequantize(const Tensor &self) {
  if (self.getDType() == DType::Float32)
    return self;
  const QuantizerRef &quantizer = self.getQuantizer();
  if (!quantizer)
    return refuse("dequantize", "takes quantized and float32 tensors, got {0}", toString(self.getType()));
  if (quantizer->getScheme() != QScheme::PerChannelAffineFloatQParams)
    return callForOne("dequantize", {self});
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(quantizer->getAxis()) + 1; i < self.getRank(); ++i)
    inner *= self.getSizes()[i];
  const auto channels = static_cast<int64_t>(quantizer->getScales().size());
  return Tensor::build(DType::Float32, self.getSizes(), [&](MutableBytes dst) {
    auto *to = reinterpret_cast<float *>(dst.data());
    for (int64_t i = 0, n = self.getNumElements(); i < n; ++i) {
      const auto c = static_cast<size_t>(i / inner % channels);
      to[i] = (static_cast<float>(self.getElementAsDouble(i)) - quantizer->getFloatZeroPoints()[c]) *
              static_cast<float>(quantizer->getScales()[c]);
    }
  });
}

llvm::Expected<Tensor> intRepr(const Tensor &self) {
  const DType dtype = self.getDType();
  if (!isQuantized(dtype))
    return refuse("int_repr", "takes quantized tensors, got {0}", toString(self.getType()));
  if (getDTypeInfo(dtype).bits >= 8)
    return self.withType(toUnderlyingDType(dtype), nullptr);
  return Tensor::build(DType::UInt8, {static_cast<int64_t>(self.getSizeBytes())},
                       [&](MutableBytes dst) { std::memcpy(dst.data(), self.getBytes(), dst.size()); });
}

bool equal(const Tensor &self, const Tensor &other) {
  return self.getDType() == other.getDType() && self.getSizes() == other.getSizes() &&
         static_cast<bool>(self.getQuantizer()) == static_cast<bool>(other.getQuantizer()) &&
         (!self.getQuantizer() || *self.getQuantizer() == *other.getQuantizer()) &&
         std::memcmp(self.getBytes(), other.getBytes(), self.getSizeBytes()) == 0;
}

/// Codes of real numbers by a quantizer: QZ per tensor, per channel, or with float zero points (operators 3.1, 3.3).
static void quantizeInto(const float *values, DType dtype, const Quantizer &quantizer, llvm::ArrayRef<int64_t> sizes,
                         MutableBytes dst) {
  int64_t outer = 1, channels = 1, inner = 1;
  const auto axis = static_cast<size_t>(quantizer.getAxis());
  for (size_t i = 0; i < sizes.size(); ++i)
    (quantizer.isPerTensor() || i > axis ? inner : i == axis ? channels : outer) *= sizes[i];
  if (quantizer.getScheme() == QScheme::PerChannelAffineFloatQParams) {
    auto *to = reinterpret_cast<uint8_t *>(dst.data());
    const DTypeInfo &info = getDTypeInfo(dtype);
    for (int64_t i = 0; i < outer * channels * inner; ++i) {
      const auto c = static_cast<size_t>(i / inner % channels);
      const auto scale = static_cast<float>(quantizer.getScales()[c]);
      const float t = values[i] * (1.0f / scale) + quantizer.getFloatZeroPoints()[c];
      to[i] = static_cast<uint8_t>(std::clamp<double>(std::nearbyint(static_cast<double>(t)),
                                                      static_cast<double>(info.codeMin),
                                                      static_cast<double>(info.codeMax)));
    }
    return;
  }
  std::vector<int32_t> zeroPoints(quantizer.getZeroPoints().begin(), quantizer.getZeroPoints().end());
  auto run = [&](auto *codes) {
    kernels::quantizePerChannel(values, codes, outer, channels, inner, quantizer.getScales().data(), zeroPoints.data());
  };
  if (dtype == DType::QUInt8)
    run(reinterpret_cast<uint8_t *>(dst.data()));
  else if (dtype == DType::QInt8)
    run(reinterpret_cast<int8_t *>(dst.data()));
  else
    run(reinterpret_cast<int32_t *>(dst.data()));
}

llvm::Expected<Tensor> copy(const Tensor &self, const Tensor &src) {
  if (!self.getQuantizer()) {
    if (isQuantized(src.getDType()))
      return refuse("copy_", "copies no quantized tensor into {0}: dequantize it first", toString(self.getType()));
    return refuse("copy_", "takes a quantized tensor to copy into, got {0}", toString(self.getType()));
  }
  if (getDTypeInfo(self.getDType()).bits < 8)
    return refuse("copy_", "takes quint8, qint8 and qint32, got {0}", toString(self.getType()));
  if (src.getQuantizer()) {
    if (src.getDType() != self.getDType() || src.getQuantizer()->getScheme() != self.getQuantizer()->getScheme())
      return refuse("copy_", "wants a source of one dtype and scheme with {0}, got {1}", toString(self.getType()),
                    toString(src.getType()));
    if (src.getSizes() != self.getSizes())
      return refuse("copy_", "wants a source of the shape of {0}, got {1}", toString(self.getType()),
                    toString(src.getType()));
    return src; // the source's parameters, too
  }
  if (src.getDType() != DType::Float32)
    return refuse("copy_", "wants a float32 or quantized source, got {0}", toString(src.getType()));
  llvm::Expected<Tensor> wide = src;
  if (src.getSizes() != self.getSizes())
    wide = callForOne("expand", {src}, {Argument::ints(self.getSizes())});
  if (!wide)
    return wide.takeError();
  return Tensor::build(
      self.getDType(), self.getSizes(),
      [&](MutableBytes dst) {
        quantizeInto(wide->getData<float>().data(), self.getDType(), *self.getQuantizer(), self.getSizes(), dst);
      },
      self.getQuantizer());
}

llvm::Expected<Tensor> fill(const Tensor &self, double value) {
  return copy(self, Tensor::of<float>(DType::Float32, llvm::SmallVector<int64_t, 4>(self.getRank(), 1),
                                      {static_cast<float>(value)}));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

llvm::Expected<Tensor> mean(const Tensor &self, llvm::ArrayRef<int64_t> dims, bool keepDim) {
  if (dims.empty() && !keepDim)
    return callForOne("mean", {self});
  return callForOne("mean", {self}, {dims.empty() ? Argument() : Argument::ints(dims), keepDim});
}

//===----------------------------------------------------------------------===//
// Quantizer
//===----------------------------------------------------------------------===//

/// The quantizer of a per-tensor or per-channel tensor.
static llvm::Expected<QuantizerRef> getQuantizer(llvm::StringRef method, const Tensor &self, bool perTensor) {
  if (!self.getQuantizer() || self.getQuantizer()->isPerTensor() != perTensor)
    return refuse(method, "takes tensors quantized per {0}, got {1}", perTensor ? "tensor" : "channel",
                  toString(self.getType()));
  return self.getQuantizer();
}

llvm::Expected<double> qScale(const Tensor &self) {
  auto quantizer = getQuantizer("q_scale", self, /*perTensor=*/true);
  if (!quantizer)
    return quantizer.takeError();
  return (*quantizer)->getScale();
}

llvm::Expected<int64_t> qZeroPoint(const Tensor &self) {
  auto quantizer = getQuantizer("q_zero_point", self, /*perTensor=*/true);
  if (!quantizer)
    return quantizer.takeError();
  return (*quantizer)->getZeroPoint();
}

llvm::Expected<Tensor> qPerChannelScales(const Tensor &self) {
  auto quantizer = getQuantizer("q_per_channel_scales", self, /*perTensor=*/false);
  if (!quantizer)
    return quantizer.takeError();
  llvm::ArrayRef<double> scales = (*quantizer)->getScales();
  const auto count = static_cast<int64_t>(scales.size());
  if ((*quantizer)->getScheme() != QScheme::PerChannelAffineFloatQParams)
    return Tensor::of<double>(DType::Float64, {count}, scales);
  std::vector<float> narrow(scales.begin(), scales.end());
  return Tensor::of<float>(DType::Float32, {count}, narrow);
}

llvm::Expected<Tensor> qPerChannelZeroPoints(const Tensor &self) {
  auto quantizer = getQuantizer("q_per_channel_zero_points", self, /*perTensor=*/false);
  if (!quantizer)
    return quantizer.takeError();
  const auto count = static_cast<int64_t>((*quantizer)->getScales().size());
  if ((*quantizer)->getScheme() != QScheme::PerChannelAffineFloatQParams)
    return Tensor::of<int64_t>(DType::Int64, {count}, (*quantizer)->getZeroPoints());
  return Tensor::of<float>(DType::Float32, {count}, (*quantizer)->getFloatZeroPoints());
}

llvm::Expected<int64_t> qPerChannelAxis(const Tensor &self) {
  auto quantizer = getQuantizer("q_per_channel_axis", self, /*perTensor=*/false);
  if (!quantizer)
    return quantizer.takeError();
  return (*quantizer)->getAxis();
}

llvm::Expected<QScheme> qScheme(const Tensor &self) {
  if (!self.getQuantizer())
    return refuse("qscheme", "takes quantized tensors, got {0}", toString(self.getType()));
  return self.getQuantizer()->getScheme();
}

llvm::Expected<double> item(const Tensor &self) {
  if (self.getNumElements() != 1)
    return refuse("item", "takes tensors of one element, got {0}", toString(self.getType()));
  llvm::Expected<Tensor> real = dequantize(self);
  if (!real)
    return real.takeError();
  return real->getElementAsDouble(0);
}

} // namespace qfx::tensors
