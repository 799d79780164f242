// Reference modules become quantized modules (workflow 6.1, 6.2).
#include "passes/lower/LowerDetail.h"

#include "backends/reference/ReferenceWeight.h"
#include "ir/Ops.h"
#include "passes/GraphUtils.h"
#include "passes/ModuleUtils.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace qfx {

/// nnq.PReLU keeps its slope as quint8 codes measured by the qconfig's weight observer.
static llvm::Expected<Tensor> quantizeByQConfig(const LowerState &state, const Node &call, const Tensor &weight) {
  const OptionalQConfig *entry = state.prepared.findQConfig(call);
  if (!entry || !*entry || !(*entry)->weight)
    return error(call.getLoc(), "'{0}' needs a qconfig with a weight observer to be lowered", call.getName()).code("lower_weight");
  auto observer = (*entry)->weight->build();
  if (!observer)
    return observer.takeError();
  if (llvm::Error err = observe(**observer, {weight.getData<float>().data(), weight.getSizes(), weight.getStrides()}))
    return err;
  auto qparams = calculateQParams(**observer);
  if (!qparams)
    return qparams.takeError();
  return quantizeTensor(weight, *qparams);
}

llvm::Expected<ModuleRef> makeQuantizedModule(const LowerState &state, const LoweringRow &row, const Node &call,
                                              const OutputQParams *output) {
  static const TargetInfo &prelu = requireModuleClass("torch.nn.PReLU");
  ModuleRef source = state.model.getModule(call);
  ModuleRef root = source->getClass()->getOp().has(Traits::Composite) ? source->findChild("0") : source;
  ModuleRef module = makeModuleFrom(*row.to, *root);
  if (root != source) // post-op attributes such as negative_slope
    for (const auto &[name, child] : source->getChildren())
      for (const auto &[key, value] : child->getAttributes())
        if (child != root && row.to->getSignature().findSlot(key) && !root->findAttribute(key))
          module->setAttribute(key, value);
  if (root->findAttribute("weight_dtype")) {
    if (getWeightQParams(*root)) {
      auto weight = getQuantizedWeight(*root);
      if (!weight)
        return weight.takeError();
      module->setParameter("weight", std::move(*weight));
    }
  } else if (root->isA(prelu)) {
    auto weight = quantizeByQConfig(state, call, root->getTensor("weight"));
    if (!weight)
      return weight.takeError();
    module->setParameter("weight", std::move(*weight));
  }
  if (output && row.to->getSignature().findSlot("scale")) { // Dropout keeps its input's
    module->setAttribute("scale", output->scale);
    module->setAttribute("zero_point", output->zeroPoint);
  }
  return module;
}

/// The row that lowers this call statically: a reference module, or a fused module around the right one.
static const LoweringRow *findStaticRow(const LowerState &state, const Node &call) {
  if (const LoweringRow *row = findRow(state, LoweringGroup::StaticModule, call))
    return row;
  const LoweringRow *row = findRow(state, LoweringGroup::StaticFused, call);
  if (!row)
    return nullptr;
  ModuleRef inner = state.model.getModule(call)->findChild("0");
  return inner && inner->isA(*row->inner) ? row : nullptr;
}

namespace {
struct ModuleMatch {
  StaticMatch pattern;
  const LoweringRow *row;
};
} // namespace

/// The first free sibling path of `path`: l_1, l_2, ...
static std::string getFreshPath(const Module &root, llvm::StringRef path) {
  for (unsigned i = 1;; ++i) {
    std::string candidate = path.str() + "_" + std::to_string(i);
    auto [parentPath, name] = splitPath(candidate);
    ModuleRef parent = parentPath.empty() ? nullptr : root.findModule(parentPath);
    if (!(parent ? *parent : root).hasMember(name))
      return candidate;
  }
}

/// Lowers all matched calls of one module.  One instance serves calls with equal output parameters; further parameters, or calls that
/// stay reference patterns, lead to instances of their own under fresh paths that share the packed weight (workflow 6.1, QFX).
static llvm::Error lowerCallsOfModule(LowerState &state, llvm::StringRef path, llvm::ArrayRef<ModuleMatch> matches,
                                      bool everyCallMatches) {
  Module &root = state.model.getRoot();
  auto first = makeQuantizedModule(state, *matches.front().row, *matches.front().pattern.ref, nullptr);
  if (!first)
    return first.takeError();
  std::vector<std::pair<OutputQParams, std::string>> instances;
  for (const ModuleMatch &match : matches) {
    Node *quantize = match.pattern.quantize, *ref = match.pattern.ref;
    OutputQParams output = getOutputQParams(state, *quantize);
    auto known = llvm::find_if(instances, [&](const auto &entry) { return entry.first == output; });
    std::string instancePath;
    if (known != instances.end()) {
      instancePath = known->second;
    } else {
      instancePath = instances.empty() && everyCallMatches ? path.str() : getFreshPath(root, path);
      ModuleRef instance = (*first)->shallowCopy();
      instance->setAttribute("scale", output.scale);
      instance->setAttribute("zero_point", output.zeroPoint);
      root.setModule(instancePath, instance);
      instances.emplace_back(output, instancePath);
    }
    ref->setTargetPath(instancePath);
    auto [scaleNode, zeroPointNode] = getQParamNodes(*quantize);
    Node *dequantize = ref->getArg(0).getNode();
    ref->replaceInputWith(dequantize, dequantize->getArg(0).getNode());
    quantize->replaceAllUsesWith(ref);
    state.model.getGraph().erase(quantize);
    eraseIfUnused(state.model.getGraph(), {scaleNode, zeroPointNode});
  }
  return llvm::Error::success();
}

