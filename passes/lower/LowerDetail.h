// What the steps of lowering share; private to this folder.
#ifndef PASSES_LOWER_LOWERDETAIL_H
#define PASSES_LOWER_LOWERDETAIL_H

#include "backends/config/LoweringTable.h"
#include "passes/Pass.h"
#include "passes/lower/Lower.h"
#include "passes/prepare/PreparedState.h"

#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qfx {

/// Child of the root that keeps float weights (LowerOptions::keepOriginalWeights).
inline constexpr llvm::StringLiteral kOriginalWeights = "original_weights_lookup";

struct LowerState {
  GraphModule &model;
  PreparedState prepared;
  PassContext &context;
  LowerOptions options = {};
};

/// Scale and zero point of a torch.quantize_per_tensor call, read from the root's buffers.
struct OutputQParams {
  double scale;
  int64_t zeroPoint;
  bool operator==(const OutputQParams &) const = default;
};

/// dequantize(s) -> ref [-> relu] -> quantize_per_tensor.
struct StaticMatch {
  Node *quantize;
  Node *relu; ///< null if there is none
  Node *ref;
};

/// Workflow 6.1: `quantize` is the last node; null ref if it is no quantize_per_tensor or the qconfig says none.
std::optional<StaticMatch> matchStaticPattern(const LowerState &state, Node &quantize);
/// Operands 0..count-1 that are nodes must be dequantize calls, and at least one must be.
bool areDequantized(const Node &ref, size_t count);
/// torch.nn.functional.relu, torch.relu or a call of torch.nn.ReLU.
bool isRelu(const LowerState &state, const Node &node);
OutputQParams getOutputQParams(const LowerState &state, const Node &quantize);
/// Is it torch.quantize_per_tensor(x, scale, zero_point, dtype), positional, with both parameters numbers or attributes of the model?
bool isStaticQuantize(const LowerState &state, const Node &node);
/// The scale and zero point nodes of such a call; null where a number stands.
std::pair<Node *, Node *> getQParamNodes(const Node &quantize);
/// Erases each node that nobody uses any more.
void eraseIfUnused(Graph &graph, std::initializer_list<Node *> nodes);
/// Row of the group for what `node` calls (function, method or module class), or null.
const LoweringRow *findRow(const LowerState &state, LoweringGroup group, const Node &node);

/// A quantized module of class `target` from the reference (or float) module that `call` calls, without output parameters.
llvm::Expected<ModuleRef> makeQuantizedModule(const LowerState &state, const TargetInfo &target, const Node &call);

/// The module calls that a step of lowering rewrites: their modules are made and put in place together, when it is known which calls of each
/// module the step takes.
class ModuleCalls {
public:
  /// \param output  parameters of the result; none for classes that have no such attributes.
  void add(Node &ref, const TargetInfo &target, std::optional<OutputQParams> output);
  /// One instance serves calls with equal output parameters and stands at the module's path; further parameters, or calls that stay as they
  /// are, lead to instances of their own under fresh paths (l_1, l_2, ...) that share the packed weight (workflow 6.1, QFX).
  llvm::Error place(LowerState &state);

private:
  struct Call {
    Node *ref;
    const TargetInfo *target;
    std::optional<OutputQParams> output;
  };
  static llvm::Error placeAt(LowerState &state, llvm::StringRef path, llvm::ArrayRef<Call> lowered, bool isEveryCall);

  llvm::StringMap<unsigned> indexOfPath;
  std::vector<std::pair<std::string, std::vector<Call>>> calls; ///< by path, in order of the first one
};

/// The arguments of a call's prepack: the quantized weight, then bias and geometry in the prepack's own order.  None if numbers cannot say what
/// the call does (padding "same" of an even kernel).
llvm::Expected<std::optional<std::vector<Argument>>> makePrepackArgs(const LowerState &state, const Node &call, const TargetInfo &prepack,
                                                      Node *quantizedWeight);

llvm::Error lowerStaticModules(LowerState &state);
llvm::Error lowerTwoInputModules(LowerState &state);
llvm::Error lowerDynamicModules(LowerState &state);
llvm::Error lowerWeightOnlyModules(LowerState &state);
llvm::Error lowerStaticFunctions(LowerState &state);
llvm::Error lowerDynamicFunctions(LowerState &state);
llvm::Error lowerBinaryFunctions(LowerState &state);
void lowerShapeQueries(LowerState &state);
llvm::Error lowerSpecialPatterns(LowerState &state);
llvm::Error foldWeights(LowerState &state);
/// Says of each call that was to be quantized, or has a reference module's weights, that it runs in float.
llvm::Error reportReferencePatterns(LowerState &state);

} // namespace qfx

#endif // PASSES_LOWER_LOWERDETAIL_H
