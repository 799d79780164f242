// Binding: positional and keyword forms of one call fill the same slots; wrong calls are refused with place, found and expected.
#include "Catch.h"

#include "ir/Bind.h"
#include "ir/Graph.h"
#include "ir/GraphModule.h"
#include "ir/Module.h"
#include "ir/OpKind.h"

using namespace qfx;

/// An argument that fits the slot; tensors are one node or another, so that mixing them up would show.
static Argument makeSample(const SlotInfo &slot, llvm::ArrayRef<Node *> nodes, size_t i) {
  Node *node = nodes[i % nodes.size()];
  switch (slot.type) {
  case SlotType::Tensor:
    return node;
  case SlotType::TensorList:
    return Argument::list({node, nodes[0]});
  case SlotType::Int:
    return int64_t(10 + i);
  case SlotType::Ints:
    return Argument::ints({int64_t(i), 2});
  case SlotType::Float:
  case SlotType::Number:
    return 0.5 + double(i);
  case SlotType::Bool:
    return i % 2 == 0;
  case SlotType::String:
    return "text" + std::to_string(i);
  case SlotType::DType:
    return DType::QInt8;
  case SlotType::Any:
    return i % 2 ? Argument(node) : Argument(int64_t(i));
  }
  return Argument();
}

static std::string describe(const BoundCall &call) {
  std::string text;
  for (const BoundSlot &slot : call.slots)
    text += slot.info->name + "=" + toString(slot.arg, ArgumentStyle::Qfx) + (slot.isGiven ? "! " : " ");
  return text;
}

static std::string getMessage(llvm::Error err) { return llvm::toString(std::move(err)); }

TEST_CASE("all positional and keyword splits of every function bind alike", "[bind]") {
  for (const TargetInfo &target : getAllTargets()) {
    llvm::ArrayRef<SlotInfo> slots = target.getSignature().getSlots();
    bool isVariadic = llvm::any_of(slots, [](const SlotInfo &slot) { return slot.isVariadic; });
    if (target.kind == TargetKind::Module || isVariadic)
      continue;
    INFO(target.text.str());
    GraphModule model;
    std::vector<Node *> nodes;
    for (int i = 0; i < 4; ++i)
      nodes.push_back(model.getGraph().placeholder("x"));
    std::vector<std::pair<std::string, Argument>> samples;
    for (const SlotInfo &slot : slots)
      if (!slot.isFixed)
        samples.emplace_back(slot.name, makeSample(slot, nodes, samples.size()));
    std::string expected;
    for (size_t split = samples.size() + 1; split-- > 0;) {
      if (split == 0 && target.kind == TargetKind::Method)
        break; // the object itself has no keyword
      std::vector<Argument> args;
      Kwargs kwargs;
      for (size_t i = 0; i < samples.size(); ++i)
        if (i < split)
          args.push_back(samples[i].second);
        else
          kwargs.emplace(kwargs.begin(), samples[i]); // backwards: the order of keywords says nothing
      Node *node = target.kind == TargetKind::Method ? model.getGraph().callMethod(target, args, kwargs)
                                                     : model.getGraph().callFunction(target, args, kwargs);
      auto call = bindCall(*node, model);
      if (!call)
        FAIL(getMessage(call.takeError()));
      std::string text = describe(*call);
      if (expected.empty())
        expected = text;
      CHECK(text == expected);
    }
  }
}

namespace {
struct Fixture {
  GraphModule model;
  Node *x = model.getGraph().placeholder("x");
  Node *w = model.getGraph().placeholder("w");

  BoundCall bind(Node *node) {
    auto call = bindCall(*node, model);
    if (!call)
      FAIL(getMessage(call.takeError()));
    return *call;
  }
  std::string fail(Node *node) {
    auto call = bindCall(*node, model);
    if (call)
      return "no error";
    return getMessage(call.takeError());
  }
  Node *function(const char *text, std::vector<Argument> args, Kwargs kwargs = {}) {
    return model.getGraph().callFunction(requireFunction(text), std::move(args), std::move(kwargs));
  }
  Node *method(const char *text, std::vector<Argument> args, Kwargs kwargs = {}) {
    return model.getGraph().callMethod(requireMethod(text), std::move(args), std::move(kwargs));
  }
};
} // namespace

TEST_CASE_METHOD(Fixture, "functions, methods, operators and modules bind to one operator", "[bind]") {
  BoundCall call = bind(function("torch.conv2d", {x, w}, {{"stride", Argument::ints({2, 2})}}));
  CHECK(call.op->kind == OpKind::Conv2d);
  CHECK(call.get("stride").arg == Argument::ints({2, 2}));
  CHECK(call.get("bias").arg.isNone());
  CHECK_FALSE(call.get("groups").isGiven);
  CHECK(call.get("groups").arg == Argument(1));

  auto conv = std::make_shared<Module>(requireModuleClass("torch.nn.Conv2d"),
                                       Module::Named<Argument>{{"in_channels", 1}, {"out_channels", 1}, {"kernel_size", 1}, {"stride", 2}});
  conv->setParameter("weight", Tensor::of<float>(DType::Float32, {1, 1, 1, 1}, {1.0f}));
  model.getRoot().setModule("conv", conv);
  call = bind(model.getGraph().callModule("conv", {}, {{"input", x}}));
  CHECK(call.op->kind == OpKind::Conv2d);
  CHECK(call.module == conv.get());
  CHECK(call.get("input").arg == Argument(x));
  CHECK(call.get("weight").tensor);
  CHECK_FALSE(call.get("bias").tensor);
  CHECK(call.get("stride").arg == Argument(2));

  CHECK(bind(function("operator.add", {x, w})).op == bind(method("add", {x}, {{"other", w}})).op);
  CHECK(bind(function("aten.hardtanh.default", {x, 0.0, 6.0})).get("max_val").arg == Argument(6.0));
  CHECK(bind(function("torch.nn.functional.max_pool2d_with_indices", {x, 2})).get("return_indices").arg == Argument(true));
}

