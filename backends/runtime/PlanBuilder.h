// Turns a graph and the types of its inputs into a plan: infers types, binds every node, places the buffers.
#ifndef BACKENDS_RUNTIME_PLANBUILDER_H
#define BACKENDS_RUNTIME_PLANBUILDER_H

#include "backends/runtime/Plan.h"
#include "backends/runtime/RuntimeValue.h"
#include "ir/GraphModule.h"
#include "ir/Infer.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace qfx::runtime {

class BindContext;
struct StepTraits;
struct ClampRange;

/// What plans of one program share.
struct ProgramCache {
  std::map<std::pair<const void *, std::string>, std::shared_ptr<void>> packed; ///< by module or node, and purpose
  llvm::DenseMap<const Node *, RuntimeValue> constants;                         ///< nodes that do not depend on inputs
  int64_t packedBytes = 0;
};

struct BuildOptions {
  int threads = 1;
  bool observe = false;
  bool keepAll = false;
  int64_t maxArenaBytes = 0;
  bool stageQ = false;
};

class PlanBuilder {
public:
  /// \param originals  maps nodes of `model` to the names under which their values are kept; nodes that only expansion
  ///                   made are missing.
  PlanBuilder(const GraphModule &model, const llvm::DenseMap<const Node *, std::string> &originals, ProgramCache &cache,
              ThreadPool &pool, const BuildOptions &options);
  ~PlanBuilder() { llvm::consumeError(std::move(failure)); }

  /// \param inputTypes  static types by placeholder.
  llvm::Expected<std::unique_ptr<Plan>> build(llvm::ArrayRef<TensorType> inputTypes);

  /// Did the last build infer all types?  What it refused then is what no kernel takes.
  bool hasTypes() const { return isTyped; }

  // For BindContext.
  const GraphModule &getModel() const { return model; }
  const RuntimeValue *findValue(const Node *node) const;
  ValueType getType(const Node *node) const;
  RuntimeValue evaluate(const Argument &arg) const;
  View allocate(const TensorType &type, llvm::ArrayRef<int64_t> strides);
  void emit(llvm::ArrayRef<const View *> reads, llvm::ArrayRef<const View *> writes,
            std::function<void(RunContext &)> run, const StepTraits &traits);
  ClampRange absorbClamp(const Node &node, DType dtype);
  std::shared_ptr<void> &getCacheEntry(const void *key, llvm::StringRef tag);
  std::shared_ptr<std::byte> allocatePacked(int64_t sizeBytes);
  /// Binds the nodes of a graph that stands for one node of the model, whose modules and tensors it reads; `inputs` are the
  /// values of its placeholders.  \param graph  lives as long as the program (getCacheEntry). \returns its output's value.
  llvm::Expected<RuntimeValue> bindInline(const Graph &graph, llvm::ArrayRef<RuntimeValue> inputs);
  int getThreads() const { return options.threads; }
  bool observes() const { return options.observe; }
  bool usesStageQ() const { return options.stageQ; } ///< qnnpack's output stage (operators 3.7)

private:
  llvm::Error bindNode(const Node &node);
  llvm::Expected<RuntimeValue> bindGetAttr(const Node &node);
  llvm::Expected<RuntimeValue> bindCallNode(const Node &node, const ValueType &result);
  /// Does the call read a float16 or bfloat16 tensor?
  bool readsHalf(const BoundCall &call) const;
  /// operators 24.13: half floats are computed in float32, the result is rounded to half.
  llvm::Expected<RuntimeValue> bindWidened(const Node &node, const BoundCall &call, const ValueType &result,
                                           llvm::function_ref<llvm::Expected<RuntimeValue>(BindContext &)> bind);
  llvm::Error bindOutput(const Node &node);
  void flatten(const std::string &name, const RuntimeValue &value, std::vector<NamedRuntimeValue> &into);
  void keepAlive(const RuntimeValue &value);
  void resolveInPlace();

  struct InPlaceHint {
    BufferRef src, dst;
    int step;
  };

  const GraphModule &model;
  const llvm::DenseMap<const Node *, std::string> &originals;
  ProgramCache &cache;
  ThreadPool &pool;
  BuildOptions options;
  std::unique_ptr<Plan> plan;
  const Node *current = nullptr;
  bool isTyped = false;
  bool isInline = false; ///< binding a graph that stands for `current`
  TypeMap types;
  llvm::DenseMap<const Node *, RuntimeValue> values;
  llvm::DenseSet<const Node *> absorbed; ///< nodes whose value is their input's
  llvm::DenseSet<const Node *> planOnly; ///< nodes that hang on an input, be it on its sizes only: their constants are this plan's
  std::vector<InPlaceHint> hints;
  llvm::Error failure = llvm::Error::success(); ///< of a step run while building
};

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_PLANBUILDER_H
