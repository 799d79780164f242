// Repeats test/golden/observers/inputs.py bit for bit.
#include "unit/backends/observe/GoldenFamilies.h"

#include "ir/Tensor.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>

namespace qfx::test {

using nlohmann::json;

const json &getGolden(const std::string &name) {
  static std::map<std::string, json> files;
  json &file = files[name];
  if (file.is_null())
    file = json::parse(std::ifstream(std::string(QFX_GOLDEN_DIR) + "/observers/" + name + ".json"));
  return file;
}

float floatFromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

std::string hashBytes(const void *data, size_t sizeBytes) {
  uint64_t value = 0xcbf29ce484222325;
  for (size_t i = 0; i < sizeBytes; ++i)
    value = (value ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001b3;
  return llvm::formatv("{0:x-16}", value).str();
}

static void appendPiece(const json &piece, std::vector<float> &values) {
  if (piece.contains("bits")) {
    for (const json &bits : piece["bits"])
      values.push_back(floatFromBits(bits.get<uint32_t>()));
    return;
  }
  uint64_t state = piece["seed"].get<uint64_t>();
  double low = piece["low"], high = piece["high"];
  std::string kind = piece["kind"];
  for (int64_t i = 0; i < piece["count"].get<int64_t>(); ++i) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    float x = static_cast<float>(low + (high - low) * (static_cast<double>(z >> 40) * 0x1p-24));
    values.push_back(kind == "cubed" ? x * x * x : kind == "relu" ? std::max(x, 0.0f) : x);
  }
}

static std::vector<float> makeValues(const json &pieces) {
  std::vector<float> values;
  for (const json &piece : pieces)
    appendPiece(piece, values);
  return values;
}

std::vector<Batch> makeFamily(const std::string &name) {
  std::vector<Batch> batches;
  for (const json &pieces : getGolden("families")["per_tensor"][name]) {
    Batch batch;
    batch.values = makeValues(pieces);
    batch.sizes = {static_cast<int64_t>(batch.values.size())};
    batch.strides = {1};
    batches.push_back(std::move(batch));
  }
  return batches;
}

/// Row-major [n, c, h, w] values moved to channels-last memory.
static void makeChannelsLast(Batch &batch) {
  int64_t c = batch.sizes[1], h = batch.sizes[2], w = batch.sizes[3];
  batch.strides = {h * w * c, 1, w * c, c};
  std::vector<float> moved(batch.values.size());
  for (size_t i = 0; i < batch.values.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), x = rest % w, y = (rest /= w) % h, k = (rest /= h) % c, n = rest / c;
    moved[static_cast<size_t>(n * batch.strides[0] + k + y * batch.strides[2] + x * batch.strides[3])] = batch.values[i];
  }
  batch.values = std::move(moved);
}

std::vector<Batch> makeChannelFamily(const std::string &name) {
  const json &family = getGolden("families")["per_channel"][name];
  std::vector<Batch> batches;
  for (const json &pieces : family["batches"]) {
    Batch batch;
    batch.values = makeValues(pieces);
    for (const json &size : family["shape"])
      batch.sizes.push_back(size.get<int64_t>());
    batch.strides = getContiguousStrides(batch.sizes);
    if (family["channels_last"])
      makeChannelsLast(batch);
    batches.push_back(std::move(batch));
  }
  return batches;
}

} // namespace qfx::test
