// Nested lists of numbers, and digests of tensors that are too large to read.
#include "ir/text/TensorTextDetail.h"

#include "ir/Text.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace qfx {

/// The shortest digits of the float, if reading them as a double and rounding gives it back (it practically always does).
static std::string formatSingle(float value) {
  if (!std::isfinite(value))
    return formatFloat(value);
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  double reread = value;
  std::from_chars(buffer, end, reread);
  return formatFloat(static_cast<float>(reread) == value ? reread : static_cast<double>(value));
}

static void printElement(llvm::raw_ostream &os, const Tensor &tensor, int64_t index) {
  switch (tensor.getDType()) {
  case DType::Float32:
  case DType::Float16:
  case DType::BFloat16:
    os << formatSingle(static_cast<float>(tensor.getElementAsDouble(index)));
    return;
  case DType::Float64:
    os << formatFloat(tensor.getElementAsDouble(index));
    return;
  case DType::Int64:
    os << tensor.getData<int64_t>()[static_cast<size_t>(index)];
    return;
  case DType::Bool:
    os << (tensor.getElementAsDouble(index) != 0 ? "True" : "False");
    return;
  default:
    os << static_cast<int64_t>(tensor.getElementAsDouble(index));
  }
}

static void printLevel(llvm::raw_ostream &os, const Tensor &tensor, size_t level, int64_t &next) {
  if (level == tensor.getRank())
    return printElement(os, tensor, next++);
  os << '[';
  for (int64_t i = 0, n = tensor.getSizes()[level]; i < n; ++i) {
    if (i)
      os << ", ";
    printLevel(os, tensor, level + 1, next);
  }
  os << ']';
}

void printTensorData(llvm::raw_ostream &os, const Tensor &tensor) {
  // A list with a huge size before a zero one would print brackets for ever.
  if (tensor.getNumElements() == 0 && tensor.getRank()) {
    os << '0';
    return;
  }
  int64_t next = 0;
  printLevel(os, tensor, 0, next);
}

void printTensorDigest(llvm::raw_ostream &os, const Tensor &tensor) {
  int64_t count = tensor.getNumElements();
  double low = INFINITY, high = -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    double value = tensor.getElementAsDouble(i);
    low = std::fmin(low, value); // a NaN is left out
    high = std::fmax(high, value);
  }
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0, n = tensor.getSizeBytes(); i < n; ++i)
    hash = (hash ^ std::to_integer<uint64_t>(tensor.getBytes()[i])) * 0x100000001b3;
  os << count << " elements";
  if (count)
    os << ", " << llvm::format("%g to %g", low, high);
  os << ", fnv1a " << llvm::format("%016llx", static_cast<unsigned long long>(hash));
}

} // namespace qfx
