// Writing safetensors: quantized tensors split into codes and parameters, everything aligned.
#include "ir/weights/Safetensors.h"

#include "ir/Text.h"
#include "ir/weights/MappedFile.h"
#include "ir/weights/SafetensorsHeaderDetail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace qfx {

/// Codes, scales and zero points as tensors of their own, and the metadata entry that ties them together.
static void splitQuantized(const std::string &key, const Tensor &tensor, NamedTensors &parts, StringPairs &metadata) {
  const Quantizer &quantizer = *tensor.getQuantizer();
  DType dtype = tensor.getDType();
  llvm::SmallVector<int64_t, 4> sizes(tensor.getSizes().begin(), tensor.getSizes().end());
  std::string description = (getDTypeInfo(dtype).text + " " + getQSchemeName(quantizer.getScheme())).str();
  if (!quantizer.isPerTensor())
    description += " axis=" + std::to_string(quantizer.getAxis());
  if (getDTypeInfo(dtype).bits < 8) {
    description += " shape=";
    for (size_t i = 0; i < sizes.size(); ++i)
      description += (i ? "x" : "") + std::to_string(sizes[i]);
    sizes = {static_cast<int64_t>(tensor.getSizeBytes())};
  }
  metadata.emplace_back(key, std::move(description));
  parts.emplace_back(key, Tensor::view(tensor.getStorage(), tensor.getOffset(), toUnderlyingDType(dtype), sizes));
  llvm::ArrayRef<double> scales = quantizer.getScales();
  parts.emplace_back(key + ":scales", Tensor::of(DType::Float64, {static_cast<int64_t>(scales.size())}, scales));
  int64_t count = static_cast<int64_t>(scales.size());
  if (quantizer.getScheme() == QScheme::PerChannelAffineFloatQParams)
    parts.emplace_back(key + ":zero_points", Tensor::of(DType::Float32, {count}, quantizer.getFloatZeroPoints()));
  else
    parts.emplace_back(key + ":zero_points", Tensor::of(DType::Int64, {count}, quantizer.getZeroPoints()));
}

/// Bytes [begin, end) of a tensor, few enough to be computed in a cache.
namespace {
struct Block {
  const Tensor *tensor;
  size_t begin, end;
};
} // namespace

/// Writes the tensors one after the other.  Each thread computes a block, then waits for its turn to write it.
static void writeData(llvm::raw_ostream &os, const NamedTensors &tensors, unsigned numThreads) {
  constexpr size_t kBlockBytes = size_t(1) << 20; // file systems take large pieces faster
  std::vector<Block> blocks;
  for (const auto &entry : tensors)
    for (size_t begin = 0, size = entry.second.getSizeBytes(); begin < size; begin += kBlockBytes)
      blocks.push_back({&entry.second, begin, std::min(begin + kBlockBytes, size)});
  os.flush(); // from here on whole blocks go out, past the stream's small buffer
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::condition_variable turn;
  size_t numWritten = 0;
  auto work = [&] {
    std::vector<std::byte> gathered;
    for (size_t i; (i = next++) < blocks.size();) {
      const Block &block = blocks[i];
      auto writeInTurn = [&](std::span<const std::byte> bytes) {
        std::unique_lock lock(mutex);
        turn.wait(lock, [&] { return numWritten == i; });
        os.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
        ++numWritten;
        turn.notify_all();
      };
      gathered.clear();
      block.tensor->visitBytes(block.begin, block.end, [&](size_t, std::span<const std::byte> bytes) {
        if (bytes.size() == block.end - block.begin) // it lies in memory as a whole
          return writeInTurn(bytes);
        gathered.insert(gathered.end(), bytes.begin(), bytes.end());
      });
      if (!gathered.empty())
        writeInTurn(gathered);
    }
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min<size_t>(numThreads, blocks.size()); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
}

void writeSafetensors(llvm::raw_ostream &os, const NamedTensors &tensors, const StringPairs &metadata, unsigned numThreads) {
  NamedTensors parts;
  StringPairs facts = metadata;
  for (const auto &[key, tensor] : tensors) {
    assert(tensor && tensor.isDense() && "only dense tensors can be written");
    if (tensor.getQuantizer())
      splitQuantized(key, tensor, parts, facts);
    else
      parts.emplace_back(key, tensor.withType(toUnderlyingDType(tensor.getDType()), nullptr));
  }
  llvm::sort(facts, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::sort(parts.begin(), parts.end(), [](const auto &a, const auto &b) {
    unsigned aBits = getDTypeInfo(a.second.getDType()).bits, bBits = getDTypeInfo(b.second.getDType()).bits;
    return aBits != bBits ? aBits > bBits : a.first < b.first;
  });
  std::string header = "{";
  auto separate = [&] { header += header.size() > 1 ? "," : ""; };
  if (!facts.empty()) {
    std::string entries;
    for (const auto &[key, value] : facts)
      entries += (entries.empty() ? "" : ",") + formatQuoted(key) + ":" + formatQuoted(value);
    header += "\"__metadata__\":{" + entries + "}";
  }
  uint64_t offset = 0;
  for (const auto &[key, tensor] : parts) {
    separate();
    std::string shape;
    for (int64_t size : tensor.getSizes())
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    uint64_t end = offset + tensor.getSizeBytes();
    header += llvm::formatv("{0}:{{\"dtype\":\"{1}\",\"shape\":[{2}],\"data_offsets\":[{3},{4}]}", formatQuoted(key),
                            getSafetensorsDType(tensor.getDType()), shape, offset, end)
                  .str();
    offset = end;
  }
  header += '}';
  while ((header.size() + 8) % 64)
    header += ' ';
  for (int i = 0; i < 8; ++i)
    os << static_cast<char>(header.size() >> (8 * i) & 0xff);
  os << header;
  writeData(os, parts, numThreads);
}

llvm::Error writeSafetensorsFile(llvm::StringRef path, const NamedTensors &tensors, const StringPairs &metadata) {
  return writeFileAtomically(path, [&](llvm::raw_ostream &os) { writeSafetensors(os, tensors, metadata); });
}

} // namespace qfx
