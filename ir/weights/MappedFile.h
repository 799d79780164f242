// A file's bytes as shared storage, without copying them.
#ifndef IR_WEIGHTS_MAPPEDFILE_H
#define IR_WEIGHTS_MAPPEDFILE_H

#include "ir/Tensor.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace qfx {

/// Maps a regular file read-only; the mapping lives as long as a tensor views it, also after the file was replaced on disk.
/// Errors: `file_read` if it cannot be opened or is no regular file, `tensor_size` beyond `maxBytes`.
llvm::Expected<std::shared_ptr<const Storage>> mapFile(llvm::StringRef path, uint64_t maxBytes);

/// Nobody reads the tensor soon (weights have been packed, a batch has been run): the pages of a mapped file that hold it may leave memory.
/// Its data stays readable.
void releasePages(const Tensor &tensor);
/// The same for the bytes [beginByte, endByte) of the tensor.
void releasePages(const Tensor &tensor, int64_t beginByte, int64_t endByte);

/// The whole of a file, or of stdin for "-".  Errors as above.
llvm::Expected<std::string> readFile(llvm::StringRef path, uint64_t maxBytes);

/// Writes a file so that at `path` stands either the old content or the whole new one (temporary name, then rename).
/// \param write  streams the content.  Error: `file_write`.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Two such files, renamed only when both are written.
struct FileToWrite {
  std::string path;
  llvm::function_ref<void(llvm::raw_ostream &)> write;
};
llvm::Error writeFilesAtomically(llvm::ArrayRef<FileToWrite> files);

} // namespace qfx

#endif // IR_WEIGHTS_MAPPEDFILE_H
