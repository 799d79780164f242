// Any bytes as a safetensors or .npy file.
#include "ir/weights/Npy.h"
#include "ir/weights/Safetensors.h"
#include "test/fuzz/Require.h"
#include "test/fuzz/Targets.h"

#include <cstring>

namespace qfx::fuzz {

static std::shared_ptr<const Storage> copyBytes(const uint8_t *data, size_t size) {
  MutableBytes bytes;
  auto storage = allocateStorage(size, bytes);
  if (size)
    std::memcpy(bytes.data(), data, size);
  return storage;
}

/// Reads every byte of a tensor, so that a view outside its storage is seen.
static void touch(const Tensor &tensor) {
  volatile unsigned sum = 0;
  for (size_t i = 0; i < tensor.getSizeBytes(); ++i)
    sum = sum + std::to_integer<unsigned>(tensor.getBytes()[i]);
}

void fuzzSafetensors(const uint8_t *data, size_t size) {
  auto storage = copyBytes(data, size);
  if (auto array = parseNpy(storage, "fuzz.npy"))
    touch(*array);
  else
    requireMessage(array.takeError());
  auto file = SafetensorsFile::parse(storage, "fuzz.safetensors");
  if (!file) {
    requireMessage(file.takeError());
    return;
  }
  auto tensors = file->readAll();
  if (!tensors) {
    requireMessage(tensors.takeError());
    return;
  }
  for (const auto &entry : *tensors)
    touch(entry.second);
  llvm::raw_null_ostream null;
  writeSafetensors(null, *tensors);
}

} // namespace qfx::fuzz
