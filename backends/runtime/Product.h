// A product y = x W^T + b whose weight is packed once: what linear layers and the gates of recurrent layers are made
// of.
#ifndef BACKENDS_RUNTIME_PRODUCT_H
#define BACKENDS_RUNTIME_PRODUCT_H

#include "backends/runtime/Step.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace qfx::runtime {

/// Immutable once made, so that all plans of a program share it; what a run writes stands in memory that its step
/// brings.
class Product {
public:
  Product(int64_t inputs, int64_t outputs) : inputs(inputs), outputs(outputs) {}
  virtual ~Product() = default;

  int64_t getInputs() const { return inputs; }   ///< K: elements of a row of x
  int64_t getOutputs() const { return outputs; } ///< N: elements of a row of y

  /// Bytes of the memory `shared` that `run` needs for up to `rows` rows (64-byte aligned, one for all threads).
  virtual int64_t getSharedBytes(int64_t rows) const = 0;
  /// Bytes of scratch that each thread needs for up to `rows` rows.
  virtual int64_t getScratchBytes(int64_t rows, int threads) const = 0;
  /// dst[m] = src[m] W^T + b for m in [0, rows).  \param src  f32 [rows, K], rows without gap. \param dst  f32 [rows,
  /// N], rows without gap; must not overlap src.  Splits its work over the threads of `run`; no split changes a bit.
  virtual void multiply(RunContext &run, const float *src, int64_t rows, float *dst, std::byte *shared) const = 0;

private:
  int64_t inputs, outputs;
};

using ProductRef = std::shared_ptr<const Product>;

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_PRODUCT_H
