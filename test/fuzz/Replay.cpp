// Runs the committed corpus through the fuzz targets, without libFuzzer: qfx-fuzz-replay CORPUS, files in CORPUS/<target>/.
#include "test/fuzz/Targets.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace qfx::fuzz;

namespace {
struct Target {
  const char *folder;
  void (*run)(const uint8_t *data, size_t size);
};
constexpr Target kTargets[] = {
    {"qfx", fuzzQfx}, {"safetensors", fuzzSafetensors}, {"json", fuzzJson}, {"qconfig", fuzzQConfig}};
} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: qfx-fuzz-replay CORPUS\n";
    return 2;
  }
  unsigned count = 0;
  for (const Target &target : kTargets) {
    std::error_code failure;
    for (llvm::sys::fs::directory_iterator it(std::string(argv[1]) + "/" + target.folder, failure), end; it != end && !failure;
         it.increment(failure)) {
      auto buffer = llvm::MemoryBuffer::getFile(it->path(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
      if (!buffer) {
        llvm::errs() << "cannot read '" << it->path() << "'\n";
        return 1;
      }
      llvm::errs() << it->path() << '\n'; // the last line of a crash
      target.run(reinterpret_cast<const uint8_t *>((*buffer)->getBufferStart()), (*buffer)->getBufferSize());
      ++count;
    }
    if (failure) {
      llvm::errs() << "cannot list '" << argv[1] << '/' << target.folder << "': " << failure.message() << '\n';
      return 1;
    }
  }
  llvm::outs() << count << " inputs replayed\n";
  return count ? 0 : 1;
}
