// Tensor files: safetensors and .npy, read, written and refused.
#include "Catch.h"
#include "IrTest.h"

#include "ir/weights/InputSet.h"
#include "ir/weights/Npy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace qfx;

/// A safetensors file with that header and data.
static std::string makeFile(const std::string &header, const std::string &data) {
  std::string file;
  for (int i = 0; i < 8; ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + data;
}

static llvm::Expected<SafetensorsFile> parseFile(const std::string &bytes, const LoadLimits &limits = {}) {
  return SafetensorsFile::parse(makeStorage(bytes), "w.safetensors", limits);
}

static std::string write(const NamedTensors &tensors, const StringPairs &metadata = {}) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  writeSafetensors(os, tensors, metadata);
  return os.str();
}

/// values.txt: name, torch dtype, shape and elements of each golden tensor.
static void forEachGolden(llvm::function_ref<void(llvm::StringRef name, DType dtype, llvm::ArrayRef<int64_t> shape,
                                                  llvm::ArrayRef<llvm::StringRef> elements)>
                              visit) {
  std::string content = readFileOrFail(QFX_GOLDEN_DIR "/tensor_files/values.txt");
  llvm::SmallVector<llvm::StringRef, 32> lines;
  llvm::StringRef(content).split(lines, '\n', -1, /*KeepEmpty=*/false);
  REQUIRE(lines.size() == 15);
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef, 8> words, sizes;
    line.split(words, ' ');
    llvm::SmallVector<int64_t, 4> shape;
    if (words[2] != "-")
      words[2].split(sizes, 'x');
    for (llvm::StringRef size : sizes) {
      shape.emplace_back();
      REQUIRE(!size.getAsInteger(10, shape.back()));
    }
    visit(words[0], *parseTorchDType(words[1]), shape, llvm::ArrayRef<llvm::StringRef>(words).drop_front(3));
  }
}

static void checkElements(const Tensor &tensor, DType dtype, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<llvm::StringRef> elements) {
  CHECK(tensor.getDType() == dtype);
  CHECK(tensor.getSizes() == shape);
  REQUIRE(tensor.getNumElements() == static_cast<int64_t>(elements.size()));
  for (size_t i = 0; i < elements.size(); ++i) {
    if (dtype == DType::Int64) {
      int64_t value;
      REQUIRE(!elements[i].getAsInteger(10, value));
      CHECK(tensor.getData<int64_t>()[i] == value);
    } else {
      CHECK(tensor.getElementAsDouble(static_cast<int64_t>(i)) == std::stod(elements[i].str()));
    }
  }
}

TEST_CASE("files of the safetensors library and of NumPy read to PyTorch's values") {
  auto file = SafetensorsFile::open(QFX_GOLDEN_DIR "/tensor_files/all.safetensors");
  REQUIRE_OK(file.takeError());
  CHECK(file->getMetadata() == StringPairs{{"made_by", "safetensors"}});
  CHECK(file->getKeys().size() == 15);
  forEachGolden([&](llvm::StringRef name, DType dtype, llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<llvm::StringRef> elements) {
    INFO(name.str());
    auto tensor = file->read(name);
    REQUIRE_OK(tensor.takeError());
    checkElements(*tensor, dtype, shape, elements);
    if (name == "bf16" || llvm::StringRef(name).take_front(2) == "f8")
      return; // NumPy has no such dtype
    auto array = readNpy((QFX_GOLDEN_DIR "/tensor_files/" + name + ".npy").str());
    REQUIRE_OK(array.takeError());
    checkElements(*array, dtype, shape, elements);
    std::string written;
    llvm::raw_string_ostream os(written);
    writeNpy(os, *array);
    CHECK(os.str().size() % 64 == array->getSizeBytes() % 64); // the data is aligned to 64 bytes
    auto again = parseNpy(makeStorage(written), "again.npy");
    REQUIRE_OK(again.takeError());
    CHECK(again->equals(*array));
  });
}

