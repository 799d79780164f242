// Lists printed from the tables.
#include "tools/opt/Lists.h"

#include "backends/config/BackendConfig.h"
#include "ir/Ops.h"
#include "kernels/isa/Isa.h"
#include "passes/PassRegistry.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace qfx::tool {

void listPasses(llvm::raw_ostream &os) {
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

static llvm::StringRef getKindName(TargetKind kind) {
  return kind == TargetKind::Function ? "function" : kind == TargetKind::Method ? "method" : "module";
}

void listOps(llvm::raw_ostream &os) {
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

void listBackends(llvm::raw_ostream &os) {
  for (const std::string &name : getBuiltinBackendNames())
    os << llvm::formatv("{0,-12}{1} entries\n", name, getBuiltinBackendConfig(name)->getConfigs().size());
}

void listIsas(llvm::raw_ostream &os) {
  using kernels::Isa;
  for (Isa isa : {Isa::Scalar, Isa::Avx2, Isa::AvxVnni, Isa::Avx512Vnni, Isa::NeonDot})
    os << llvm::formatv("{0,-12}{1}{2}\n", std::string(kernels::getIsaName(isa)), kernels::isIsaSupported(isa) ? "supported" : "not supported",
                        isa == kernels::getCurrentIsa() ? ", used" : "");
}

} // namespace qfx::tool
