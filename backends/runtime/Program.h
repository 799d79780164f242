// A model made ready to run: kernels bound, weights packed, memory planned.
#ifndef BACKENDS_RUNTIME_PROGRAM_H
#define BACKENDS_RUNTIME_PROGRAM_H

#include "ir/Argument.h"
#include "ir/GraphModule.h"
#include "ir/Tensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace qfx {

struct ProgramOptions {
  /// x86 | fbgemm | onednn | qnnpack: decides the output stage and the range of dynamic quantization (operators 3.6, 3.7, 11.1).
  /// Empty: the one that the model was lowered for (its meta `engine`), else x86.
  std::string engine;
  int threads = 1;            ///< >= 1; never changes a bit of any result
  bool observe = false;       ///< observers and fake-quantizers update their buffers, in the model's own modules
  int64_t maxArenaBytes = 0;  ///< limit on intermediates of one plan; 0: physical memory
  unsigned maxPlans = 4;      ///< plans (input types) that are kept
};

/// A result: a tensor, or a host value (number, string, None).
struct Value {
  Tensor tensor; ///< null if this is a host value
  Argument host;

  bool isTensor() const { return static_cast<bool>(tensor); }
};

struct NamedValue {
  std::string name;
  Value value;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct NodeTime {
  std::string name; ///< of the node
  std::string op;   ///< operator, with "/float" or "/quantized"
  int64_t timeNs = 0;
  int64_t runs = 0;
};

/// One program is used by one thread at a time.  Results depend neither on the number of threads nor on earlier runs.
class Program {
public:
  /// Binds `model`.  The graph is copied; tensors and modules are shared, so that with options.observe the buffers of
  /// the model's own observers change.  Where the placeholders declare all sizes but the batch's, a plan for batch 1
  /// (or the declared batch) is made at once, so that most errors come here and not in run; where other sizes are open, plans
  /// are tried with stand-ins for them: what is refused whatever the sizes is refused here. Errors name the node: an operator
  /// without a kernel for its operands, a shape or dtype it does not take.
  static llvm::Expected<std::unique_ptr<Program>> compile(const GraphModule &model, const ProgramOptions &options = {});
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const std::vector<std::string> &getInputNames() const; ///< placeholders in order

  /// Runs on inputs in placeholder order.  Any batch size works, 0 included.
  /// \returns the outputs, a returned tuple, list or dictionary flattened: "out" for a single value, else its index or
  ///          key, nested ones joined by a point ("1.h").  Tensors are dense row-major; quantized ones keep their
  ///          codes.
  /// Errors: a missing input, a wrong dtype, rank or size (naming the placeholder), intermediates beyond the limit,
  /// data that an observer refuses.
  llvm::Expected<std::vector<NamedValue>> run(llvm::ArrayRef<Tensor> inputs);
  /// The same with inputs by placeholder name; names that are no placeholder are an error.
  llvm::Expected<std::vector<NamedValue>> run(const NamedTensors &inputs);

  /// Runs and returns the value of every node by name, placeholders included; elements of tuples as "name.0".
  /// Nothing is fused across nodes, so each value is what PyTorch's node would have.
  llvm::Expected<std::vector<NamedValue>> runAndKeep(const NamedTensors &inputs);

  /// From now on, run measures each node.
  void setProfiling(bool on);
  /// Time per node since profiling began, in graph order.
  std::vector<NodeTime> getProfile() const;

  int64_t getArenaBytes() const;  ///< intermediates, of the largest plan so far
  int64_t getPackedBytes() const; ///< packed weights
  int getThreads() const;

private:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace qfx

#endif // BACKENDS_RUNTIME_PROGRAM_H
