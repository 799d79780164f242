// Runs fuse, prepare and convert on copies and reads off what they found.
#include "passes/debug/Explain.h"

#include "backends/config/BackendConfigUtils.h"
#include "ir/Module.h"
#include "ir/Ops.h"
#include "passes/Pass.h"
#include "passes/config/ModuleFacts.h"
#include "passes/convert/Convert.h"
#include "passes/fuse/Fuse.h"
#include "passes/fuse/FusionRecord.h"
#include "passes/prepare/DTypePlan.h"
#include "passes/qat/QatModules.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace qfx {

static std::string describeObserver(const std::optional<ObserverSpec> &spec) {
  if (!spec)
    return "none";
  Argument form = spec->toArgument();
  std::string text = form.isString() ? form.getString() : toString(form, ArgumentStyle::Repr);
  if (spec->isReuseInput() || spec->isNoop())
    return text;
  text += llvm::formatv(" -> {0}{1}", getDTypeInfo(spec->getDType()).torchName, spec->isDynamic() ? " dynamic" : "");
  std::optional<int64_t> low = spec->getQuantMin(), high = spec->getQuantMax();
  return low && high ? llvm::formatv("{0} {1}..{2}", text, *low, *high).str() : text;
}

static bool isIn(const Pattern &pattern, llvm::StringRef called) {
  return pattern.getKind() == Pattern::Kind::Operator &&
         (pattern.getHead().text == called || llvm::any_of(pattern.getArgs(), [&](const Pattern &arg) { return isIn(arg, called); }));
}

namespace {
class Explainer {
public:
  Explainer(const GraphModule &source, const PassContext &context, const PrepareOptions &options)
      : fused(source.clone()), context(context), options(options) {
    this->context.strict = false; // a refusal is what we want to hear about
    this->context.allowUncalibrated = true;
    this->context.onProgress = nullptr;
    this->context.onCoverage = nullptr;
    this->context.onRemark = [this](const Remark &remark) { hear("remark", remark.node, remark.diagnostic); };
    this->context.onWarning = [this](const Diagnostic &warning) { hear("warning", "", warning); };
  }

  llvm::Expected<std::string> run(llvm::StringRef name) {
    if (fused.findMeta("prepared"))
      return error(fused.getRoot().getLoc(), "the model is prepared already").code("prepare_twice");
    Node *asked = fused.getGraph().findNode(name);
    if (!asked) {
      std::vector<std::string> names;
      for (const Node &node : fused.getGraph().nodes())
        names.push_back(node.getName());
      return error(Location(), "no node is named '{0}'{1}", name, didYouMean(name, names)).code("usage");
    }
    describeNode(*asked, fused);
    collectFusible();
    if (auto changed = fuse(fused, FuseOptions{options.isQat}, context); !changed)
      return changed.takeError();
    std::string current = followFusion(name.str());
    Node *node = fused.getGraph().findNode(current);
    assert(node && "fusion records where each node went");
    if (node->is(Opcode::Placeholder) || node->is(Opcode::GetAttr) || node->is(Opcode::Output)) {
      add("  no operator: its consumers decide about it");
    } else {
      GraphModule planned = fused.clone();
      if (llvm::Error err = explainPlan(*planned.getGraph().findNode(current), planned))
        return err;
    }
    if (llvm::Error err = explainObservers(current))
      return err;
    addHeard(name, current);
    return std::move(text);
  }

private:
  void add(const std::string &line) { text += line + "\n"; }

  void hear(llvm::StringRef kind, const std::string &node, const Diagnostic &diagnostic) {
    heard.push_back({node, (kind + ": " + diagnostic.message).str()});
  }

  /// What the passes said about the node, once each.
  void addHeard(llvm::StringRef asked, llvm::StringRef current) {
    llvm::StringSet<> shown;
    for (const auto &[node, line] : heard)
      if ((node == asked || node == current || llvm::StringRef(line).contains(("'" + current + "'").str())) && shown.insert(line).second)
        add("  " + line);
  }

  /// What every entry with a fuser matches before fusion.
  void collectFusible() {
    Matcher matcher(fused, context.backend, MatchPurpose::Quantize);
    for (const BackendPatternConfig *entry : context.backend.getSortedConfigs()) {
      if (!entry->fuserMethod)
        continue;
      for (Node &node : fused.getGraph().nodes())
        if (std::optional<Match> match = matcher.match(node, *entry))
          for (const Node *member : match->nodes)
            fusible[entry].insert(member->getName());
    }
  }

  /// Did `entry` match nodes that fusion has since made one with the node asked for?  Then it fails for no other reason.
  bool isSpentByFusion(const BackendPatternConfig &entry) const {
    auto it = fusible.find(&entry);
    return it != fusible.end() && llvm::any_of(members, [&](const std::string &member) { return it->second.contains(member); });
  }

