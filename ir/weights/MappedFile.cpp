// Reading and writing whole files: mapped, streamed, and replaced atomically.
#include "ir/weights/MappedFile.h"

#include "ir/Diagnostics.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace qfx {

namespace {

class MappedStorage final : public Storage {
public:
  MappedStorage(void *address, size_t size) : address(address) {
    data = static_cast<const std::byte *>(address);
    sizeBytes = size;
  }
  ~MappedStorage() override { munmap(address, sizeBytes); }
  bool isFileMapping() const override { return true; }

private:
  void *address;
};

/// Closes a file descriptor at the end of a scope.
struct FileCloser {
  int fd;
  ~FileCloser() { close(fd); }
};

} // namespace

static Location placeIn(llvm::StringRef path) {
  auto source = std::make_shared<SourceText>();
  source->name = path.str();
  return {std::move(source), 0, 0};
}

static llvm::Error readError(llvm::StringRef path, int code) {
  return error(Location(), "cannot read '{0}': {1}", path, std::strerror(code)).code("file_read");
}

static llvm::Error tooLarge(llvm::StringRef path, uint64_t bytes, uint64_t maxBytes) {
  return error(placeIn(path), "the file has {0} bytes, the limit is {1}", bytes, maxBytes).code("tensor_size");
}

llvm::Expected<std::shared_ptr<const Storage>> mapFile(llvm::StringRef path, uint64_t maxBytes) {
  int fd = open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe must not make us wait
  if (fd < 0)
    return readError(path, errno);
  FileCloser closer{fd};
  struct stat status;
  if (fstat(fd, &status) != 0)
    return readError(path, errno);
  if (!S_ISREG(status.st_mode))
    return error(Location(), "cannot read '{0}': not a regular file", path).code("file_read");
  auto size = static_cast<uint64_t>(status.st_size);
  if (size > maxBytes)
    return tooLarge(path, size, maxBytes);
  if (size == 0) {
    MutableBytes none;
    return allocateStorage(0, none);
  }
  void *address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED)
    return readError(path, errno);
  return std::make_shared<MappedStorage>(address, size);
}

llvm::Expected<std::string> readFile(llvm::StringRef path, uint64_t maxBytes) {
  std::FILE *file = path == "-" ? stdin : std::fopen(path.str().c_str(), "rbe");
  if (!file)
    return readError(path, errno);
  std::string content;
  char buffer[1 << 16];
  size_t count;
  while ((count = std::fread(buffer, 1, sizeof buffer, file)) > 0 && content.size() <= maxBytes)
    content.append(buffer, count);
  int code = std::ferror(file) ? errno : 0;
  if (file != stdin)
    std::fclose(file);
  if (code)
    return readError(path, code);
  if (content.size() > maxBytes)
    return error(placeIn(path), "the file is larger than the limit of {0} bytes", maxBytes).code("tensor_size");
  return content;
}

static llvm::Error writeError(llvm::StringRef path, llvm::StringRef reason) {
  return error(Location(), "cannot write '{0}': {1}", path, reason).code("file_write");
}

llvm::Error writeFilesAtomically(llvm::ArrayRef<FileToWrite> files) {
  std::vector<std::string> temporaries; // empty for what is written in place
  auto discard = [&] {
    for (const std::string &temporary : temporaries)
      if (!temporary.empty())
        (void)llvm::sys::fs::remove(temporary);
  };
  for (const FileToWrite &file : files) {
    llvm::sys::fs::file_status status;
    if (!llvm::sys::fs::status(file.path, status) && status.type() == llvm::sys::fs::file_type::directory_file) {
      discard();
      return writeError(file.path, "it is a directory");
    }
    bool inPlace = llvm::sys::fs::exists(status) && !llvm::sys::fs::is_regular_file(status); // a device or pipe
    llvm::SmallString<128> temporary;
    int fd = -1;
    unsigned mode = llvm::sys::fs::all_read | llvm::sys::fs::all_write; // the umask takes from it
    auto code = inPlace ? llvm::sys::fs::openFileForWrite(file.path, fd)
                        : llvm::sys::fs::createUniqueFile(file.path + ".%%%%%%%%.tmp", fd, temporary,
                                                          llvm::sys::fs::OF_None, mode);
    if (code) {
      discard();
      return writeError(file.path, code.message());
    }
    temporaries.push_back(temporary.str().str());
    llvm::raw_fd_ostream os(fd, /*shouldClose=*/true);
    file.write(os);
    os.close();
    if (os.has_error()) {
      std::string reason = os.error().message();
      os.clear_error();
      discard();
      return writeError(file.path, reason);
    }
  }
  for (size_t i = 0; i < files.size(); ++i)
    if (temporaries[i].empty())
      continue;
    else if (auto code = llvm::sys::fs::rename(temporaries[i], files[i].path)) {
      discard();
      return writeError(files[i].path, code.message());
    }
  return llvm::Error::success();
}

llvm::Error writeFileAtomically(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  return writeFilesAtomically(FileToWrite{path.str(), write});
}

void releasePages(const Tensor &tensor) { releasePages(tensor, 0, static_cast<int64_t>(tensor.getSizeBytes())); }

void releasePages(const Tensor &tensor, int64_t beginByte, int64_t endByte) {
  if (!tensor.getStorage()->isFileMapping())
    return;
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGE_SIZE));
  uintptr_t data = reinterpret_cast<uintptr_t>(tensor.getBytes()), begin = data + static_cast<uintptr_t>(beginByte),
            end = data + std::min(static_cast<uintptr_t>(endByte), static_cast<uintptr_t>(tensor.getSizeBytes()));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end)
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED); // advice: failure only costs memory
}

} // namespace qfx
