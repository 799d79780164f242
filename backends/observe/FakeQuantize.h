// Fake quantization of tensors and by modules: values, the mask of the gradient, switches (numerics 4).
#ifndef BACKENDS_OBSERVE_FAKEQUANTIZE_H
#define BACKENDS_OBSERVE_FAKEQUANTIZE_H

#include "backends/observe/Observer.h"

#include <variant>

namespace qfx {

/// Result of a forward: values of the input's dtype and shape, and a bool tensor of that shape that says where a gradient passes.
struct FakeQuantized {
  Tensor output, mask;
};

/// torch.fake_quantize_per_tensor_affine with its mask (4.3), in float32: t = zeroPoint + RNE(x * f32(1 / scale)),
/// output = (clamp(t) - zeroPoint) * scale, mask = quantMin <= t <= quantMax.  NaN gives quantMin's value and mask 0.
/// \param input  float32; float16 and bfloat16 are computed in float32 and rounded once; float64 multiplies by 1 / scale in double.
/// Errors: quantMin > quantMax; `checksZeroPoint` (the overload with numbers): zeroPoint outside the bounds; another dtype.
llvm::Expected<FakeQuantized> fakeQuantizePerTensor(const Tensor &input, float scale, int64_t zeroPoint, int64_t quantMin, int64_t quantMax,
                                                    bool checksZeroPoint = true);

/// Integer zero points, or float ones (embeddings; 4.4).
using ChannelZeroPoints = std::variant<llvm::ArrayRef<int32_t>, llvm::ArrayRef<float>>;

/// torch.fake_quantize_per_channel_affine with its mask (4.4).
/// \param input  float32, dense in some order of its dimensions.
/// \param scales, zeroPoints  one for each of the input's size along `axis`.
/// Errors: quantMin > quantMax, an axis outside the rank, other counts, an integer zero point outside the bounds, another dtype.
llvm::Expected<FakeQuantized> fakeQuantizePerChannel(const Tensor &input, llvm::ArrayRef<float> scales, ChannelZeroPoints zeroPoints,
                                                     int64_t axis, int64_t quantMin, int64_t quantMax);

/// The straight-through gradient: gradOutput * mask, a product (infinity * 0 is NaN).  Both of one shape; float32.
Tensor fakeQuantizeBackward(const Tensor &gradOutput, const Tensor &mask);

/// FakeQuantizeBase?  (FakeQuantize, FusedMovingAvgObsFakeQuantize, FixedQParamsFakeQuantize)
bool isFakeQuantize(const Module &module);

/// A fake-quantizer's forward: observes if observer_enabled (and `mayObserve`), then fake-quantizes if fake_quant_enabled, else passes the
/// values on with a mask of ones.  Parameters are those of the scale and zero_point buffers; the fused class chooses them anew from its
/// running minimum and maximum in each forward (4.5) and, if `mayObserve`, stores them.
/// \param output  f32 in the order of `input`; may be input.getData().
/// \param mask    u8 in the order of `input`, or null.
/// Errors: those of observe and of the functions above; a fused fake-quantizer that has seen nothing.
llvm::Error forwardFakeQuantize(Module &module, const ObservedTensor &input, float *output, uint8_t *mask, bool mayObserve = true);
llvm::Expected<FakeQuantized> forwardFakeQuantize(Module &module, const Tensor &input, bool mayObserve = true);

// Made for Module::forEachModule; anything but a fake-quantizer is left alone, plain observers too (4.1).
void enableFakeQuant(Module &module, bool enabled = true);
void disableFakeQuant(Module &module);
void enableObserver(Module &module, bool enabled = true);
void disableObserver(Module &module);

} // namespace qfx

#endif // BACKENDS_OBSERVE_FAKEQUANTIZE_H
