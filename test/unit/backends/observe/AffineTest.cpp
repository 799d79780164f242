// The affine family: against a second computation (test/golden/observers/make_affine.py; make_affine_half.py for other dtypes), granularities as text, observers as modules.
#include "backends/observe/AffineObserver.h"

#include "Catch.h"
#include "unit/backends/observe/GoldenFamilies.h"
#include "unit/backends/observe/ObserverTestUtils.h"

using namespace qfx;
using namespace qfx::test;
using nlohmann::json;

/// uniform() of inputs.py.
static Tensor makeInput(const json &row) {
  uint64_t state = row["seed"];
  const double low = row["low"], high = 5;
  std::vector<int64_t> sizes = row["shape"].get<std::vector<int64_t>>();
  return Tensor::build(DType::Float32, sizes, [&](MutableBytes bytes) {
    for (size_t i = 0; i < bytes.size() / 4; ++i) {
      uint64_t z = state += 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      z ^= z >> 31;
      reinterpret_cast<float *>(bytes.data())[i] = static_cast<float>(low + (high - low) * (static_cast<double>(z >> 40) * 0x1p-24));
    }
  });
}

static void checkBits(const Tensor &found, const json &bits) {
  REQUIRE(found.getNumElements() == static_cast<int64_t>(bits.size()));
  for (int64_t i = 0; i < found.getNumElements(); ++i)
    CHECK(static_cast<float>(found.getElementAsDouble(i)) == floatFromBits(bits[static_cast<size_t>(i)].get<uint32_t>()));
}

static AffineOptions makeOptions(const json &row) {
  AffineOptions options;
  options.mapping = *parseMappingType(row["mapping"].get<std::string>());
  options.preserveZero = row["preserve_zero"];
  options.domain = *parseZeroPointDomain(row["domain"].get<std::string>());
  options.target = llvm::cantFail(parseAffineTarget(row["target"].get<std::string>()));
  return options;
}

static void checkRow(const json &row) {
  INFO(row.dump().substr(0, 300));
  Tensor input = makeInput(row);
  AffineOptions options = makeOptions(row);
  Granularity granularity = llvm::cantFail(parseGranularity(row["granularity"].get<std::string>()));
  std::vector<int64_t> blockSize = llvm::cantFail(getBlockSize(input.getSizes(), granularity));
  llvm::Expected<AffineQParams> qparams = chooseQParamsAffine(input, blockSize, options);
  if (row.contains("error")) {
    REQUIRE_FALSE(static_cast<bool>(qparams));
    llvm::consumeError(qparams.takeError());
    return;
  }
  REQUIRE(static_cast<bool>(qparams));
  CHECK(blockSize == row["block_size"].get<std::vector<int64_t>>());
  CHECK(qparams->scale.getSizes().vec() == row["parameter_shape"].get<std::vector<int64_t>>());
  checkBits(qparams->scale, row["scale"]);
  if (row["zero_point"].is_null())
    CHECK_FALSE(static_cast<bool>(qparams->zeroPoint));
  else
    checkBits(qparams->zeroPoint, row["zero_point"]);
  Tensor codes = llvm::cantFail(quantizeAffine(input, blockSize, *qparams, options));
  Tensor values = llvm::cantFail(dequantizeAffine(codes, blockSize, *qparams, options));
  if (options.target.isFloat8()) {
    // codes are bits: compare what they stand for, at scale 1
    AffineQParams one{Tensor::of<float>(DType::Float32, {}, 1.0f), Tensor()};
    codes = llvm::cantFail(dequantizeAffine(codes, codes.getSizes(), one, options));
  }
  for (int64_t i = 0; i < codes.getNumElements(); ++i)
    CHECK(codes.getElementAsDouble(i) == row["codes"][static_cast<size_t>(i)].get<double>());
  checkBits(values, row["values"]);
}

TEST_CASE("affine quantization equals a second computation", "[observe]") {
  for (const json &row : getGolden("affine")["rows"])
    checkRow(row);
}

