// torch.ao.quantization.fx.utils (workflow 8.2): small questions about nodes and small graphs made from them.
#ifndef PASSES_FXUTILS_H
#define PASSES_FXUTILS_H

#include "backends/config/BackendConfig.h"
#include "backends/config/CustomConfig.h"
#include "ir/GraphModule.h"
#include "passes/eager/ModuleMappings.h"

#include "llvm/Support/Error.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace qfx {

/// An opcode and a target as text: what getNonObservableArgIndexesAndTypes is keyed by.
struct NodeInfo {
  Opcode op = Opcode::CallFunction;
  std::string target;

  bool operator==(const NodeInfo &other) const { return op == other.op && target == other.target; }
};

/// Positions 1 to n-1 of the node's positional arguments.
std::vector<size_t> getAllNodeArgsExceptFirst(const Node &node);

/// `indices` below a node's number of positional arguments, as a function of the node.
std::function<std::vector<size_t>(const Node &)> returnArgList(std::vector<size_t> indices);

/// True if for sure no positional argument of the node is a tensor or computed from one (workflow 4.3).
bool haveAllNodeArgsNoTensors(const Node &node, const GraphModule &model);

/// "cpu" if `module` or a module below it has a parameter or buffer, else none: qfx keeps tensors in one place.
std::optional<std::string> getUniqueDevice(const Module &module);

/// The node and everything it is computed from, walked last-in first-out over its positional and keyword arguments; the same node may come
/// several times; nothing above a `builtins.getattr` is entered.  None if a placeholder is among them.
std::optional<std::vector<Node *>> collectProducerNodes(Node &node);

/// A graph of copies of `producers` (collectProducerNodes's list), first producer last in the list; its output is the list's first node.
/// The modules and tensors it reads are those of `model`, shared.  The list must not be empty (asserted).
GraphModule graphModuleFromProducerNodes(const GraphModule &model, llvm::ArrayRef<Node *> producers);

/// Stores `value` as a buffer of the root under `prefix` ('.' as '_') plus the smallest free number; a get_attr node at the insert point.
Node *createGetattrFromValue(GraphModule &model, llvm::StringRef prefix, Tensor value);
/// The same for a number: a float32 or int64 tensor without dimensions.
Node *createGetattrFromValue(GraphModule &model, llvm::StringRef prefix, double value);
Node *createGetattrFromValue(GraphModule &model, llvm::StringRef prefix, int64_t value);

/// getNewAttrNameWithPrefix(prefix)(module): the prefix ('.' as '_') plus the smallest number that is no member of the module yet.
std::function<std::string(const Module &)> getNewAttrNameWithPrefix(std::string prefix);

/// Runs `create` (which makes one node) and gives the node the place of `old`, PyTorch's stack_trace.
Node *createNodeFromOldNodePreserveMeta(llvm::function_ref<Node *()> create, const Node &old);

/// Distinct classes that some quantization type maps, in order: keys of the static, dynamic and weight-only mappings.
ModuleClassList getCustomModuleClassKeys(llvm::ArrayRef<ModuleMapping> mappings);

/// What tracing keeps as calls.
struct SkippedModules {
  std::vector<std::string> names;
  std::vector<OperatorName> classes;
};
/// The non-traceable names and classes of `config`; at the top level (not inside a standalone module) also all standalone ones and the float
/// custom classes.
SkippedModules getSkippedModuleNameAndClasses(const PrepareCustomConfig &config, bool isStandaloneModule);

/// torch.ops.quantized.linear_prepack for qint8, linear_prepack_fp16 for float16.  Errors: another dtype (`prepack_dtype`).
llvm::Expected<const TargetInfo *> getLinearPrepackOpForDType(DType dtype);
/// torch.ops.quantized.conv2d_prepack of torch.nn.functional.conv2d and so on, by any spelling of the function.
/// Errors: a function that is no convolution (`prepack_function`).
llvm::Expected<const TargetInfo *> getQConvPrepackOp(llvm::StringRef convFunction);

/// Arguments of a node that are known not to be float tensors: dtype class ("bool", "float", "int") and positions.
struct NonObservableArgs {
  std::string type;
  std::vector<size_t> indexes;
};
std::vector<NonObservableArgs> getNonObservableArgIndexesAndTypes(const Node &node);

/// The first user of `node` that calls a module of class `moduleClass`, or function `function` (either may be null); null if none does.
Node *maybeGetNextModule(const Node &node, const GraphModule &model, const TargetInfo *moduleClass, const TargetInfo *function = nullptr);

/// Is `arg` the weight (or bias) of the node: at the position that the backend's entry for the node's function says, or under the keyword?
bool isNodeArgWeight(const Node &node, const Node &arg, const BackendConfig &backend);
bool isNodeArgBias(const Node &node, const Node &arg, const BackendConfig &backend);

/// layer_norm, group_norm and instance_norm: their weights are not quantized.
bool isNonQuantizableWeightOp(const Node &node);

} // namespace qfx

#endif // PASSES_FXUTILS_H
