// torch.Tensor's methods on quantized tensors, per tensor and per channel, outside of any graph (operators 12).
#ifndef BACKENDS_NATIVE_TENSORMETHODS_H
#define BACKENDS_NATIVE_TENSORMETHODS_H

#include "ir/Argument.h"
#include "ir/Tensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <utility>
#include <vector>

/// Tensors are immutable values, so that views are not told from copies: methods that PyTorch runs in place (`copy_`,
/// `resize_`, `fill_`) return the tensor that `self` becomes.  Everything keeps the quantizer unless said otherwise.
/// Errors are InputErrors that name the method, what it got and what it takes; float tensors work where the method
/// means something for them.
namespace qfx::tensors {

/// Any method of the target table whose operator has a kernel (`narrow`, `permute`, `unsqueeze`, `split`, ...), called
/// with `tensors` first and `args` behind them.  \returns the results, a tuple flattened.
llvm::Expected<std::vector<Tensor>> callMethod(llvm::StringRef name, llvm::ArrayRef<Tensor> tensors,
                                               llvm::ArrayRef<Argument> args = {});

// Shape.  On a per-channel tensor a view must leave the channel axis as it is, else it is refused.
llvm::Expected<Tensor> view(const Tensor &self, llvm::ArrayRef<int64_t> sizes); ///< one size may be -1
llvm::Expected<Tensor> flatten(const Tensor &self, int64_t startDim = 0, int64_t endDim = -1);
llvm::Expected<Tensor> expand(const Tensor &self, llvm::ArrayRef<int64_t> sizes); ///< per tensor only; -1 keeps a size
/// Element i of the result is the storage's at offset + sum i * stride; per tensor only, all inside the storage.
llvm::Expected<Tensor> asStrided(const Tensor &self, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                                 int64_t offset = 0);
/// Along the channel axis of a per-channel tensor: per tensor with that channel's parameters.
llvm::Expected<Tensor> select(const Tensor &self, int64_t dim, int64_t index);
/// Row-major prefix of the elements; new elements are code 0.  Per tensor only.
llvm::Expected<Tensor> resize(const Tensor &self, llvm::ArrayRef<int64_t> sizes);
Tensor clone(const Tensor &self);

// Values.
enum class Comparison : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };
/// Of the dequantized values; shapes broadcast.  \returns a bool tensor.
llvm::Expected<Tensor> compare(Comparison kind, const Tensor &self, const Tensor &other);
llvm::Expected<Tensor> compare(Comparison kind, const Tensor &self, double other);
/// f32; per tensor f32(s * f32(q - z)), per channel in double, float-qparams f32(f32(q) - z) * s (operators 3.2, 3.3).
llvm::Expected<Tensor> dequantize(const Tensor &self);
/// The codes as uint8, int8 or int32; of quint4x2 the packed bytes, flat.
llvm::Expected<Tensor> intRepr(const Tensor &self);
/// Same scheme, dtype, parameters, shape and codes?
bool equal(const Tensor &self, const Tensor &other);
/// src float32: quantized with self's parameters, broadcast to self's shape.  src quantized: its codes and parameters,
/// dtype and scheme as self's.
llvm::Expected<Tensor> copy(const Tensor &self, const Tensor &src);
llvm::Expected<Tensor> fill(const Tensor &self, double value);

// Reductions and order, on codes; per tensor only.
llvm::Expected<Tensor> max(const Tensor &self);
llvm::Expected<Tensor> min(const Tensor &self);
llvm::Expected<std::pair<Tensor, Tensor>> max(const Tensor &self, int64_t dim, bool keepDim = false);
llvm::Expected<std::pair<Tensor, Tensor>> min(const Tensor &self, int64_t dim, bool keepDim = false);
llvm::Expected<Tensor> mean(const Tensor &self, llvm::ArrayRef<int64_t> dims = {}, bool keepDim = false);
llvm::Expected<std::pair<Tensor, Tensor>> sort(const Tensor &self, int64_t dim = -1, bool descending = false);
llvm::Expected<std::pair<Tensor, Tensor>> topk(const Tensor &self, int64_t k, int64_t dim = -1, bool largest = true);

// Quantizer.
llvm::Expected<double> qScale(const Tensor &self);
llvm::Expected<int64_t> qZeroPoint(const Tensor &self);
llvm::Expected<Tensor> qPerChannelScales(const Tensor &self);     ///< f64 [C], of float-qparams f32 [C]
llvm::Expected<Tensor> qPerChannelZeroPoints(const Tensor &self); ///< i64 [C], of float-qparams f32 [C]
llvm::Expected<int64_t> qPerChannelAxis(const Tensor &self);
llvm::Expected<QScheme> qScheme(const Tensor &self);
/// The real value of the only element.
llvm::Expected<double> item(const Tensor &self);

} // namespace qfx::tensors

#endif // BACKENDS_NATIVE_TENSORMETHODS_H