static void checkNumbers(const Tensor &found, const json &expected) {
  REQUIRE(found.getNumElements() == static_cast<int64_t>(expected.size()));
  for (int64_t i = 0; i < found.getNumElements(); ++i)
    CHECK(found.getElementAsDouble(i) == expected[static_cast<size_t>(i)].get<double>());
}

static std::optional<DType> readDType(const json &name) {
  return name.is_null() ? std::nullopt : parseTorchDType(name.get<std::string>());
}

TEST_CASE("affine quantization of halves and with parameters of other dtypes equals PyTorch's arithmetic", "[observe]") {
  for (const json &row : getGolden("affine_half")["rows"]) {
    INFO(row.dump().substr(0, 350));
    Tensor input = castFloats(makeInput(row), *readDType(row["dtype"]));
    AffineOptions options = makeOptions(row);
    options.scaleDType = readDType(row["scale_dtype"]);
    options.zeroPointDType = readDType(row["zero_point_dtype"]);
    Granularity granularity = llvm::cantFail(parseGranularity(row["granularity"].get<std::string>()));
    std::vector<int64_t> blockSize = llvm::cantFail(getBlockSize(input.getSizes(), granularity));
    AffineQParams qparams = llvm::cantFail(chooseQParamsAffine(input, blockSize, options));
    CHECK(qparams.scale.getDType() == options.scaleDType.value_or(input.getDType()));
    checkNumbers(qparams.scale, row["scale"]);
    REQUIRE(static_cast<bool>(qparams.zeroPoint) == !row["zero_point"].is_null());
    if (qparams.zeroPoint)
      checkNumbers(qparams.zeroPoint, row["zero_point"]);
    Tensor codes = llvm::cantFail(quantizeAffine(input, blockSize, qparams, options));
    checkNumbers(codes, row["codes"]);
    Tensor values = llvm::cantFail(dequantizeAffine(codes, blockSize, qparams, options, *readDType(row["output_dtype"])));
    CHECK(values.getDType() == *readDType(row["output_dtype"]));
    checkNumbers(values, row["values"]);
  }
}

TEST_CASE("codes of halves stay inside their target", "[observe]") {
  // 32767 rounds to 32768 in bfloat16, where PyTorch's conversion wraps; the largest bfloat16 below is 32640. int32's bounds are infinite in float16.
  AffineOptions options;
  options.target = llvm::cantFail(parseAffineTarget("int16"));
  Tensor input = castFloats(Tensor::of<float>(DType::Float32, {2}, {-1.0f, 1e6f}), DType::BFloat16);
  AffineQParams one{castFloats(Tensor::of<float>(DType::Float32, {}, 1.0f), DType::BFloat16), castFloats(Tensor::of<float>(DType::Float32, {}, 0.0f), DType::BFloat16)};
  Tensor codes = llvm::cantFail(quantizeAffine(input, {2}, one, options));
  CHECK(codes.getElementAsDouble(0) == -1);
  CHECK(codes.getElementAsDouble(1) == 32640);
  options.target = llvm::cantFail(parseAffineTarget("int32"));
  CHECK(isRefused(chooseQParamsAffine(castFloats(input, DType::Float16), {2}, options).takeError()));
}

TEST_CASE("granularities as text", "[observe]") {
  for (const char *text : {"PerTensor()", "PerAxis(axis=-1)", "PerGroup(group_size=32)", "PerRow()", "PerRow(dim=0)", "PerToken()", "PerBlock(block_size=(1, 32))",
                           "PerBlock(block_size=(8,))"})
    CHECK(toString(llvm::cantFail(parseGranularity(text))) == text);
  CHECK(llvm::cantFail(parseGranularity("PerAxis(2)")) == Granularity(PerAxis{2}));
  CHECK_FALSE(Granularity(PerRow()) == Granularity(PerToken()));
  for (const char *text : {"PerTensor", "PerAxis()", "PerGroup(size=3)", "PerAxis(axis=x)", "PerBlock()", "Granularity()", "PerAxis(axis=(1)"}) {
    INFO(text);
    CHECK(isRefused(parseGranularity(text).takeError()));
  }
}

