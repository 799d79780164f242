// Any bytes as a safetensors or .npy file: an error, or tensors whose bytes can be read and written.
#include "ir/weights/Npy.h"
#include "ir/weights/Safetensors.h"

#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace qfx;

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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto storage = copyBytes(data, size);
  if (auto array = parseNpy(storage, "fuzz.npy"))
    touch(*array);
  else
    llvm::consumeError(array.takeError());
  auto file = SafetensorsFile::parse(storage, "fuzz.safetensors");
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  auto tensors = file->readAll();
  if (!tensors) {
    llvm::consumeError(tensors.takeError());
    return 0;
  }
  for (const auto &entry : *tensors)
    touch(entry.second);
  llvm::raw_null_ostream null;
  writeSafetensors(null, *tensors);
  return 0;
}
