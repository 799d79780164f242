// Compares what is written with what is read, file by file.
#include "tools/opt/OutputFiles.h"

#include "ir/Diagnostics.h"
#include "ir/emit/Emit.h"
#include "ir/text/WeightsFiles.h"
#include "tools/opt/OptFlags.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <string>
#include <utility>
#include <vector>

namespace qfx::tool {

namespace {
struct FileRead {
  std::string path, role;
};
} // namespace

static bool isSameFile(llvm::StringRef a, llvm::StringRef b) { return a != "-" && b != "-" && llvm::sys::fs::equivalent(a, b); }

/// The files of the command line; the model itself only where the result does not replace it.
static std::vector<FileRead> getFilesRead(const OptFlags &flags, llvm::StringRef text) {
  std::vector<FileRead> files;
  if (!isSameFile(flags.output, flags.input)) {
    std::string model = "'" + flags.input + "'";
    for (const std::string &name : findWeightsNames(text)) {
      llvm::SmallString<128> path;
      if (!llvm::sys::path::is_absolute(name) && flags.input != "-")
        path = llvm::sys::path::parent_path(flags.input);
      llvm::sys::path::append(path, name);
      files.push_back({path.str().str(), "the weights file of the input " + model});
    }
    files.push_back({flags.input, "the input"});
  }
  for (const std::string &path : flags.calibrate)
    files.push_back({path, "calibration data"});
  for (const auto &[path, flag] : {std::pair{flags.backend.getValue(), "--backend"}, std::pair{flags.qconfig.getValue(), "--qconfig"},
                                   std::pair{flags.customConfig.getValue(), "--custom-config"}})
    files.push_back({path, std::string("what ") + flag + " reads"});
  return files;
}

llvm::Error checkOutputFiles(const OptFlags &flags, llvm::StringRef text) {
  if (flags.output == "-")
    return llvm::Error::success();
  std::vector<std::string> outputs = {flags.output};
  if (parseEmitForm(flags.emitForm) == EmitForm::Qfx)
    if (std::string weights = getWeightsPath(flags.output); !weights.empty())
      outputs.push_back(std::move(weights));
  for (const FileRead &file : getFilesRead(flags, text))
    for (const std::string &output : outputs)
      if (isSameFile(output, file.path))
        return error({}, "cannot write '{0}': it is {1}", output, file.role)
            .note({}, "the result goes to the file of -o, its weights to one of the same name beside it: choose another name")
            .code("file_write");
  return llvm::Error::success();
}

} // namespace qfx::tool
