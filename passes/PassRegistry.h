// The table of passes: names, options, factories, and the named pipelines.
#ifndef PASSES_PASSREGISTRY_H
#define PASSES_PASSREGISTRY_H

#include "passes/Pass.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace qfx {

enum class PassOptionKind : uint8_t { Bool, Int, Ints, Float, String, Choice };

/// One option of a pass: `mode:ptq|qat=ptq`.
struct PassOptionInfo {
  std::string name;
  PassOptionKind kind = PassOptionKind::String;
  std::vector<std::string> choices; ///< Choice only
  std::string defaultText;
};

/// The values of one pass in a pipeline, defaults included.  Values were checked against the pass's options when they
/// were parsed; asking for an option that the pass does not have, or as another kind, is a programming error
/// (asserted).
class PassOptions {
public:
  explicit PassOptions(llvm::ArrayRef<PassOptionInfo> infos) : infos(infos) {}

  bool getBool(llvm::StringRef name) const;
  int64_t getInt(llvm::StringRef name) const;
  std::vector<int64_t> getInts(llvm::StringRef name) const;
  double getFloat(llvm::StringRef name) const;
  std::string getString(llvm::StringRef name) const; ///< String and Choice

  /// Null if `text` is a value of that option's kind, else what was expected ("one of 'ptq', 'qat'").
  static std::string checkValue(const PassOptionInfo &info, llvm::StringRef text);
  void set(llvm::StringRef name, llvm::StringRef text);
  /// "{mode=qat}" with the values that were given; empty if none was.
  std::string toString() const;

private:
  const std::string &getText(llvm::StringRef name, PassOptionKind kind) const;
  const PassOptionInfo *find(llvm::StringRef name) const;

  llvm::ArrayRef<PassOptionInfo> infos;
  std::vector<std::pair<std::string, std::string>> given;
};

/// One row of Passes.def.
struct PassInfo {
  llvm::StringRef name;    ///< "convert-to-reference"
  llvm::StringRef summary; ///< one line for --list-passes
  std::vector<PassOptionInfo> options;
  std::unique_ptr<Pass> (*create)(const PassOptions &);
};

/// A name that stands for a pipeline text.
struct PipelineInfo {
  llvm::StringRef name;
  llvm::StringRef text;
  llvm::StringRef summary;
};

/// In table order.
const std::vector<PassInfo> &getAllPasses();
const std::vector<PipelineInfo> &getAllPipelines();
const PassInfo *findPass(llvm::StringRef name);
const PipelineInfo *findPipeline(llvm::StringRef name);
/// Pass and pipeline names, for "did you mean".
std::vector<std::string> getPassNames();

#define QFX_PASS(Class, name, summary, options) std::unique_ptr<Pass> create##Class(const PassOptions &options_);
#define QFX_PIPELINE(name, text, summary)
#include "passes/Passes.def"

} // namespace qfx

#endif // PASSES_PASSREGISTRY_H
