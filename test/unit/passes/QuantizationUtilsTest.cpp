// torch.ao.quantization.utils about models: paths, dicts, class swaps, example inputs.
#include "ir/Module.h"
#include "passes/QuantizationUtils.h"
#include "unit/passes/PassTest.h"

using namespace qfx;

static const char *kModel = R"(module block : my.Block()
module block.conv : torch.nn.Conv2d(in_channels=1, out_channels=1, kernel_size=(1, 1), bias=False)
module relu : torch.nn.ReLU()
parameter block.conv.weight : f32[1, 1, 1, 1] = [[[[2.0]]]]
graph(%x : f32[1, 1, 2, 2]) {
  %conv = call_module[block.conv](%x)
  %relu = call_module[relu](%conv)
  %relu_1 = call_module[relu](input=%x)
  %add = call_function[torch.add](%relu, %relu_1)
  return %add
}
)";

TEST_CASE("a dotted path leads to a module, a tensor or an attribute", "[utils]") {
  GraphModule model = parseModel(kModel);
  Member conv = require(getattrFromFqn(model.getRoot(), "block.conv"));
  REQUIRE(std::holds_alternative<ModuleRef>(conv));
  CHECK(std::get<ModuleRef>(conv)->getClassName() == "torch.nn.Conv2d");
  Member weight = require(getattrFromFqn(model.getRoot(), "block.conv.weight"));
  REQUIRE(std::holds_alternative<Tensor>(weight));
  CHECK(std::get<Tensor>(weight).getData<float>()[0] == 2.0f);
  Member channels = require(getattrFromFqn(model.getRoot(), "block.conv.in_channels"));
  REQUIRE(std::holds_alternative<Argument>(channels));
  CHECK(std::get<Argument>(channels) == Argument(1));
  CHECK(getError(getattrFromFqn(model.getRoot(), "block.convv.weight")) ==
        "'block.convv.weight' leads nowhere: 'my.Block' has no member 'convv'; did you mean 'conv'? [fqn_missing]");
  CHECK(getError(getattrFromFqn(model.getRoot(), "blok")) ==
        "'blok' leads nowhere: the model has no member 'blok'; did you mean 'block'? [fqn_missing]");
}

TEST_CASE("the second dict wins and the first is left alone", "[utils]") {
  Argument defaults = Argument::dict({{"a", 1}, {"b", 2}}), additional = Argument::dict({{"c", 4}, {"a", 3}});
  CHECK(getCombinedDict(defaults, additional) == Argument::dict({{"a", 3}, {"b", 2}, {"c", 4}}));
  CHECK(defaults == Argument::dict({{"a", 1}, {"b", 2}}));
}

TEST_CASE("the class to swap for follows the quantization type", "[utils]") {
  GraphModule model = parseModel(kModel);
  CustomModuleMapping mapping = {{QuantType::Static, {{OperatorName::resolve("my.Block"), OperatorName::resolve("my.ObservedBlock")}}}};
  const Module &block = *model.getRoot().findModule("block");
  CHECK(require(getSwappedCustomModuleClass(block, mapping, *findQConfigAlias("default_qconfig"))).text == "my.ObservedBlock");
  CHECK(getError(getSwappedCustomModuleClass(block, mapping, *findQConfigAlias("default_dynamic_qconfig"))) ==
        "no class to swap 'my.Block' for under quantization type 'dynamic' [custom_module_class]");
  CHECK(getError(getSwappedCustomModuleClass(*model.getRoot().findModule("relu"), mapping, *findQConfigAlias("default_qconfig"))) ==
        "no class to swap 'torch.nn.ReLU' for under quantization type 'static' [custom_module_class]");
}

TEST_CASE("example inputs by path, the last call wins", "[utils]") {
  GraphModule model = parseModel(kModel);
  GraphModule input = parseModel("parameter x : f32[1, 1, 2, 2] = [[[[1.0, -1.0], [2.0, -2.0]]]]\ngraph() {\n  %x = get_attr[x]()\n  return %x\n}\n");
  Tensor x = input.getRoot().getTensor("x");
  auto examples = require(getFqnToExampleInputs(model, {{"x", x}}));
  REQUIRE(examples.size() == 3);
  CHECK(examples[0].first.empty());
  CHECK(examples[0].second.at(0).tensor.equals(x));
  CHECK(examples[1].first == "block.conv");
  CHECK(examples[1].second.at(0).tensor.equals(x));
  CHECK(examples[2].first == "relu");
  REQUIRE(examples[2].second.size() == 1);
  CHECK(examples[2].second[0].tensor.equals(x)); // the second call; the first saw 2x
}