TEST_CASE("what is written reads back, bytes are stable and data is aligned") {
  auto file = SafetensorsFile::open(QFX_GOLDEN_DIR "/tensor_files/all.safetensors");
  REQUIRE_OK(file.takeError());
  auto tensors = file->readAll();
  REQUIRE_OK(tensors.takeError());
  auto perChannel = std::make_shared<Quantizer>(Quantizer::perChannel({0.5, 0.1}, {0, -3}, 1));
  auto perTensor = std::make_shared<Quantizer>(Quantizer::perTensor(0.1, 255));
  auto floatParams = std::make_shared<Quantizer>(Quantizer::perChannelFloat({0.5f, 0.1f, 2.f}, {0.5f, 0.f, -1.f}, 0));
  tensors->emplace_back("q.channel", Tensor::of<int8_t>(DType::QInt8, {2, 2}, {1, 2, -128, 127}, perChannel));
  tensors->emplace_back("q.tensor", Tensor::of<uint8_t>(DType::QUInt8, {3}, {0, 255, 7}, perTensor));
  tensors->emplace_back("q.four", Tensor::of<uint8_t>(DType::QUInt4x2, {3, 3}, {0x21, 0x43, 0x65, 0x87, 0x0f}, floatParams));
  tensors->emplace_back("odd \"key\"\n\xc3\xa9", Tensor::of<float>(DType::Float32, {1}, {1.f}));
  std::string bytes = write(*tensors, {{"note", "a \"quoted\" one"}});
  auto again = parseFile(bytes);
  REQUIRE_OK(again.takeError());
  CHECK(again->getKeys().size() == tensors->size());
  for (const auto &[name, tensor] : *tensors) {
    INFO(name);
    auto read = again->read(name);
    REQUIRE_OK(read.takeError());
    CHECK(read->equals(tensor));
    CHECK(reinterpret_cast<uintptr_t>(read->getBytes()) % std::max(1u, getDTypeInfo(tensor.getDType()).bits / 8) == 0);
  }
  auto all = again->readAll();
  REQUIRE_OK(all.takeError());
  bool isStable = write(*all, {{"note", "a \"quoted\" one"}}) == bytes; // not in the macro, which would print the bytes
  CHECK(isStable);
}

TEST_CASE("an unaligned tensor is copied, an aligned one is a view") {
  std::string header = R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  while (header.size() % 8)
    header += ' ';
  float values[2] = {1.5f, -2.f};
  std::string bytes = makeFile(header, "\x07" + std::string(reinterpret_cast<const char *>(values), 8));
  auto storage = makeStorage(bytes);
  auto file = SafetensorsFile::parse(storage, "w.safetensors");
  REQUIRE_OK(file.takeError());
  Tensor f = *file->read("f"), b = *file->read("b");
  CHECK(f.getData<float>()[1] == -2.f);
  CHECK(f.getStorage() != storage);
  CHECK(b.getStorage() == storage);
}

TEST_CASE("lies in a safetensors header are told with the byte they stand at") {
  struct Case {
    std::string bytes, code, text;
  };
  std::string good = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  REQUIRE_OK(parseFile(makeFile(good, "xy")).takeError());
  auto entry = [](const std::string &fields) { return "{\"a\":{" + fields + "}}"; };
  const Case cases[] = {
      {"", "weights_header", "the file has 0 bytes"},
      {"1234567", "weights_header", "the file has 7 bytes"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8), "tensor_size", "the header claims 9223372036854775807 bytes"},
      {makeFile(good, "").substr(0, 20), "weights_header", "but the file ends 12 bytes after it"},
      {makeFile("", ""), "weights_header", "does not start with '{'"},
      {makeFile(" {}", ""), "weights_header", "does not start with '{', at byte 8"},
      {makeFile("{} x", ""), "weights_header", "something stands behind the header's object, at byte 11"},
      {makeFile("{\"a\xff\":1}", ""), "weights_header", "not UTF-8, at byte 11"},
      {makeFile(good, "x"), "weights_range", "claims data bytes 0..2, but the file has 1 bytes of data"},
      {makeFile(good, "xyz"), "weights_range", "the file has 3 bytes of data, its tensors use 2"},
      {makeFile("{}", "xyz"), "weights_range", "the file has 3 bytes of data, its tensors use 0"},
      {makeFile(entry(R"("dtype":"U8","shape":[3],"data_offsets":[0,2])"), "xy"), "weights_range",
       "needs 3 bytes by its dtype and shape, its data_offsets give 2"},
      {makeFile(entry(R"("dtype":"U8","shape":[0],"data_offsets":[2,0])"), "xy"), "weights_range",
       "which ends before it begins"},
      {makeFile(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "xyz"),
       "weights_range", "tensor 'b' (at byte 61) claims data bytes 1..3, which overlaps the tensor before it"},
      {makeFile(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})", "xyz"),
       "weights_range", "which leaves a hole behind data byte 1"},
      {makeFile(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "xy"),
       "weights_header", "the key 'a' stands twice, at byte 61"},
      {makeFile(entry(R"("dtype":"U7","shape":[2],"data_offsets":[0,2])"), "xy"), "weights_dtype",
       "tensor 'a' has the dtype 'U7', at byte 22; this build reads F32 F16"},
      {makeFile(entry(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,2])"), "xy"), "tensor_size",
       "larger than the limit"},
      {makeFile(entry(R"("dtype":"F32","shape":[50000,50000],"data_offsets":[0,10000000000])"), "xy"), "tensor_size",
       "larger than the limit of 4294967296 bytes"},
      {makeFile(entry(R"("dtype":"U8","shape":[-1],"data_offsets":[0,2])"), "xy"), "weights_header", "expected a number"},
      {makeFile(entry(R"("dtype":"U8","shape":[2.0],"data_offsets":[0,2])"), "xy"), "weights_header", "expected ']'"},
      {makeFile(entry(R"("dtype":"U8","shape":[2],"data_offsets":[0])"), "xy"), "weights_header", "needs two data_offsets"},
      {makeFile(entry(R"("dtype":"U8","shape":[2])"), "xy"), "weights_header", "lacks its data_offsets"},
      {makeFile(entry(R"("dtype":"U8","shape":[2],"data_offsets":[0,2],"x":1)"), "xy"), "weights_header", "has the field 'x'"},
      {makeFile(entry(R"("dtype":"U8","dtype":"U8","shape":[2],"data_offsets":[0,2])"), "xy"), "weights_header", "'dtype' twice"},
      {makeFile("[" + std::string(100000, '['), ""), "weights_header", "does not start with '{'"},
      {makeFile("{\"a\":" + std::string(100000, '['), ""), "weights_header", "expected '{'"},
      {makeFile(R"({"__metadata__":{"a":1}})", ""), "weights_header", "expected '\"'"},
      {makeFile(R"({"a\ud800":{}})", ""), "weights_header", "bad escape"},
  };
  for (const Case &one : cases) {
    auto file = parseFile(one.bytes);
    REQUIRE(!file);
    std::vector<Diagnostic> errors = takeDiagnostics(file.takeError());
    REQUIRE(errors.size() == 1);
    INFO(errors[0].message << " / expected: " << one.text);
    CHECK(errors[0].code == one.code);
    CHECK(llvm::StringRef(errors[0].message).contains(one.text));
    CHECK(errors[0].loc.file->name == "w.safetensors");
  }
}

