// Methods of quantized tensors against PyTorch 2.13: what they keep, what they give, what they refuse (operators 12).
#include "backends/native/TensorMethods.h"

#include "QuantizedCases.h"

#include "Catch.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>

using namespace qfx;
using namespace qfx::test;
using Json = nlohmann::json;

namespace {

/// A tensor, a number or a name.
struct Outcome {
  std::vector<Tensor> tensors;
  Json value;
};
using Method = std::function<llvm::Expected<Outcome>(const Tensor &, const Json &, const std::vector<Tensor> &)>;

llvm::Expected<Outcome> wrap(llvm::Expected<Tensor> tensor) {
  if (!tensor)
    return tensor.takeError();
  return Outcome{{*tensor}, {}};
}
llvm::Expected<Outcome> wrap(llvm::Expected<std::pair<Tensor, Tensor>> pair) {
  if (!pair)
    return pair.takeError();
  return Outcome{{pair->first, pair->second}, {}};
}
template <class T> llvm::Expected<Outcome> wrapValue(llvm::Expected<T> value) {
  if (!value)
    return value.takeError();
  return Outcome{{}, Json(*value)};
}

std::vector<int64_t> ints(const Json &list) { return list.get<std::vector<int64_t>>(); }

std::map<std::string, Method> getMethods() {
  using namespace tensors;
  using Others = std::vector<Tensor>;
  std::map<std::string, Method> methods;
  methods["view"] = [](const Tensor &t, const Json &a, const Others &) { return wrap(view(t, ints(a))); };
  methods["flatten"] = [](const Tensor &t, const Json &a, const Others &) { return wrap(flatten(t, a[0], a[1])); };
  methods["as_strided"] = [](const Tensor &t, const Json &a, const Others &) {
    return wrap(asStrided(t, ints(a[0]), ints(a[1]), a[2]));
  };
  methods["expand"] = [](const Tensor &t, const Json &a, const Others &) { return wrap(expand(t, ints(a))); };
  methods["select"] = [](const Tensor &t, const Json &a, const Others &) { return wrap(select(t, a[0], a[1])); };
  for (auto [name, kind] :
       {std::pair("eq", Comparison::Eq), std::pair("ne", Comparison::Ne), std::pair("lt", Comparison::Lt),
        std::pair("le", Comparison::Le), std::pair("gt", Comparison::Gt), std::pair("ge", Comparison::Ge)})
    methods[name] = [kind = kind](const Tensor &t, const Json &a, const Others &o) {
      return wrap(o.empty() ? compare(kind, t, a[0].get<double>()) : compare(kind, t, o[0]));
    };
  methods["copy_"] = [](const Tensor &t, const Json &, const Others &o) { return wrap(copy(t, o[0])); };
  methods["clone"] = [](const Tensor &t, const Json &, const Others &) { return wrap(clone(t)); };
  methods["dequantize"] = [](const Tensor &t, const Json &, const Others &) { return wrap(dequantize(t)); };
  methods["equal"] = [](const Tensor &t, const Json &, const Others &o) {
    return wrapValue(llvm::Expected<bool>(equal(t, o.empty() ? clone(t) : o[0])));
  };
  methods["int_repr"] = [](const Tensor &t, const Json &, const Others &) { return wrap(intRepr(t)); };
  methods["max"] = [](const Tensor &t, const Json &a, const Others &) {
    return a.empty() ? wrap(max(t)) : wrap(max(t, a[0], a[1]));
  };
  methods["min"] = [](const Tensor &t, const Json &a, const Others &) {
    return a.empty() ? wrap(min(t)) : wrap(min(t, a[0], a[1]));
  };
  methods["mean"] = [](const Tensor &t, const Json &a, const Others &) {
    return a.empty() ? wrap(mean(t)) : wrap(mean(t, ints(a[0]), a[1]));
  };
  methods["q_scale"] = [](const Tensor &t, const Json &, const Others &) { return wrapValue(qScale(t)); };
  methods["q_zero_point"] = [](const Tensor &t, const Json &, const Others &) { return wrapValue(qZeroPoint(t)); };
  methods["q_per_channel_scales"] = [](const Tensor &t, const Json &, const Others &) {
    return wrap(qPerChannelScales(t));
  };
  methods["q_per_channel_zero_points"] = [](const Tensor &t, const Json &, const Others &) {
    return wrap(qPerChannelZeroPoints(t));
  };
  methods["q_per_channel_axis"] = [](const Tensor &t, const Json &, const Others &) {
    return wrapValue(qPerChannelAxis(t));
  };
  methods["qscheme"] = [](const Tensor &t, const Json &, const Others &) -> llvm::Expected<Outcome> {
    auto scheme = qScheme(t);
    if (!scheme)
      return scheme.takeError();
    return Outcome{{}, Json("torch." + getQSchemeName(*scheme).str())};
  };
  methods["resize_"] = [](const Tensor &t, const Json &a, const Others &) { return wrap(resize(t, ints(a))); };
  methods["sort"] = [](const Tensor &t, const Json &a, const Others &) { return wrap(sort(t, a[0], a[1])); };
  methods["topk"] = [](const Tensor &t, const Json &a, const Others &) { return wrap(topk(t, a[0], a[1], a[2])); };
  return methods;
}

QuantizedCase::Generated readSource(const Json &json) {
  return {json["type"], json["kind"], json["args"].get<std::vector<double>>(), json["seed"]};
}

void checkTensor(const Tensor &actual, const Json &expected) {
  CHECK(actual.getSizes().vec() == expected["shape"].get<std::vector<int64_t>>());
  CHECK(getDTypeInfo(actual.getDType()).torchName == expected["dtype"].get<std::string>());
  if (expected.contains("scales")) {
    REQUIRE(actual.getQuantizer());
    const Quantizer &quantizer = *actual.getQuantizer();
    CHECK(quantizer.getScales().vec() == expected["scales"].get<std::vector<double>>());
    const auto zeroPoints = expected["zero_points"].get<std::vector<double>>();
    if (quantizer.getScheme() == QScheme::PerChannelAffineFloatQParams)
      CHECK(std::vector<double>(quantizer.getFloatZeroPoints().begin(), quantizer.getFloatZeroPoints().end()) ==
            zeroPoints);
    else
      CHECK(std::vector<double>(quantizer.getZeroPoints().begin(), quantizer.getZeroPoints().end()) == zeroPoints);
    if (expected.contains("axis"))
      CHECK(quantizer.getAxis() == expected["axis"].get<int64_t>());
  } else {
    CHECK_FALSE(actual.getQuantizer());
  }
  const Json &data = expected["data"];
  REQUIRE(actual.getNumElements() == static_cast<int64_t>(data.size()));
  for (size_t i = 0; i < data.size(); ++i) {
    const double want = data[i].is_boolean() ? data[i].get<bool>() : data[i].get<double>();
    if (actual.getElementAsDouble(static_cast<int64_t>(i)) != want)
      FAIL_CHECK("element " << i << " is " << actual.getElementAsDouble(static_cast<int64_t>(i)) << ", not " << want);
  }
}

/// Where qfx goes on and PyTorch refuses, and the other way round (docs/Differences.md).
bool differsFromPyTorch(const std::string &method, const std::string &self) {
  return method == "clone" && self == "fq"; // PyTorch cannot clone float-qparams tensors
}

} // namespace

