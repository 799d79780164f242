// Percentile, entropy and MSE observers: against a second computation (test/golden/observers/make_estimators.py), order, merging, odd data.
#include "Catch.h"
#include "backends/config/QConfig.h"
#include "ir/Module.h"
#include "unit/backends/observe/GoldenFamilies.h"
#include "unit/backends/observe/ObserverTestUtils.h"

#include <cmath>

using namespace qfx;
using namespace qfx::test;
using nlohmann::json;

static const char *const kEstimators[] = {"PercentileObserver", "EntropyObserver", "MSEObserver"};

TEST_CASE("estimators equal a second computation", "[observe]") {
  for (const json &row : getGolden("estimators")["rows"]) {
    INFO(row.dump());
    Argument::DictEntries keywords = {{"dtype", *parseTorchDType(row["dtype"].get<std::string>())},
                                      {"qscheme", row["symmetric"] ? QScheme::PerTensorSymmetric : QScheme::PerTensorAffine},
                                      {"reduce_range", row["reduce_range"].get<bool>()},
                                      {"bins", row["bins"].get<int64_t>()}};
    if (row.contains("percentile"))
      keywords.emplace_back("percentile", row["percentile"].get<double>());
    ModuleRef observer = buildObserver(row["class"].get<std::string>(), keywords);
    for (const Batch &batch : makeFamily(row["family"]))
      REQUIRE_FALSE(isRefused(observe(*observer, batch.get())));
    QParams qparams = llvm::cantFail(calculateQParams(*observer));
    CHECK(qparams.scales[0] == floatFromBits(row["scale"].get<uint32_t>()));
    CHECK(qparams.zeroPoints[0] == row["zero_point"].get<int64_t>());
  }
}

static void checkSameState(const Module &a, const Module &b) {
  REQUIRE(a.getBuffers().size() == b.getBuffers().size());
  for (const auto &[name, tensor] : a.getBuffers()) {
    INFO(name);
    CHECK(tensor.equals(b.getTensor(name)));
  }
}

TEST_CASE("estimators do not depend on the order or the cut of the data", "[observe]") { // known_traps B60
  for (const char *className : kEstimators)
    for (const char *family : {"walk", "growing", "shrinking", "zeros_then_range", "cubed_batches", "constant_then_range"}) {
      INFO(className << " on " << family);
      std::vector<Batch> batches = makeFamily(family);
      ModuleRef forward = buildObserver(className), backward = buildObserver(className), joined = buildObserver(className);
      std::vector<float> all;
      for (size_t i = 0; i < batches.size(); ++i) {
        llvm::cantFail(observe(*forward, batches[i].get()));
        llvm::cantFail(observe(*backward, batches[batches.size() - 1 - i].get()));
        all.insert(all.end(), batches[i].values.begin(), batches[i].values.end());
      }
      llvm::cantFail(feed(*joined, all));
      checkSameState(*forward, *backward);
      checkSameState(*forward, *joined);
      ModuleRef left = buildObserver(className), right = buildObserver(className);
      for (size_t i = 0; i < batches.size(); ++i)
        llvm::cantFail(observe(i % 2 ? *left : *right, batches[i].get()));
      llvm::cantFail(mergeObserver(*left, *right));
      checkSameState(*forward, *left);
    }
}

TEST_CASE("estimators leave out infinities and NaN and count them", "[observe]") { // known_traps B42
  for (const char *className : kEstimators) {
    ModuleRef mixed = buildObserver(className), clean = buildObserver(className);
    llvm::cantFail(feed(*mixed, {1, INFINITY, -2, NAN, 3, -INFINITY, NAN}));
    llvm::cantFail(feed(*clean, {1, -2, 3}));
    checkSameState(*mixed, *clean);
    CHECK(getNonFiniteCounts(*mixed).numInfinite == 2);
    CHECK(getNonFiniteCounts(*mixed).numNaN == 2);
    CHECK_FALSE(getNonFiniteCounts(*clean).any());
    CHECK(calculateQParams(*mixed)->scales == calculateQParams(*clean)->scales);
  }
}

TEST_CASE("estimators span tiny and huge data in fixed memory", "[observe]") { // known_traps B41
  for (const char *className : kEstimators) {
    INFO(className);
    ModuleRef upward = buildObserver(className), downward = buildObserver(className);
    llvm::cantFail(feed(*upward, {0, 1e-9f}));
    llvm::cantFail(feed(*upward, {0, 1000}));
    llvm::cantFail(feed(*downward, {0, 1000}));
    llvm::cantFail(feed(*downward, {0, 1e-9f}));
    checkSameState(*upward, *downward);
    CHECK(upward->getTensor("histogram").getNumElements() == 2048);
    llvm::cantFail(feed(*upward, {-1e38f, 1e-45f, 1e38f}));
    QParams qparams = llvm::cantFail(calculateQParams(*upward));
    CHECK(std::isfinite(qparams.scales[0]));
    CHECK(qparams.scales[0] > 0);
  }
}

TEST_CASE("estimators check their arguments", "[observe]") {
  CHECK(isBuildRefused("PercentileObserver", {{"percentile", 0.0}}));
  CHECK(isBuildRefused("PercentileObserver", {{"percentile", 100.5}}));
  CHECK(isBuildRefused("EntropyObserver", {{"bins", 1}}));
  CHECK(isBuildRefused("MSEObserver", {{"qscheme", QScheme::PerChannelAffine}}));
  CHECK(isBuildRefused("MSEObserver", {{"dtype", DType::Float32}}));
}

/// 999 values in [-1, 1] and one of 1000: whoever clips keeps the resolution of the rest.
TEST_CASE("estimators clip an outlier that min-max follows", "[observe]") {
  std::vector<float> values;
  for (int i = 0; i < 100000; ++i)
    values.push_back(static_cast<float>(i % 2001 - 1000) / 1000.0f);
  values.push_back(1000.0f);
  ModuleRef minMax = buildObserver("MinMaxObserver");
  llvm::cantFail(feed(*minMax, values));
  CHECK(calculateQParams(*minMax)->scales[0] > 3.9f);
  ModuleRef percentile = buildObserver("PercentileObserver", {{"bins", 1 << 16}}), entropy = buildObserver("EntropyObserver", {{"bins", 1 << 14}});
  llvm::cantFail(feed(*percentile, values));
  llvm::cantFail(feed(*entropy, values));
  CHECK(calculateQParams(*percentile)->scales[0] < 0.01f);
  CHECK(calculateQParams(*entropy)->scales[0] < 3.9f);
}