TEST_CASE("granularities that do not fit", "[observe]") {
  const std::vector<int64_t> shape = {4, 6};
  for (const Granularity &granularity : {Granularity(PerAxis{2}), Granularity(PerGroup{4}), Granularity(PerBlock{{1, 1, 2}}), Granularity(PerBlock{{3, 2}})})
    CHECK(isRefused(getBlockSize(shape, granularity).takeError()));
  CHECK(isRefused(getBlockSize({}, PerToken()).takeError()));
  CHECK(isRefused(BlockLayout::get(shape, {4}).takeError()));
}

TEST_CASE("placeholder integers of 1 to 7 bits", "[observe]") {
  CHECK(getTorchAORange(TorchAODType::Int1) == std::pair<int64_t, int64_t>(-1, 0));
  CHECK(getTorchAORange(TorchAODType::Int4) == std::pair<int64_t, int64_t>(-8, 7));
  CHECK(getTorchAORange(TorchAODType::Int7) == std::pair<int64_t, int64_t>(-64, 63));
  CHECK(static_cast<int>(MappingType::Asymmetric) == 3);
  CHECK(static_cast<int>(ZeroPointDomain::None) == 3);
  for (const char *name : {"int9", "uint0", "float32", "quint8", ""})
    CHECK(isRefused(parseAffineTarget(name).takeError()));
}

static Argument::DictEntries makeKeywords(const char *granularity) {
  return {{"mapping_type", "ASYMMETRIC"}, {"target_dtype", "uint8"}, {"granularity", granularity}};
}

static llvm::Error feedMatrix(Module &observer, const std::vector<float> &values, int64_t rows) {
  const int64_t columns = static_cast<int64_t>(values.size()) / rows;
  const int64_t sizes[] = {rows, columns}, strides[] = {columns, 1};
  return observe(observer, {values.data(), sizes, strides});
}

TEST_CASE("affine observers as modules", "[observe]") {
  ModuleRef minMax = buildObserver("AffineQuantizedMinMaxObserver", makeKeywords("PerGroup(group_size=2)"));
  CHECK(isAffineObserver(*minMax));
  CHECK_FALSE(hasObserved(*minMax));
  CHECK(isRefused(calculateAffineQParams(*minMax).takeError()));
  llvm::cantFail(feedMatrix(*minMax, {0, 1, 2, 3, -1, 0, 5, 5}, 2));
  llvm::cantFail(feedMatrix(*minMax, {0, 2, 2, 2, -3, 0, 0, 0}, 2));
  CHECK(getObservedBlockSize(*minMax).vec() == std::vector<int64_t>{1, 2});
  // ranges of the four groups: [0, 2], [2, 3], [-3, 0], [0, 5]
  AffineQParams qparams = llvm::cantFail(calculateAffineQParams(*minMax));
  CHECK(qparams.scale.getSizes().vec() == std::vector<int64_t>{2, 2});
  const float scales[] = {2.0f / 255, 3.0f / 255, 3.0f / 255, 5.0f / 255};
  const double zeroPoints[] = {0, 0, 255, 0};
  for (int64_t i = 0; i < 4; ++i) {
    CHECK(qparams.scale.getElementAsDouble(i) == static_cast<double>(scales[i]));
    CHECK(qparams.zeroPoint.getElementAsDouble(i) == zeroPoints[i]);
  }
  CHECK(isRefused(calculateQParams(*minMax).takeError())); // per group: no quantizer of a tensor has that
  CHECK(isRefused(feedMatrix(*minMax, {1, 2, 3, 4}, 1)));  // another number of groups

  ModuleRef average = buildObserver("AffineQuantizedMovingAverageMinMaxObserver", makeKeywords("PerTensor()"));
  llvm::cantFail(feedMatrix(*average, {0, 1}, 1));
  llvm::cantFail(feedMatrix(*average, {0, 2}, 1));
  CHECK(average->getTensor("max_val").getElementAsDouble(0) == static_cast<double>(1.0f + 0.01f * 1.0f));
  CHECK(calculateQParams(*average)->zeroPoints == std::vector<int64_t>{0});

  ModuleRef axis = buildObserver("AffineQuantizedMinMaxObserver", makeKeywords("PerAxis(axis=0)"));
  llvm::cantFail(feedMatrix(*axis, {0, 1, -1, 0}, 2));
  QParams perAxis = llvm::cantFail(calculateQParams(*axis));
  CHECK(perAxis.scheme == QScheme::PerChannelAffine);
  CHECK(perAxis.scales == std::vector<float>{1.0f / 255, 1.0f / 255});
  CHECK(perAxis.zeroPoints == std::vector<int64_t>{0, 255});
}

