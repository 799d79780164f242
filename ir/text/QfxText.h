// The .qfx text format: reading, printing, saving and comparing models.  Grammar and rules: docs/IR.md.
#ifndef IR_TEXT_QFXTEXT_H
#define IR_TEXT_QFXTEXT_H

#include "ir/Diagnostics.h"
#include "ir/GraphModule.h"
#include "ir/weights/LoadLimits.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace qfx {

/// The version of the format that this build reads and writes.
constexpr int64_t kQfxVersion = 1;

struct LoadOptions {
  LoadLimits limits;
  std::string weightsDirectory;               ///< where `weights "..."` is looked up; empty: the folder of the .qfx file
  std::vector<Diagnostic> *warnings = nullptr; ///< receives warnings (tensors that nobody declares); may be null
};

/// Parses a model.  Every error that is found comes in one llvm::Error; there is no partial result.
/// The model passes verify() without type inference.  Source locations point into `source`.
llvm::Expected<GraphModule> parseQfx(std::shared_ptr<const SourceText> source, const LoadOptions &options = {});

/// Reads and parses a file, or stdin for "-".  `file_read` if it cannot be read.
llvm::Expected<GraphModule> loadModel(llvm::StringRef path, const LoadOptions &options = {});

/// Parses `TYPE = INIT` (`f32[1, 3] = random(seed=7)`), what a tensor line has after its path.  `name` stands in messages.
llvm::Expected<Tensor> parseTensorText(llvm::StringRef text, llvm::StringRef name);

struct PrintOptions {
  /// What stands for a tensor of more than `maxInlineElements` elements.
  enum class Large : uint8_t {
    Inline, ///< all its numbers
    Digest, ///< a comment with its checksum and range: for reading, such a text cannot be loaded again
    File    ///< nothing: it is in the weights file `weightsFile`
  };
  Large large = Large::Inline;
  uint64_t maxInlineElements = 0; ///< at most this many stand inline also with Digest and File
  std::string weightsFile;        ///< the name that the `weights` line gives (File only)
};

/// Prints a model so that parsing gives the identical one (except with Digest).
void printQfx(llvm::raw_ostream &os, const GraphModule &model, const PrintOptions &options = {});

/// Writes `path` and, if the model has tensors, `<stem>.safetensors` beside it; both appear or none as far as the file system
/// allows.  "-" writes the text to stdout with all weights inline, as do devices and pipes (/dev/null gets no numbers).  Error:
/// `file_write`, also for a path that ends in .safetensors.
/// \param numThreads  as of writeSafetensors.
llvm::Error saveModel(const GraphModule &model, llvm::StringRef path, unsigned numThreads = 1);

/// Are two models the same: module tree with attributes, tensors, flags and sharing; graph with names, targets, arguments,
/// scopes, types and meta?  The order of users and source locations do not count, and any NaN equals any NaN.
/// \param why  receives the first difference; may be null.
bool isIdentical(const GraphModule &a, const GraphModule &b, std::string *why = nullptr);

} // namespace qfx

#endif // IR_TEXT_QFXTEXT_H
