// The JSON header of a safetensors file as entries with their byte positions; private to ir/weights.
#ifndef IR_WEIGHTS_SAFETENSORSHEADERDETAIL_H
#define IR_WEIGHTS_SAFETENSORSHEADERDETAIL_H

#include "ir/DType.h"
#include "ir/Diagnostics.h"
#include "ir/weights/Safetensors.h"

namespace qfx {

/// One tensor's entry, as written.
struct HeaderEntry {
  std::string key;
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0; ///< byte range within the data
  size_t position = 0;         ///< of the key, counted from the start of the file
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;
  StringPairs metadata;
};

/// Parses the header text, which starts at byte `start` of file `name`.  Accepts exactly what the format allows: an object of
/// entries {dtype, shape, data_offsets} and one `__metadata__` of strings.
llvm::Expected<SafetensorsHeader> parseSafetensorsHeader(llvm::StringRef text, size_t start, llvm::StringRef name,
                                                         const LoadLimits &limits);

/// The format's spelling of a dtype (F32, BF16, ...); empty for quantized dtypes, whose codes have the spelling.
llvm::StringRef getSafetensorsDType(DType dtype);

/// An error about file `name` as a whole.
template <class... Args> ErrorBuilder fileError(llvm::StringRef name, const char *format, Args &&...args) {
  auto source = std::make_shared<SourceText>();
  source->name = name.str();
  return error({std::move(source), 0, 0}, format, std::forward<Args>(args)...);
}

} // namespace qfx

#endif // IR_WEIGHTS_SAFETENSORSHEADERDETAIL_H
