// Quantizable and quantized LSTM: the cell's pieces in order, unrolled over the time steps (operators 20.1).
#include "backends/reference/Decomposition.h"

#include <algorithm>

namespace qfx::runtime {

namespace {

struct States {
  Node *hidden, *cell;
};

/// One step of the cell below `path`.
class CellGraph {
public:
  CellGraph(Decomposition &parts, std::string path, bool splitGates)
      : parts(parts), path(std::move(path)), splitGates(splitGates) {}

  States step(Node *x, States states) {
    Node *gates[4];
    makeGates(x, states.hidden, gates);
    static const char *const names[] = {"input_gate", "forget_gate", "cell_gate", "output_gate"};
    for (int i = 0; i < 4; ++i)
      gates[i] = activate(names[i], gates[i], i == 2 ? "torch.tanh" : "torch.sigmoid");
    Node *kept = parts.callFunctional(at("fgate_cx"), "mul", gates[1], states.cell);
    Node *added = parts.callFunctional(at("igate_cgate"), "mul", gates[0], gates[2]);
    Node *cell = parts.callFunctional(at("fgate_cx_igate_cgate"), "add", kept, added);
    Node *bounded = parts.callFunction("torch.tanh", {Argument(cell)});
    return {parts.callFunctional(at("ogate_cy"), "mul", gates[3], bounded), cell};
  }

private:
  std::string at(const std::string &child) const { return joinPath(path, child); }

  /// i, f, g, o before their activations: chunks of one sum, or a sum each with split gates.
  void makeGates(Node *x, Node *hidden, Node *(&gates)[4]) {
    if (!splitGates) {
      Node *sum = parts.callFunctional(at("gates"), "add", parts.callChild(at("igates"), x),
                                       parts.callChild(at("hgates"), hidden));
      Node *chunks = parts.callMethod("chunk", {Argument(sum), Argument(int64_t(4)), Argument(int64_t(1))});
      for (int i = 0; i < 4; ++i)
        gates[i] = parts.getItem(chunks, i);
      return;
    }
    static const char *const keys[] = {"input", "forget", "cell", "output"};
    for (int i = 0; i < 4; ++i)
      gates[i] = parts.callFunctional(at(joinPath("gates", keys[i])), "add",
                                      parts.callChild(at(joinPath("igates", keys[i])), x),
                                      parts.callChild(at(joinPath("hgates", keys[i])), hidden));
  }

  /// The child of that name, or the function where older versions have none.
  Node *activate(const char *name, Node *x, const char *function) {
    return parts.findChild(at(name)) ? parts.callChild(at(name), x) : parts.callFunction(function, {Argument(x)});
  }

  Decomposition &parts;
  std::string path;
  bool splitGates;
};

struct Shape {
  int64_t layers = 1, steps = 0;
  bool isBidirectional = false, isBatchFirst = false, splitGates = false;
};

} // namespace

static std::vector<std::string> getCellChildren(const std::string &path, bool splitGates) {
  std::vector<std::string> paths;
  for (const char *name : {"igates", "hgates", "gates"})
    for (const char *key : {"input", "forget", "cell", "output"})
      paths.push_back(joinPath(path, splitGates ? joinPath(name, key) : std::string(name)));
  for (const char *name : {"fgate_cx", "igate_cgate", "fgate_cx_igate_cgate", "ogate_cy"})
    paths.push_back(joinPath(path, name));
  return paths;
}

static std::string getCellPath(int64_t layer, bool isReverse) {
  return "layers." + std::to_string(layer) + (isReverse ? ".layer_bw.cell" : ".layer_fw.cell");
}

/// placeholders x, h, c -> (output, (h, c)).
static void buildLstm(Decomposition &parts, const Shape &shape) {
  Node *x = parts.input("x"), *hidden = parts.input("h"), *cell = parts.input("c");
  auto swap = [&](Node *tensor) {
    return parts.callFunction("torch.transpose", {Argument(tensor), Argument(int64_t(0)), Argument(int64_t(1))});
  };
  if (shape.isBatchFirst)
    x = swap(x);
  const int64_t directions = shape.isBidirectional ? 2 : 1;
  std::vector<Node *> lastHidden, lastCell;
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    std::vector<Argument> outputs;
    std::vector<Node *> layerHidden, layerCell;
    for (int64_t direction = 0; direction < directions; ++direction) {
      CellGraph graph(parts, getCellPath(layer, direction == 1), shape.splitGates);
      int64_t state = layer * directions + direction;
      States states = {parts.getItem(hidden, state), parts.getItem(cell, state)};
      std::vector<Node *> rows(static_cast<size_t>(shape.steps));
      for (int64_t step = 0; step < shape.steps; ++step) {
        int64_t t = direction ? shape.steps - 1 - step : step;
        states = graph.step(parts.getItem(x, t), states);
        rows[static_cast<size_t>(t)] = states.hidden;
      }
      outputs.push_back(Argument(parts.stack(rows)));
      layerHidden.push_back(states.hidden);
      layerCell.push_back(states.cell);
    }
    x = directions == 1 ? outputs[0].getNode()
                        : parts.callFunction("torch.cat", {Argument::list(std::move(outputs)), Argument(int64_t(2))});
    // As upstream, states are joined by layer first: quantized, each join keeps its first tensor's parameters.
    lastHidden.push_back(parts.stack(layerHidden));
    lastCell.push_back(parts.stack(layerCell));
  }
  auto join = [&](llvm::ArrayRef<Node *> tensors) {
    std::vector<Argument> list(tensors.begin(), tensors.end());
    return Argument(list.size() == 1
                        ? list[0].getNode()
                        : parts.callFunction("torch.cat", {Argument::list(std::move(list)), Argument(int64_t(0))}));
  };
  Argument states = Argument::tuple({join(lastHidden), join(lastCell)});
  parts.getGraph().output(Argument::tuple({Argument(shape.isBatchFirst ? swap(x) : x), states}));
}

