// Small float and integer buffers of observer modules; private to observe/.
#ifndef BACKENDS_OBSERVE_BUFFERSDETAIL_H
#define BACKENDS_OBSERVE_BUFFERSDETAIL_H

#include "ir/Module.h"

namespace qfx {

inline void setScalar(Module &module, llvm::StringRef name, float value) {
  module.setBuffer(name, Tensor::of<float>(DType::Float32, {}, value));
}
inline void setVector(Module &module, llvm::StringRef name, llvm::ArrayRef<float> values) {
  module.setBuffer(name, Tensor::of<float>(DType::Float32, {static_cast<int64_t>(values.size())}, values));
}
/// The elements of a float32 buffer.
inline llvm::ArrayRef<float> getFloats(const Module &module, llvm::StringRef name) {
  return module.getTensor(name).getData<float>();
}
/// The one element of a float32 buffer of shape [] or [1].
inline float getFirst(const Module &module, llvm::StringRef name) { return getFloats(module, name).front(); }

} // namespace qfx

#endif // BACKENDS_OBSERVE_BUFFERSDETAIL_H
