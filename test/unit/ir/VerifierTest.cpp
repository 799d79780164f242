// The verifier finds each broken rule, and all of them at a time.
#include "Catch.h"
#include "IrTest.h"

#include "ir/Ops.h"
#include "ir/verify/Verifier.h"

using namespace qfx;

static const char *const kModel = R"(qfx 1
module fc : torch.nn.Linear(in_features=4, out_features=2)
parameter fc.weight : f32[2, 4] = 0.5
parameter fc.bias : f32[2] = 0
graph(%x : f32[N, 4]) {
  %fc = call_module[fc](%x) : f32[N, 2]
  %relu = call_function[torch.relu](%fc)
  return %relu
}
)";

static std::string codesAfter(llvm::function_ref<void(GraphModule &)> change, bool inferTypes = false) {
  GraphModule model = parseOrFail(kModel);
  change(model);
  VerifyOptions options;
  options.inferTypes = inferTypes;
  return getCodes(verify(model, options));
}

TEST_CASE("a sound model passes") {
  CHECK(codesAfter([](GraphModule &) {}).empty());
  CHECK(codesAfter([](GraphModule &) {}, /*inferTypes=*/true).empty());
}

TEST_CASE("order, names and targets") {
  CHECK(codesAfter([](GraphModule &m) { m.getGraph().moveBefore(m.getGraph().findNode("relu"), m.getGraph().findNode("fc")); }) ==
        "node_order");
  CHECK(codesAfter([](GraphModule &m) { m.getGraph().findNode("relu")->setArgs({m.getGraph().findNode("relu")}); }) ==
        "node_order");
  CHECK(codesAfter([](GraphModule &m) { m.getGraph().findNode("fc")->setTargetPath("cf"); }) == "node_target");
  CHECK(codesAfter([](GraphModule &m) { m.getRoot().removeChild("fc"); }) == "node_target");
  CHECK(codesAfter([](GraphModule &m) {
          Graph::InsertPoint guard = Graph::InsertPoint::before(m.getGraph().getOutput());
          m.getGraph().getAttr("nowhere");
        }) == "node_target");
  CHECK(codesAfter([](GraphModule &m) { m.getRoot().setModule("fc", std::make_shared<Module>("my.Layer")); }) ==
        "module_class");
}

TEST_CASE("arguments bind to the operator") {
  CHECK(codesAfter([](GraphModule &m) { m.getGraph().findNode("relu")->setArgs({}); }) == "node_arity");
  CHECK(codesAfter([](GraphModule &m) {
          Node *relu = m.getGraph().findNode("relu");
          relu->setKwargs({{"no_such_argument", 1}});
        }) == "node_arity");
  CHECK(codesAfter([](GraphModule &m) { m.getGraph().findNode("fc")->setArgs({}); }) == "node_arity");
}

TEST_CASE("exactly one output, last") {
  CHECK(codesAfter([](GraphModule &m) { m.getGraph().erase(m.getGraph().getOutput()); }) == "node_output");
  CHECK(codesAfter([](GraphModule &m) { m.getGraph().output(m.getGraph().findNode("fc")); }) == "node_output");
  CHECK(codesAfter([](GraphModule &m) { m.getGraph().callFunction(requireFunction("torch.relu"), {m.getGraph().findNode("fc")}); }) ==
        "node_output node_output");
}

TEST_CASE("modules have their attributes and tensors") {
  CHECK(codesAfter([](GraphModule &m) { m.getRoot().findModule("fc")->removeTensor("bias"); }) == "tensor_missing");
  CHECK(codesAfter([](GraphModule &m) {
          m.getRoot().findModule("fc")->removeTensor("bias");
          m.getRoot().findModule("fc")->setAttribute("bias", false);
        }).empty());
  CHECK(codesAfter([](GraphModule &m) { m.getRoot().findModule("fc")->setAttribute("wrong", 1); }) == "module_attr");
  CHECK(codesAfter([](GraphModule &m) { m.getRoot().findModule("fc")->setAttribute("in_features", "four"); }) ==
        "module_attr");
  CHECK(codesAfter([](GraphModule &m) {
          m.getRoot().setModule("extra", std::make_shared<Module>(requireModuleClass("torch.nn.Linear")));
        }) == "module_attr module_attr");
  CHECK(codesAfter([](GraphModule &m) {
          auto quantizer = std::make_shared<Quantizer>(Quantizer::perTensor(0.0, 0));
          m.getRoot().setBuffer("q", Tensor::of<int8_t>(DType::QInt8, {1}, {1}, quantizer));
        }) == "tensor_quant");
}

TEST_CASE("declared types are compared with inferred ones") {
  CHECK(codesAfter(
            [](GraphModule &m) {
              TensorType type;
              type.shape = {Dim::symbolic("N"), Dim(3)};
              m.getGraph().findNode("fc")->setType(type);
            },
            /*inferTypes=*/true) == "type_mismatch");
  CHECK(!codesAfter(
             [](GraphModule &m) {
               TensorType type;
               type.shape = {Dim::symbolic("N"), Dim(5)};
               m.getGraph().findNode("x")->setType(type);
             },
             /*inferTypes=*/true)
             .empty());
}
