// Precedence: order over module name (parents included) over regex over object type over global.
#include "passes/config/QConfigResolver.h"

#include "ir/Diagnostics.h"
#include "ir/GraphModule.h"
#include "ir/Ops.h"
#include "passes/config/ModuleFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace qfx {

llvm::Expected<QConfigResolver> QConfigResolver::create(const QConfigMapping &mapping) {
  QConfigResolver resolver(mapping);
  for (const auto &entry : mapping.getModuleNameRegexes())
    if (std::string why = findRegexError(entry.first); !why.empty())
      return error(Location(), "module_name_regex '{0}' is not a regular expression: {1}", entry.first, why).code("qconfig_regex");
  unsigned index = 0;
  for (const auto &entry : mapping.getObjectTypes())
    resolver.typeIndex.try_emplace(entry.first.text, index++);
  index = 0;
  for (const auto &entry : mapping.getModuleNames())
    resolver.nameIndex.try_emplace(entry.first, index++);
  return resolver;
}

QConfigResolver::Choice QConfigResolver::chooseGlobal() const { return {&mapping->getGlobal(), "the global entry"}; }

QConfigResolver::Choice QConfigResolver::chooseType(const OperatorName &type, Choice fallback) const {
  auto it = typeIndex.find(type.text);
  if (type.text.empty() || it == typeIndex.end())
    return fallback;
  return {&mapping->getObjectTypes()[it->second].second, llvm::formatv("the object_type entry '{0}'", type.text)};
}

QConfigResolver::Choice QConfigResolver::chooseBase(const OperatorName &type, llvm::StringRef path, Choice fallback) {
  Choice choice = chooseType(type, std::move(fallback));
  if (const auto &regexes = mapping->getModuleNameRegexes(); !regexes.empty()) {
    auto [it, isNew] = regexCache.try_emplace(path);
    if (isNew)
      for (unsigned i = 0; i < regexes.size() && !it->second; ++i)
        if (matchesModuleNameRegex(regexes[i].first, path))
          it->second = i;
    if (it->second) {
      const auto &entry = regexes[*it->second];
      choice = {&entry.second, llvm::formatv("the module_name_regex entry '{0}'", entry.first)};
    }
  }
  for (llvm::StringRef name = path; !name.empty(); name = splitPath(name).first) {
    auto it = nameIndex.find(name);
    if (it != nameIndex.end())
      return {&mapping->getModuleNames()[it->second].second, llvm::formatv("the module_name entry '{0}'", name)};
  }
  return choice;
}

QConfigResolver::Choice QConfigResolver::chooseOrder(llvm::StringRef path, const OperatorName &type, Choice fallback) {
  if (mapping->getModuleNameObjectTypeOrders().empty())
    return fallback;
  unsigned index = callCounts[{path.str(), type.text}]++;
  QConfigMapping::OrderKey key{path.str(), type, index};
  for (const auto &entry : mapping->getModuleNameObjectTypeOrders())
    if (entry.first == key)
      return {&entry.second,
              llvm::formatv("the module_name_object_type_order entry ('{0}', '{1}', {2})", path, type.text, index)};
  return fallback;
}

std::string getScopePath(const Node &node) {
  if (node.getScope())
    return node.getScope()->path;
  return node.is(Opcode::CallModule) ? node.getTargetText().str() : std::string();
}

OperatorName getScopeType(const Node &node, const GraphModule &model) {
  if (node.getScope())
    return node.getScope()->className.empty() ? OperatorName() : OperatorName::resolve(node.getScope()->className);
  if (node.is(Opcode::CallModule))
    if (ModuleRef module = model.getModule(node))
      return OperatorName::ofClass(*module);
  return OperatorName();
}

std::optional<ResolvedQConfig> QConfigResolver::resolve(const Node &node, const GraphModule &model) {
  auto finish = [](Choice choice) { return ResolvedQConfig{*choice.qconfig, std::move(choice.rule)}; };
  switch (node.getOpcode()) {
  case Opcode::Placeholder:
  case Opcode::Output:
    return ResolvedQConfig{std::nullopt, ""};
  case Opcode::GetAttr: {
    llvm::StringRef owner = splitPath(node.getTargetText()).first;
    ModuleRef module = owner.empty() ? nullptr : model.getRoot().findModule(owner);
    OperatorName type = OperatorName::ofClass(module ? *module : model.getRoot());
    return finish(chooseBase(type, owner, chooseGlobal()));
  }
  case Opcode::CallFunction: {
    OperatorName function = OperatorName::of(*node.getTarget());
    std::string path = getScopePath(node);
    Choice choice = chooseBase(getScopeType(node, model), path, chooseType(function, chooseGlobal()));
    return finish(chooseOrder(path, function, std::move(choice)));
  }
  case Opcode::CallMethod: {
    std::string path = getScopePath(node);
    Choice choice = chooseBase(OperatorName::of(*node.getTarget()), path, chooseGlobal());
    return finish(chooseBase(getScopeType(node, model), path, std::move(choice)));
  }
  case Opcode::CallModule: {
    ModuleRef module = model.getModule(node);
    if (!module || isObserverModule(*module))
      return std::nullopt;
    Choice choice = chooseBase(OperatorName::ofClass(*module), node.getTargetText(), chooseGlobal());
    std::string parent = splitPath(getScopePath(node)).first.str();
    return finish(chooseOrder(parent, getScopeType(node, model), std::move(choice)));
  }
  }
  llvm_unreachable("all opcodes handled");
}

llvm::Error updateMappingForFusion(QConfigMapping &mapping, const GraphModule &model) {
  if (mapping.getObjectTypes().empty())
    return llvm::Error::success();
  auto find = [&](const Module &module) -> OptionalQConfig {
    const OptionalQConfig *entry = mapping.findObjectType(OperatorName::ofClass(module));
    return entry ? *entry : std::nullopt;
  };
  llvm::StringSet<> given;
  for (const auto &entry : mapping.getObjectTypes())
    given.insert(entry.first.text);
  for (const Node &node : model.getGraph().nodes()) {
    if (!node.is(Opcode::CallModule))
      continue;
    ModuleRef module = model.getModule(node);
    if (!module || !isFusedFloatModule(*module) || module->getChildren().empty())
      continue;
    const Module &first = *module->getChildren().front().second;
    OptionalQConfig qconfig = find(first);
    auto others = llvm::drop_begin(module->getChildren());
    auto odd = llvm::find_if(others, [&](const auto &child) { return !qconfigEquals(find(*child.second), qconfig); });
    if (odd != others.end()) {
      if (given.count(OperatorName::ofClass(*module).text))
        continue; // what the members disagree about, the entry of the fused class decides
      return error(node.getLoc(),
                   "the object_type entries of the members of '{0}' differ: '{1}' and '{2}' need equal qconfigs (set "
                   "both or neither, give '{0}' its own, or use module_name)",
                   module->getClassName(), first.getClassName(), odd->second->getClassName())
          .code("fused_qconfigs");
    }
    if (qconfig)
      mapping.setObjectType(OperatorName::ofClass(*module), qconfig);
  }
  return llvm::Error::success();
}

} // namespace qfx
