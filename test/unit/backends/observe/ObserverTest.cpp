// Observers beyond the golden runs: the specification's own vectors, state after refused batches, plain observers, conversions.
#include "Catch.h"
#include "backends/config/QConfig.h"
#include "backends/observe/ChooseQuantizationParams.h"
#include "backends/observe/HistogramMathDetail.h"
#include "backends/observe/Observer.h"
#include "ir/Module.h"

#include <cmath>

using namespace qfx;

static ModuleRef build(const char *className, Argument::DictEntries keywords = {}) {
  keywords.insert(keywords.begin(), {"class", Argument(className)});
  return llvm::cantFail(llvm::cantFail(ObserverSpec::fromArgument(Argument::dict(keywords))).build());
}

static llvm::Error feed(Module &observer, std::vector<float> values) {
  int64_t size = static_cast<int64_t>(values.size()), stride = 1;
  return observe(observer, {values.data(), size, stride});
}

static bool isRefused(llvm::Error err) {
  if (!err)
    return false;
  llvm::consumeError(std::move(err));
  return true;
}

/// numerics 7, H1 - H4, H10: bins, batches, histogram, scale, zero point.
TEST_CASE("histogram vectors of the specification", "[observe]") {
  struct Vector {
    std::vector<std::vector<float>> batches;
    std::vector<float> histogram;
    float scale;
    int64_t zeroPoint;
  };
  const Vector vectors[] = {{{{0, 0.5f, 1, 1, 2, 4}}, {1, 1, 2, 0, 1, 0, 0, 1}, 0.0137254903f, 0},
                            {{{0, 1, 1, 2}, {-2, 6}}, {1, 0, 1, 3, 0, 0, 0, 1}, 0.0274509806f, 73},
                            {{{3, 3}, {1, 5}}, {1, 0, 0, 0, 2, 0, 0, 1}, 0.0176470596f, 0},
                            {{{5, 5, 5}}, {0, 0, 0, 0, 3, 0, 0, 0}, 0.0196078438f, 0},
                            {{{0.5f, 0.6f, 1.2f, 2.7f}}, {2, 0, 1, 0, 0, 0, 0, 1}, 0.00950980466f, 0}};
  for (const Vector &vector : vectors) {
    ModuleRef observer = build("HistogramObserver", {{"bins", 8}});
    for (const std::vector<float> &batch : vector.batches)
      REQUIRE_FALSE(isRefused(feed(*observer, batch)));
    CHECK(observer->getTensor("histogram").getData<float>() == llvm::ArrayRef<float>(vector.histogram));
    QParams qparams = llvm::cantFail(calculateQParams(*observer));
    CHECK(qparams.scales[0] == vector.scale);
    CHECK(qparams.zeroPoints[0] == vector.zeroPoint);
  }
}

/// numerics 7, C1 - C8.
TEST_CASE("ChooseQuantizationParams vectors of the specification", "[observe]") {
  struct Vector {
    float min, max;
    bool reduceRange;
    double scale;
    int32_t zeroPoint;
  };
  const Vector vectors[] = {{-1, 2, false, 0.011764705882352941, 85},  {-1, 2, true, 0.023622047244094488, 42},
                            {0, 0, false, 0.10000000000000001, 0},     {1e-8f, 2e-8f, false, 6.0999998822808266e-05, 0},
                            {-1e-6f, 1e-6f, false, 6.0999998822808266e-05, 128}, {-1e-6f, 1e-6f, true, 6.0999998822808266e-05, 63},
                            {-3, -3, false, 0.011764705882352941, 255}, {-30, 10.8f, false, 0.16000000074797985, 187}};
  for (const Vector &vector : vectors) {
    ChooseOptions options;
    options.reduceRange = vector.reduceRange;
    auto chosen = chooseQuantizationParams(vector.min, vector.max, 0, 255, options);
    REQUIRE(static_cast<bool>(chosen));
    CHECK(chosen->scale == vector.scale);
    CHECK(chosen->zeroPoint == vector.zeroPoint);
  }
  for (auto [low, high] : {std::pair(NAN, 1.0f), std::pair(2.0f, 1.0f), std::pair(0.0f, INFINITY)}) {
    auto refused = chooseQuantizationParams(low, high, 0, 255);
    REQUIRE_FALSE(static_cast<bool>(refused));
    llvm::consumeError(refused.takeError());
  }
}

