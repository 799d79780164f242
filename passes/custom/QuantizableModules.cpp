// Building the pieces of quantizable modules from float ones.
#include "passes/custom/QuantizableModules.h"

#include "ir/Diagnostics.h"
#include "ir/Ops.h"
#include "ir/Tensor.h"

#include <string>

namespace qfx {

namespace {

/// The weight and bias (or null) of one linear layer.
struct LinearTensors {
  Tensor weight, bias;
};

} // namespace

static ModuleRef makeModule(llvm::StringRef className, const Module &source) {
  const TargetInfo *row = findModuleClass(className);
  auto module = row ? std::make_shared<Module>(*row) : std::make_shared<Module>(className);
  module->setTraining(source.isTraining());
  module->setLoc(source.getLoc());
  return module;
}

/// Rows [begin, begin + count) of a dense tensor, sharing its storage.
static Tensor takeRows(const Tensor &tensor, int64_t begin, int64_t count) {
  llvm::SmallVector<int64_t, 2> sizes(tensor.getSizes().begin(), tensor.getSizes().end());
  size_t rowBytes = sizes[0] ? tensor.getSizeBytes() / static_cast<size_t>(sizes[0]) : 0;
  sizes[0] = count;
  return Tensor::view(tensor.getStorage(), tensor.getOffset() + static_cast<size_t>(begin) * rowBytes,
                      tensor.getDType(), sizes);
}

static ModuleRef makeLinear(const LinearTensors &tensors, const Module &source) {
  ModuleRef linear = makeModule("torch.nn.Linear", source);
  linear->setAttribute("in_features", tensors.weight.getSizes()[1]);
  linear->setAttribute("out_features", tensors.weight.getSizes()[0]);
  if (!tensors.bias)
    linear->setAttribute("bias", false);
  linear->setParameter("weight", tensors.weight);
  if (tensors.bias)
    linear->setParameter("bias", tensors.bias);
  return linear;
}

/// The tensor of that name; rule `quantizable_weight` if it is missing or no dense float32 tensor.
static llvm::Expected<Tensor> getTensor(const Module &module, const std::string &name) {
  const Tensor *tensor = module.findTensor(name);
  if (!tensor || tensor->getDType() != DType::Float32 || !tensor->isDense())
    return error(module.getLoc(), "'{0}' needs the float32 tensor '{1}' to be taken apart", module.getClassName(), name)
        .code("quantizable_weight");
  return *tensor;
}

static llvm::Expected<LinearTensors> getLinear(const Module &module, const std::string &weight,
                                               const std::string &bias) {
  llvm::Expected<Tensor> found = getTensor(module, weight);
  if (!found)
    return found.takeError();
  LinearTensors tensors = {*found, Tensor()};
  if (const Tensor *given = module.findTensor(bias))
    tensors.bias = *given;
  return tensors;
}

/// igates, hgates, gates: one layer with four gates, or one for each.
static ModuleRef makeGates(const Module &source, const LinearTensors *tensors, bool splitGates) {
  auto makePart = [&](int64_t gate) {
    if (!tensors)
      return makeModule("torch.ao.nn.quantized.FloatFunctional", source);
    if (!splitGates)
      return makeLinear(*tensors, source);
    int64_t hidden = tensors->weight.getSizes()[0] / 4;
    Tensor bias = tensors->bias ? takeRows(tensors->bias, gate * hidden, hidden) : Tensor();
    return makeLinear({takeRows(tensors->weight, gate * hidden, hidden), bias}, source);
  };
  if (!splitGates)
    return makePart(0);
  ModuleRef all = makeModule("torch.nn.ModuleDict", source);
  static const char *const keys[] = {"input", "forget", "cell", "output"};
  for (int64_t gate = 0; gate < 4; ++gate)
    all->setChild(keys[gate], makePart(gate));
  return all;
}

static ModuleRef makeCell(const Module &source, const LinearTensors &input, const LinearTensors &hidden,
                          bool splitGates) {
  ModuleRef cell = makeModule("torch.ao.nn.quantizable.LSTMCell", source);
  cell->setAttribute("input_dim", input.weight.getSizes()[1]);
  cell->setAttribute("hidden_dim", hidden.weight.getSizes()[1]);
  if (!input.bias)
    cell->setAttribute("bias", false);
  if (splitGates)
    cell->setAttribute("split_gates", true);
  cell->setChild("igates", makeGates(source, &input, splitGates));
  cell->setChild("hgates", makeGates(source, &hidden, splitGates));
  cell->setChild("gates", makeGates(source, nullptr, splitGates));
  for (const char *name : {"input_gate", "forget_gate", "cell_gate", "output_gate"})
    cell->setChild(name,
                   makeModule(llvm::StringRef(name) == "cell_gate" ? "torch.nn.Tanh" : "torch.nn.Sigmoid", source));
  for (const char *name : {"fgate_cx", "igate_cgate", "fgate_cx_igate_cgate", "ogate_cy"})
    cell->setChild(name, makeModule("torch.ao.nn.quantized.FloatFunctional", source));
  return cell;
}

static bool isOn(const Module &module, llvm::StringRef name) {
  const Argument *value = module.findAttribute(name);
  return value && value->isNumber() && value->getNumber() != 0;
}

llvm::Expected<ModuleRef> makeQuantizableLstm(const Module &lstm, bool splitGates) {
  if (isOn(lstm, "proj_size"))
    return error(lstm.getLoc(),
                 "an LSTM with projection cannot be taken apart for static quantization; quantize it dynamically")
        .code("quantizable_projection");
  ModuleRef result = makeModule("torch.ao.nn.quantizable.LSTM", lstm);
  for (const auto &[name, value] : lstm.getAttributes())
    if (name != "proj_size")
      result->setAttribute(name, value);
  if (splitGates)
    result->setAttribute("split_gates", true);
  ModuleRef layers = makeModule("torch.nn.ModuleList", lstm);
  int64_t count = lstm.getAttribute("num_layers").getInt();
  for (int64_t layer = 0; layer < count; ++layer) {
    ModuleRef both = makeModule("torch.ao.nn.quantizable.modules.rnn._LSTMLayer", lstm);
    for (const char *direction : {"layer_fw", "layer_bw"}) {
      bool isReverse = direction == llvm::StringRef("layer_bw");
      if (isReverse && !isOn(lstm, "bidirectional"))
        continue;
      std::string suffix = "_l" + std::to_string(layer) + (isReverse ? "_reverse" : "");
      auto input = getLinear(lstm, "weight_ih" + suffix, "bias_ih" + suffix);
      if (!input)
        return input.takeError();
      auto hidden = getLinear(lstm, "weight_hh" + suffix, "bias_hh" + suffix);
      if (!hidden)
        return hidden.takeError();
      ModuleRef single = makeModule("torch.ao.nn.quantizable.modules.rnn._LSTMSingleLayer", lstm);
      single->setChild("cell", makeCell(lstm, *input, *hidden, splitGates));
      both->setChild(direction, single);
    }
    layers->setChild(std::to_string(layer), both);
  }
  result->setChild("layers", layers);
  return result;
}

llvm::Expected<ModuleRef> makeQuantizableLstmCell(const Module &cell, bool splitGates) {
  auto input = getLinear(cell, "weight_ih", "bias_ih");
  if (!input)
    return input.takeError();
  auto hidden = getLinear(cell, "weight_hh", "bias_hh");
  if (!hidden)
    return hidden.takeError();
  return makeCell(cell, *input, *hidden, splitGates);
}

llvm::Expected<ModuleRef> makeQuantizableAttention(const Module &attention) {
  ModuleRef result = makeModule("torch.ao.nn.quantizable.MultiheadAttention", attention);
  for (const auto &[name, value] : attention.getAttributes())
    result->setAttribute(name, value);
  const int64_t size = attention.getAttribute("embed_dim").getInt();
  const Tensor *joined = attention.findTensor("in_proj_weight"), *bias = attention.findTensor("in_proj_bias");
  const char *separate[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"},
             *names[] = {"linear_Q", "linear_K", "linear_V"};
  for (int64_t part = 0; part < 3; ++part) {
    llvm::Expected<Tensor> weight = getTensor(attention, joined ? "in_proj_weight" : separate[part]);
    if (!weight)
      return weight.takeError();
    if (joined && (weight->getRank() != 2 || weight->getSizes()[0] != 3 * size))
      return error(attention.getLoc(), "'in_proj_weight' must have {0} rows, got {1}", 3 * size,
                   toString(weight->getType()))
          .code("quantizable_weight");
    LinearTensors tensors = {joined ? takeRows(*weight, part * size, size) : *weight, Tensor()};
    if (bias)
      tensors.bias = takeRows(*bias, part * size, size);
    result->setChild(names[part], makeLinear(tensors, attention));
  }
  ModuleRef projection = attention.findChild("out_proj");
  if (!projection)
    return error(attention.getLoc(), "'{0}' needs its child 'out_proj' to be taken apart", attention.getClassName())
        .code("quantizable_weight");
  auto output = getLinear(*projection, "weight", "bias");
  if (!output)
    return output.takeError();
  result->setChild("out_proj", makeLinear(*output, attention));
  result->setChild("q_scaling_product", makeModule("torch.ao.nn.quantized.FloatFunctional", attention));
  for (const char *name : {"quant_attn_output", "quant_attn_output_weights"})
    result->setChild(name, makeModule("torch.ao.quantization.stubs.QuantStub", attention));
  for (const char *name : {"dequant_q", "dequant_k", "dequant_v"})
    result->setChild(name, makeModule("torch.ao.quantization.stubs.DeQuantStub", attention));
  for (const char *name : {"bias_k", "bias_v"})
    if (const Tensor *tensor = attention.findTensor(name))
      result->setParameter(name, *tensor);
  return result;
}

} // namespace qfx