TEST_CASE_METHOD(Fixture, "variadic methods take a list or loose arguments", "[bind]") {
  CHECK(bind(method("view", {x, 2, -1})).get("shape").arg == Argument::ints({2, -1}));
  CHECK(bind(method("view", {x, Argument::ints({2, -1})})).get("shape").arg == Argument::ints({2, -1}));
  CHECK(bind(method("view", {x, -1})).get("shape").arg == Argument::ints({-1}));
  CHECK(bind(method("view", {x, w})).get("shape").arg == Argument(w));
  CHECK(bind(method("view", {x, w, 2})).get("shape").arg == Argument::tuple({w, 2}));
  CHECK(bind(method("permute", {x}, {{"dims", Argument::ints({1, 0})}})).get("dims").arg == Argument::ints({1, 0}));
}

TEST_CASE_METHOD(Fixture, "NumPy's names are understood", "[bind]") {
  CHECK(bind(function("torch.mean", {x}, {{"axis", 1}, {"keepdims", true}})).get("dim").arg == Argument(1));
  CHECK(bind(function("torch.cat", {Argument::list({x, w})}, {{"axis", 1}})).get("dim").arg == Argument(1));
}

TEST_CASE_METHOD(Fixture, "the training flag of a module reaches the operator", "[bind]") {
  auto bn = std::make_shared<Module>(requireModuleClass("torch.nn.BatchNorm2d"), Module::Named<Argument>{{"num_features", 1}});
  model.getRoot().setModule("bn", bn);
  Node *call = model.getGraph().callModule("bn", {x});
  CHECK(bind(call).get("training").arg == Argument(true)); // no running statistics: the batch's own
  bn->setBuffer("running_mean", Tensor::of<float>(DType::Float32, {1}, {0.0f}));
  CHECK(bind(call).get("training").arg == Argument(false));
  bn->setTraining(true);
  CHECK(bind(call).get("training").arg == Argument(true));
}

TEST_CASE_METHOD(Fixture, "wrong calls are refused", "[bind]") {
  CHECK(fail(function("torch.relu", {x, w, 1})) ==
        "error: 'torch.relu' takes 1 positional arguments (input), got 3 [node_arity]\n");
  CHECK(fail(function("torch.conv2d", {x})) ==
        "error: 'torch.conv2d' lacks argument 'weight'; it takes (input, weight, bias, stride, padding, dilation, groups) [node_arity]\n");
  CHECK(fail(function("torch.conv2d", {x, w}, {{"strides", 2}})) ==
        "error: 'torch.conv2d' has no argument 'strides'; did you mean 'stride'?; it takes (input, weight, bias, stride, padding, dilation, "
        "groups) [node_arity]\n");
  CHECK(fail(function("torch.flatten", {x, 1}, {{"start_dim", 2}})) == "error: 'torch.flatten' got argument 'start_dim' twice [node_arity]\n");
  CHECK(fail(function("torch.flatten", {x, "a"})) ==
        "error: 'torch.flatten' wants an int for 'start_dim', got \"a\" [node_arity]\n");
  CHECK(fail(function("torch.relu", {2.0})) == "error: 'torch.relu' wants a tensor for 'input', got 2.0 [node_arity]\n");
  CHECK(fail(function("torch.cat", {Argument::list({x, 1})})) ==
        "error: 'torch.cat' wants a list of tensors for 'tensors', got [%x, 1] [node_arity]\n");
}

TEST_CASE_METHOD(Fixture, "wrong modules are refused", "[bind]") {
  auto set = [&](const char *className, Module::Named<Argument> attributes) {
    model.getRoot().setModule("m", std::make_shared<Module>(requireModuleClass(className), std::move(attributes)));
    return model.getGraph().callModule("m", {x});
  };
  CHECK(fail(set("torch.nn.Linear", {{"in_features", 1}})) == "error: 'torch.nn.Linear' needs attribute 'out_features' [module_attr]\n");
  CHECK(fail(set("torch.nn.ReLU", {{"in_place", true}})) ==
        "error: 'torch.nn.ReLU' has no attribute 'in_place'; did you mean 'inplace'? [module_attr]\n");
  CHECK(fail(set("torch.nn.ReLU", {{"inplace", "yes"}})) ==
        "error: 'torch.nn.ReLU' wants a bool for attribute 'inplace', got \"yes\" [module_attr]\n");
  CHECK(fail(set("torch.nn.Linear", {{"in_features", 1}, {"out_features", 1}})) == "error: module 'm' lacks its tensor 'weight' [tensor_missing]\n");
  model.getRoot().setModule("block", std::make_shared<Module>("torch.nn.Lineer"));
  CHECK(fail(model.getGraph().callModule("block", {x})) ==
        "error: 'block' is a 'torch.nn.Lineer', a class that the operator table does not have; did you mean 'torch.nn.Linear'? "
        "[module_class]\n");
  CHECK(fail(model.getGraph().callModule("nothing", {x})) == "error: the model has no module 'nothing' [node_target]\n");
}
