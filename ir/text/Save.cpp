// Models to files: the text and its weights, both or neither.
#include "ir/Text.h"
#include "ir/text/PrinterDetail.h"
#include "ir/text/WeightsFiles.h"
#include "ir/weights/MappedFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace qfx {

/// Is there a tensor that belongs into a weights file?
static bool hasData(const Module &root) {
  bool found = false;
  auto look = [&](const Module &module) {
    auto isLarge = [](const auto &entry) { return entry.second.getNumElements() > 0; };
    found |= llvm::any_of(module.getParameters(), isLarge) || llvm::any_of(module.getBuffers(), isLarge);
  };
  look(root);
  root.forEachModule([&](const std::string &, const ModuleRef &module) { look(*module); });
  return found;
}

llvm::Error saveModel(const GraphModule &model, llvm::StringRef path, unsigned numThreads) {
  if (path == "-") {
    printQfx(llvm::outs(), model);
    llvm::outs().flush();
    if (!llvm::outs().has_error())
      return llvm::Error::success();
    std::string reason = llvm::outs().error().message();
    llvm::outs().clear_error(); // told here, not again at exit
    return error(Location(), "cannot write to stdout: {0}", reason).code("file_write");
  }
  if (endsWith(path, ".safetensors"))
    return error(Location(), "cannot write the text of a model to '{0}', the name of a weights file", path)
        .note({}, "its weights go to a file of this kind beside it: m.safetensors for m.qfx")
        .code("file_write");
  std::string weightsPath = getWeightsPath(path);

  PrintOptions options;
  // Nobody reads what /dev/null gets: its text goes without data.  Other devices and pipes get all numbers inline.
  options.large = weightsPath.empty() && path != "/dev/null" ? PrintOptions::Large::Inline : PrintOptions::Large::File;
  if (!weightsPath.empty() && hasData(model.getRoot()))
    options.weightsFile = llvm::sys::path::filename(weightsPath).str();
  std::string text;
  NamedTensors external;
  llvm::raw_string_ostream stream(text);
  printQfx(stream, model, options, external);
  stream.flush();

  auto writeText = [&](llvm::raw_ostream &os) { os << text; };
  auto writeWeights = [&](llvm::raw_ostream &os) { writeSafetensors(os, external, {}, numThreads); };
  std::vector<FileToWrite> files;
  if (!external.empty() && !weightsPath.empty()) // first: a text never stands without its weights
    files.push_back({weightsPath, writeWeights});
  files.push_back({path.str(), writeText});
  return writeFilesAtomically(files);
}

} // namespace qfx
