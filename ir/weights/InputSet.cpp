// Batches by name: `<placeholder>` or `<k>.<placeholder>`.
#include "ir/weights/InputSet.h"

#include "ir/Text.h"
#include "ir/weights/Npy.h"
#include "ir/weights/SafetensorsHeaderDetail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <map>

namespace qfx {

const Tensor *InputBatch::find(llvm::StringRef placeholder) const {
  for (const auto &[name, tensor] : tensors)
    if (name == placeholder)
      return &tensor;
  return nullptr;
}

/// Splits `12.x` into 12 and `x`; false if the name has no number.
static bool splitBatch(llvm::StringRef name, uint64_t &batch, llvm::StringRef &placeholder) {
  auto [number, rest] = name.split('.');
  placeholder = rest;
  return !rest.empty() && !number.empty() && llvm::all_of(number, [](char c) { return c >= '0' && c <= '9'; }) &&
         !number.getAsInteger(10, batch);
}

static llvm::Expected<std::vector<InputBatch>> sortIntoBatches(NamedTensors tensors, llvm::StringRef path) {
  if (tensors.empty())
    return fileError(path, "no tensor in it").code("inputs_empty");
  std::map<uint64_t, InputBatch> numbered;
  InputBatch plain;
  for (auto &[name, tensor] : tensors) {
    uint64_t batch;
    llvm::StringRef placeholder;
    InputBatch &target = splitBatch(name, batch, placeholder) ? numbered[batch] : plain;
    std::string key = &target == &plain ? name : placeholder.str();
    if (target.find(key)) // `1.x` beside `01.x`
      return fileError(path, "'{0}' stands twice in a batch", key).code("inputs_mixed");
    target.tensors.emplace_back(std::move(key), std::move(tensor));
  }
  if (!numbered.empty() && !plain.tensors.empty())
    return fileError(path, "'{0}' has no batch number, but '{1}.{2}' has; number all or none", plain.tensors[0].first,
                     numbered.begin()->first, numbered.begin()->second.tensors[0].first)
        .code("inputs_mixed");
  std::vector<InputBatch> batches;
  if (numbered.empty()) {
    batches.push_back(std::move(plain));
    return batches;
  }
  const InputBatch &first = numbered.begin()->second;
  for (const auto &[number, batch] : numbered) {
    for (const auto &entry : first.tensors)
      if (!batch.find(entry.first))
        return fileError(path, "batch {0} lacks '{1}', which batch {2} has", number, entry.first, numbered.begin()->first)
            .code("inputs_batch");
    for (const auto &entry : batch.tensors)
      if (!first.find(entry.first))
        return fileError(path, "batch {0} lacks '{1}', which batch {2} has", numbered.begin()->first, entry.first, number)
            .code("inputs_batch");
  }
  for (auto &entry : numbered)
    batches.push_back(std::move(entry.second));
  return batches;
}

/// All .npy files of a folder, sorted by name.
static llvm::Expected<NamedTensors> readFolder(llvm::StringRef path, const LoadLimits &limits) {
  std::vector<std::string> files;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(path, code), end; it != end && !code; it.increment(code))
    if (llvm::sys::path::extension(it->path()) == ".npy")
      files.push_back(it->path());
  if (code)
    return error(Location(), "cannot read '{0}': {1}", path, code.message()).code("file_read");
  std::sort(files.begin(), files.end());
  if (files.size() > limits.maxTensors)
    return fileError(path, "the folder has {0} arrays, the limit is {1}", files.size(), limits.maxTensors)
        .code("tensor_size");
  NamedTensors tensors;
  for (const std::string &file : files) {
    auto tensor = readNpy(file, limits);
    if (!tensor)
      return tensor.takeError();
    tensors.emplace_back(llvm::sys::path::stem(file).str(), std::move(*tensor));
  }
  return tensors;
}

llvm::Expected<std::vector<InputBatch>> loadInputs(llvm::StringRef path, const LoadLimits &limits) {
  if (llvm::sys::fs::is_directory(path)) {
    auto tensors = readFolder(path, limits);
    if (!tensors)
      return tensors.takeError();
    return sortIntoBatches(std::move(*tensors), path);
  }
  if (endsWith(path, ".npy")) {
    auto tensor = readNpy(path, limits);
    if (!tensor)
      return tensor.takeError();
    NamedTensors one;
    one.emplace_back(llvm::sys::path::stem(path).str(), std::move(*tensor));
    return sortIntoBatches(std::move(one), path);
  }
  auto file = SafetensorsFile::open(path, limits);
  if (!file)
    return file.takeError();
  auto tensors = file->readAll();
  if (!tensors)
    return tensors.takeError();
  return sortIntoBatches(std::move(*tensors), path);
}

} // namespace qfx