  void describeNode(const Node &node, const GraphModule &model) {
    llvm::StringRef called = getCalledName(node, model);
    std::string line = llvm::formatv("'{0}': {1}", node.getName(), getOpcodeName(node.getOpcode()));
    if (!called.empty())
      line += (" of '" + called + "'").str();
    if (node.is(Opcode::CallModule))
      line += (" at '" + node.getTargetText() + "'").str();
    if (node.getLoc().file)
      line += llvm::formatv(", {0}:{1}:{2}", node.getLoc().file->name, node.getLoc().line, node.getLoc().column);
    add(line);
  }

  /// The node that stands for `name` after fusion.
  std::string followFusion(std::string name) {
    std::string others;
    std::vector<AbsorbedNode> record = loadFusionRecord(fused);
    for (const AbsorbedNode &absorbed : record)
      if (absorbed.name == name) {
        name = absorbed.into;
        break;
      }
    for (const AbsorbedNode &absorbed : llvm::reverse(record)) // a match is recorded from its last node to its first
      if (absorbed.into == name) {
        others += llvm::formatv("{0}'{1}'", others.empty() ? "" : ", ", absorbed.name);
        members.push_back(absorbed.name);
      }
    if (const Node *node = fused.getGraph().findNode(name); node && !others.empty())
      add(llvm::formatv("  fused: with {0} into '{1}', a call of '{2}'", others, name, getCalledName(*node, fused)));
    if (!members.empty())
      members.push_back(name);
    return name;
  }

  llvm::Error explainPlan(Node &node, GraphModule &model) {
    QConfigMapping mapping = options.mapping;
    if (llvm::Error err = updateMappingForFusion(mapping, model))
      return err;
    if (options.isQat) {
      const std::string before = getCalledName(node, model).str();
      if (llvm::Error err = swapToQatModules(model, context.backend, mapping, context.customConfig.prepare))
        return err;
      addQatObjectTypes(mapping, context.backend);
      if (llvm::StringRef trained = getCalledName(node, model); trained != before)
        add("  trained as: '" + trained.str() + "'");
    }
    DTypePlan plan(model, context.backend, context);
    if (llvm::Error err = plan.resolveQConfigs(mapping))
      return err;
    PrepareCustomConfig custom = options.custom ? *options.custom : context.customConfig.prepare;
    if (!options.inputQuantizedIndexes.empty())
      custom.setInputQuantizedIndexes(options.inputQuantizedIndexes);
    if (llvm::Error err = plan.findMatches(custom))
      return err;
    if (llvm::Error err = plan.decide(custom.getInputQuantizedIndexes(), options.strictModuleWeights))
      return err;
    explainQConfig(node, plan);
    explainEntries(node, model, plan);
    return llvm::Error::success();
  }

  void explainQConfig(const Node &node, const DTypePlan &plan) {
    auto it = plan.getQConfigs().find(&node);
    if (it == plan.getQConfigs().end())
      return;
    const ResolvedQConfig &resolved = it->second;
    if (!resolved.qconfig)
      return add("  qconfig: none, from " + resolved.rule);
    std::string alias = resolved.qconfig->getAliasName();
    add("  qconfig: " + (alias.empty() ? "" : alias + ", ") + "from " + resolved.rule);
    add("    activation: " + describeObserver(resolved.qconfig->activation));
    add("    weight: " + describeObserver(resolved.qconfig->weight));
  }

  void explainEntries(Node &node, GraphModule &model, const DTypePlan &plan) {
    Matcher matcher(model, context.backend, MatchPurpose::Quantize);
    llvm::StringRef called = getCalledName(node, model);
    const QuantMatch *taken = plan.findMatch(node);
    size_t count = 0;
    for (const BackendPatternConfig *entry : context.backend.getSortedConfigs()) {
      bool isTaken = taken && taken->match.entry == entry;
      if (!isIn(entry->pattern, called) || (!isTaken && isSpentByFusion(*entry)))
        continue;
      if (!count++)
        add("  entries of '" + context.backend.getName() + "' with '" + called.str() + "', in matching order:");
      std::string line = "    " + patternToHumanReadable(*entry) + ": ";
      if (isTaken) {
        const std::string &anchor = taken->match.anchor->getName();
        add(line + "taken" + (taken->match.anchor == &node ? "" : ", with '" + anchor + "' as its last node"));
        explainDTypeConfigs(*taken);
      } else {
        add(line + explainRefusal(node, *entry, model, matcher, taken != nullptr));
      }
    }
    if (!count)
      add("  no entry of '" + context.backend.getName() + "' names '" + called.str() + "'");
  }

