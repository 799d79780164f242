// How a tensor's integer codes stand for real numbers.
#ifndef IR_QUANTIZER_H
#define IR_QUANTIZER_H

#include "ir/DType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace qfx {

struct Location;

/// real = scale * (code - zeroPoint), per tensor or per slice along `axis`.
/// Scales are doubles as in PyTorch (numerics 1.3); the float-qparams scheme has float zero points instead of integers.
class Quantizer {
public:
  static Quantizer perTensor(double scale, int64_t zeroPoint);
  static Quantizer perChannel(std::vector<double> scales, std::vector<int64_t> zeroPoints, int64_t axis);
  static Quantizer perChannelFloat(std::vector<float> scales, std::vector<float> zeroPoints, int64_t axis);

  QScheme getScheme() const { return scheme; }
  bool isPerTensor() const { return scheme == QScheme::PerTensorAffine; }
  double getScale() const { return scales[0]; }
  int64_t getZeroPoint() const { return zeroPoints[0]; }
  int64_t getAxis() const { return axis; }
  llvm::ArrayRef<double> getScales() const { return scales; }
  llvm::ArrayRef<int64_t> getZeroPoints() const { return zeroPoints; }
  llvm::ArrayRef<float> getFloatZeroPoints() const { return floatZeroPoints; }

  /// Rule `tensor_quant`: scales finite and > 0, zero points in the dtype's range, counts and axis fit the shape.
  llvm::Error verify(DType dtype, llvm::ArrayRef<int64_t> shape, const Location &loc) const;

  bool operator==(const Quantizer &other) const;

private:
  QScheme scheme = QScheme::PerTensorAffine;
  int64_t axis = 0;
  std::vector<double> scales;
  std::vector<int64_t> zeroPoints;
  std::vector<float> floatZeroPoints;
};

using QuantizerRef = std::shared_ptr<const Quantizer>;

} // namespace qfx

#endif // IR_QUANTIZER_H
