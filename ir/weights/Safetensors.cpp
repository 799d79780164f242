// Reading safetensors: the header's claims are checked against the file before a tensor views it.
#include "ir/weights/Safetensors.h"

#include "ir/weights/MappedFile.h"
#include "ir/weights/SafetensorsHeaderDetail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qfx {

static constexpr size_t kMaxRank = 64;

/// The size of a tensor of that shape, or an error about it.
static llvm::Expected<uint64_t> getClaimedBytes(const HeaderEntry &entry, llvm::StringRef name, const LoadLimits &limits) {
  auto numElements = checkedNumElements(entry.shape);
  bool fits = numElements && entry.shape.size() <= kMaxRank &&
              static_cast<uint64_t>(*numElements) <= limits.maxTensorBytes &&
              getStorageBytes(entry.dtype, *numElements) <= limits.maxTensorBytes;
  if (!fits)
    return fileError(name, "tensor '{0}' (at byte {1}) is larger than the limit of {2} bytes or {3} dimensions", entry.key,
                     entry.position, limits.maxTensorBytes, kMaxRank)
        .code("tensor_size");
  return getStorageBytes(entry.dtype, *numElements);
}

/// The ranges must tile the data: no overlap, no hole, nothing behind the last.
static llvm::Error checkRanges(llvm::ArrayRef<HeaderEntry> sorted, uint64_t dataBytes, llvm::StringRef name) {
  uint64_t expected = 0;
  for (const HeaderEntry &entry : sorted) {
    auto fail = [&](const std::string &what) -> llvm::Error {
      return fileError(name, "tensor '{0}' (at byte {1}) claims data bytes {2}..{3}, {4}", entry.key, entry.position,
                       entry.begin, entry.end, what)
          .code("weights_range");
    };
    if (entry.end < entry.begin)
      return fail("which ends before it begins");
    if (entry.end > dataBytes)
      return fail(llvm::formatv("but the file has {0} bytes of data", dataBytes).str());
    if (entry.begin < expected)
      return fail("which overlaps the tensor before it");
    if (entry.begin > expected)
      return fail(llvm::formatv("which leaves a hole behind data byte {0}", expected).str());
    expected = entry.end;
  }
  if (expected != dataBytes)
    return fileError(name, "the file has {0} bytes of data, its tensors use {1}", dataBytes, expected).code("weights_range");
  return llvm::Error::success();
}

/// Views the file's bytes; a tensor whose elements are not aligned there is copied.
static Tensor viewTensor(const std::shared_ptr<const Storage> &bytes, size_t offset, const HeaderEntry &entry) {
  unsigned width = getDTypeInfo(entry.dtype).bits / 8;
  auto address = reinterpret_cast<uintptr_t>(bytes->getData()) + offset;
  if (address % width == 0)
    return Tensor::view(bytes, offset, entry.dtype, entry.shape);
  return Tensor::build(entry.dtype, entry.shape, [&](MutableBytes copy) {
    std::memcpy(copy.data(), bytes->getData() + offset, copy.size());
  });
}

static bool isQuantizerKey(llvm::StringRef key, llvm::StringRef &base) {
  base = key;
  return base.consume_back(":scales") || base.consume_back(":zero_points");
}