TEST_CASE("affine placeholder and fixed observers", "[observe]") {
  ModuleRef placeholder = buildObserver("AffineQuantizedPlaceholderObserver", makeKeywords("PerToken()"));
  llvm::cantFail(feedMatrix(*placeholder, {0, 1, 2, 3, 4, 5}, 2));
  CHECK(getObservedBlockSize(*placeholder).vec() == std::vector<int64_t>{1, 3});
  CHECK(isRefused(calculateAffineQParams(*placeholder).takeError()));
  Argument::DictEntries keywords = makeKeywords("PerTensor()");
  keywords.emplace_back("scale", 0.25);
  keywords.emplace_back("zero_point", 3.0);
  ModuleRef fixed = buildObserver("AffineQuantizedFixedQParamObserver", keywords);
  llvm::cantFail(feedMatrix(*fixed, {-9, 9}, 1));
  QParams qparams = llvm::cantFail(calculateQParams(*fixed));
  CHECK(qparams.scales == std::vector<float>{0.25f});
  CHECK(qparams.zeroPoints == std::vector<int64_t>{3});
}

TEST_CASE("affine observers remember the dtype of their data", "[observe]") {
  ModuleRef minMax = buildObserver("AffineQuantizedMinMaxObserver", makeKeywords("PerTensor()"));
  CHECK_FALSE(getOriginalDType(*minMax));
  setOriginalDType(*minMax, DType::Float16);
  llvm::cantFail(feedMatrix(*minMax, {-1, 2}, 1));
  CHECK(getOriginalDType(*minMax) == DType::Float16);
  AffineQParams qparams = llvm::cantFail(calculateAffineQParams(*minMax));
  CHECK(qparams.scale.getDType() == DType::Float16);
  // 3 / 255 = 0.0117647 = 1.50588 * 2^-7, in float16 1542 * 2^-17; -1 / scale = -85.0 and so the zero point 85
  CHECK(qparams.scale.getElementAsDouble(0) == 1542 * 0x1p-17);
  CHECK(qparams.zeroPoint.getElementAsDouble(0) == 85);
  ModuleRef plain = buildObserver("AffineQuantizedPlaceholderObserver", makeKeywords("PerToken()"));
  llvm::cantFail(feedMatrix(*plain, {0, 1}, 1));
  CHECK(getOriginalDType(*plain) == DType::Float32);
}

TEST_CASE("affine observers check their arguments", "[observe]") {
  auto isWrong = [](const char *key, Argument value) {
    Argument::DictEntries keywords = makeKeywords("PerTensor()");
    for (auto &[name, old] : keywords)
      if (name == key) {
        old = value;
        return isBuildRefused("AffineQuantizedMinMaxObserver", keywords);
      }
    keywords.emplace_back(key, value);
    return isBuildRefused("AffineQuantizedMinMaxObserver", keywords);
  };
  CHECK(isWrong("mapping_type", "SYMETRIC"));
  CHECK(isWrong("granularity", "PerChannel(0)"));
  CHECK(isWrong("target_dtype", "quint8"));
  CHECK(isWrong("quant_max", 300));
  CHECK(isWrong("preserve_zero", false)); // integer zero points need an exact zero
  CHECK(isWrong("zero_point_domain", "DOUBLE"));
  CHECK(isWrong("scale_dtype", DType::Int32));
  CHECK_FALSE(isWrong("quant_max", 127));
}
