// State dictionaries, merging, recording, resetting and the utils of ranges.
#include "backends/observe/ObserverState.h"
#include "backends/observe/ObserverUtils.h"

#include "Catch.h"
#include "backends/observe/FakeQuantize.h"
#include "unit/backends/observe/GoldenFamilies.h"
#include "unit/backends/observe/ObserverTestUtils.h"

#include <cmath>

using namespace qfx;
using namespace qfx::test;

static void checkSameBuffers(const Module &a, const Module &b) {
  REQUIRE(a.getBuffers().size() == b.getBuffers().size());
  for (const auto &[name, tensor] : a.getBuffers()) {
    INFO(name);
    CHECK(tensor.equals(b.getTensor(name)));
  }
}

TEST_CASE("merged minima and maxima are those of all data", "[observe]") {
  for (const char *className : {"MinMaxObserver", "PerChannelMinMaxObserver"}) {
    ModuleRef left = buildObserver(className), right = buildObserver(className), all = buildObserver(className);
    llvm::cantFail(feed(*left, {1, -2, 0}));
    llvm::cantFail(feed(*right, {4, 0, -1}));
    llvm::cantFail(feed(*all, {1, -2, 0}));
    llvm::cantFail(feed(*all, {4, 0, -1}));
    llvm::cantFail(mergeObserver(*left, *right));
    checkSameBuffers(*left, *all);
  }
}

/// Two halves of one range: the merged counts are those of all data.  Halves of two ranges: both are moved to the common one, so the
/// result is that of observing the first, then the second's range, with counts moved instead of counted: sums and range are exact.
TEST_CASE("merged histograms", "[observe]") {
  ModuleRef left = buildObserver("HistogramObserver", {{"bins", 8}}), right = left->deepCopy(), all = left->deepCopy();
  llvm::cantFail(feed(*left, {0, 1, 2, 8}));
  llvm::cantFail(feed(*right, {0, 3, 5, 8}));
  llvm::cantFail(feed(*all, {0, 1, 2, 8}));
  llvm::cantFail(feed(*all, {0, 3, 5, 8}));
  llvm::cantFail(mergeObserver(*left, *right));
  checkSameBuffers(*left, *all);

  ModuleRef low = buildObserver("HistogramObserver", {{"bins", 8}}), high = low->deepCopy();
  llvm::cantFail(feed(*low, {0, 1, 2, 4}));
  llvm::cantFail(feed(*high, {0, 2, 4, 8}));
  llvm::cantFail(mergeObserver(*low, *high));
  CHECK(low->getTensor("max_val").getElementAsDouble(0) == 8);
  // bins of width 1/2 become halves of bins of width 1: {0 1 2 4} falls into bins 0, 1, 2, 3 of [0, 8]; {0 2 4 8} into 0, 2, 4, 7
  CHECK(low->getTensor("histogram").getData<float>().vec() == std::vector<float>{2, 1, 2, 1, 1, 0, 0, 1});
}

TEST_CASE("merging with an observer that saw nothing", "[observe]") {
  for (const char *className : {"MinMaxObserver", "MovingAverageMinMaxObserver", "HistogramObserver", "EntropyObserver", "PerChannelMinMaxObserver"}) {
    INFO(className);
    ModuleRef seen = buildObserver(className), empty = buildObserver(className), taken = buildObserver(className);
    llvm::cantFail(feed(*seen, {1, 2}));
    ModuleRef before = seen->deepCopy();
    llvm::cantFail(mergeObserver(*seen, *empty));
    checkSameBuffers(*seen, *before);
    llvm::cantFail(mergeObserver(*taken, *before));
    checkSameBuffers(*taken, *before);
  }
}

