// Paths, dicts, class swaps and example inputs (numerics 6).
#include "passes/QuantizationUtils.h"

#include "ir/Diagnostics.h"
#include "ir/Module.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace qfx {

static std::vector<std::string> getMemberNames(const Module &module) {
  std::vector<std::string> names;
  for (const auto &child : module.getChildren())
    names.push_back(child.first);
  for (const auto &parameter : module.getParameters())
    names.push_back(parameter.first);
  for (const auto &buffer : module.getBuffers())
    names.push_back(buffer.first);
  for (const auto &attribute : module.getAttributes())
    names.push_back(attribute.first);
  return names;
}

llvm::Expected<Member> getattrFromFqn(const Module &root, llvm::StringRef fqn) {
  const Module *current = &root;
  llvm::StringRef rest = fqn;
  while (true) {
    auto [part, after] = rest.split('.');
    ModuleRef child = current->findChild(part);
    if (after.empty()) {
      if (child)
        return Member(child);
      if (const Tensor *tensor = current->findTensor(part))
        return Member(*tensor);
      if (const Argument *attribute = current->findAttribute(part))
        return Member(*attribute);
    }
    if (!child)
      return error(root.getLoc(), "'{0}' leads nowhere: {1} has no member '{2}'{3}", fqn,
                   current == &root ? "the model" : "'" + current->getClassName() + "'", part, didYouMean(part, getMemberNames(*current)))
          .code("fqn_missing");
    current = child.get();
    rest = after;
  }
}

Argument getCombinedDict(const Argument &defaults, const Argument &additional) {
  assert(defaults.isDict() && additional.isDict() && "both are dicts");
  Argument::DictEntries entries(defaults.getEntries().begin(), defaults.getEntries().end());
  for (const auto &[key, value] : additional.getEntries()) {
    auto known = llvm::find_if(entries, [&, &key = key](const auto &entry) { return entry.first == key; });
    if (known == entries.end())
      entries.emplace_back(key, value);
    else
      known->second = value;
  }
  return Argument::dict(std::move(entries));
}

llvm::Expected<OperatorName> getSwappedCustomModuleClass(const Module &module, const CustomModuleMapping &mapping, const QConfig &qconfig) {
  llvm::Expected<QuantType> type = getQuantType(qconfig);
  if (!type)
    return type.takeError();
  OperatorName moduleClass = OperatorName::ofClass(module);
  auto classes = mapping.find(*type);
  if (classes != mapping.end())
    for (const auto &[from, to] : classes->second)
      if (from == moduleClass)
        return to;
  return error(module.getLoc(), "no class to swap '{0}' for under quantization type '{1}'", moduleClass.text, getQuantTypeName(*type))
      .code("custom_module_class");
}

/// The values that an argument stands for, in order.
static void collectValues(const Argument &argument, const llvm::StringMap<Value> &values, std::vector<Value> &into) {
  if (argument.isSequence()) {
    for (const Argument &element : argument.getElements())
      collectValues(element, values, into);
  } else if (const Node *node = argument.getNodeOrNull()) {
    auto it = values.find(node->getName());
    into.push_back(it == values.end() ? Value() : it->second); // a tuple has no value of its own
  } else {
    Value constant;
    constant.host = argument;
    into.push_back(std::move(constant));
  }
}

llvm::Expected<std::vector<std::pair<std::string, std::vector<Value>>>> getFqnToExampleInputs(const GraphModule &model,
                                                                                            const NamedTensors &inputs) {
  llvm::Expected<std::unique_ptr<Program>> program = Program::compile(model);
  if (!program)
    return program.takeError();
  llvm::Expected<std::vector<NamedValue>> kept = (*program)->runAndKeep(inputs);
  if (!kept)
    return kept.takeError();
  llvm::StringMap<Value> values;
  for (NamedValue &value : *kept)
    values[value.name] = value.value;
  std::vector<std::pair<std::string, std::vector<Value>>> examples;
  auto set = [&](std::string path, std::vector<Value> arguments) {
    auto known = llvm::find_if(examples, [&](const auto &entry) { return entry.first == path; });
    if (known == examples.end())
      examples.emplace_back(std::move(path), std::move(arguments));
    else
      known->second = std::move(arguments);
  };
  std::vector<Value> own;
  for (const Node &node : model.getGraph().nodes())
    if (node.is(Opcode::Placeholder))
      own.push_back(values[node.getName()]);
  set("", std::move(own));
  for (const Node &node : model.getGraph().nodes()) {
    if (!node.is(Opcode::CallModule))
      continue;
    std::vector<Value> arguments;
    for (const Argument &argument : node.getArgs())
      collectValues(argument, values, arguments);
    for (const auto &keyword : node.getKwargs())
      collectValues(keyword.second, values, arguments);
    set(node.getTargetText().str(), std::move(arguments));
  }
  return examples;
}

} // namespace qfx
