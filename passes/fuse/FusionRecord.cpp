// Absorbed nodes as a list of dicts in the model's meta.
#include "passes/fuse/FusionRecord.h"

#include "ir/GraphModule.h"
#include "passes/config/Matcher.h"
#include "passes/config/QConfigResolver.h"

namespace qfx {

static constexpr llvm::StringLiteral kKey = "fused";

namespace {
struct Field {
  llvm::StringLiteral key;
  std::string AbsorbedNode::*member;
};
} // namespace

static constexpr Field kFields[] = {
    {llvm::StringLiteral("name"), &AbsorbedNode::name},
    {llvm::StringLiteral("path"), &AbsorbedNode::path},
    {llvm::StringLiteral("type"), &AbsorbedNode::type},
    {llvm::StringLiteral("scope"), &AbsorbedNode::scopePath},
    {llvm::StringLiteral("scope_type"), &AbsorbedNode::scopeType},
    {llvm::StringLiteral("into"), &AbsorbedNode::into},
};

AbsorbedNode AbsorbedNode::of(const Node &node, const GraphModule &model, const std::string &into) {
  AbsorbedNode absorbed;
  absorbed.name = node.getName();
  if (node.is(Opcode::CallModule))
    absorbed.path = node.getTargetText().str();
  absorbed.type = getCalledName(node, model).str();
  absorbed.scopePath = getScopePath(node);
  absorbed.scopeType = getScopeType(node, model).text;
  absorbed.into = into;
  return absorbed;
}

std::vector<AbsorbedNode> loadFusionRecord(const GraphModule &model) {
  std::vector<AbsorbedNode> record;
  const Argument *list = model.findMeta(kKey);
  if (!list || !list->isSequence())
    return record;
  for (const Argument &entry : list->getElements()) {
    AbsorbedNode absorbed;
    for (const Field &field : kFields)
      if (const Argument *value = entry.isDict() ? entry.find(field.key) : nullptr)
        if (value->isString())
          absorbed.*field.member = value->getString();
    record.push_back(std::move(absorbed));
  }
  return record;
}

void storeFusionRecord(GraphModule &model, const std::vector<AbsorbedNode> &record) {
  Argument::Elements list;
  for (const AbsorbedNode &absorbed : record) {
    Argument::DictEntries entry;
    for (const Field &field : kFields)
      entry.emplace_back(field.key.str(), absorbed.*field.member);
    list.push_back(Argument::dict(std::move(entry)));
  }
  model.setMeta(kKey, Argument::list(std::move(list)));
}

void dropFusionRecord(GraphModule &model) { model.removeMeta(kKey); }

} // namespace qfx
