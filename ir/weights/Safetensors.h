// The safetensors format: named tensors and string metadata in one file, read without copying.
#ifndef IR_WEIGHTS_SAFETENSORS_H
#define IR_WEIGHTS_SAFETENSORS_H

#include "ir/Tensor.h"
#include "ir/weights/LoadLimits.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace qfx {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using StringPairs = std::vector<std::pair<std::string, std::string>>;

/// An opened file.  Tensors view the mapped bytes (a tensor that is not aligned to its element is copied).
/// A quantized tensor is stored as its codes under `<key>`, `<key>:scales` (F64), `<key>:zero_points` (I64, or F32 for the
/// float-qparams scheme) and the metadata entry `<key>` = `qint8 per_channel_affine axis=0` (docs/IR.md).
class SafetensorsFile {
public:
  /// Maps and validates `path`.  Errors name the file and the byte offset; rules `weights_header`, `weights_range`,
  /// `weights_dtype`, `tensor_size`, `file_read`.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path, const LoadLimits &limits = {});
  /// The same over bytes in memory; `name` stands in errors.
  static llvm::Expected<SafetensorsFile> parse(std::shared_ptr<const Storage> bytes, llvm::StringRef name,
                                               const LoadLimits &limits = {});

  const std::string &getName() const { return name; }
  /// Keys in the order of the file's data, those of scales and zero points left out.
  llvm::ArrayRef<std::string> getKeys() const { return keys; }
  bool contains(llvm::StringRef key) const { return tensors.count(key) != 0; }
  /// The tensor, null if there is none of that key; an error `tensor_quant` if its quantization parameters are not valid.
  llvm::Expected<Tensor> read(llvm::StringRef key) const;
  llvm::Expected<NamedTensors> readAll() const;
  /// `__metadata__` in file order, quantization entries included.
  const StringPairs &getMetadata() const { return metadata; }

private:
  std::string name;
  std::vector<std::string> keys;
  llvm::StringMap<Tensor> tensors;
  StringPairs metadata;
};

/// Writes tensors (dense; quantized ones as above, without parameters of their own as plain codes) and metadata: header padded to 64 bytes, metadata ordered by key, data by element
/// size then key, as the safetensors library orders it, so every tensor is aligned.  Keys must be unique.
/// \param numThreads  computed tensors are computed by so many threads; the bytes written do not depend on it.
void writeSafetensors(llvm::raw_ostream &os, const NamedTensors &tensors, const StringPairs &metadata = {}, unsigned numThreads = 1);
/// The same into a file that appears whole or not at all.
llvm::Error writeSafetensorsFile(llvm::StringRef path, const NamedTensors &tensors, const StringPairs &metadata = {});

} // namespace qfx

#endif // IR_WEIGHTS_SAFETENSORS_H
