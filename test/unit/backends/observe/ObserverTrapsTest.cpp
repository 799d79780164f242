// Known traps of calibration (B rows), as properties of the observers.
#include "Catch.h"
#include "unit/backends/observe/GoldenFamilies.h"
#include "unit/backends/observe/ObserverTestUtils.h"

#include <algorithm>
#include <cmath>

using namespace qfx;
using namespace qfx::test;

static QParams observeAll(const char *className, const std::vector<std::vector<float>> &batches) {
  ModuleRef observer = buildObserver(className);
  for (const std::vector<float> &batch : batches)
    llvm::cantFail(feed(*observer, batch));
  return llvm::cantFail(calculateQParams(*observer));
}

TEST_CASE("histograms of zeros and constants", "[observe]") { // B40
  QParams zeros = observeAll("HistogramObserver", {{0, 0, 0, 0}, {0, 0, 0, 0}});
  CHECK(zeros.scales[0] == 1.1920928955078125e-07f);
  CHECK(zeros.zeroPoints[0] == 0);
  // not 1/255: the search drops the top bin
  QParams grown = observeAll("HistogramObserver", {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 1}});
  CHECK(grown.scales[0] == 0.0039196536f);
  CHECK(grown.zeroPoints[0] == 0);
  QParams constant = observeAll("HistogramObserver", {{5, 5}, {5, 5}});
  CHECK(constant.scales[0] == 5.0f / 255.0f);
  CHECK(constant.zeroPoints[0] == 0);
}

TEST_CASE("a histogram of a tiny range that becomes large", "[observe]") { // B41
  const double wanted = 1000.0 / 255;
  QParams upward = observeAll("HistogramObserver", {{0, 1e-9f}, {0, 1000}}), downward = observeAll("HistogramObserver", {{0, 1000}, {0, 1e-9f}});
  for (const QParams &qparams : {upward, downward}) {
    CHECK(static_cast<double>(qparams.scales[0]) <= wanted);
    CHECK(static_cast<double>(qparams.scales[0]) >= 0.5 * wanted);
  }
  CHECK(std::abs(upward.scales[0] - downward.scales[0]) <= 0.01f * downward.scales[0]);
  ModuleRef observer = buildObserver("HistogramObserver");
  llvm::cantFail(feed(*observer, {0, 1e-9f}));
  llvm::cantFail(feed(*observer, {0, 1000}));
  CHECK(observer->getTensor("histogram").getSizeBytes() == 2048 * sizeof(float));
}

TEST_CASE("bounds of histograms stay real numbers", "[observe]") { // B44
  std::vector<float> values;
  for (int i = 0; i < 200000; ++i)
    values.push_back(0.2f + 0.7f * static_cast<float>(i) / 199999.0f);
  ModuleRef observer = buildObserver("HistogramObserver");
  llvm::cantFail(feed(*observer, values));
  llvm::ArrayRef<float> histogram = observer->getTensor("histogram").getData<float>();
  const size_t edge = histogram.size() / 20;
  CHECK(std::all_of(histogram.begin() + edge, histogram.end() - edge, [](float count) { return count > 0; }));
}

TEST_CASE("the order of batches", "[observe]") { // B60
  const std::vector<float> small = {0, 0.3f, 0.7f, 1}, large = {0, 2, 5, 3};
  for (const char *className : {"MinMaxObserver", "PercentileObserver", "EntropyObserver", "MSEObserver"})
    CHECK(observeAll(className, {small, large}).scales == observeAll(className, {large, small}).scales);
  CHECK(observeAll("MovingAverageMinMaxObserver", {small, large}).scales != observeAll("MovingAverageMinMaxObserver", {large, small}).scales);
}

TEST_CASE("infinities and NaN in every estimator", "[observe]") { // B42
  const std::vector<float> mixed = {1, INFINITY, -INFINITY, 0.5f};
  ModuleRef histogram = buildObserver("HistogramObserver");
  llvm::cantFail(feed(*histogram, {1, INFINITY}));
  CHECK(calculateQParams(*histogram)->scales[0] == 1.0f / 255.0f);
  CHECK(calculateQParams(*histogram)->zeroPoints[0] == 0);
  CHECK(getNonFiniteCounts(*histogram).numInfinite == 1);
  for (const char *className : {"MinMaxObserver", "MovingAverageMinMaxObserver", "PerChannelMinMaxObserver"}) {
    INFO(className);
    ModuleRef observer = buildObserver(className);
    llvm::cantFail(feed(*observer, mixed));
    llvm::cantFail(feed(*observer, {1, NAN, 2, NAN}));
    CHECK(getNonFiniteCounts(*observer).numInfinite == 2);
    CHECK(getNonFiniteCounts(*observer).numNaN == 2);
  }
  ModuleRef fused = llvm::cantFail(findObserverAlias("default_fused_act_fake_quant")->build());
  llvm::consumeError(feed(*fused, mixed)); // its parameters cannot follow an infinity
  CHECK(getNonFiniteCounts(*fused).numInfinite == 2);
}

TEST_CASE("zero is exact whatever was seen", "[observe]") { // B49
  for (const char *className : {"MinMaxObserver", "HistogramObserver", "PercentileObserver", "EntropyObserver", "MSEObserver"})
    for (const char *family : {"uniform", "positive", "negative", "outlier", "far", "tiny", "cubed"}) {
      INFO(className << " on " << family);
      ModuleRef observer = buildObserver(className);
      llvm::cantFail(observe(*observer, makeFamily(family)[0].get()));
      QParams qparams = llvm::cantFail(calculateQParams(*observer));
      Tensor zero = Tensor::of<float>(DType::Float32, {1}, 0.0f);
      CHECK(dequantizeTensor(llvm::cantFail(quantizeTensor(zero, qparams))).getData<float>()[0] == 0);
    }
}
