// What the binding function of an operator sees: its call, where its operands lie, and how to add steps to the plan.
#ifndef BACKENDS_RUNTIME_BINDCONTEXT_H
#define BACKENDS_RUNTIME_BINDCONTEXT_H

#include "backends/runtime/PlanBuilder.h"
#include "backends/runtime/RuntimeValue.h"
#include "backends/runtime/Step.h"
#include "ir/Bind.h"
#include "ir/Infer.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace qfx::runtime {

/// What a clamp behind an operator does to its real values: min(max(x, lo), hi).
struct ClampRange {
  float lo = -__builtin_inff(), hi = __builtin_inff();
};

/// Scratch and aliasing of a step.
struct StepTraits {
  int64_t scratchBytes = 0;         ///< per thread, 64-byte aligned
  const View *inPlaceSrc = nullptr; ///< the result may lie where this operand lies, if nobody needs it afterwards
  bool hasEffects = false;          ///< runs even if nobody reads its results or all operands are constants
};

class BindContext {
public:
  /// \param widens  float16 and bfloat16 operands are given as float32 (operators 24.13); `result` is then, too.
  BindContext(PlanBuilder &builder, const Node &node, const BoundCall &call, const ValueType &result,
              bool widens = false);

  const Node &getNode() const { return node; }
  const BoundCall &getCall() const { return call; }
  const OpInfo &getOp() const { return *call.op; }
  const InferContext &attrs() const { return infer; } ///< host operands: getInt, getInts, getNumber, ...
  const ValueType &getResult() const { return result; }
  /// The inferred type of a node that yields one tensor.
  llvm::Expected<TensorType> getResultTensor() const;

  /// Is the slot filled by something other than None?
  bool has(llvm::StringRef slot) const;
  /// The tensor in a slot: a node's, or one that the called module owns.
  llvm::Expected<View> getTensor(llvm::StringRef slot);
  /// The same, or an empty view if the slot is None.
  llvm::Expected<View> getOptionalTensor(llvm::StringRef slot);
  llvm::Expected<std::vector<View>> getTensors(llvm::StringRef slot); ///< of a list
  /// A tensor known before running, dense row-major: weights and their like.
  llvm::Expected<Tensor> getConstant(llvm::StringRef slot);
  llvm::Expected<Tensor> getOptionalConstant(llvm::StringRef slot); ///< null tensor if None
  /// A number that stands where a tensor may stand (x + 1).
  std::optional<double> getScalar(llvm::StringRef slot);
  /// Packed weights of the quantized:: operators.
  llvm::Expected<std::shared_ptr<const Module>> getPacked(llvm::StringRef slot);
  RuntimeValue getValue(llvm::StringRef slot);
  /// The quantizer of a per-tensor quantized view, with qparams known before running.
  llvm::Expected<QuantizerRef> getQuantizer(const View &view) const;

  /// Fresh memory for a tensor of this (static) type.
  View allocate(const TensorType &type, StorageOrder order);
  View allocate(const TensorType &type, llvm::ArrayRef<int64_t> strides); ///< dense strides in some order
  /// `view` if its storage has that order already, else a copy of it.
  View toOrder(const View &view, StorageOrder order);
  /// `view` if its storage is dense in any order, else a copy in the default order.
  View toDense(const View &view);
  /// Copies the elements of `src` to those of `dst` (same sizes and element size).
  void copy(const View &src, const View &dst);

  void emit(llvm::ArrayRef<const View *> reads, llvm::ArrayRef<const View *> writes,
            std::function<void(RunContext &)> run, const StepTraits &traits = {});

  /// If the node's only user clamps its result (relu, relu6, hardtanh), takes that user in: its value will be this
  /// node's. Not while every node's value is kept. \param dtype  of both results.
  ClampRange absorbClamp(DType dtype = DType::Float32);

  /// What `make` made for this module (or node, for functions) in an earlier plan, or now.
  template <class T>
  llvm::Expected<std::shared_ptr<T>> getCached(llvm::StringRef tag,
                                               llvm::function_ref<llvm::Expected<std::shared_ptr<T>>()> make) {
    std::shared_ptr<void> &entry = builder.getCacheEntry(getCacheKey(), tag);
    if (!entry) {
      llvm::Expected<std::shared_ptr<T>> made = make();
      if (!made)
        return made.takeError();
      entry = *made;
    }
    return std::static_pointer_cast<T>(entry);
  }
  /// Memory for packed weights, 64-byte aligned, zeroed.
  std::shared_ptr<std::byte> allocatePacked(int64_t sizeBytes) { return builder.allocatePacked(sizeBytes); }

  int getThreads() const { return builder.getThreads(); }
  bool observes() const { return builder.observes(); }
  PlanBuilder &getBuilder() { return builder; }

  /// error(node location, ...) that names the operator.
  template <class... Args> ErrorBuilder fail(const char *format, Args &&...args) const {
    return error(call.loc, "'{0}' of node '{1}': {2}", call.op->name, node.getName(),
                 llvm::formatv(format, std::forward<Args>(args)...).str());
  }

private:
  const void *getCacheKey() const;
  llvm::Expected<View> toView(const RuntimeValue &value, llvm::StringRef slot);

  PlanBuilder &builder;
  const Node &node;
  const BoundCall &call;
  const ValueType &result;
  bool widens;
  std::function<ValueType(const Node *)> lookup; // outlives what `infer` refers to
  InferContext infer;
};

/// Binds one node: adds steps, returns the node's value.
using BindFunction = llvm::Expected<RuntimeValue> (*)(BindContext &);

enum class KernelForm : uint8_t { Float, Quantized };

/// The row of Kernels.def for an operator on float or on quantized operands; null if there is none.
BindFunction findKernel(OpKind kind, KernelForm form);
/// Has the operator any row at all?
bool hasKernel(OpKind kind);

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_BINDCONTEXT_H