TEST_CASE("methods of quantized tensors are PyTorch's", "[quantized][tensor]") {
  std::ifstream file(std::string(QFX_GOLDEN_DIR) + "/quantized/tensor_methods.json");
  const Json root = Json::parse(file);
  const std::map<std::string, Method> methods = getMethods();
  REQUIRE(root["cases"].size() > 250);
  for (const Json &one : root["cases"]) {
    const std::string method = one["method"], name = one["name"];
    INFO(method << " of " << name << " with " << one["args"].dump() << " " << one["others"].dump());
    std::vector<Tensor> others;
    for (const Json &other : one["others"])
      others.push_back(generate(readSource(other)));
    const Tensor self = generate(readSource(one["self"]));
    REQUIRE(self);
    llvm::Expected<Outcome> outcome = methods.at(method)(self, one["args"], others);
    const bool isRefused = one.contains("refused") && !differsFromPyTorch(method, name);
    if (!outcome) {
      const std::string message = toText(outcome.takeError());
      CHECK(message.size() > 10);
      if (!isRefused)
        FAIL_CHECK(message);
      continue;
    }
    if (isRefused) {
      FAIL_CHECK("PyTorch refuses: " << one["refused"]);
      continue;
    }
    if (one.contains("refused"))
      continue;
    const Json &results = one["results"];
    if (results[0].contains("value")) {
      CHECK((outcome->value == results[0]["value"]));
      continue;
    }
    REQUIRE(outcome->tensors.size() == results.size());
    for (size_t i = 0; i < results.size(); ++i)
      checkTensor(outcome->tensors[i], results[i]);
  }
}