llvm::Error lowerStaticModules(LowerState &state) {
  llvm::StringMap<unsigned> numCalls, indexOfPath;
  std::vector<std::pair<std::string, std::vector<ModuleMatch>>> matches; // by path, in order of first match
  for (Node &node : state.model.getGraph().nodes()) {
    if (node.is(Opcode::CallModule))
      ++numCalls[node.getTargetText()];
    auto pattern = matchStaticPattern(state, node);
    // A relu behind a module that fusion left alone would be lost (upstream drops it): such a call stays a reference pattern.
    if (!pattern || pattern->relu || !pattern->ref->is(Opcode::CallModule) || !areDequantized(*pattern->ref, 1) ||
        !pattern->ref->hasOneUser())
      continue;
    const LoweringRow *row = findStaticRow(state, *pattern->ref);
    if (!row)
      continue;
    llvm::StringRef path = pattern->ref->getTargetText();
    auto [it, isNew] = indexOfPath.try_emplace(path, static_cast<unsigned>(matches.size()));
    if (isNew)
      matches.emplace_back(path.str(), std::vector<ModuleMatch>());
    matches[it->second].second.push_back({*pattern, row});
  }
  for (auto &[path, calls] : matches)
    if (llvm::Error err = lowerCallsOfModule(state, path, calls, numCalls.lookup(path) == calls.size()))
      return err;
  return llvm::Error::success();
}

llvm::Error lowerTwoInputModules(LowerState &state) {
  for (Node *node : state.model.getGraph().getNodeVector()) {
    auto pattern = matchStaticPattern(state, *node);
    if (!pattern || pattern->relu || !pattern->ref->is(Opcode::CallModule) || pattern->ref->getArgs().size() != 2)
      continue;
    Node *ref = pattern->ref;
    const LoweringRow *row = findRow(state, LoweringGroup::StaticTwoInputs, *ref);
    ModuleRef inner = row ? state.model.getModule(*ref)->findChild("0") : nullptr;
    if (!inner || !inner->isA(*row->inner) || !isDequantize(ref->getArg(0).getNodeOrNull()) ||
        !isDequantize(ref->getArg(1).getNodeOrNull()))
      continue;
    OutputQParams output = getOutputQParams(state, *node);
    auto module = makeQuantizedModule(state, *row, *ref, &output);
    if (!module)
      return module.takeError();
    state.model.getRoot().setModule(ref->getTargetText(), *module);
    for (size_t i = 0; i < 2; ++i) {
      Node *dequantize = ref->getArg(i).getNode();
      if (isDequantize(dequantize))
        ref->replaceInputWith(dequantize, dequantize->getArg(0).getNode());
    }
    auto [scaleNode, zeroPointNode] = getQParamNodes(*node);
    node->replaceAllUsesWith(ref);
    state.model.getGraph().erase(node);
    eraseIfUnused(state.model.getGraph(), {scaleNode, zeroPointNode});
  }
  return llvm::Error::success();
}

llvm::Error lowerDynamicModules(LowerState &state) {
  static const TargetInfo &quantizeDynamic = requireFunction("torch.quantize_per_tensor_dynamic");
  for (Node *node : state.model.getGraph().getNodeVector()) {
    const LoweringRow *row = findRow(state, LoweringGroup::DynamicModule, *node);
    if (!row && (row = findRow(state, LoweringGroup::DynamicFused, *node))) {
      ModuleRef inner = state.model.getModule(*node)->findChild("0");
      if (!inner || !inner->isA(*row->inner))
        row = nullptr;
    }
    Node *dequantize = row && !node->getArgs().empty() ? node->getArg(0).getNodeOrNull() : nullptr;
    Node *quantize = isDequantize(dequantize) ? dequantize->getArg(0).getNodeOrNull() : nullptr;
    if (!quantize || !isFunctionCall(quantize, quantizeDynamic))
      continue;
    DType dtype = quantize->getArg(1).getDType();
    if (dtype != DType::QUInt8 && dtype != DType::QInt8 && dtype != DType::Float16)
      continue;
    auto module = makeQuantizedModule(state, *row, *node, nullptr);
    if (!module)
      return module.takeError();
    state.model.getRoot().setModule(node->getTargetText(), *module);
    node->replaceInputWith(dequantize, quantize->getArg(0).getNode());
  }
  return llvm::Error::success();
}

llvm::Error lowerWeightOnlyModules(LowerState &state) {
  for (Node &node : state.model.getGraph().nodes()) {
    const LoweringRow *row = findRow(state, LoweringGroup::WeightOnlyModule, node);
    if (!row)
      continue;
    auto module = makeQuantizedModule(state, *row, node, nullptr);
    if (!module)
      return module.takeError();
    state.model.getRoot().setModule(node.getTargetText(), *module);
  }
  return llvm::Error::success();
}

} // namespace qfx