TEST_CASE("a batch that a histogram refuses leaves its state", "[observe]") {
  ModuleRef observer = build("HistogramObserver", {{"bins", 8}});
  CHECK(isRefused(feed(*observer, {1, NAN})));
  CHECK_FALSE(hasObserved(*observer));
  REQUIRE_FALSE(isRefused(feed(*observer, {0, 1, 2})));
  Tensor before = observer->getTensor("histogram");
  CHECK(isRefused(feed(*observer, {NAN})));
  CHECK(observer->getTensor("histogram").equals(before));
  CHECK(observer->getTensor("max_val").getElementAsDouble(0) == 2);
}

TEST_CASE("hasObserved", "[observe]") {
  for (const char *className : {"MinMaxObserver", "MovingAverageMinMaxObserver", "HistogramObserver"}) {
    ModuleRef observer = build(className);
    CHECK_FALSE(hasObserved(*observer));
    REQUIRE_FALSE(isRefused(feed(*observer, {})));
    CHECK_FALSE(hasObserved(*observer));
    CHECK(llvm::cantFail(calculateQParams(*observer)).scales == std::vector<float>{1});
    REQUIRE_FALSE(isRefused(feed(*observer, {1, 2})));
    CHECK(hasObserved(*observer));
  }
  CHECK(hasObserved(*build("PlaceholderObserver")));
  CHECK(hasObserved(*build("FixedQParamsObserver", {{"scale", 0.5}, {"zero_point", 3}})));
}

TEST_CASE("observers without statistics", "[observe]") {
  for (const char *className : {"PlaceholderObserver", "NoopObserver", "ReuseInputObserver", "RecordingObserver"}) {
    ModuleRef observer = build(className);
    CHECK_FALSE(isRefused(feed(*observer, {1})));
    auto qparams = calculateQParams(*observer);
    REQUIRE_FALSE(static_cast<bool>(qparams));
    llvm::consumeError(qparams.takeError());
    CHECK(observer->getBuffers().empty());
  }
  ModuleRef fixed = build("FixedQParamsObserver", {{"scale", 0.0078125}, {"zero_point", 128}});
  QParams qparams = llvm::cantFail(calculateQParams(*fixed));
  CHECK(qparams.scales == std::vector<float>{0.0078125f});
  CHECK(qparams.zeroPoints == std::vector<int64_t>{128});
  CHECK(qparams.quantMax == 255);
  CHECK(getObserverDType(*build("ReuseInputObserver")) == DType::QUInt8);
  CHECK(getObserverDType(*build("NoopObserver")) == DType::Float16);
  CHECK(isObserverDynamic(*llvm::cantFail(findObserverAlias("default_dynamic_quant_observer")->build())));
  CHECK_FALSE(isObserver(Module("torch.nn.Sequential")));
}

TEST_CASE("fake-quantizers obey their switches", "[observe]") {
  ModuleRef fake = llvm::cantFail(findObserverAlias("default_fake_quant")->build());
  REQUIRE_FALSE(isRefused(feed(*fake, {-1, 3})));
  Tensor scale = fake->getTensor("scale");
  fake->setBuffer("observer_enabled", Tensor::of<uint8_t>(DType::UInt8, {1}, uint8_t(0)));
  REQUIRE_FALSE(isRefused(feed(*fake, {-100, 100})));
  CHECK(fake->getTensor("scale").equals(scale));
  // The fused operator computes parameters whenever it fake-quantizes, which needs statistics.
  ModuleRef fused = llvm::cantFail(findObserverAlias("default_fused_act_fake_quant")->build());
  fused->setBuffer("observer_enabled", Tensor::of<int64_t>(DType::Int64, {1}, int64_t(0)));
  CHECK(isRefused(feed(*fused, {1})));
  fused->setBuffer("fake_quant_enabled", Tensor::of<int64_t>(DType::Int64, {1}, int64_t(0)));
  CHECK_FALSE(isRefused(feed(*fused, {1})));
}

