// Lists printed from the tables.
#include "tools/opt/Lists.h"

#include "backends/config/BackendConfig.h"
#include "ir/Ops.h"
#include "kernels/isa/Isa.h"
#include "passes/PassRegistry.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

namespace qfx::tool {

using Json = nlohmann::ordered_json;

static void listPasses(llvm::raw_ostream &os) {
  for (const PassInfo &pass : getAllPasses()) {
    os << llvm::formatv("{0,-24}{1}\n", pass.name, pass.summary);
    for (const PassOptionInfo &option : pass.options) {
      os << "    " << option.name << '=' << option.defaultText;
      for (const std::string &choice : option.choices)
        os << (&choice == &option.choices.front() ? "  one of " : ", ") << choice;
      os << '\n';
    }
  }
  os << '\n';
  for (const PipelineInfo &pipeline : getAllPipelines())
    os << llvm::formatv("{0,-24}{1}\n    = {2}\n", pipeline.name, pipeline.summary, pipeline.text);
}

static llvm::StringRef getOptionKindName(PassOptionKind kind) {
  switch (kind) {
  case PassOptionKind::Bool:
    return "bool";
  case PassOptionKind::Int:
    return "int";
  case PassOptionKind::Ints:
    return "ints";
  case PassOptionKind::Float:
    return "float";
  case PassOptionKind::String:
    return "string";
  case PassOptionKind::Choice:
    return "choice";
  }
  llvm_unreachable("all kinds handled");
}

static void addPassesJson(Json &document) {
  Json &passes = document["passes"] = Json::array();
  for (const PassInfo &pass : getAllPasses()) {
    Json options = Json::array();
    for (const PassOptionInfo &option : pass.options) {
      options.push_back({{"name", option.name}, {"kind", getOptionKindName(option.kind).str()}, {"default", option.defaultText}});
      if (!option.choices.empty())
        options.back()["choices"] = option.choices;
    }
    passes.push_back({{"name", pass.name.str()}, {"summary", pass.summary.str()}, {"options", options}});
  }
  Json &pipelines = document["pipelines"] = Json::array();
  for (const PipelineInfo &pipeline : getAllPipelines())
    pipelines.push_back({{"name", pipeline.name.str()}, {"summary", pipeline.summary.str()}, {"passes", pipeline.text.str()}});
}

static llvm::StringRef getKindName(TargetKind kind) {
  return kind == TargetKind::Function ? "function" : kind == TargetKind::Method ? "method" : "module";
}

static void listOps(llvm::raw_ostream &os) {
  for (const OpInfo &op : getAllOps()) {
    os << op.name << '(' << op.signatureText << ")\n";
    for (const TargetInfo &target : getAllTargets())
      if (target.op == op.kind) {
        os << "    " << getKindName(target.kind) << ' ' << target.text;
        if (!target.signatureText.empty())
          os << '(' << target.signatureText << ')';
        os << '\n';
      }
  }
}

static void addOpsJson(Json &document) {
  Json &ops = document["ops"] = Json::array();
  for (const OpInfo &op : getAllOps())
    ops.push_back({{"name", op.name.str()}, {"signature", op.signatureText.str()}, {"spellings", Json::array()}});
  for (const TargetInfo &target : getAllTargets()) {
    Json spelling = {{"kind", getKindName(target.kind).str()}, {"name", target.text.str()}};
    if (!target.signatureText.empty())
      spelling["signature"] = target.signatureText.str();
    for (size_t i = 0; i < getAllOps().size(); ++i)
      if (getAllOps()[i].kind == target.op)
        ops[i]["spellings"].push_back(spelling);
  }
}

static void listBackends(llvm::raw_ostream &os) {
  for (const std::string &name : getBuiltinBackendNames())
    os << llvm::formatv("{0,-12}{1} entries\n", name, getBuiltinBackendConfig(name)->getConfigs().size());
}

static void addBackendsJson(Json &document) {
  Json &backends = document["backends"] = Json::array();
  for (const std::string &name : getBuiltinBackendNames())
    backends.push_back({{"name", name}, {"entries", getBuiltinBackendConfig(name)->getConfigs().size()}});
}

using kernels::Isa;
static constexpr Isa kIsas[] = {Isa::Scalar, Isa::Avx2, Isa::AvxVnni, Isa::Avx512Vnni, Isa::NeonDot};

static void listIsas(llvm::raw_ostream &os) {
  for (Isa isa : kIsas)
    os << llvm::formatv("{0,-12}{1}{2}\n", std::string(kernels::getIsaName(isa)), kernels::isIsaSupported(isa) ? "supported" : "not supported",
                        isa == kernels::getCurrentIsa() ? ", used" : "");
}

static void addIsasJson(Json &document) {
  Json &isas = document["isas"] = Json::array();
  for (Isa isa : kIsas)
    isas.push_back({{"name", std::string(kernels::getIsaName(isa))}, {"supported", kernels::isIsaSupported(isa)}, {"used", isa == kernels::getCurrentIsa()}});
}

llvm::ArrayRef<ListInfo> getAllLists() {
  static constexpr ListInfo kLists[] = {
      {"list-passes", "list the passes, their options and the named pipelines", listPasses, addPassesJson},
      {"list-ops", "list the operators and their spellings", listOps, addOpsJson},
      {"list-backends", "list the built-in backends", listBackends, addBackendsJson},
      {"list-observers", "list the observers and fake-quantizers and the names of their common settings", listObservers, addObserversJson},
      {"list-isas", "list the instruction sets and which one is used", listIsas, addIsasJson},
  };
  return kLists;
}

void printLists(llvm::raw_ostream &os, llvm::ArrayRef<const ListInfo *> lists, bool asJson) {
  Json document = Json::object();
  for (const ListInfo *list : lists) {
    if (asJson)
      list->addJson(document);
    else
      list->printText(os);
  }
  if (asJson)
    os << document.dump(2) << '\n';
}

} // namespace qfx::tool