llvm::Expected<SafetensorsFile> SafetensorsFile::parse(std::shared_ptr<const Storage> bytes, llvm::StringRef name,
                                                       const LoadLimits &limits) {
  size_t fileBytes = bytes->getSizeBytes();
  if (fileBytes < 8)
    return fileError(name, "the file has {0} bytes; a safetensors file starts with the header's length in 8 bytes", fileBytes)
        .code("weights_header");
  uint64_t headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | std::to_integer<uint64_t>(bytes->getData()[i]);
  if (headerBytes > limits.maxHeaderBytes)
    return fileError(name, "the header claims {0} bytes (at byte 0), the limit is {1}", headerBytes, limits.maxHeaderBytes)
        .code("tensor_size");
  if (headerBytes > fileBytes - 8)
    return fileError(name, "the header claims {0} bytes (at byte 0), but the file ends {1} bytes after it", headerBytes,
                     fileBytes - 8)
        .code("weights_header");
  llvm::StringRef text(reinterpret_cast<const char *>(bytes->getData()) + 8, headerBytes);
  auto header = parseSafetensorsHeader(text, 8, name, limits);
  if (!header)
    return header.takeError();

  std::stable_sort(header->entries.begin(), header->entries.end(), [](const HeaderEntry &a, const HeaderEntry &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  for (const HeaderEntry &entry : header->entries) {
    auto claimed = getClaimedBytes(entry, name, limits);
    if (!claimed)
      return claimed.takeError();
    if (entry.end >= entry.begin && entry.end - entry.begin != *claimed)
      return fileError(name, "tensor '{0}' (at byte {1}) needs {2} bytes by its dtype and shape, its data_offsets give {3}",
                       entry.key, entry.position, *claimed, entry.end - entry.begin)
          .code("weights_range");
  }
  if (auto err = checkRanges(header->entries, fileBytes - 8 - headerBytes, name))
    return err;

  SafetensorsFile file;
  file.name = name.str();
  file.metadata = std::move(header->metadata);
  for (const HeaderEntry &entry : header->entries)
    file.tensors.try_emplace(entry.key, viewTensor(bytes, 8 + headerBytes + entry.begin, entry));
  for (const HeaderEntry &entry : header->entries) {
    llvm::StringRef base;
    if (!isQuantizerKey(entry.key, base) || !file.tensors.count(base))
      file.keys.push_back(entry.key);
  }
  return file;
}

llvm::Expected<SafetensorsFile> SafetensorsFile::open(llvm::StringRef path, const LoadLimits &limits) {
  auto bytes = mapFile(path, limits.maxWeightsBytes);
  if (!bytes)
    return bytes.takeError();
  return parse(std::move(*bytes), path, limits);
}

namespace {

/// A metadata entry `<dtype> <qscheme> [axis=N] [shape=2x3]`.
struct QuantizedDescription {
  DType dtype = DType::QInt8;
  QScheme scheme = QScheme::PerTensorAffine;
  int64_t axis = 0;
  std::optional<std::vector<int64_t>> shape; ///< of packed 4- and 2-bit tensors, whose codes are a row of bytes
};

} // namespace

/// Does the metadata value look like a description at all?  Other entries of the same key are somebody else's.
static llvm::Expected<QuantizedDescription> parseDescription(llvm::StringRef key, llvm::StringRef text,
                                                             llvm::StringRef name) {
  QuantizedDescription result;
  auto fail = [&](const std::string &what) {
    return fileError(name, "the metadata of '{0}' is '{1}': {2}", key, text, what).code("tensor_quant");
  };
  llvm::SmallVector<llvm::StringRef, 4> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  auto dtype = words.size() >= 2 ? parseDTypeText(words[0]) : std::nullopt;
  auto scheme = words.size() >= 2 ? parseQScheme(words[1]) : std::nullopt;
  if (!dtype || !isQuantized(*dtype) || !scheme)
    return fail("expected a quantized dtype and a qscheme, as in 'qint8 per_channel_affine axis=0'");
  result.dtype = *dtype;
  result.scheme = *scheme;
  bool sawAxis = false;
  for (llvm::StringRef word : llvm::ArrayRef<llvm::StringRef>(words).drop_front(2)) {
    if (word.consume_front("axis=")) {
      sawAxis = true;
      if (word.getAsInteger(10, result.axis))
        return fail("'axis' is an integer");
    } else if (word.consume_front("shape=")) {
      result.shape.emplace();
      llvm::SmallVector<llvm::StringRef, 4> sizes;
      if (!word.empty())
        word.split(sizes, 'x');
      for (llvm::StringRef size : sizes) {
        result.shape->emplace_back();
        if (size.getAsInteger(10, result.shape->back()) || result.shape->back() < 0)
          return fail("'shape' is sizes with 'x' between them");
      }
      if (result.shape->size() > kMaxRank || !checkedNumElements(*result.shape))
        return fail("'shape' is too large");
    } else {
      return fail(("unknown part '" + word + "'").str());
    }
  }
  if (isPerChannel(result.scheme) != sawAxis)
    return fail(sawAxis ? "a per-tensor scheme has no axis" : "a per-channel scheme needs 'axis='");
  return result;
}

static llvm::Expected<Quantizer> makeQuantizer(const QuantizedDescription &description, llvm::StringRef key,
                                               const Tensor &scales, const Tensor &zeroPoints, llvm::StringRef name) {
  bool isFloatScheme = description.scheme == QScheme::PerChannelAffineFloatQParams;
  DType zeroPointDType = isFloatScheme ? DType::Float32 : DType::Int64;
  auto checkPart = [&](const Tensor &part, llvm::StringRef suffix, DType dtype) -> llvm::Error {
    if (!part)
      return fileError(name, "the quantized tensor '{0}' has no '{0}{1}'", key, suffix).code("tensor_missing");
    if (part.getDType() != dtype || part.getRank() > 1)
      return fileError(name, "'{0}{1}' is a list of {2}, got '{3}'", key, suffix, getDTypeInfo(dtype).text,
                       toString(part.getType()))
          .code("tensor_quant");
    return llvm::Error::success();
  };
  if (auto err = checkPart(scales, ":scales", DType::Float64))
    return err;
  if (auto err = checkPart(zeroPoints, ":zero_points", zeroPointDType))
    return err;
  llvm::ArrayRef<double> scaleValues = scales.getData<double>();
  if (isFloatScheme) {
    llvm::ArrayRef<float> zeroPointValues = zeroPoints.getData<float>();
    return Quantizer::perChannelFloat({scaleValues.begin(), scaleValues.end()},
                                      {zeroPointValues.begin(), zeroPointValues.end()}, description.axis);
  }
  llvm::ArrayRef<int64_t> zeroPointValues = zeroPoints.getData<int64_t>();
  if (isPerChannel(description.scheme))
    return Quantizer::perChannel(scaleValues.vec(), zeroPointValues.vec(), description.axis);
  if (scaleValues.size() != 1 || zeroPointValues.size() != 1)
    return fileError(name, "'{0}' is per tensor, but has {1} scales and {2} zero points", key, scaleValues.size(),
                     zeroPointValues.size())
        .code("tensor_quant");
  return Quantizer::perTensor(scaleValues[0], zeroPointValues[0]);
}

llvm::Expected<Tensor> SafetensorsFile::read(llvm::StringRef key) const {
  Tensor codes = tensors.lookup(key);
  auto entry = llvm::find_if(metadata, [&](const auto &pair) { return pair.first == key; });
  if (!codes || entry == metadata.end())
    return codes;
  auto description = parseDescription(key, entry->second, name);
  if (!description)
    return description.takeError();
  auto quantizer = makeQuantizer(*description, key, tensors.lookup((key + ":scales").str()),
                                 tensors.lookup((key + ":zero_points").str()), name);
  if (!quantizer)
    return quantizer.takeError();
  DType underlying = toUnderlyingDType(description->dtype);
  if (codes.getDType() != underlying)
    return fileError(name, "the codes of the {0} tensor '{1}' are {2}, got {3}", getDTypeInfo(description->dtype).text, key,
                     getDTypeInfo(underlying).text, getDTypeInfo(codes.getDType()).text)
        .code("tensor_quant");

  llvm::SmallVector<int64_t, 4> sizes(codes.getSizes().begin(), codes.getSizes().end());
  unsigned perByte = 8 / std::min(8u, getDTypeInfo(description->dtype).bits);
  if (description->shape)
    sizes.assign(description->shape->begin(), description->shape->end());
  else if (perByte > 1 && !sizes.empty())
    sizes.back() *= perByte; // PyTorch's int_repr packs the last dimension
  uint64_t needed = getStorageBytes(description->dtype, static_cast<uint64_t>(checkedNumElements(sizes).value_or(-1)));
  if (needed != codes.getSizeBytes())
    return fileError(name, "the codes of '{0}' have {1} bytes, its shape needs {2}", key, codes.getSizeBytes(), needed)
        .code("tensor_quant");
  Location place{std::make_shared<SourceText>(SourceText{name, ""}), 0, 0};
  if (llvm::Error err = quantizer->verify(description->dtype, sizes, place)) {
    std::vector<Diagnostic> all = takeDiagnostics(std::move(err));
    for (Diagnostic &diagnostic : all)
      diagnostic.message = ("tensor '" + key + "': " + diagnostic.message).str();
    return llvm::make_error<InputError>(std::move(all));
  }
  return Tensor::view(codes.getStorage(), codes.getOffset(), description->dtype, sizes,
                      std::make_shared<Quantizer>(std::move(*quantizer)));
}

llvm::Expected<NamedTensors> SafetensorsFile::readAll() const {
  NamedTensors all;
  for (const std::string &key : keys) {
    auto tensor = read(key);
    if (!tensor)
      return tensor.takeError();
    all.emplace_back(key, std::move(*tensor));
  }
  return all;
}

} // namespace qfx
