// Example inputs of modules and members by dotted name.
#include "PassTest.h"
#include "passes/ModelUtils.h"

using namespace qfx;

static const char *const kModel = R"(
module block : my.Block()
module block.fc : torch.nn.Linear(in_features=2, out_features=2)
module act : torch.nn.LeakyReLU(negative_slope=0.5)
parameter block.fc.weight : f32[2, 2] = [[2, 0], [0, 1]]
parameter block.fc.bias : f32[2] = 0
graph(%x : f32[1, 2]) {
  %block_fc = call_module[block.fc](%x)
  %act = call_module[act](%block_fc)
  %act_1 = call_module[act](input=%act)
  return %act_1
}
)";

TEST_CASE("what each module received, the last call counting", "[passes][utils]") {
  GraphModule model = parseModel(kModel);
  auto examples = require(getFqnToExampleInputs(model, {{"x", Tensor::of<float>(DType::Float32, {1, 2}, {1, -4})}}));
  REQUIRE(examples.size() == 3);
  CHECK(examples[0].first.empty());
  CHECK(examples[0].second[0].tensor.getData<float>()[1] == -4);
  CHECK(examples[1].first == "block.fc");
  CHECK(examples[1].second[0].tensor.getData<float>()[0] == 1);
  CHECK(examples[2].first == "act");
  REQUIRE(examples[2].second.size() == 1);
  CHECK(examples[2].second[0].tensor.getData<float>()[0] == 2); // the second call's: leaky(2), leaky(-4) = -2
  CHECK(examples[2].second[0].tensor.getData<float>()[1] == -2);
}

TEST_CASE("members by dotted name", "[passes][utils]") {
  GraphModule model = parseModel(kModel);
  CHECK(require(getattrFromFqn(model, "block.fc")).module->getClassName() == "torch.nn.Linear");
  CHECK(require(getattrFromFqn(model, "block.fc.weight")).tensor->getData<float>()[0] == 2);
  CHECK(require(getattrFromFqn(model, "act.negative_slope")).attribute->getFloat() == 0.5);
  CHECK(getError(getattrFromFqn(model, "block.fd")) == "the model has no 'block.fd'; did you mean 'block.fc'? [model_member]");
}
