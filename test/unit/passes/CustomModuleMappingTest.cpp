// The class that a custom module is swapped for follows the quantization type of its qconfig.
#include "ir/Module.h"
#include "passes/config/CustomModuleMapping.h"
#include "unit/passes/PassTest.h"

using namespace qfx;

TEST_CASE("the class to swap for follows the quantization type", "[utils]") {
  GraphModule model = parseModel("module block : my.Block()\nmodule relu : torch.nn.ReLU()\ngraph(%x : f32[1]) {\n  %relu = call_module[relu](%x)\n  return %relu\n}\n");
  CustomModuleMapping mapping = {{QuantType::Static, {{OperatorName::resolve("my.Block"), OperatorName::resolve("my.ObservedBlock")}}}};
  const Module &block = *model.getRoot().findModule("block");
  CHECK(require(getSwappedCustomModuleClass(block, mapping, *findQConfigAlias("default_qconfig"))).text == "my.ObservedBlock");
  CHECK(getError(getSwappedCustomModuleClass(block, mapping, *findQConfigAlias("default_dynamic_qconfig"))) ==
        "no class to swap 'my.Block' for under quantization type 'dynamic' [custom_module_class]");
  CHECK(getError(getSwappedCustomModuleClass(*model.getRoot().findModule("relu"), mapping, *findQConfigAlias("default_qconfig"))) ==
        "no class to swap 'torch.nn.ReLU' for under quantization type 'static' [custom_module_class]");
}
