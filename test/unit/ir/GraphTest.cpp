// The graph: user lists in FX's order, insert points, dead code, copies.
#include "Catch.h"

#include "ir/Graph.h"
#include "ir/GraphModule.h"
#include "ir/Ops.h"

using namespace qfx;

static const TargetInfo &add() { return requireFunction("torch.add"); }
static const TargetInfo &relu() { return requireFunction("torch.relu"); }

static std::string names(llvm::ArrayRef<Node *> nodes) {
  std::string text;
  for (const Node *node : nodes)
    text += (text.empty() ? "" : " ") + node->getName();
  return text;
}

TEST_CASE("users stand in the order in which they came, and a reassigned one moves to the end") {
  Graph graph;
  Node *x = graph.placeholder("x");
  Node *a = graph.callFunction(relu(), {x}), *b = graph.callFunction(relu(), {x}), *c = graph.callFunction(add(), {x, x});
  CHECK(names(x->getUsers()) == "relu relu_1 add");
  a->setArgs({x}); // FX: leaves and comes back
  CHECK(names(x->getUsers()) == "relu_1 add relu");
  CHECK(names(c->getInputs()) == "x");
  Node *y = graph.placeholder("y");
  c->replaceInputWith(x, y);
  CHECK(names(x->getUsers()) == "relu_1 relu");
  CHECK(names(y->getUsers()) == "add");
  x->replaceAllUsesWith(y);
  CHECK(x->getNumUsers() == 0);
  CHECK(names(y->getUsers()) == "add relu_1 relu");
  CHECK(b->getArg(0).getNode() == y);
}

TEST_CASE("replacing uses may leave some users alone") {
  Graph graph;
  Node *x = graph.placeholder("x");
  Node *a = graph.callFunction(relu(), {x});
  Node *b = graph.callFunction(add(), {a, x}), *c = graph.callFunction(relu(), {a});
  a->replaceAllUsesWith(x, [&](Node *user) { return user != c; });
  CHECK(b->getArg(0).getNode() == x);
  CHECK(c->getArg(0).getNode() == a);
  CHECK(names(a->getUsers()) == "relu_1");
}

TEST_CASE("kwargs hold edges too") {
  Graph graph;
  Node *x = graph.placeholder("x"), *y = graph.placeholder("y");
  Node *a = graph.callFunction(add(), {x}, {{"other", Argument::list({y})}});
  CHECK(names(a->getInputs()) == "x y");
  a->setKwargs({});
  CHECK(y->getNumUsers() == 0);
  CHECK(!a->getKwarg("other"));
}

TEST_CASE("insert points and moves") {
  Graph graph;
  Node *x = graph.placeholder("x");
  Node *out = graph.output(x);
  Node *first, *second;
  {
    Graph::InsertPoint guard = Graph::InsertPoint::before(out);
    first = graph.callFunction(relu(), {x});
    second = graph.callFunction(relu(), {first});
  }
  CHECK(names(graph.getNodeVector()) == "x relu relu_1 output");
  {
    Graph::InsertPoint guard = Graph::InsertPoint::after(x);
    graph.getAttr("layer.0.Weight");
  }
  CHECK(names(graph.getNodeVector()) == "x layer_0_weight relu relu_1 output");
  graph.moveAfter(second, x);
  CHECK(names(graph.getNodeVector()) == "x relu_1 layer_0_weight relu output");
  graph.moveBefore(second, out);
  CHECK(names(graph.getNodeVector()) == "x layer_0_weight relu relu_1 output");
  CHECK(first->getNextNode() == second);
  CHECK(!x->getPrevNode());
}

TEST_CASE("dead code goes backwards and spares placeholders and what is impure") {
  Graph graph;
  Node *x = graph.placeholder("x");
  graph.placeholder("unused");
  Node *a = graph.callFunction(relu(), {x});
  graph.callFunction(relu(), {a});
  Node *kept = graph.callFunction(add(), {x, x}, {}, "kept");
  graph.output(x);
  CHECK(graph.eliminateDeadCode([&](const Node &node) { return &node == kept; }));
  CHECK(names(graph.getNodeVector()) == "x unused kept output");
  CHECK(graph.eliminateDeadCode());
  CHECK(names(graph.getNodeVector()) == "x unused output");
  CHECK(!graph.eliminateDeadCode());
  CHECK(graph.callFunction(relu(), {x})->getName() == "relu_2"); // a name is never released
}

TEST_CASE("dead code spares the calls that FX knows to write: setitem and ATen overloads") {
  Graph graph;
  Node *x = graph.placeholder("x");
  graph.callFunction(requireFunction("aten.relu_.default"), {x}, {}, "aten");
  graph.callFunction(requireFunction("aten.relu.default"), {x}, {}, "pure");
  graph.callFunction(requireFunction("operator.setitem"), {x, 0, 1.0}, {}, "setitem");
  graph.callFunction(requireFunction("torch.relu_"), {x}, {}, "torch");
  graph.callMethod(requireMethod("relu_"), {x}, {}, "method");
  graph.output(x);
  CHECK(graph.eliminateDeadCode());
  CHECK(names(graph.getNodeVector()) == "x aten setitem output"); // Node.is_impure, torch 2.13
}

TEST_CASE("a clone has users in list order and fresh name reservations") {
  GraphModule model;
  Graph &graph = model.getGraph();
  Node *x = graph.placeholder("x");
  Node *a = graph.callFunction(relu(), {x}), *b = graph.callFunction(relu(), {x});
  graph.erase(graph.callFunction(relu(), {x})); // relu_2 was given and is gone
  graph.output(Argument::tuple({a, b}));
  a->setArgs({x});
  CHECK(names(x->getUsers()) == "relu_1 relu");
  a->setScope(Scope{"p", "C"});
  a->setMeta("k", 3);
  GraphModule copy = model.clone();
  Node *copied = copy.getGraph().findNode("x");
  CHECK(names(copied->getUsers()) == "relu relu_1");
  CHECK(copy.getGraph().findNode("relu")->getScope() == Scope{"p", "C"});
  CHECK(copy.getGraph().findNode("relu")->findMeta("k")->getInt() == 3);
  CHECK(copy.getGraph().callFunction(relu(), {copied})->getName() == "relu_2");
}

TEST_CASE("module trees: paths, sharing and copies") {
  Module root;
  auto shared = std::make_shared<Module>(requireModuleClass("torch.nn.ReLU"));
  root.setModule("a.b.act", shared);
  root.setModule("act2", shared);
  shared->setBuffer("count", Tensor::of<float>(DType::Float32, {1}, {2.f}));
  CHECK(root.findModule("a.b.act") == shared);
  CHECK(!root.findModule("a.c"));
  CHECK(root.findTensorAt("a.b.act.count"));
  CHECK(!root.findTensorAt("a.b.count"));
  std::string paths;
  root.forEachModule([&](const std::string &path, const ModuleRef &) { paths += path + " "; });
  CHECK(paths == "a a.b a.b.act act2 ");
  ModuleRef copy = root.deepCopy();
  CHECK(copy->findModule("a.b.act") == copy->findModule("act2"));
  CHECK(copy->findModule("act2") != shared);
  CHECK(copy->findTensorAt("act2.count")->getBytes() == shared->getTensor("count").getBytes()); // immutable, so shared
}
