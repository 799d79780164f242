// Texts for reading: torch's own, character for character, and ours.
#include "Catch.h"
#include "IrTest.h"

#include "ir/emit/Emit.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace qfx;

TEST_CASE("fx, code and tabular are what torch 2.13 prints") {
  std::vector<std::string> files = listFiles(QFX_GOLDEN_DIR "/fx_text", ".qfx");
  REQUIRE(files.size() == 9);
  for (const std::string &file : files) {
    INFO(file);
    GraphModule model = parseOrFail(readFileOrFail(file));
    std::string stem = file.substr(0, file.size() - 4);
    CHECK(formatFx(model.getGraph()) == readFileOrFail(stem + ".fx"));
    CHECK(formatCode(model.getGraph()) == readFileOrFail(stem + ".code"));
    CHECK(formatTabular(model.getGraph()) == readFileOrFail(stem + ".tabular"));
  }
}

static const char *const kModel = R"(qfx 1
module conv : torch.nn.Conv2d(in_channels=1, out_channels=2, kernel_size=(1, 1), bias=False)
module again = conv
parameter conv.weight : f32[2, 1, 1, 1] = 0.5
parameter tied = conv.weight
buffer table : i8[3] = [1, 2, 3]
meta note = {"k": (1, 2)}
graph(%x : f32[N, 1, 4, 4]) {
  %conv = call_module[conv](%x)
  %to = call_method[to](%conv, torch.float32, memory_format=torch.channels_last) meta {"t": "a\"b"}
  %clamp = call_function[torch.clamp](%to, min=-inf)
  return [%clamp, None]
}
)";

static std::string emitted(EmitForm form) {
  GraphModule model = parseOrFail(kModel);
  std::string text;
  llvm::raw_string_ostream os(text);
  emit(os, model, form);
  return os.str();
}

TEST_CASE("every form has a name and ends with a newline") {
  for (const std::string &name : getEmitFormNames()) {
    auto form = parseEmitForm(name);
    REQUIRE(form);
    CHECK(getEmitFormName(*form) == name);
    CHECK(llvm::StringRef(emitted(*form)).take_back() == "\n");
  }
  CHECK(!parseEmitForm("onnx"));
}

TEST_CASE("the type of the output may stand in the model's meta") {
  GraphModule model = parseOrFail("qfx 1\nmeta output_type = \"torch.Tensor\"\ngraph(%x) {\n  return %x\n}\n");
  std::string text;
  llvm::raw_string_ostream os(text);
  emit(os, model, EmitForm::Code);
  CHECK(os.str() == "\n\n\ndef forward(self, x) -> torch.Tensor:\n    return x\n    \n");
}

TEST_CASE("json holds nodes, modules and tensors under stable keys") {
  auto json = llvm::json::parse(emitted(EmitForm::Json));
  REQUIRE(bool(json));
  const llvm::json::Object &root = *json->getAsObject();
  CHECK(*root.getInteger("qfx") == 1);
  const llvm::json::Array &nodes = *root.getArray("nodes");
  REQUIRE(nodes.size() == 5);
  const llvm::json::Object &conv = *nodes[1].getAsObject();
  CHECK(*conv.getString("name") == "conv");
  CHECK(*conv.getString("op") == "call_module");
  CHECK(*conv.getString("target") == "conv");
  CHECK(*(*conv.getArray("args"))[0].getAsObject()->getString("node") == "x");
  CHECK(*(*conv.getArray("users"))[0].getAsString() == "to");
  CHECK(*conv.getString("type") == "f32[N, 2, 4, 4]");
  CHECK(*conv.getObject("scope")->getString("class") == "torch.nn.Conv2d");
  CHECK(*conv.getObject("location")->getInteger("line") == 9);
  const llvm::json::Object &to = *nodes[2].getAsObject();
  CHECK(*to.getObject("kwargs")->getObject("memory_format")->getString("memory_format") == "channels_last");
  CHECK(*to.getObject("meta")->getString("t") == "a\"b");
  CHECK(*nodes[3].getAsObject()->getObject("kwargs")->getObject("min")->getString("float") == "-inf");
  const llvm::json::Array &modules = *root.getArray("modules");
  REQUIRE(modules.size() == 3);
  CHECK(*modules[0].getAsObject()->getObject("buffers")->getObject("table")->getString("type") == "i8[3]");
  CHECK(*modules[1].getAsObject()->getObject("parameters")->getObject("weight")->getString("type") == "f32[2, 1, 1, 1]");
  CHECK(*modules[2].getAsObject()->getString("same_as") == "conv");
  CHECK(root.getObject("meta")->getObject("note")->getObject("dict")->getObject("k")->getArray("tuple")->size() == 2);
}

TEST_CASE("summary counts each tensor once") {
  std::string text = emitted(EmitForm::Summary);
  CHECK(llvm::StringRef(text).contains("conv    call_module    conv (torch.nn.Conv2d)  Conv2d"));
  CHECK(llvm::StringRef(text).contains("f32    2           8 B    0        0 B"));
  CHECK(llvm::StringRef(text).contains("i8     0           0 B    3        3 B"));
  CHECK(llvm::StringRef(text).contains("total: 5 nodes, 5 elements, 11 B"));
}

TEST_CASE("dot draws nodes and edges") {
  std::string text = emitted(EmitForm::Dot);
  CHECK(llvm::StringRef(text).contains("\"conv\" [label=\"conv\\ntorch.nn.Conv2d\\ncall_module conv\""));
  CHECK(llvm::StringRef(text).contains("\"x\" -> \"conv\""));
  CHECK(llvm::StringRef(text).contains("\"clamp\" -> \"output\""));
}

TEST_CASE("qfx shows large tensors as digests") {
  CHECK(llvm::StringRef(emitted(EmitForm::Qfx)).contains("parameter tied : f32[2, 1, 1, 1] = [[[[0.5]]], [[[0.5]]]]"));
}