TEST_CASE("limits of a weights file") {
  std::string good = makeFile(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "xy");
  LoadLimits limits;
  limits.maxHeaderBytes = 10;
  CHECK(getCodes(parseFile(good, limits).takeError()) == "tensor_size");
  limits = {};
  limits.maxTensors = 0;
  CHECK(getCodes(parseFile(good, limits).takeError()) == "tensor_size");
  limits = {};
  limits.maxTensorBytes = 1;
  CHECK(getCodes(parseFile(good, limits).takeError()) == "tensor_size");
  TemporaryFolder folder;
  writeFileOrFail(folder.getPath("w.safetensors"), good);
  limits = {};
  limits.maxWeightsBytes = good.size() - 1;
  CHECK(getCodes(SafetensorsFile::open(folder.getPath("w.safetensors"), limits).takeError()) == "tensor_size");
  CHECK(getCodes(SafetensorsFile::open(folder.getPath("none.safetensors")).takeError()) == "file_read");
  CHECK(getCodes(SafetensorsFile::open(folder.getPath("")).takeError()) == "file_read");
}

TEST_CASE("quantization parameters in a weights file are checked") {
  auto read = [](const std::string &description, double scale, int64_t zeroPoint, bool withScales = true) {
    NamedTensors tensors;
    tensors.emplace_back("w", Tensor::of<int8_t>(DType::Int8, {2}, {1, 2}));
    if (withScales)
      tensors.emplace_back("w:scales", Tensor::of<double>(DType::Float64, {1}, {scale}));
    tensors.emplace_back("w:zero_points", Tensor::of<int64_t>(DType::Int64, {1}, {zeroPoint}));
    auto file = parseFile(write(tensors, {{"w", description}}));
    REQUIRE_OK(file.takeError());
    return getCodes(file->read("w").takeError());
  };
  CHECK(read("qint8 per_tensor_affine", 0.5, 0).empty());
  CHECK(read("qint8 per_tensor_symmetric", 0.5, 0).empty());
  CHECK(read("qint8 per_tensor_affine", 0, 0) == "tensor_quant");
  CHECK(read("qint8 per_tensor_affine", -1, 0) == "tensor_quant");
  CHECK(read("qint8 per_tensor_affine", std::numeric_limits<double>::infinity(), 0) == "tensor_quant");
  CHECK(read("qint8 per_tensor_affine", std::numeric_limits<double>::quiet_NaN(), 0) == "tensor_quant");
  CHECK(read("qint8 per_tensor_affine", 0.5, 128) == "tensor_quant");
  CHECK(read("qint8 per_channel_affine axis=0", 0.5, 0) == "tensor_quant"); // two channels, one scale
  CHECK(read("qint8 per_channel_affine axis=7", 0.5, 0) == "tensor_quant");
  CHECK(read("qint8 per_channel_affine", 0.5, 0) == "tensor_quant");
  CHECK(read("qint8 per_tensor_affine axis=0", 0.5, 0) == "tensor_quant");
  CHECK(read("quint8 per_tensor_affine", 0.5, 0) == "tensor_quant"); // codes are i8
  CHECK(read("qint9 per_tensor_affine", 0.5, 0) == "tensor_quant");
  CHECK(read("qint8 per_tensor_affine color=red", 0.5, 0) == "tensor_quant");
  CHECK(read("qint8 per_tensor_affine shape=3", 0.5, 0) == "tensor_quant");
  CHECK(read("qint8 per_tensor_affine shape=9999999999x9999999999", 0.5, 0) == "tensor_quant");
  CHECK(read("qint8 per_tensor_affine", 0.5, 0, /*withScales=*/false) == "tensor_missing");
}

