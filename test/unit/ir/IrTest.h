// Helpers of the IR tests: models from text, files in a folder, expected errors.
#ifndef TEST_UNIT_IR_IRTEST_H
#define TEST_UNIT_IR_IRTEST_H

#include "ir/Diagnostics.h"
#include "ir/text/QfxText.h"
#include "ir/weights/Safetensors.h"

#include <string>
#include <vector>

namespace qfx {

llvm::Expected<GraphModule> parse(std::string text);
/// Parses, or fails the test with all messages.
GraphModule parseOrFail(std::string text);
std::string print(const GraphModule &model, const PrintOptions &options = {});

/// The codes of all diagnostics in `err`, with spaces between; empty for success.
std::string getCodes(llvm::Error err);
/// All messages as printed; empty for success.
std::string getMessages(llvm::Error err);

std::string readFileOrFail(const std::string &path);
void writeFileOrFail(const std::string &path, llvm::StringRef content);
/// Files in a folder whose names end in `suffix`, sorted, with the folder before them.
std::vector<std::string> listFiles(const std::string &folder, llvm::StringRef suffix);
/// A test file's parts between `// -----` lines.
std::vector<std::string> splitParts(llvm::StringRef text);
/// The `// expected-error@+1 {{text}}` comments of `part` against what parsing reports.
void checkExpectedErrors(const std::string &file, const std::string &part);

/// A fresh folder that goes away with its files.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  std::string getPath(llvm::StringRef name) const;

private:
  std::string path;
};

/// Bytes in memory as a file would give them.
std::shared_ptr<const Storage> makeStorage(llvm::StringRef bytes);

} // namespace qfx

#define REQUIRE_OK(error)                                                                                              \
  do {                                                                                                                 \
    std::string messagesOfRequireOk = qfx::getMessages(error);                                                         \
    INFO(messagesOfRequireOk);                                                                                         \
    REQUIRE(messagesOfRequireOk.empty());                                                                              \
  } while (false)

#endif // TEST_UNIT_IR_IRTEST_H