TEST_CASE("min-max statistics do not depend on the order of batches", "[observe]") {
  ModuleRef a = build("MinMaxObserver"), b = build("MinMaxObserver");
  REQUIRE_FALSE(isRefused(feed(*a, {0, 1})));
  REQUIRE_FALSE(isRefused(feed(*a, {-2, 5})));
  REQUIRE_FALSE(isRefused(feed(*b, {-2, 5})));
  REQUIRE_FALSE(isRefused(feed(*b, {0, 1})));
  CHECK(a->getTensor("min_val").equals(b->getTensor("min_val")));
  CHECK(a->getTensor("max_val").equals(b->getTensor("max_val")));
}

TEST_CASE("ranges contain zero", "[observe]") { // known_traps B49
  auto qparams = [](std::vector<float> values, Argument::DictEntries keywords = {}) {
    ModuleRef observer = build("MinMaxObserver", keywords);
    llvm::cantFail(feed(*observer, std::move(values)));
    return llvm::cantFail(calculateQParams(*observer));
  };
  CHECK(qparams({1, 3}).scales[0] == 3.0f / 255.0f);
  CHECK(qparams({1, 3}).zeroPoints[0] == 0);
  CHECK(qparams({-3, -1}).zeroPoints[0] == 255);
  CHECK(qparams({5, 5}).scales[0] == 5.0f / 255.0f);
  QParams symmetric = qparams({1, 3}, {{"qscheme", QScheme::PerTensorSymmetric}});
  CHECK(symmetric.scales[0] == 3.0f / 127.5f);
  CHECK(symmetric.zeroPoints[0] == 128);
}

TEST_CASE("a channel axis outside the tensor and changed channel counts are errors", "[observe]") {
  ModuleRef observer = build("PerChannelMinMaxObserver", {{"ch_axis", 1}});
  CHECK(isRefused(feed(*observer, {1, 2})));
  std::vector<float> values(6, 1.0f);
  int64_t two[] = {2, 3}, three[] = {3, 2}, strides23[] = {3, 1}, strides32[] = {2, 1};
  REQUIRE_FALSE(isRefused(observe(*observer, {values.data(), two, strides23})));
  CHECK(isRefused(observe(*observer, {values.data(), three, strides32})));
}

TEST_CASE("quantizeTensor refuses what PyTorch refuses", "[observe]") {
  Tensor input = Tensor::of<float>(DType::Float32, {2}, {1.0f, 2.0f});
  auto refused = [&](QParams qparams) {
    auto result = quantizeTensor(input, qparams);
    return result ? false : (llvm::consumeError(result.takeError()), true);
  };
  CHECK(refused({DType::QUInt8, QScheme::PerTensorAffine, 0, {1}, {256}, {}, {}, {}}));
  CHECK(refused({DType::QInt8, QScheme::PerTensorAffine, 0, {1}, {-129}, {}, {}, {}}));
  CHECK(refused({DType::QInt8, QScheme::PerTensorAffine, 0, {0}, {0}, {}, {}, {}}));
  CHECK(refused({DType::QInt8, QScheme::PerTensorAffine, 0, {INFINITY}, {0}, {}, {}, {}}));
  CHECK(refused({DType::QInt8, QScheme::PerChannelAffine, 1, {1}, {0}, {}, {}, {}}));
  CHECK(refused({DType::QInt8, QScheme::PerChannelAffine, 0, {1}, {0}, {}, {}, {}}));
  CHECK(refused({DType::Float32, QScheme::PerTensorAffine, 0, {1}, {0}, {}, {}, {}}));
  QParams narrow{DType::QInt8, QScheme::PerTensorSymmetric, 0, {0.01f}, {0}, {}, -127, 127};
  Tensor low = Tensor::of<float>(DType::Float32, {2}, {-5.0f, 5.0f});
  Tensor quantized = llvm::cantFail(quantizeTensor(low, narrow));
  llvm::ArrayRef<int8_t> codes = quantized.getData<int8_t>();
  CHECK(codes[0] == -127);
  CHECK(codes[1] == 127);
}

TEST_CASE("cascade sum of few elements is the plain sum", "[observe]") {
  CHECK(sumLikeTorch({}) == 0);
  CHECK(sumLikeTorch({1.0f, 2.0f, 3.5f}) == 6.5f);
  std::vector<float> ones(100000, 1.0f);
  CHECK(sumLikeTorch(ones) == 100000.0f);
}