TEST_CASE("bad .npy files") {
  auto codes = [](llvm::StringRef bytes) { return getCodes(parseNpy(makeStorage(bytes), "x.npy").takeError()); };
  std::string good = readFileOrFail(QFX_GOLDEN_DIR "/tensor_files/f32.npy");
  CHECK(codes(good).empty());
  CHECK(codes("") == "npy_header");
  CHECK(codes("PK\x03\x04") == "npy_header");
  for (size_t length = 0; length < 128; ++length)
    CHECK(codes(llvm::StringRef(good).take_front(length)) == "npy_header");
  CHECK(codes(llvm::StringRef(good).drop_back(1)) == "npy_data");
  CHECK(codes(good + "x") == "npy_data");
  std::string changed = good;
  changed[6] = 9;
  CHECK(codes(changed) == "npy_header");
  changed = good;
  changed.replace(changed.find("(2, 3)"), 6, "(2,-3)");
  CHECK(codes(changed) == "npy_header");
  changed = good;
  changed.replace(changed.find("(2, 3), }  "), 11, "(99999, 3)}");
  CHECK(codes(changed) == "npy_data");
  changed = good;
  size_t shape = changed.find("(2, 3), }");
  changed.replace(shape, 30, "(99999999999,999999999999,9)} ");
  CHECK(codes(changed) == "tensor_size");
  CHECK(getCodes(readNpy(QFX_GOLDEN_DIR "/tensor_files/fortran_refused.npy").takeError()) == "npy_header");
  CHECK(getCodes(readNpy(QFX_GOLDEN_DIR "/tensor_files/big_endian_refused.npy").takeError()) == "npy_header");
}

TEST_CASE("inputs come as batches") {
  TemporaryFolder folder;
  Tensor one = Tensor::of<float>(DType::Float32, {1}, {1.f}), two = Tensor::of<float>(DType::Float32, {1}, {2.f});
  auto load = [&](const NamedTensors &tensors) {
    std::string path = folder.getPath("in.safetensors");
    REQUIRE_OK(writeSafetensorsFile(path, tensors));
    return loadInputs(path);
  };
  auto plain = load({{"x", one}, {"mask", two}});
  REQUIRE_OK(plain.takeError());
  REQUIRE(plain->size() == 1);
  CHECK((*plain)[0].find("mask")->equals(two));
  CHECK(!(*plain)[0].find("y"));

  auto numbered = load({{"10.x", two}, {"9.x", one}});
  REQUIRE_OK(numbered.takeError());
  REQUIRE(numbered->size() == 2);
  CHECK((*numbered)[0].find("x")->equals(one)); // 9 before 10
  CHECK((*numbered)[1].find("x")->equals(two));

  CHECK(getCodes(load({}).takeError()) == "inputs_empty");
  CHECK(getCodes(load({{"0.x", one}, {"x", one}}).takeError()) == "inputs_mixed");
  CHECK(getCodes(load({{"0.x", one}, {"00.x", one}}).takeError()) == "inputs_mixed");
  CHECK(getCodes(load({{"0.x", one}, {"0.y", one}, {"1.x", one}}).takeError()) == "inputs_batch");
  CHECK(getCodes(loadInputs(folder.getPath("none.safetensors")).takeError()) == "file_read");

  std::string arrays = folder.getPath("arrays.npys");
  REQUIRE(!llvm::sys::fs::create_directory(arrays));
  CHECK(getCodes(loadInputs(arrays).takeError()) == "inputs_empty");
  REQUIRE_OK(writeNpyFile(arrays + "/0.x.npy", one));
  REQUIRE_OK(writeNpyFile(arrays + "/1.x.npy", two));
  auto fromFolder = loadInputs(arrays);
  REQUIRE_OK(fromFolder.takeError());
  REQUIRE(fromFolder->size() == 2);
  CHECK((*fromFolder)[1].find("x")->equals(two));
  auto fromArray = loadInputs(arrays + "/1.x.npy");
  REQUIRE_OK(fromArray.takeError());
  REQUIRE(fromArray->size() == 1);
  CHECK((*fromArray)[0].find("x")->equals(two));
}