/// Zeros of the initial states: float, or code 0 of scale 1 and zero point 0.
static View makeZeros(const View &input, llvm::ArrayRef<int64_t> sizes) {
  bool isCode = isQuantized(input.getDType());
  QuantizerRef quantizer = isCode ? std::make_shared<Quantizer>(Quantizer::perTensor(1.0, 0)) : nullptr;
  return viewConstant(Tensor::build(
      input.getDType(), sizes, [](MutableBytes bytes) { std::fill(bytes.begin(), bytes.end(), std::byte()); },
      quantizer));
}

/// (h, c) of the call, or zeros.
static llvm::Expected<std::pair<RuntimeValue, RuntimeValue>> getStates(BindContext &context, const View &input,
                                                                       llvm::ArrayRef<int64_t> sizes) {
  if (!context.has("hx")) {
    RuntimeValue zeros = makeZeros(input, sizes);
    return std::pair(zeros, zeros);
  }
  RuntimeValue given = context.getValue("hx");
  if (given.elements.size() != 2 || !given.elements[0].isTensor() || !given.elements[1].isTensor())
    return context.fail("its initial states must be tensors (h, c), got {0}", describe(given));
  return std::pair(given.elements[0], given.elements[1]);
}

llvm::Expected<RuntimeValue> bindDecomposedLstm(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  auto layers = context.attrs().getInt("num_layers"), hidden = context.attrs().getInt("hidden_size");
  auto bidirectional = context.attrs().getBool("bidirectional"), batchFirst = context.attrs().getBool("batch_first");
  auto splitGates = context.attrs().getBool("split_gates");
  if (!layers || !hidden || !bidirectional || !batchFirst || !splitGates)
    return llvm::joinErrors(
        llvm::joinErrors(layers.takeError(), hidden.takeError()),
        llvm::joinErrors(splitGates.takeError(), llvm::joinErrors(bidirectional.takeError(), batchFirst.takeError())));
  Shape shape;
  shape.layers = *layers;
  shape.isBidirectional = *bidirectional;
  shape.isBatchFirst = *batchFirst;
  shape.splitGates = *splitGates;
  shape.steps = input->sizes[shape.isBatchFirst ? 1 : 0];
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    for (bool isReverse : {false, true})
      if (!isReverse || shape.isBidirectional)
        if (llvm::Error err =
                requireChildren(context, getCellChildren(getCellPath(layer, isReverse), shape.splitGates)))
          return err;
  int64_t states = shape.layers * (shape.isBidirectional ? 2 : 1), batch = input->sizes[shape.isBatchFirst ? 0 : 1];
  auto initial = getStates(context, *input, {states, batch, *hidden});
  if (!initial)
    return initial.takeError();
  auto build = [&](Graph &graph) {
    Decomposition parts(graph, context.getNode(), *context.getCall().module, isQuantized(input->getDType()));
    buildLstm(parts, shape);
  };
  return bindDecomposition(context, std::to_string(shape.steps), build, {*input, initial->first, initial->second});
}

llvm::Expected<RuntimeValue> bindDecomposedLstmCell(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  auto hidden = context.attrs().getInt("hidden_dim");
  auto splitGates = context.attrs().getBool("split_gates");
  if (!hidden || !splitGates)
    return llvm::joinErrors(hidden.takeError(), splitGates.takeError());
  if (llvm::Error err = requireChildren(context, getCellChildren("", *splitGates)))
    return err;
  auto initial = getStates(context, *input, {input->sizes[0], *hidden});
  if (!initial)
    return initial.takeError();
  auto build = [&](Graph &graph) {
    Decomposition parts(graph, context.getNode(), *context.getCall().module, isQuantized(input->getDType()));
    Node *x = parts.input("x"), *h = parts.input("h"), *c = parts.input("c");
    States states = CellGraph(parts, "", *splitGates).step(x, {h, c});
    graph.output(Argument::tuple({Argument(states.hidden), Argument(states.cell)}));
  };
  return bindDecomposition(context, "", build, {*input, initial->first, initial->second});
}

} // namespace qfx::runtime
