// The default mappings against torch 2.13's own (test/golden/eager/mappings.txt).
#include "../PassTest.h"
#include "ir/Ops.h"
#include "passes/eager/ModuleMappings.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <map>

using namespace qfx;

using Lines = std::vector<std::string>;

static std::map<std::string, Lines> readGolden() {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(QFX_GOLDEN_DIR) + "/eager/mappings.txt");
  REQUIRE(buffer);
  std::map<std::string, Lines> byFunction;
  llvm::SmallVector<llvm::StringRef, 0> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines)
    if (line.front() != '#') {
      auto [function, rest] = line.split(' ');
      byFunction[function.str()].push_back(rest.str());
    }
  return byFunction;
}

static Lines toLines(const ModuleMapping &mapping) {
  Lines lines;
  for (const auto &[from, to] : mapping.getEntries())
    lines.push_back(from + " " + to);
  return lines;
}

static Lines sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST_CASE("default module mappings equal PyTorch's", "[passes][eager][golden]") {
  std::map<std::string, Lines> golden = readGolden();
  auto check = [&](const char *function, const Lines &lines) {
    INFO(function);
    CHECK(lines == golden[function]);
  };
  check("get_default_static_quant_module_mappings", toLines(getDefaultStaticQuantModuleMappings()));
  check("get_default_static_quant_reference_module_mappings", toLines(getDefaultStaticQuantReferenceModuleMappings()));
  check("get_embedding_static_quant_module_mappings", toLines(getEmbeddingStaticQuantModuleMappings()));
  check("get_default_static_sparse_quant_module_mappings", toLines(getDefaultStaticSparseQuantModuleMappings()));
  check("get_default_dynamic_quant_module_mappings", toLines(getDefaultDynamicQuantModuleMappings()));
  check("get_default_dynamic_sparse_quant_module_mappings", toLines(getDefaultDynamicSparseQuantModuleMappings()));
  check("get_default_qat_module_mappings", toLines(getDefaultQatModuleMappings()));
  check("get_embedding_qat_module_mappings", toLines(getEmbeddingQatModuleMappings()));
  check("get_default_qconfig_propagation_list", sorted(getDefaultQConfigPropagationList()));
  check("get_default_compare_output_module_list", sorted(getDefaultCompareOutputModuleList()));
  check("no_observer_set", sorted(getNoObserverSet()));
  Lines operators;
  for (const auto &[from, to] : getDefaultFloatToQuantizedOperatorMappings())
    operators.push_back(from->text.str() + " " + to->text.str());
  check("get_default_float_to_quantized_operator_mappings", operators);
}

TEST_CASE("twins of single classes and functions", "[passes][eager]") {
  CHECK(require(getStaticQuantModuleClass("torch.nn.Linear")) == "torch.ao.nn.quantized.Linear");
  CHECK(require(getStaticQuantModuleClass("torch.nn.Linear", {}, /*isReference=*/true)) == "torch.ao.nn.quantized.reference.Linear");
  CHECK(require(getStaticQuantModuleClass("torch.nn.Linear", ModuleMapping().set("torch.nn.Linear", "my.Linear"))) == "my.Linear");
  CHECK(require(getDynamicQuantModuleClass("torch.nn.LSTM")) == "torch.ao.nn.quantized.dynamic.LSTM");
  CHECK(getError(getStaticQuantModuleClass("torch.nn.Conv2D")) ==
        "the module class 'torch.nn.Conv2D' has no quantized module class; did you mean 'torch.nn.Conv2d'? [mapping_class]");
  CHECK(require(getQuantizedOperator("torch.nn.functional.elu"))->text == "torch.ops.quantized.elu");
  CHECK(getError(getQuantizedOperator("torch.nn.functional.conv2d")).find("[mapping_operator]") != std::string::npos);
}

TEST_CASE("mappings are copies and know older homes of a class", "[passes][eager]") {
  ModuleMapping mapping = getDefaultStaticQuantModuleMappings();
  mapping.set("torch.nn.Linear", "my.Linear");
  CHECK(*mapping.find("torch.nn.Linear") == "my.Linear");
  CHECK(*getDefaultStaticQuantModuleMappings().combinedWith(ModuleMapping()).find("torch.nn.Linear") == "torch.ao.nn.quantized.Linear");
  CHECK(*mapping.find("torch.nn.intrinsic.ConvReLU2d") == "torch.ao.nn.intrinsic.quantized.ConvReLU2d");
  CHECK(mapping.find("torch.nn.ReLU") == nullptr);
}
