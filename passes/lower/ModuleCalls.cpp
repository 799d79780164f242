// Which quantized module each lowered call of a module gets (workflow 6.1, known_traps B02).
#include "passes/lower/LowerDetail.h"

#include "ir/Ops.h"
#include "ir/Text.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace qfx {

std::string getFreshPath(const Module &root, llvm::StringRef path) {
  for (unsigned i = 1;; ++i) {
    std::string candidate = path.str() + "_" + std::to_string(i);
    auto [parentPath, name] = splitPath(candidate);
    ModuleRef parent = parentPath.empty() ? nullptr : root.findModule(parentPath);
    if (!(parent ? *parent : root).hasMember(name))
      return candidate;
  }
}

void ModuleCalls::add(Node &ref, const TargetInfo &target, std::optional<OutputQParams> output) {
  bool hasOutput = target.getSignature().findSlot("scale") != nullptr; // Dropout keeps its input's parameters
  auto [it, isNew] = indexOfPath.try_emplace(ref.getTargetText(), static_cast<unsigned>(calls.size()));
  if (isNew)
    calls.emplace_back(ref.getTargetText().str(), std::vector<Call>());
  calls[it->second].second.push_back({&ref, &target, hasOutput ? output : std::nullopt});
}

llvm::Error ModuleCalls::place(LowerState &state) {
  llvm::StringMap<unsigned> numCalls;
  for (const Node &node : state.model.getGraph().nodes())
    if (node.is(Opcode::CallModule))
      ++numCalls[node.getTargetText()];
  for (const auto &[path, lowered] : calls)
    if (llvm::Error err = placeAt(state, path, lowered, numCalls.lookup(path) == lowered.size()))
      return err;
  return llvm::Error::success();
}

llvm::Error ModuleCalls::placeAt(LowerState &state, llvm::StringRef path, llvm::ArrayRef<Call> lowered, bool isEveryCall) {
  Module &root = state.model.getRoot();
  llvm::DenseMap<const TargetInfo *, ModuleRef> firsts; // what instances of a class share
  for (const Call &call : lowered)
    if (ModuleRef &first = firsts[call.target]; !first) {
      auto made = makeQuantizedModule(state, *call.target, *call.ref);
      if (!made)
        return made.takeError();
      first = std::move(*made);
    }
  std::vector<std::pair<Call, std::string>> instances;
  for (const Call &call : lowered) {
    auto known = llvm::find_if(instances, [&](const auto &entry) {
      return entry.first.target == call.target && entry.first.output == call.output;
    });
    if (known == instances.end()) {
      ModuleRef instance = firsts[call.target]->shallowCopy();
      if (call.output) {
        instance->setAttribute("scale", call.output->scale);
        instance->setAttribute("zero_point", call.output->zeroPoint);
      }
      std::string place = instances.empty() && isEveryCall ? path.str() : getFreshPath(root, path);
      root.setModule(place, instance);
      known = instances.insert(instances.end(), {call, std::move(place)});
    }
    call.ref->setTargetPath(known->second);
  }
  return llvm::Error::success();
}

} // namespace qfx
