// Input-weight equalization: its arithmetic by hand, and the way through the C++ functions.
#include "PassTest.h"
#include "backends/config/EqualizationConfig.h"
#include "passes/QuantizeFx.h"
#include "passes/equalize/EqualizationScale.h"

#include <cmath>

using namespace qfx;

static std::vector<float> values(const Tensor &tensor) { return tensor.getData<float>().vec(); }

TEST_CASE("the scale is the root of the ranges' quotient, 1 where that is none", "[equalize]") {
  // 16 / 4, 0 / 1, 1 / 0, 0 / 0, NaN
  ColumnRanges input{{-1, 0, 2, 3, 0}, {3, 1, 2, 3, NAN}}, weight{{-6, 5, 0, 1, 0}, {10, 5, 1, 1, 1}};
  CHECK(calculateEqualizationScale(input, weight) == std::vector<float>{2, 1, 1, 1, 1});
  auto [low, high] = getScaledRange({{-1, -3}, {3, 1}}, {2, 0.5f});
  CHECK(low == -2);
  CHECK(high == 6);
}

TEST_CASE("columns of a grouped weight belong to the channels of their group", "[equalize]") {
  Tensor weight = Tensor::of<float>(DType::Float32, {4, 1, 2}, std::vector<float>{1, 2, -3, 4, 5, 6, 8, -7});
  ColumnRanges two = findWeightColumns(weight, 2), one = findWeightColumns(weight, 1);
  CHECK(two.mins == std::vector<float>{-3, -7});
  CHECK(two.maxs == std::vector<float>{4, 8});
  CHECK(one.mins == std::vector<float>{-7});
  CHECK(values(divideColumns(weight, {2, 4}, 2)) == std::vector<float>{0.5f, 1, -1.5f, 2, 1.25f, 1.5f, 2, -1.75f});
  CHECK(values(multiplyRows(weight, {1, 2, 3, 0.5f})) == std::vector<float>{1, 2, -6, 8, 15, 18, 4, -3.5f});
}

TEST_CASE("prepareFx takes an equalization config, convertToReferenceFx applies it", "[equalize]") {
  TestContext context;
  PrepareOptions options;
  options.mapping.setGlobal(findQConfigAlias("default_qconfig"));
  options.equalization.setModuleName("fc", getDefaultEqualizationQConfig());
  GraphModule prepared = require(prepareFx(parseModel("module fc : torch.nn.Linear(in_features=2, out_features=1, bias=False)\n"
                                                      "parameter fc.weight : f32[1, 2] = [[4.0, -1.0]]\n"
                                                      "graph(%x : f32[2, 2]) {\n  %fc = call_module[fc](%x)\n  return %fc\n}\n"),
                                           options, context.context));
  CHECK(prepared.getGraph().findNode("activation_post_process_0_equalization_process_0") != nullptr);
  options.isQat = true;
  auto qat = prepareFx(parseModel("graph(%x : f32[2, 2]) {\n  return %x\n}\n"), options, context.context);
  REQUIRE_FALSE(static_cast<bool>(qat));
  llvm::consumeError(qat.takeError());
}
