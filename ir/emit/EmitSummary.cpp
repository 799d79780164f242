// A table of nodes with types and sizes, and what the model's parameters weigh.
#include "ir/emit/Emit.h"

#include "ir/Bind.h"
#include "ir/Infer.h"
#include "ir/Ops.h"
#include "ir/emit/EmitDetail.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>

namespace qfx {

namespace {

/// Elements and bytes of tensors, each set of elements counted once however many paths lead to it.
class TensorCount {
public:
  bool add(const Tensor &tensor) {
    if (!seen.insert({tensor.getPlace(), tensor.getDType(), tensor.getNumElements()}).second)
      return false;
    elements += tensor.getNumElements();
    bytes += tensor.getSizeBytes();
    return true;
  }
  int64_t elements = 0;
  uint64_t bytes = 0;

private:
  std::set<std::tuple<Tensor::Place, DType, int64_t>> seen;
};

} // namespace

static void countTree(const Module &module, TensorCount &count, llvm::DenseSet<const Module *> &seen) {
  if (!seen.insert(&module).second)
    return;
  for (const auto &entry : module.getParameters())
    count.add(entry.second);
  for (const auto &entry : module.getBuffers())
    count.add(entry.second);
  for (const auto &child : module.getChildren())
    countTree(*child.second, count, seen);
}

static std::string formatType(const Node &node, const TypeMap &types) {
  if (node.getType())
    return toString(*node.getType());
  auto it = types.find(&node);
  const TensorType *type = it == types.end() ? nullptr : it->second.getTensor();
  return type ? toString(*type) : "-";
}

static std::string formatBytes(uint64_t bytes) {
  if (bytes < 10'000)
    return std::to_string(bytes) + " B";
  if (bytes < 10'000'000)
    return llvm::formatv("{0:f1} kB", double(bytes) / 1e3).str();
  return llvm::formatv("{0:f1} MB", double(bytes) / 1e6).str();
}

/// What a node does: the operator of a call, else nothing.
static std::string getOperatorName(const Node &node, const GraphModule &model) {
  const TargetInfo *target = node.getTarget();
  if (node.is(Opcode::CallModule))
    if (ModuleRef module = model.getModule(node))
      target = module->getClass();
  return target ? target->getOp().name.str() : "-";
}

void emitSummary(llvm::raw_ostream &os, const GraphModule &model) {
  TypeMap types;
  if (auto inferred = inferTypes(model))
    types = std::move(*inferred);
  else
    llvm::consumeError(inferred.takeError()); // the table shows '-' where the types do not fit

  std::vector<std::vector<std::string>> rows = {{"node", "opcode", "target", "operator", "type", "parameters"}};
  for (const Node &node : model.getGraph().nodes()) {
    TensorCount count;
    llvm::DenseSet<const Module *> seen;
    std::string target = getFxTarget(node);
    if (node.is(Opcode::CallModule)) {
      if (ModuleRef module = model.getModule(node)) {
        countTree(*module, count, seen);
        target += " (" + module->getClassName() + ")";
      }
    } else if (node.is(Opcode::GetAttr)) {
      if (const Tensor *tensor = model.getRoot().findTensorAt(node.getTargetText()))
        count.add(*tensor);
    }
    rows.push_back({node.getName(), getOpcodeName(node.getOpcode()).str(), target, getOperatorName(node, model),
                    node.is(Opcode::Output) ? "-" : formatType(node, types), std::to_string(count.elements)});
  }
  os << formatColumns(rows, std::vector<size_t>(rows[0].size(), 0)) << '\n';

  std::map<DType, TensorCount> parameters, buffers;
  TensorCount all;
  llvm::DenseSet<const Module *> seen;
  auto count = [&](const Module &module) {
    if (!seen.insert(&module).second)
      return;
    for (const auto &entry : module.getParameters())
      if (all.add(entry.second))
        parameters[entry.second.getDType()].add(entry.second);
    for (const auto &entry : module.getBuffers())
      if (all.add(entry.second))
        buffers[entry.second.getDType()].add(entry.second);
  };
  count(model.getRoot());
  model.getRoot().forEachModule([&](const std::string &, const ModuleRef &module) { count(*module); });
  rows = {{"dtype", "parameters", "bytes", "buffers", "bytes"}};
  std::set<DType> dtypes;
  for (const auto *counts : {&parameters, &buffers})
    for (const auto &entry : *counts)
      dtypes.insert(entry.first);
  for (DType dtype : dtypes)
    rows.push_back({getDTypeInfo(dtype).text.str(), std::to_string(parameters[dtype].elements),
                    formatBytes(parameters[dtype].bytes), std::to_string(buffers[dtype].elements),
                    formatBytes(buffers[dtype].bytes)});
  os << formatColumns(rows, std::vector<size_t>(rows[0].size(), 0));
  os << "total: " << model.getGraph().getNumNodes() << " nodes, " << all.elements << " elements, "
     << formatBytes(all.bytes) << '\n';
}

} // namespace qfx
