// One array per file: NumPy's header dictionary and raw little-endian data.
#include "ir/weights/Npy.h"

#include "ir/weights/MappedFile.h"
#include "ir/weights/SafetensorsHeaderDetail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace qfx {

static constexpr llvm::StringLiteral kMagic = "\x93NUMPY";
static constexpr std::pair<llvm::StringLiteral, DType> kDescriptions[] = {
    {"<f4", DType::Float32}, {"<f2", DType::Float16}, {"<f8", DType::Float64}, {"|i1", DType::Int8}, {"|u1", DType::UInt8},
    {"<i2", DType::Int16},   {"<u2", DType::UInt16},  {"<i4", DType::Int32},   {"<i8", DType::Int64}, {"|b1", DType::Bool}};

namespace {

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`
struct NpyHeader {
  std::string description;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the Python literal that NumPy writes; keys in any order.
class NpyHeaderParser {
public:
  explicit NpyHeaderParser(llvm::StringRef text) : rest(text) {}

  bool parse(NpyHeader &header) {
    bool sawDescription = false, sawOrder = false, sawShape = false;
    if (!accept("{"))
      return false;
    while (!accept("}")) {
      std::string key;
      if (!parseString(key) || !accept(":"))
        return false;
      if (key == "descr" && !sawDescription)
        sawDescription = parseString(header.description);
      else if (key == "fortran_order" && !sawOrder)
        sawOrder = parseBool(header.fortranOrder);
      else if (key == "shape" && !sawShape)
        sawShape = parseShape(header.shape);
      else
        return false;
      if (!accept(",") && !rest.ltrim().take_front().contains('}'))
        return false;
    }
    return sawDescription && sawOrder && sawShape && rest.trim().empty();
  }

private:
  bool accept(llvm::StringRef what) {
    rest = rest.ltrim();
    return rest.consume_front(what);
  }
  bool parseString(std::string &out) {
    llvm::StringRef quote;
    if (accept("'"))
      quote = "'";
    else if (accept("\""))
      quote = "\"";
    else
      return false;
    size_t end = rest.find(quote);
    if (end == llvm::StringRef::npos)
      return false;
    out = rest.take_front(end).str();
    rest = rest.drop_front(end + 1);
    return true;
  }
  bool parseBool(bool &out) {
    out = accept("True");
    return out || accept("False");
  }
  bool parseShape(std::vector<int64_t> &shape) {
    if (!accept("("))
      return false;
    while (!accept(")")) {
      rest = rest.ltrim();
      int64_t size;
      if (rest.consumeInteger(10, size) || size < 0 || shape.size() == 64)
        return false;
      shape.push_back(size);
      if (!accept(",") && !rest.ltrim().take_front().contains(')'))
        return false;
    }
    return true;
  }

  llvm::StringRef rest;
};

} // namespace

llvm::Expected<Tensor> parseNpy(std::shared_ptr<const Storage> bytes, llvm::StringRef name, const LoadLimits &limits) {
  llvm::StringRef content(reinterpret_cast<const char *>(bytes->getData()), bytes->getSizeBytes());
  if (content.take_front(kMagic.size()) != kMagic)
    return fileError(name, "not a .npy file: it does not start with NumPy's magic bytes").code("npy_header");
  if (content.size() < 10)
    return fileError(name, "the file ends within its header, at byte {0}", content.size()).code("npy_header");
  auto byteAt = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(content[i])); };
  uint64_t major = byteAt(6);
  if (major < 1 || major > 3)
    return fileError(name, "the .npy format has version {0}; this build reads 1 to 3", major).code("npy_header");
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (content.size() < 8 + lengthBytes)
    return fileError(name, "the file ends within its header, at byte {0}", content.size()).code("npy_header");
  uint64_t headerBytes = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    headerBytes |= byteAt(8 + i) << (8 * i);
  size_t dataStart = 8 + lengthBytes + headerBytes;
  if (headerBytes > limits.maxHeaderBytes || dataStart > content.size())
    return fileError(name, "the header claims {0} bytes (at byte 8), but the file has {1}", headerBytes, content.size())
        .code("npy_header");
  NpyHeader header;
  llvm::StringRef headerText = content.substr(8 + lengthBytes, headerBytes);
  if (!NpyHeaderParser(headerText).parse(header))
    return fileError(name, "the header (at byte {0}) is not a dict of descr, fortran_order and shape", 8 + lengthBytes)
        .code("npy_header");
  auto row = llvm::find_if(kDescriptions, [&](const auto &one) { return one.first == header.description; });
  if (row == std::end(kDescriptions)) {
    std::string known;
    for (const auto &one : kDescriptions)
      known += (known.empty() ? "" : " ") + one.first.str();
    return fileError(name, "the array has the dtype '{0}'; this build reads {1}", header.description, known)
        .code("npy_header");
  }
  auto numElements = checkedNumElements(header.shape);
  if (header.fortranOrder && header.shape.size() > 1 && numElements.value_or(2) > 1)
    return fileError(name, "the array is in Fortran order; save numpy.ascontiguousarray(x)").code("npy_header");
  if (!numElements || static_cast<uint64_t>(*numElements) > limits.maxTensorBytes ||
      getStorageBytes(row->second, *numElements) > limits.maxTensorBytes)
    return fileError(name, "the array is larger than the limit of {0} bytes", limits.maxTensorBytes).code("tensor_size");
  uint64_t needed = getStorageBytes(row->second, *numElements);
  if (content.size() - dataStart != needed)
    return fileError(name, "the array needs {0} bytes of data, the file has {1}", needed, content.size() - dataStart)
        .code("npy_data");
  unsigned width = getDTypeInfo(row->second).bits / 8;
  if ((reinterpret_cast<uintptr_t>(bytes->getData()) + dataStart) % width == 0)
    return Tensor::view(std::move(bytes), dataStart, row->second, header.shape);
  return Tensor::build(row->second, header.shape, [&](MutableBytes copy) {
    std::memcpy(copy.data(), content.data() + dataStart, copy.size());
  });
}

llvm::Expected<Tensor> readNpy(llvm::StringRef path, const LoadLimits &limits) {
  auto bytes = mapFile(path, limits.maxWeightsBytes);
  if (!bytes)
    return bytes.takeError();
  return parseNpy(std::move(*bytes), path, limits);
}

/// A dense tensor of a dtype that NumPy has.
static Tensor toNumpy(const Tensor &tensor) {
  DType dtype = tensor.getDType();
  if (dtype == DType::BFloat16)
    return Tensor::build(DType::Float32, tensor.getSizes(), [&](MutableBytes bytes) {
      llvm::ArrayRef<uint16_t> values = tensor.getData<uint16_t>();
      for (size_t i = 0; i < values.size(); ++i) {
        float value = bfloat16ToFloat(values[i]);
        std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
      }
    });
  if (getDTypeInfo(dtype).bits < 8)
    return Tensor::build(DType::UInt8, tensor.getSizes(), [&](MutableBytes bytes) {
      for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(tensor.getElementAsDouble(static_cast<int64_t>(i)));
    });
  if (dtype == DType::Float8E5M2 || dtype == DType::Float8E4M3FN)
    return tensor.withType(DType::UInt8, nullptr);
  return tensor.withType(toUnderlyingDType(dtype), nullptr);
}

void writeNpy(llvm::raw_ostream &os, const Tensor &original) {
  assert(original && original.isDense() && "only dense tensors can be written");
  Tensor tensor = toNumpy(original);
  auto row = llvm::find_if(kDescriptions, [&](const auto &one) { return one.second == tensor.getDType(); });
  std::string header = ("{'descr': '" + row->first + "', 'fortran_order': False, 'shape': (").str();
  for (int64_t size : tensor.getSizes())
    header += std::to_string(size) + ", ";
  if (tensor.getRank()) // `(3,)` and `(2, 3)`
    header.resize(header.size() - (tensor.getRank() == 1 ? 1 : 2));
  header += "), }";
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  os << kMagic << '\x01' << '\0' << static_cast<char>(header.size() & 0xff) << static_cast<char>(header.size() >> 8)
     << header;
  os.write(reinterpret_cast<const char *>(tensor.getBytes()), tensor.getSizeBytes());
}

llvm::Error writeNpyFile(llvm::StringRef path, const Tensor &tensor) {
  return writeFileAtomically(path, [&](llvm::raw_ostream &os) { writeNpy(os, tensor); });
}

} // namespace qfx
