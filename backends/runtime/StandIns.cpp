// Types with stand-ins for open sizes and parameters, and when refusals of two of them have one cause.
#include "backends/runtime/StandIns.h"

#include "ir/GraphModule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace qfx::runtime {

llvm::ArrayRef<StandIn> getStandIns() {
  // Most models take the first; 224 is for images and their windows, 1 and 2 for what wants small sizes.
  static const StandIn all[] = {{1, 64}, {2, 16}, {1, 224}, {3, 7}, {1, 2}, {2, 1}, {1, 12}};
  return all;
}

std::vector<StandIn> getOwnStandIns(const GraphModule &model) {
  constexpr size_t kMaxSizes = 32;
  llvm::SmallSetVector<int64_t, 32> sizes;
  for (const Node &node : model.getGraph().nodes())
    if (node.is(Opcode::Placeholder) && node.getType())
      for (const Dim &dim : node.getType()->shape)
        if (dim.isStatic())
          sizes.insert(dim.getValue());
  model.getRoot().forEachModule([&](const std::string &, const ModuleRef &module) {
    for (const Module::Named<Tensor> *tensors : {&module->getParameters(), &module->getBuffers()})
      for (const auto &[name, tensor] : *tensors)
        if (tensor)
          sizes.insert(tensor.getSizes().begin(), tensor.getSizes().end());
  });
  std::vector<StandIn> choices;
  for (int64_t size : sizes)
    if (size > 0 && choices.size() < kMaxSizes)
      choices.push_back({1, size});
  return choices;
}

/// Symbols that stand in another place than the first of some input.
static std::set<std::string> getSizeSymbols(llvm::ArrayRef<const Node *> placeholders) {
  std::set<std::string> symbols;
  for (const Node *node : placeholders) {
    const Shape &shape = node->getType()->shape;
    for (size_t i = 1; i < shape.size(); ++i)
      if (!shape[i].isStatic())
        symbols.insert(shape[i].getSymbol());
  }
  return symbols;
}

std::optional<StandInTypes> makeStandInTypes(llvm::ArrayRef<const Node *> placeholders, const StandIn &standIn) {
  if (!llvm::all_of(placeholders, [](const Node *node) { return node->getType().has_value(); }))
    return std::nullopt;
  const std::set<std::string> sizeSymbols = getSizeSymbols(placeholders);
  StandInTypes result;
  for (const Node *node : placeholders) {
    TensorType type = *node->getType();
    for (Dim &dim : type.shape) {
      if (dim.isStatic())
        continue;
      const bool isSize = dim.isUnknown() || sizeSymbols.count(dim.getSymbol());
      result.hasOpenSizes |= isSize;
      dim = Dim(dim.getFactor() * (isSize ? standIn.size : standIn.batch));
    }
    if (isQuantized(type.dtype) && !type.quantizer) {
      type.quantizer = std::make_shared<const Quantizer>(Quantizer::perTensor(0.0625, 0));
      result.hasOpenParameters = true;
    }
    result.types.push_back(std::move(type));
  }
  return result;
}

bool mayHangOnSizes(llvm::ArrayRef<Diagnostic> refusal) {
  return llvm::any_of(refusal, [](const Diagnostic &one) {
    return one.code == "run_memory" || one.code == "run_index" || one.code == "run_assert";
  });
}

/// Every number as one '#'.
static std::string maskNumbers(llvm::StringRef text) {
  std::string masked;
  for (char c : text)
    if (!llvm::isDigit(c))
      masked += c;
    else if (masked.empty() || masked.back() != '#')
      masked += '#';
  return masked;
}

static bool isSamePlace(const Location &a, const Location &b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

bool isSameRefusal(llvm::ArrayRef<Diagnostic> a, llvm::ArrayRef<Diagnostic> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](const auto &pair) {
           const auto &[x, y] = pair;
           return x.code == y.code && isSamePlace(x.loc, y.loc) && maskNumbers(x.message) == maskNumbers(y.message);
         });
}

} // namespace qfx::runtime
