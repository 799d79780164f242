// Shape, dtype, quantization and memory format of a value, with symbolic dimensions.
#ifndef IR_TENSORTYPE_H
#define IR_TENSORTYPE_H

#include "ir/DType.h"
#include "ir/Quantizer.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace llvm {
class raw_ostream;
}

namespace qfx {

/// One dimension: a number, `factor * symbol` (a batch size N, 2N, ...), or unknown.
class Dim {
public:
  Dim(int64_t value = 0) : factor(value) {}
  static Dim symbolic(std::string name, int64_t factor = 1) {
    Dim dim(factor);
    dim.symbol = std::move(name);
    return dim;
  }
  static Dim unknown() { return symbolic("?"); }

  bool isStatic() const { return symbol.empty(); }
  bool isUnknown() const { return symbol == "?"; }
  int64_t getValue() const { return factor; } ///< static dims only
  int64_t getFactor() const { return factor; }
  const std::string &getSymbol() const { return symbol; }
  bool operator==(const Dim &other) const { return factor == other.factor && symbol == other.symbol; }
  bool operator!=(const Dim &other) const { return !(*this == other); }

  /// Product and exact quotient; unknown when the result is not of the form `factor * symbol`.
  Dim operator*(const Dim &other) const;
  Dim dividedBy(const Dim &other) const;
  /// Could both be equal at run time (unknown and symbols may be anything)?
  bool mayEqual(const Dim &other) const;

private:
  int64_t factor;
  std::string symbol;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Dim &dim);

using Shape = llvm::SmallVector<Dim, 4>;

struct TensorType {
  DType dtype = DType::Float32;
  Shape shape;
  QuantizerRef quantizer; ///< null for a float tensor, or when the parameters are known only at run time
  /// The memory format PyTorch's tensor would have (operators.md 8); our storage of 4-D activations is channels-last anyway.
  MemoryFormat format = MemoryFormat::Contiguous;

  size_t getRank() const { return shape.size(); }
  bool isStatic() const;
  /// Sizes as numbers; only if isStatic().
  llvm::SmallVector<int64_t, 4> getSizes() const;
  bool operator==(const TensorType &other) const;
};

/// `f32[N, 3, 224, 224]`, `quint8[1, 64]{scale=0.1, zero_point=3}`.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const TensorType &type);
std::string toString(const TensorType &type);

} // namespace qfx

#endif // IR_TENSORTYPE_H