TEST_CASE("what cannot be merged", "[observe]") {
  ModuleRef a = buildObserver("MovingAverageMinMaxObserver"), b = buildObserver("MovingAverageMinMaxObserver");
  llvm::cantFail(feed(*a, {1}));
  llvm::cantFail(feed(*b, {2}));
  CHECK(isRefused(mergeObserver(*a, *b)));
  CHECK(isRefused(mergeObserver(*a, *buildObserver("MinMaxObserver"))));
  CHECK(isRefused(mergeObserver(*buildObserver("MinMaxObserver"), *buildObserver("MinMaxObserver", {{"dtype", DType::QInt8}}))));
  ModuleRef two = buildObserver("PerChannelMinMaxObserver"), three = buildObserver("PerChannelMinMaxObserver");
  llvm::cantFail(feed(*two, {1, 2}));
  llvm::cantFail(feed(*three, {1, 2, 3}));
  CHECK(isRefused(mergeObserver(*two, *three)));
  // Fake-quantizers follow the observer inside.
  ModuleRef fake = llvm::cantFail(findObserverAlias("default_histogram_fake_quant")->build()), other = fake->deepCopy();
  llvm::cantFail(feed(*fake, {0, 1}));
  llvm::cantFail(feed(*other, {0, 3}));
  llvm::cantFail(mergeObserver(*fake, *other));
  CHECK(fake->getTensor("scale").getElementAsDouble(0) == static_cast<double>(calculateQParams(*fake)->scales[0]));
}

TEST_CASE("recording observers record", "[observe]") {
  ModuleRef recording = buildObserver("RecordingObserver");
  CHECK(getRecordedTensors(*recording).empty());
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[] = {2, 3}, columnMajor[] = {1, 2};
  llvm::cantFail(observe(*recording, {values.data(), sizes, columnMajor}));
  llvm::cantFail(feed(*recording, {NAN}));
  std::vector<Tensor> tensors = getRecordedTensors(*recording);
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].getData<float>().vec() == std::vector<float>{1, 3, 5, 2, 4, 6});
  CHECK(tensors[0].getSizes().vec() == std::vector<int64_t>{2, 3});
  CHECK(std::isnan(tensors[1].getData<float>()[0]));
  ModuleRef other = recording->deepCopy();
  llvm::cantFail(mergeObserver(*recording, *other));
  CHECK(getRecordedTensors(*recording).size() == 4);
  ModuleRef root = std::make_shared<Module>();
  root->setChild("activation_post_process_0", recording);
  CHECK(getObserverStateDict(*root).empty()); // not in PyTorch's state dict either
}

/// A model of an observer, a fake-quantizer and a weighted layer.
static ModuleRef makeRoot() {
  ModuleRef root = std::make_shared<Module>();
  root->setChild("activation_post_process_0", buildObserver("HistogramObserver", {{"bins", 4}}));
  root->setChild("activation_post_process_1", llvm::cantFail(findObserverAlias("default_fused_per_channel_wt_fake_quant")->build()));
  ModuleRef layer = std::make_shared<Module>();
  layer->setParameter("weight", Tensor::of<float>(DType::Float32, {1}, 1.0f));
  layer->setChild("weight_fake_quant", llvm::cantFail(findObserverAlias("default_embedding_fake_quant")->build()));
  root->setChild("conv", layer);
  return root;
}

TEST_CASE("observer state dictionaries have PyTorch's keys", "[observe]") {
  ModuleRef root = makeRoot();
  std::vector<std::string> keys;
  for (const auto &entry : getObserverStateDict(*root))
    keys.push_back(entry.first);
  CHECK(keys == std::vector<std::string>{"activation_post_process_0.eps", "activation_post_process_0.histogram", "activation_post_process_0.min_val",
                                         "activation_post_process_0.max_val", "activation_post_process_1.fake_quant_enabled",
                                         "activation_post_process_1.observer_enabled", "activation_post_process_1.scale",
                                         "activation_post_process_1.zero_point", "activation_post_process_1.activation_post_process.eps",
                                         "activation_post_process_1.activation_post_process.min_val",
                                         "activation_post_process_1.activation_post_process.max_val",
                                         "conv.weight_fake_quant.activation_post_process.eps", "conv.weight_fake_quant.activation_post_process.min_val",
                                         "conv.weight_fake_quant.activation_post_process.max_val"});
}

TEST_CASE("observer state dictionaries load", "[observe]") {
  ModuleRef root = makeRoot(), fresh = makeRoot();
  llvm::cantFail(feed(*root->findModule("activation_post_process_0"), {0, 1, 5}));
  const std::vector<float> weight = {1, 2, -3, 4};
  const int64_t sizes[] = {2, 2}, strides[] = {2, 1};
  llvm::cantFail(observe(*root->findModule("activation_post_process_1"), {weight.data(), sizes, strides}));
  llvm::cantFail(loadObserverStateDict(*fresh, getObserverStateDict(*root)));
  for (const char *path : {"activation_post_process_0", "activation_post_process_1", "activation_post_process_1.activation_post_process"})
    checkSameBuffers(*root->findModule(path), *fresh->findModule(path));
}

