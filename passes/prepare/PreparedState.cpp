// PreparedState to and from the model's meta.  Equal qconfigs are stored once and nodes refer to them by number.
#include "passes/prepare/PreparedState.h"

#include "ir/Diagnostics.h"
#include "ir/GraphModule.h"

#include <algorithm>

namespace qfx {

static constexpr llvm::StringLiteral kKey = "prepared";

const OptionalQConfig *PreparedState::findQConfig(const Node &node) const {
  auto it = nodeQConfigs.find(node.getName());
  return it == nodeQConfigs.end() ? nullptr : &it->second;
}

bool PreparedState::isExplicitlyNone(const Node &node) const {
  const OptionalQConfig *entry = findQConfig(node);
  return entry && !entry->has_value();
}

static Argument toIntList(const std::vector<int64_t> &values) {
  return Argument::list(Argument::Elements(values.begin(), values.end()));
}

void PreparedState::store(GraphModule &model) const {
  std::vector<std::string> names;
  for (const auto &entry : nodeQConfigs)
    names.push_back(entry.getKey().str());
  std::sort(names.begin(), names.end()); // StringMap order is not stable
  Argument::Elements distinct;
  Argument::DictEntries nodes;
  for (const std::string &name : names) {
    const OptionalQConfig &qconfig = nodeQConfigs.find(name)->second;
    Argument value = qconfig ? qconfig->toArgument() : Argument::none();
    auto it = std::find(distinct.begin(), distinct.end(), value);
    nodes.emplace_back(name, static_cast<int64_t>(it - distinct.begin()));
    if (it == distinct.end())
      distinct.push_back(std::move(value));
  }
  Argument::DictEntries equalized;
  for (const std::string &name : names)
    if (auto it = equalizationQConfigs.find(name); it != equalizationQConfigs.end())
      equalized.emplace_back(name, it->second.toArgument());
  std::vector<std::string> observedNames;
  for (const auto &entry : observedNodes)
    observedNames.push_back(entry.getKey().str());
  std::sort(observedNames.begin(), observedNames.end());
  Argument::DictEntries entries = {
      {"qconfigs", Argument::list(std::move(distinct))},
      {"node_name_to_qconfig", Argument::dict(std::move(nodes))},
      {"qconfig_mapping", mapping.toArgument()},
      {"is_qat", Argument(isQat)},
      {"observed_node_names", Argument::list(Argument::Elements(observedNames.begin(), observedNames.end()))},
      {"input_quantized_idxs", toIntList(inputQuantizedIndexes)},
      {"output_quantized_idxs", toIntList(outputQuantizedIndexes)},
      {"backend", Argument(backendName)},
  };
  if (!equalized.empty())
    entries.emplace_back("equalization_node_name_to_qconfig", Argument::dict(std::move(equalized)));
  model.setMeta(kKey, Argument::dict(std::move(entries)));
}

namespace {
/// Reads typed entries of the stored dict; the first mismatch becomes the error.
class StateReader {
public:
  StateReader(const Argument &dict, Location loc) : dict(dict), loc(std::move(loc)) {}

  const Argument *get(llvm::StringRef key, Argument::Kind kind) {
    const Argument *value = dict.isDict() ? dict.find(key) : nullptr;
    if (value && value->getKind() == kind)
      return value;
    if (!failure)
      failure = error(loc, "meta 'prepared' lacks a well-formed '{0}'", key).code("prepared_state").take();
    return nullptr;
  }
  std::vector<int64_t> getInts(llvm::StringRef key) {
    std::vector<int64_t> result;
    if (const Argument *list = get(key, Argument::Kind::List))
      for (const Argument &element : list->getElements())
        if (element.isInt())
          result.push_back(element.getInt());
    return result;
  }
  llvm::Error take() {
    return failure ? llvm::Error(llvm::make_error<InputError>(*failure)) : llvm::Error::success();
  }

private:
  const Argument &dict;
  Location loc;
  std::optional<Diagnostic> failure;
};
} // namespace

llvm::Expected<PreparedState> PreparedState::load(const GraphModule &model) {
  const Argument *dict = model.findMeta(kKey);
  Location loc = model.getRoot().getLoc();
  if (!dict)
    return error(loc, "the model was not produced by 'prepare': it has no prepared state").code("prepared_state");
  StateReader reader(*dict, loc);
  PreparedState state;
  std::vector<OptionalQConfig> distinct;
  if (const Argument *list = reader.get("qconfigs", Argument::Kind::List))
    for (const Argument &entry : list->getElements()) {
      if (entry.isNone()) {
        distinct.push_back(std::nullopt);
        continue;
      }
      auto qconfig = QConfig::fromArgument(entry);
      if (!qconfig)
        return qconfig.takeError();
      distinct.push_back(std::move(*qconfig));
    }
  if (const Argument *nodes = reader.get("node_name_to_qconfig", Argument::Kind::Dict))
    for (const auto &[name, index] : nodes->getEntries()) {
      if (!index.isInt() || index.getInt() < 0 || index.getInt() >= static_cast<int64_t>(distinct.size()))
        return error(loc, "meta 'prepared': node '{0}' refers to no stored qconfig", name).code("prepared_state");
      state.nodeQConfigs[name] = distinct[index.getInt()];
    }
  if (dict->isDict() && dict->find("equalization_node_name_to_qconfig"))
    if (const Argument *equalized = reader.get("equalization_node_name_to_qconfig", Argument::Kind::Dict))
      for (const auto &[name, value] : equalized->getEntries()) {
        auto qconfig = QConfig::fromArgument(value);
        if (!qconfig)
          return qconfig.takeError();
        state.equalizationQConfigs[name] = std::move(*qconfig);
      }
  if (const Argument *mapping = reader.get("qconfig_mapping", Argument::Kind::Dict)) {
    auto parsed = QConfigMapping::fromArgument(*mapping);
    if (!parsed)
      return parsed.takeError();
    state.mapping = std::move(*parsed);
  }
  if (const Argument *isQat = reader.get("is_qat", Argument::Kind::Bool))
    state.isQat = isQat->getBool();
  if (const Argument *names = reader.get("observed_node_names", Argument::Kind::List))
    for (const Argument &name : names->getElements())
      if (name.isString())
        state.observedNodes.insert(name.getString());
  state.inputQuantizedIndexes = reader.getInts("input_quantized_idxs");
  state.outputQuantizedIndexes = reader.getInts("output_quantized_idxs");
  if (const Argument *backend = reader.get("backend", Argument::Kind::String))
    state.backendName = backend->getString();
  if (llvm::Error err = reader.take())
    return err;
  return state;
}

void PreparedState::drop(GraphModule &model) { model.removeMeta(kKey); }

} // namespace qfx
