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

/// `stages`: which of float, fused and prepared there is a text of.
static void compareWithGolden(const std::string &name, std::initializer_list<llvm::StringRef> stages) {
  INFO(name);
  std::string folder = std::string(QFX_GOLDEN_DIR) + "/graphs/" + name;
  GraphModule model = require(loadModel(folder + "/model.qfx"));
  auto compare = [&](llvm::StringRef stage) {
    if (llvm::is_contained(stages, stage))
      CHECK(formatFx(model.getGraph()) == readGolden(folder + "/" + stage.str() + ".txt"));
  };
  compare("float");
  TestContext context("native");
  require(fuse(model, FuseOptions(), context.context));
  compare("fused");
  PrepareOptions options;
  options.mapping = require(getDefaultQConfigMapping("x86"));
  require(prepare(model, options, context.context));
  compare("prepared");
}

TEST_CASE("fused and prepared graphs equal PyTorch's", "[passes][golden]") {
  compareWithGolden(GENERATE(as<std::string>(), "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A11", "resnet18"),
                    {"float", "fused", "prepared"});
}

TEST_CASE("prepared networks of torchvision equal PyTorch's", "[passes][golden]") {
  compareWithGolden(GENERATE(as<std::string>(), "mobilenet_v3_small", "shufflenet_v2_x1_0"), {"prepared"});
}