TEST_CASE("observer state dictionaries of other versions and other models", "[observe]") {
  using Entries = std::vector<std::pair<std::string, Tensor>>;
  auto floats = [](std::vector<float> values) {
    return Tensor::of<float>(DType::Float32, static_cast<int64_t>(values.size()), llvm::ArrayRef<float>(values));
  };
  ModuleRef root = std::make_shared<Module>();
  root->setChild("a", buildObserver("PerChannelMinMaxObserver", {{"eps", 0.25}}));
  root->setChild("h", buildObserver("HistogramObserver", {{"bins", 4}}));
  // Version 2 said min_vals and max_vals; PyTorch reads uninitialized memory then.
  llvm::cantFail(loadObserverStateDict(*root, Entries{{"a.min_vals", floats({-1, -2})}, {"a.max_vals", floats({1, 2})}, {"conv.weight", floats({1})}}));
  CHECK(root->findTensorAt("a.min_val")->getData<float>().vec() == std::vector<float>{-1, -2});
  CHECK(root->findTensorAt("a.eps")->getElementAsDouble(0) == 0.25);
  LoadObserverOptions likePyTorch;
  likePyTorch.resetsEps = true;
  llvm::cantFail(loadObserverStateDict(*root, Entries{{"a.eps", floats({0.25f})}}, likePyTorch));
  CHECK(root->findTensorAt("a.eps")->getData<float>()[0] == 1.1920928955078125e-07f);
  llvm::cantFail(loadObserverStateDict(*root, Entries{{"h.min_val", floats({})}, {"h.max_val", floats({})}}));
  CHECK_FALSE(hasObserved(*root->findModule("h")));
  Tensor matrix = Tensor::of<float>(DType::Float32, {2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  for (const Entries &wrong : {Entries{{"a.minimum", floats({1})}}, Entries{{"h.histogram", floats({1, 2})}},
                               Entries{{"a.min_val", Tensor::of<int64_t>(DType::Int64, {1}, int64_t(1))}}, Entries{{"a.min_val", matrix}},
                               Entries{{"h.min_val", floats({1, 2})}}, Entries{{"h.max_val", matrix}}, Entries{{"a.eps", floats({0})}},
                               Entries{{"a.eps", floats({NAN})}}, Entries{{"a.eps", floats({-1})}}, Entries{{"h.histogram", floats({1, -2, 0, 1})}},
                               Entries{{"h.histogram", floats({1, NAN, 0, 1})}}, Entries{{"h.histogram", floats({1, INFINITY, 0, 1})}}}) {
    CHECK(isRefused(loadObserverStateDict(*root, wrong)));
    CHECK(root->findTensorAt("a.min_val")->getData<float>().vec() == std::vector<float>{-1, -2});
  }
}

TEST_CASE("reset forgets minima and maxima", "[observe]") {
  for (const char *className : {"MinMaxObserver", "MovingAverageMinMaxObserver", "PerChannelMinMaxObserver"}) {
    ModuleRef observer = buildObserver(className), fresh = buildObserver(className);
    llvm::cantFail(feed(*observer, {1, 2}));
    llvm::cantFail(resetMinMaxVals(*observer));
    checkSameBuffers(*observer, *fresh);
  }
  CHECK(isRefused(resetMinMaxVals(*buildObserver("HistogramObserver"))));
  CHECK(isRefused(resetMinMaxVals(*buildObserver("PlaceholderObserver"))));
}

TEST_CASE("ranges of codes", "[observe]") { // numerics 2.1, 2.2
  using Range = std::pair<int64_t, int64_t>;
  auto natural = [](DType dtype, bool reduce) { return *calculateQMinQMax({}, {}, false, dtype, reduce); };
  CHECK(natural(DType::QInt8, false) == Range(-128, 127));
  CHECK(natural(DType::QInt8, true) == Range(-64, 63));
  CHECK(natural(DType::UInt8, true) == Range(0, 127));
  CHECK(natural(DType::QInt32, true) == Range(INT32_MIN, INT32_MAX));
  CHECK(natural(DType::UInt16, true) == Range(0, 65535));
  CHECK(natural(DType::Int16, false) == Range(-32768, 32767));
  CHECK(natural(DType::QUInt4x2, false) == Range(0, 15));
  CHECK(natural(DType::Float8E5M2, false) == Range(0, 15));
  CHECK(*calculateQMinQMax(-127, 127, true, DType::QInt8, true) == Range(-64, 63));
  CHECK(*calculateQMinQMax(0, 255, true, DType::QUInt8, true) == Range(0, 127));
  CHECK(*calculateQMinQMax(0, 1000, true, DType::QUInt8, false) == Range(0, 1000)); // not checked upstream
  CHECK(isRefused(calculateQMinQMax(-200, 100, true, DType::QInt8, false).takeError()));
  CHECK(isRefused(calculateQMinQMax(3, -3, true, DType::QInt32, false).takeError()));
  CHECK_FALSE(isRefused(validateQMinQMax(-1, 0)));
  CHECK_FALSE(isRefused(validateQMinQMax(0, 127)));
  CHECK(isRefused(validateQMinQMax(1, 5)));
  CHECK(isRefused(validateQMinQMax(0, 0)));
  CHECK(isRefused(validateQMinQMax(-5, -1)));
}

TEST_CASE("statistics that are valid", "[observe]") { // numerics 2.3
  CHECK(*checkMinMaxValid(-1.0f, 1.0f, true));
  CHECK_FALSE(*checkMinMaxValid({}, {}, false));
  CHECK_FALSE(*checkMinMaxValid(INFINITY, -INFINITY, true));
  CHECK(*checkMinMaxValid(NAN, NAN, true));
  CHECK(*checkMinMaxValid({0.0f, 1.0f}, {0.0f, 2.0f}, false));
  CHECK(isRefused(checkMinMaxValid(1.0f, 0.0f, true).takeError()));
  CHECK(isRefused(checkMinMaxValid({0.0f, INFINITY}, {0.0f, -INFINITY}, false).takeError()));
}

TEST_CASE("determined parameters", "[observe]") { // numerics 2.4; torch 2.13 gives these numbers
  auto qparams = llvm::cantFail(determineQParams(-1.0f, 3.0f, 0, 255, DType::QUInt8, 1.1920929e-07f, false));
  CHECK(qparams.scales == std::vector<double>{static_cast<double>(4.0f / 255.0f)});
  CHECK(qparams.zeroPoints == std::vector<int64_t>{64});
  qparams = llvm::cantFail(determineQParams(-1.0f, 3.0f, -128, 127, DType::QInt8, 0.25f, false, QScheme::PerTensorSymmetric));
  CHECK(qparams.scales == std::vector<double>{0.25});
  CHECK(qparams.zeroPoints == std::vector<int64_t>{0});
  CHECK(llvm::cantFail(determineQParams(-1.0f, 3.0f, 0, 65535, DType::UInt16, 0, false, QScheme::PerTensorSymmetric)).zeroPoints ==
        std::vector<int64_t>{0});
  // float zero points are cut: min -0.5, max 0.5 over 0..15 has 7.5
  qparams = llvm::cantFail(determineQParams(-0.5f, 0.5f, 0, 15, DType::QUInt4x2, 1e-7f, false, QScheme::PerChannelAffineFloatQParams));
  CHECK(qparams.zeroPoints == std::vector<int64_t>{7});
}

TEST_CASE("parameters as convert asks for them", "[observe]") { // numerics 6, get_qparam_dict
  ModuleRef weight = buildObserver("PerChannelMinMaxObserver", {{"dtype", DType::QInt8}, {"qscheme", QScheme::PerChannelSymmetric}, {"ch_axis", 1}});
  const std::vector<float> values = {1, 2, -3, 4};
  const int64_t sizes[] = {2, 2}, strides[] = {2, 1};
  llvm::cantFail(observe(*weight, {values.data(), sizes, strides}));
  QParamDict dict = llvm::cantFail(getQParamDict(*weight));
  CHECK(dict.scheme == QScheme::PerChannelAffine);
  CHECK(dict.axis == 1);
  CHECK(dict.dtype == DType::QInt8);
  CHECK(dict.scales == std::vector<float>{3 / 127.5f, 4 / 127.5f});
  CHECK(dict.quantMin == -128);
  dict = llvm::cantFail(getQParamDict(*buildObserver("PlaceholderObserver", {{"dtype", DType::Float16}})));
  CHECK(dict.dtype == DType::Float16);
  CHECK_FALSE(dict.scheme.has_value());
  CHECK_FALSE(llvm::cantFail(getQParamDict(*buildObserver("NoopObserver"))).scheme.has_value());
}

TEST_CASE("plain observers are not switched", "[observe]") { // numerics 4.1
  ModuleRef root = makeRoot();
  root->forEachModule([](const std::string &, const ModuleRef &module) { disableObserver(*module); });
  CHECK(root->findTensorAt("activation_post_process_1.observer_enabled")->getElementAsDouble(0) == 0);
  CHECK(root->findTensorAt("conv.weight_fake_quant.observer_enabled")->getElementAsDouble(0) == 0);
  llvm::cantFail(feed(*root->findModule("activation_post_process_0"), {1, 2}));
  CHECK(hasObserved(*root->findModule("activation_post_process_0")));
  root->forEachModule([](const std::string &, const ModuleRef &module) { enableFakeQuant(*module, false); });
  CHECK(root->findTensorAt("activation_post_process_1.fake_quant_enabled")->getElementAsDouble(0) == 0);
}

TEST_CASE("errors of fake quantization", "[observe]") { // numerics 7
  Tensor input = Tensor::of<float>(DType::Float32, {2, 1}, {1.0f, 2.0f});
  CHECK(isRefused(fakeQuantizePerTensor(input, 1, 300, 0, 255).takeError()));
  CHECK_FALSE(isRefused(fakeQuantizePerTensor(input, 1, 300, 0, 255, /*checksZeroPoint=*/false).takeError()));
  CHECK(isRefused(fakeQuantizePerTensor(input, 1, 0, 5, 2).takeError()));
  CHECK(isRefused(fakeQuantizePerTensor(Tensor::of<int64_t>(DType::Int64, {1}, int64_t(1)), 1, 0, 0, 255).takeError()));
  const int32_t zeroPoints[] = {0, 0}, wide[] = {0, 999};
  CHECK(isRefused(fakeQuantizePerChannel(input, {1.0f}, llvm::ArrayRef<int32_t>(zeroPoints), 0, 0, 255).takeError()));
  CHECK(isRefused(fakeQuantizePerChannel(input, {1.0f, 1.0f}, llvm::ArrayRef<int32_t>(zeroPoints), 2, 0, 255).takeError()));
  CHECK(isRefused(fakeQuantizePerChannel(input, {1.0f, 1.0f}, llvm::ArrayRef<int32_t>(wide), 0, 0, 255).takeError()));
  // observer off and buffers fresh: two channels, one scale
  ModuleRef fake = llvm::cantFail(findObserverAlias("default_per_channel_weight_fake_quant")->build());
  disableObserver(*fake);
  CHECK(isRefused(forwardFakeQuantize(*fake, input).takeError()));
  CHECK(isBuildRefused("FakeQuantize", {{"dtype", DType::QUInt8}, {"quant_min", 0}, {"quant_max", 256}}));
  CHECK(isBuildRefused("MinMaxObserver", {{"quant_min", 1}, {"quant_max", 5}}));
  CHECK(isBuildRefused("MinMaxObserver", {{"dtype", DType::QUInt2x4}}));
  CHECK(isBuildRefused("MinMaxObserver", {{"qscheme", QScheme::PerTensorSymmetric}, {"reduce_range", true}}));
}

TEST_CASE("the gradient passes where the mask says", "[observe]") {
  Tensor gradient = Tensor::of<float>(DType::Float32, {3}, {2.0f, INFINITY, -1.0f});
  Tensor mask = Tensor::of<uint8_t>(DType::Bool, {3}, {uint8_t(1), uint8_t(0), uint8_t(0)});
  Tensor result = fakeQuantizeBackward(gradient, mask);
  llvm::ArrayRef<float> passed = result.getData<float>();
  CHECK(passed[0] == 2);
  CHECK(std::isnan(passed[1])); // a product, as upstream
  CHECK(passed[2] == 0);
}