static Tensor makePerChannel(int64_t axis) {
  std::vector<int8_t> codes(24);
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<int8_t>(i);
  return Tensor::of<int8_t>(DType::QInt8, {2, 3, 4}, codes,
                            std::make_shared<const Quantizer>(Quantizer::perChannel(
                                axis == 1 ? std::vector<double>{0.1, 0.2, 0.3} : std::vector<double>{0.1, 0.2},
                                axis == 1 ? std::vector<int64_t>{0, 1, 2} : std::vector<int64_t>{0, 1}, axis)));
}

// operators 25.4: PyTorch keeps a wrong axis where qfx adjusts it or refuses.
TEST_CASE("a channel axis moves with its dimension", "[quantized][tensor]") {
  const Tensor t = makePerChannel(1);
  auto selected = tensors::select(t, 0, 1);
  REQUIRE(static_cast<bool>(selected));
  CHECK(selected->getQuantizer()->getAxis() == 0);
  CHECK(selected->getSizes().vec() == std::vector<int64_t>{3, 4});
  auto channel = tensors::select(t, 1, 2);
  REQUIRE(static_cast<bool>(channel));
  REQUIRE(channel->getQuantizer()->isPerTensor());
  CHECK(channel->getQuantizer()->getScale() == 0.3);
  CHECK(channel->getQuantizer()->getZeroPoint() == 2);
  auto merged = tensors::view(t, {6, 4});
  CHECK_FALSE(static_cast<bool>(merged));
  llvm::consumeError(merged.takeError());
  auto kept = tensors::view(makePerChannel(0), {2, 12});
  REQUIRE(static_cast<bool>(kept));
  CHECK(kept->getQuantizer()->getAxis() == 0);
  auto narrowed = tensors::callMethod("narrow", {t}, {1, 1, 2});
  REQUIRE(static_cast<bool>(narrowed));
  CHECK((*narrowed)[0].getQuantizer()->getScales().vec() == std::vector<double>{0.2, 0.3});
  auto unsqueezed = tensors::callMethod("unsqueeze", {t}, {0});
  REQUIRE(static_cast<bool>(unsqueezed));
  CHECK((*unsqueezed)[0].getQuantizer()->getAxis() == 2);
}

TEST_CASE("fill and item of quantized tensors", "[quantized][tensor]") {
  const auto quantizer = std::make_shared<const Quantizer>(Quantizer::perTensor(0.1, 0));
  const Tensor t = Tensor::of<uint8_t>(DType::QUInt8, {2}, {1, 2}, quantizer);
  auto filled = tensors::fill(t, 1.05); // RNE(10.5) = 10 (operators 8.7)
  REQUIRE(static_cast<bool>(filled));
  CHECK(filled->getData<uint8_t>().vec() == std::vector<uint8_t>{10, 10});
  const Tensor one = Tensor::of<int8_t>(DType::QInt8, {}, {-10}, quantizer);
  auto item = tensors::item(one);
  REQUIRE(static_cast<bool>(item));
  CHECK(std::abs(*item + 1.0) < 1e-6);
  auto none = tensors::item(t);
  CHECK_FALSE(static_cast<bool>(none));
  llvm::consumeError(none.takeError());
}
