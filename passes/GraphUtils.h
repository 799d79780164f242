// Small graph operations that several phases share (workflow 8.2).
#ifndef PASSES_GRAPHUTILS_H
#define PASSES_GRAPHUTILS_H

#include "ir/GraphModule.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace qfx {

/// `prefix` with '.' as '_' plus the smallest number that is not yet a member of `root`.
std::string getNewAttrName(const Module &root, llvm::StringRef prefix);

/// getNewAttrName for many names: remembers below which number all of a prefix are taken, which none of them may cease to be meanwhile.
class AttrNamer {
public:
  std::string getNewName(const Module &root, llvm::StringRef prefix);

private:
  llvm::StringMap<unsigned> firstFree; ///< by prefix
};

/// Stores `value` as a root buffer under getNewAttrName and returns a get_attr node for it at the insert point.
Node *createGetAttrFromTensor(GraphModule &model, llvm::StringRef prefix, Tensor value);
/// The same, named by `namer`.
Node *createGetAttrFromTensor(GraphModule &model, AttrNamer &namer, llvm::StringRef prefix, Tensor value);

/// get_attr calls of a tensor whose module satisfies `isReplaced` read a new parameter of the root instead (`a.weight` becomes `a_weight_0`), which
/// holds what they read now.  For passes that give such modules other tensors: PyTorch's get_attr then reads codes, or a method (qfx rule).
void detachReads(GraphModule &model, llvm::function_ref<bool(const Module &)> isReplaced);

/// A method call `dequantize`; false for null.
bool isDequantize(const Node *node);
/// A call of exactly this function, by canonical spelling.
bool isFunctionCall(const Node *node, const TargetInfo &function);

/// cat or stack: it puts tensors of a list side by side, so that on codes they must share one scale.
bool isJoin(const Node &node);

/// The argument at position `index`, or under `name` if it was passed by keyword; null if neither (backend_config 7.1, qfx rule).
const Argument *findOperand(const Node &node, size_t index, llvm::StringRef name);

/// GraphModule::dropUnreferencedMembers, but the root keeps its attributes, tensors and children of these names (preserved_attributes).
void dropUnreferencedMembers(GraphModule &model, llvm::ArrayRef<std::string> preserved);

/// `node` and everything it is computed from, each node once, producers first; empty if a placeholder is among them.
std::vector<Node *> collectProducers(Node *node);

} // namespace qfx

#endif // PASSES_GRAPHUTILS_H
