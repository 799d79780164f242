// Observers of columns: what they keep, refuse and merge; the configurations that name them.
#include "backends/observe/EqualizationObserver.h"
#include "Catch.h"
#include "ObserverTestUtils.h"
#include "backends/config/EqualizationConfig.h"

using namespace qfx;
using namespace qfx::test;

static llvm::Error look(Module &observer, std::vector<int64_t> sizes, const std::vector<float> &values) {
  return observe(observer, ObservedTensor(Tensor::of<float>(DType::Float32, sizes, values)));
}

static std::vector<float> get(const Module &observer, llvm::StringRef name) { return findColumnObserver(observer)->getTensor(name).getData<float>().vec(); }

TEST_CASE("an equalization observer keeps the range of each column", "[equalization]") {
  ModuleRef observer = buildObserver("_InputEqualizationObserver");
  CHECK_FALSE(hasObserved(*observer));
  CHECK(getEqualizationShape(*observer).empty());
  REQUIRE_FALSE(isRefused(look(*observer, {2, 3}, {1, -2, 3, 4, 5, -6})));
  REQUIRE_FALSE(isRefused(look(*observer, {1, 3}, {0, 7, 0})));
  CHECK(hasObserved(*observer));
  CHECK(get(*observer, "min_val") == std::vector<float>{0, -2, -6});
  CHECK(get(*observer, "max_val") == std::vector<float>{4, 7, 3});
  CHECK(getEqualizationShape(*observer) == std::vector<int64_t>{1, 3});
  CHECK(isRefused(calculateQParams(*observer).takeError()));

  ModuleRef other = buildObserver("_InputEqualizationObserver");
  REQUIRE_FALSE(isRefused(look(*other, {1, 3}, {-1, 0, 9})));
  REQUIRE_FALSE(isRefused(mergeObserver(*observer, *other)));
  CHECK(get(*observer, "min_val") == std::vector<float>{-1, -2, -6});
  CHECK(get(*observer, "max_val") == std::vector<float>{4, 7, 9});
}

TEST_CASE("columns may lie along another axis; ranks are 2 to 5", "[equalization]") {
  ModuleRef observer = buildObserver("_InputEqualizationObserver");
  setColumnAxis(*observer, 2);
  REQUIRE_FALSE(isRefused(look(*observer, {1, 2, 2}, {1, 2, 3, 4})));
  CHECK(get(*observer, "min_val") == std::vector<float>{1, 2});
  CHECK(getEqualizationShape(*observer) == std::vector<int64_t>{1, 1, 2});
  ModuleRef weight = buildObserver("_WeightEqualizationObserver");
  CHECK(isRefused(look(*weight, {2}, {1, 2})));
  CHECK(isRefused(look(*weight, {1, 1, 1, 1, 1, 2}, {1, 2})));
}

TEST_CASE("state that belongs to no equalization observer is refused", "[equalization]") {
  ModuleRef observer = buildObserver("_InputEqualizationObserver");
  REQUIRE_FALSE(isRefused(look(*observer, {1, 2}, {1, 2})));
  observer->setBuffer("equalization_shape", Tensor::of<int64_t>(DType::Int64, {0}, std::vector<int64_t>{}));
  CHECK(isRefused(readColumns(*observer).takeError()));
  observer->removeChild("input_obs");
  CHECK(isRefused(look(*observer, {1, 2}, {1, 2})));
  CHECK(isRefused(readColumns(*observer).takeError()));
  CHECK_FALSE(hasObserved(*observer));
}

TEST_CASE("schemes: per tensor for inputs, any for weights", "[equalization]") {
  CHECK(isBuildRefused("_InputEqualizationObserver", {{"qscheme", Argument(QScheme::PerChannelSymmetric)}}));
  ModuleRef weight = buildObserver("_WeightEqualizationObserver", {{"qscheme", Argument(QScheme::PerTensorSymmetric)}});
  CHECK(findColumnObserver(*weight)->getAttribute("qscheme").getQScheme() == QScheme::PerChannelSymmetric);
}

TEST_CASE("an equalization config has equalization observers only", "[equalization]") {
  QConfig standard = getDefaultEqualizationQConfig();
  CHECK(isEqualizationQConfig(standard));
  CHECK(observerSpecEquals(standard.activation, findObserverAlias("input_equalization_observer")));
  CHECK(observerSpecEquals(standard.weight, findObserverAlias("weight_equalization_observer")));
  QConfigMapping mapping;
  mapping.setModuleName("fc", standard).setModuleName("head", std::nullopt);
  CHECK_FALSE(isRefused(checkEqualizationMapping(mapping)));
  mapping.setModuleName("fc", findQConfigAlias("default_qconfig"));
  CHECK(isRefused(checkEqualizationMapping(mapping)));
}