  /// Why an entry that names the node's operator was not taken: what the node that would be last in the match stumbles over.
  static std::string explainRefusal(Node &node, const BackendPatternConfig &entry, const GraphModule &model, const Matcher &matcher, bool hasOther) {
    std::vector<Node *> anchors;
    collectAnchors(node, entry.pattern, getCalledName(node, model), anchors);
    std::string first;
    for (Node *anchor : anchors) {
      std::string why = matcher.explainMismatch(*anchor, entry);
      if (why.empty())
        return hasOther ? "matches, but an earlier entry was taken" : "matches, but one of its nodes belongs to another match";
      if (first.empty() || getCalledName(*anchor, model) == entry.pattern.getHead().text)
        first = why;
    }
    return "does not match: " + (first.empty() ? "'" + node.getName() + "' has no user where the pattern goes on" : first);
  }

  /// The nodes that stand where the head of `pattern` would, if `node` stood where the pattern names what it calls.
  static void collectAnchors(Node &node, const Pattern &pattern, llvm::StringRef called, std::vector<Node *> &anchors) {
    if (pattern.getKind() != Pattern::Kind::Operator)
      return;
    if (pattern.getHead().text == called && !llvm::is_contained(anchors, &node))
      anchors.push_back(&node);
    std::vector<Node *> inner;
    for (const Pattern &arg : pattern.getArgs())
      collectAnchors(node, arg, called, inner);
    for (Node *below : inner)
      for (Node *user : below->getUsers())
        if (!llvm::is_contained(anchors, user))
          anchors.push_back(user);
  }

  void explainDTypeConfigs(const QuantMatch &taken) {
    const BackendPatternConfig &entry = *taken.match.entry;
    for (size_t i = 0; i < entry.dtypeConfigs.size(); ++i) {
      std::string name = i < entry.dtypeConfigNames.size() ? entry.dtypeConfigNames[i] : "";
      std::string line = llvm::formatv("      dtype config {0}{1}: ", i, name.empty() ? "" : " (" + name + ")");
      if (i < taken.refusals.size())
        add(line + taken.refusals[i].reason);
      else
        add(line + (i == taken.refusals.size() ? "fits" : "not needed"));
    }
  }

  /// Prepares a copy for good, looks at the neighbours of the node, and at what convert makes of it.
  llvm::Error explainObservers(const std::string &name) {
    GraphModule prepared = fused.clone();
    if (auto changed = prepare(prepared, options, context); !changed)
      return changed.takeError();
    const Node *node = prepared.getGraph().findNode(name);
    assert(node && "prepare keeps nodes");
    std::string inputs, outputs;
    for (const Node *input : node->getInputs())
      inputs += describeIfObserver(*input, prepared);
    for (const Node *user : node->getUsers())
      outputs += describeIfObserver(*user, prepared);
    add("  prepare: inputs " + (inputs.empty() ? std::string("not observed") : "observed by" + inputs) + "; output " +
        (outputs.empty() ? std::string("not observed") : "observed by" + outputs));
    if (node->is(Opcode::CallModule))
      explainConvert(name, prepared);
    return llvm::Error::success();
  }

  /// The module that the converted model has in the node's place, with the dtype of its weight.
  void explainConvert(const std::string &name, GraphModule &prepared) {
    const std::string before = getCalledName(*prepared.getGraph().findNode(name), prepared).str();
    context.onWarning = nullptr; // without data there is much to warn of
    if (llvm::Error err = convertToReference(prepared, {}, context)) {
      for (const Diagnostic &problem : takeDiagnostics(std::move(err)))
        add("  convert fails: " + problem.message);
      return;
    }
    const Node *node = prepared.getGraph().findNode(name);
    ModuleRef module = node && node->is(Opcode::CallModule) ? prepared.getModule(*node) : nullptr;
    if (!module)
      return;
    const Module &weighted = module->findChild("0") ? *module->findChild("0") : *module;
    const Argument *dtype = weighted.findAttribute("weight_dtype");
    if (dtype)
      add(llvm::formatv("  convert: reference module '{0}', weight {1}", weighted.getClassName(), getDTypeInfo(dtype->getDType()).torchName));
    else if (llvm::StringRef after = getCalledName(*node, prepared); after != before)
      add("  convert: '" + after.str() + "'");
  }

  static std::string describeIfObserver(const Node &node, const GraphModule &model) {
    ModuleRef module = node.is(Opcode::CallModule) ? model.getModule(node) : nullptr;
    if (!module || !isObserverModule(*module))
      return "";
    llvm::StringRef className = module->getClass()->getBaseName();
    return llvm::formatv(" '{0}' ({1})", node.getName(), className);
  }

  GraphModule fused;
  PassContext context;
  PrepareOptions options;
  std::string text;
  std::vector<std::string> members;                                               ///< nodes that fusion made one with the one asked for
  llvm::DenseMap<const BackendPatternConfig *, llvm::StringSet<>> fusible;         ///< per entry: the nodes of its matches before fusion
  std::vector<std::pair<std::string, std::string>> heard; ///< node (may be empty), "remark: ..."
};
} // namespace

llvm::Expected<std::string> explainNode(const GraphModule &model, llvm::StringRef name, const PassContext &context, const PrepareOptions &options) {
  return Explainer(model, context, options).run(name);
}

} // namespace qfx
