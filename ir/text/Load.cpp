// Models from files.
#include "ir/text/QfxText.h"

#include "ir/weights/MappedFile.h"

namespace qfx {

llvm::Expected<GraphModule> loadModel(llvm::StringRef path, const LoadOptions &options) {
  auto text = readFile(path, options.limits.maxFileBytes);
  if (!text)
    return text.takeError();
  auto source = std::make_shared<SourceText>();
  source->name = path == "-" ? "<stdin>" : path.str();
  source->text = std::move(*text);
  return parseQfx(std::move(source), options);
}

} // namespace qfx
