// How far one model's values are from another's.
#ifndef TOOLS_RUN_COMPARE_H
#define TOOLS_RUN_COMPARE_H

#include "backends/runtime/Program.h"
#include "ir/GraphModule.h"

#include "llvm/ADT/MapVector.h"

#include <limits>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace qfx::tool {

/// Sums over all elements of one value, over all batches.
struct ErrorSums {
  double signal = 0, noise = 0; ///< sums of squares of the reference and of the difference
  double maxAbs = 0;
  double referenceAtMax = 0, valueAtMax = 0;
  double maxReference = 0; ///< largest magnitude of the reference
  std::vector<int64_t> indexOfMax;
  TensorType type;
  bool isComparable = true; ///< false once shapes differ

  /// Adds a pair; quantized tensors are compared by their real values.
  void add(const Tensor &value, const Tensor &reference);
  /// 10 log10(signal / noise) in dB; +inf when they are equal.
  double getSqnr() const;
};

struct CompareOptions {
  double atol = -1, rtol = -1; ///< |value - reference| <= atol + rtol * max |reference|; unused while negative
  double sqnr = -std::numeric_limits<double>::infinity(); ///< least dB of each output
  bool isPerLayer = true;
};

/// Collects the errors of outputs and, by node name, of intermediate values.
class Comparison {
public:
  explicit Comparison(CompareOptions options) : options(options) {}

  void addOutputs(llvm::ArrayRef<NamedValue> values, llvm::ArrayRef<NamedValue> references);
  /// `valueOf` maps a node of the compared model to the reference node whose value it computes.
  void addLayers(llvm::ArrayRef<NamedValue> values, llvm::ArrayRef<NamedValue> references,
                 const std::vector<std::pair<std::string, std::string>> &valueOf);

  /// Prints one line per output and the worst layers.  \returns the number of outputs that miss the wanted bounds.
  unsigned print(llvm::raw_ostream &os, unsigned numWorst) const;
  unsigned getNumOutputs() const { return static_cast<unsigned>(outputs.size()); }
  /// Layers by rising SQNR.
  std::vector<std::pair<std::string, double>> getLayersByError() const;

private:
  bool isMissed(const ErrorSums &sums) const;

  CompareOptions options;
  std::vector<std::pair<std::string, ErrorSums>> outputs, layers;
};

/// For each node of `model` that computes a value of the model it was made from: (its name, that node's name), read off the meta entry
/// "value_of" or its own name.
std::vector<std::pair<std::string, std::string>> getValueNames(const GraphModule &model);

} // namespace qfx::tool

#endif // TOOLS_RUN_COMPARE_H
