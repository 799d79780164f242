// Fused and prepared graphs of PyTorch 2.13, text for text (test/golden/graphs).
#include "PassTest.h"
#include "passes/fuse/Fuse.h"
#include "passes/prepare/Prepare.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace qfx;

static std::string readGolden(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  REQUIRE(buffer);
  llvm::StringRef text = (*buffer)->getBuffer();
  while (!text.empty() && text.front() == '#')
    text = text.split('\n').second;
  return text.rtrim().str();
}

static void compareWithGolden(const std::string &name) {
  INFO(name);
  std::string folder = std::string(QFX_GOLDEN_DIR) + "/graphs/" + name;
  GraphModule model = require(loadModel(folder + "/model.qfx"));
  CHECK(formatFx(model.getGraph()) == readGolden(folder + "/float.txt"));
  TestContext context("native");
  require(fuse(model, FuseOptions(), context.context));
  CHECK(formatFx(model.getGraph()) == readGolden(folder + "/fused.txt"));
  PrepareOptions options;
  options.mapping = require(getDefaultQConfigMapping("x86"));
  require(prepare(model, options, context.context));
  CHECK(formatFx(model.getGraph()) == readGolden(folder + "/prepared.txt"));
}

TEST_CASE("fused and prepared graphs equal PyTorch's", "[passes][golden]") {
  compareWithGolden(GENERATE(as<std::string>(), "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A11"));
}
