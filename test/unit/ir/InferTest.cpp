// Inference through whole graphs: symbolic sizes, constants, quantizers, unknown values, per-channel views, errors with their codes.
#include "Catch.h"

#include "ir/Graph.h"
#include "ir/GraphModule.h"
#include "ir/Infer.h"
#include "ir/Module.h"

#include "llvm/Support/raw_ostream.h"

using namespace qfx;

namespace {
TensorType makeType(DType dtype, std::initializer_list<Dim> shape, QuantizerRef quantizer = nullptr) {
  TensorType type;
  type.dtype = dtype;
  type.shape = shape;
  type.quantizer = std::move(quantizer);
  return type;
}

QuantizerRef perTensor(double scale, int64_t zeroPoint) {
  return std::make_shared<const Quantizer>(Quantizer::perTensor(scale, zeroPoint));
}
QuantizerRef perChannel(int64_t axis) {
  return std::make_shared<const Quantizer>(Quantizer::perChannel({0.5, 1.0, 2.0}, {0, 1, 2}, axis));
}

std::string describe(const ValueType &value) {
  if (const TensorType *type = value.getTensor())
    return toString(*type);
  if (const Dim *dim = value.getDim()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << *dim;
    return os.str();
  }
  if (const auto *sequence = value.getSequence()) {
    std::string text;
    for (const ValueType &element : sequence->elements)
      text += (text.empty() ? "" : ", ") + describe(element);
    return "(" + text + ")";
  }
  if (value.isUnknown())
    return "unknown";
  std::optional<Argument> constant = value.getConstant();
  return constant ? toString(*constant, ArgumentStyle::Qfx) : "something else";
}

struct Fixture {
  GraphModule model;
  Node *x = model.getGraph().placeholder("x");

  Fixture() { x->setType(makeType(DType::Float32, {Dim::symbolic("N"), 6, 4, 4})); }

  Node *input(TensorType type) {
    Node *node = model.getGraph().placeholder("y");
    node->setType(std::move(type));
    return node;
  }
  Node *function(const char *text, std::vector<Argument> args, Kwargs kwargs = {}) {
    return model.getGraph().callFunction(requireFunction(text), std::move(args), std::move(kwargs));
  }
  Node *method(const char *text, std::vector<Argument> args, Kwargs kwargs = {}) {
    return model.getGraph().callMethod(requireMethod(text), std::move(args), std::move(kwargs));
  }
  Node *buffer(const char *name, Tensor tensor) {
    model.getRoot().setBuffer(name, std::move(tensor));
    return model.getGraph().getAttr(name);
  }
  Node *scalar(const char *name, float value) { return buffer(name, Tensor::of<float>(DType::Float32, {}, {value})); }
  Node *scalar(const char *name, int64_t value) { return buffer(name, Tensor::of<int64_t>(DType::Int64, {}, {value})); }

  std::string infer(const Node *node) {
    auto types = inferTypes(model);
    return types ? describe(types->lookup(node)) : llvm::toString(types.takeError());
  }
  /// The code of the only error.
  std::string fail(const Node *node) {
    std::string text = infer(node);
    size_t start = text.rfind('['), end = text.rfind(']');
    return text.find("error:") == 0 && end != std::string::npos ? text.substr(start + 1, end - start - 1) : "no error: " + text;
  }
};
} // namespace

TEST_CASE_METHOD(Fixture, "a symbolic batch size survives", "[infer]") {
  CHECK(infer(function("torch.relu", {x})) == "f32[N, 6, 4, 4]");
  CHECK(infer(function("torch.flatten", {x, 1})) == "f32[N, 96]");
  CHECK(infer(function("torch.flatten", {x})) == "f32[96*N]");
  CHECK(infer(method("view", {x, -1, 6})) == "f32[16*N, 6]");
  CHECK(infer(method("view", {x, method("size", {x, 0}), -1})) == "f32[N, 96]");
  CHECK(infer(function("torch.cat", {Argument::list({x, x})})) == "f32[2*N, 6, 4, 4]");
  CHECK(infer(method("view", {x, 2, -1})) == "f32[2, 48*N]");
  CHECK(infer(method("view", {x, 7, -1})) == "f32[7, ?]");
  CHECK(infer(function("torch.add", {x, x})) == "f32[N, 6, 4, 4]");
  CHECK(infer(method("numel", {x})) == "96*N");
  CHECK(infer(function("operator.floordiv", {method("numel", {x}), 96})) == "N");
  CHECK(infer(function("operator.mul", {method("size", {x, 0}), 3})) == "3*N");
  CHECK(infer(function("torch.nn.functional.max_pool2d", {x, 2})) == "f32[N, 6, 2, 2]");
  CHECK(infer(function("torch.chunk", {x, 2})) == "unknown");
}

TEST_CASE_METHOD(Fixture, "a wrong constant beside a symbol is found", "[infer]") {
  CHECK(fail(method("view", {x, method("size", {x, 0}), 95})) == "reshape_shape");
}

TEST_CASE_METHOD(Fixture, "ShuffleNet's channel shuffle", "[infer]") {
  Node *size = method("size", {x});
  auto item = [&](Node *from, int i) { return function("operator.getitem", {from, i}); };
  Node *half = function("operator.floordiv", {item(size, 1), 2});
  Node *view = method("view", {x, item(size, 0), 2, half, item(size, 2), item(size, 3)});
  CHECK(infer(view) == "f32[N, 2, 3, 4, 4]");
  Node *shuffled = method("contiguous", {function("torch.transpose", {view, 1, 2})});
  CHECK(infer(shuffled) == "f32[N, 3, 2, 4, 4]");
  Node *back = method("view", {shuffled, item(size, 0), item(size, 1), item(size, 2), item(size, 3)});
  CHECK(infer(back) == "f32[N, 6, 4, 4]");
  CHECK(infer(function("operator.getitem", {method("chunk", {back, 2}, {{"dim", 1}}), 1})) == "f32[N, 3, 4, 4]");
}

TEST_CASE_METHOD(Fixture, "an empty batch keeps its columns", "[infer]") {
  Node *empty = input(makeType(DType::Float32, {0, 8, 2, 2}));
  CHECK(infer(function("torch.flatten", {empty, 1})) == "f32[0, 32]");
  CHECK(infer(method("view", {empty, 0, -1})) == "f32[0, 32]");
  CHECK(infer(method("view", {empty, -1, 32})) == "f32[0, 32]");
}

TEST_CASE_METHOD(Fixture, "quantization parameters come from buffers", "[infer]") {
  Node *scale = scalar("scale", 0.25f), *zeroPoint = scalar("zero_point", int64_t(7));
  Node *q = function("torch.quantize_per_tensor", {x, scale, zeroPoint, DType::QUInt8});
  CHECK(infer(q) == "quint8[N, 6, 4, 4]{scale=0.25, zero_point=7}");
  CHECK(infer(function("torch.relu", {q})) == "quint8[N, 6, 4, 4]{scale=0.25, zero_point=7}");
  CHECK(infer(function("torch.sigmoid", {q})) == "quint8[N, 6, 4, 4]{scale=0.00390625, zero_point=0}");
  CHECK(infer(function("torch.tanh", {q})) == "quint8[N, 6, 4, 4]{scale=0.0078125, zero_point=128}");
  CHECK(infer(method("dequantize", {q})) == "f32[N, 6, 4, 4]");
  CHECK(infer(method("mean", {q, Argument::ints({2, 3})})) == "quint8[N, 6]{scale=0.25, zero_point=7}");
  Node *runtimeScale = input(makeType(DType::Float32, {}));
  CHECK(infer(function("torch.quantize_per_tensor", {x, runtimeScale, 0, DType::QInt8})) == "qint8[N, 6, 4, 4]");
  CHECK(infer(function("torch.quantize_per_tensor_dynamic", {x, DType::QUInt8, false})) == "quint8[N, 6, 4, 4]");
}

TEST_CASE_METHOD(Fixture, "per-channel parameters come from buffers", "[infer]") {
  Node *weight = input(makeType(DType::Float32, {2, 3}));
  Node *scales = buffer("s", Tensor::of<float>(DType::Float32, {3}, {0.5f, 1.0f, 2.0f}));
  Node *zeroPoints = buffer("z", Tensor::of<int64_t>(DType::Int64, {3}, {0, 1, 2}));
  CHECK(infer(function("torch.quantize_per_channel", {weight, scales, zeroPoints, 1, DType::QInt8})) ==
        "qint8[2, 3]{axis=1, scales=[0.5, 1.0, 2.0], zero_points=[0, 1, 2]}");
  Node *floatZeroPoints = buffer("f", Tensor::of<float>(DType::Float32, {3}, {0.5f, 1.0f, 2.0f}));
  CHECK(infer(function("torch.quantize_per_channel", {weight, scales, floatZeroPoints, 1, DType::QUInt8})) ==
        "quint8[2, 3]{axis=1, scales=[0.5, 1.0, 2.0], zero_points=[0.5, 1.0, 2.0]}");
}

TEST_CASE_METHOD(Fixture, "views of per-channel tensors (operators 12)", "[infer]") {
  Node *q = input(makeType(DType::QInt8, {2, 3, 4}, perChannel(1)));
  std::string params = "scales=[0.5, 1.0, 2.0], zero_points=[0, 1, 2]}";
  CHECK(infer(method("view", {q, 2, 3, 2, 2})) == "qint8[2, 3, 2, 2]{axis=1, " + params);
  CHECK(infer(method("unsqueeze", {q, 0})) == "qint8[1, 2, 3, 4]{axis=2, " + params);
  CHECK(infer(method("unsqueeze", {q, 2})) == "qint8[2, 3, 1, 4]{axis=1, " + params);
  CHECK(infer(method("select", {q, 0, 1})) == "qint8[3, 4]{axis=0, " + params);
  CHECK(infer(method("select", {q, 1, 2})) == "qint8[2, 4]{scale=2.0, zero_point=2}");
  CHECK(infer(method("narrow", {q, 1, 1, 2})) == "qint8[2, 2, 4]{axis=1, scales=[1.0, 2.0], zero_points=[1, 2]}");
  CHECK(infer(function("operator.getitem", {q, Argument::tuple({Argument::slice(Argument(), Argument(), Argument()), 0})})) ==
        "qint8[2, 4]{scale=0.5, zero_point=0}");
  CHECK(infer(method("dequantize", {q})) == "f32[2, 3, 4]");
}

TEST_CASE_METHOD(Fixture, "operators refuse quantization they have no kernel for", "[infer]") {
  SECTION("view moves the axis") {
    CHECK(fail(method("view", {input(makeType(DType::QInt8, {2, 3, 4}, perChannel(1))), 6, 4})) == "reshape_quantized");
  }
  SECTION("per channel into relu") {
    CHECK(fail(function("torch.relu", {input(makeType(DType::QInt8, {2, 3}, perChannel(1)))})) == "relu_quantized");
  }
  SECTION("float-only") {
    CHECK(fail(function("torch.exp", {input(makeType(DType::QUInt8, {2}, perTensor(1, 0)))})) == "exp_quantized");
  }
  SECTION("quantized-only") { CHECK(fail(function("torch.ops.quantized.add", {x, x, 0.5, 1})) == "quantized_add_input"); }
  SECTION("two tensors without parameters") {
    Node *q = input(makeType(DType::QUInt8, {2}, perTensor(1, 0)));
    CHECK(fail(function("torch.ops.quantized.mul", {q, q})) == "quantized_mul_qparams");
  }
}

TEST_CASE_METHOD(Fixture, "packed weights: from a module and from a prepack call", "[infer]") {
  auto packed = std::make_shared<Module>(requireModuleClass("torch.classes.quantized.Conv2dPackedParamsBase"),
                                         Module::Named<Argument>{{"stride", Argument::ints({2, 2})}, {"padding", Argument::ints({1, 1})}, {"dilation", 1}});
  packed->setParameter("weight", Tensor::build(DType::QInt8, {5, 6, 3, 3}, [](MutableBytes) {}, perTensor(1, 0)));
  model.getRoot().setChild("_packed_weight_0", packed);
  Node *weight = model.getGraph().getAttr("_packed_weight_0");
  Node *q = function("torch.quantize_per_tensor", {x, 0.5, 1, DType::QUInt8});
  CHECK(infer(function("torch.ops.quantized.conv2d_relu", {q, weight, scalar("s", 0.5f), scalar("z", int64_t(3))})) ==
        "quint8[N, 5, 2, 2]{scale=0.5, zero_point=3, format=channels_last}");
  Node *prepacked = function("torch.ops.quantized.linear_prepack", {input(makeType(DType::QInt8, {5, 4}, perTensor(1, 0))), Argument()});
  CHECK(infer(function("torch.ops.quantized.linear", {q, prepacked, 0.5, 3})) == "quint8[N, 6, 4, 5]{scale=0.5, zero_point=3}");
}

TEST_CASE_METHOD(Fixture, "fused and reference modules", "[infer]") {
  auto conv = std::make_shared<Module>(requireModuleClass("torch.nn.Conv2d"),
                                       Module::Named<Argument>{{"in_channels", 6}, {"out_channels", 5}, {"kernel_size", 3}, {"padding", 1}});
  conv->setParameter("weight", Tensor::build(DType::Float32, {5, 6, 3, 3}, [](MutableBytes) {}));
  auto relu = std::make_shared<Module>(requireModuleClass("torch.nn.ReLU"));
  auto fused = std::make_shared<Module>(requireModuleClass("torch.ao.nn.intrinsic.ConvReLU2d"));
  fused->setChild("0", conv);
  fused->setChild("1", relu);
  model.getRoot().setChild("fused", fused);
  CHECK(infer(model.getGraph().callModule("fused", {x})) == "f32[N, 5, 4, 4]");

  auto added = std::make_shared<Module>(requireModuleClass("torch.ao.nn.intrinsic.ConvAddReLU2d"));
  added->setChild("0", conv);
  added->setChild("relu", relu);
  model.getRoot().setChild("added", added);
  CHECK(infer(model.getGraph().callModule("added", {x, input(makeType(DType::Float32, {1, 5, 4, 4}))})) == "f32[N, 5, 4, 4]");

  auto reference = std::make_shared<Module>(requireModuleClass("torch.ao.nn.quantized.reference.Linear"),
                                            Module::Named<Argument>{{"in_features", 4}, {"out_features", 2}, {"weight_dtype", DType::QInt8}});
  reference->setParameter("weight", Tensor::build(DType::Float32, {2, 4}, [](MutableBytes) {}));
  reference->setBuffer("weight_scale", Tensor::of<float>(DType::Float32, {1}, {0.1f}));
  model.getRoot().setChild("reference", reference);
  CHECK(infer(model.getGraph().callModule("reference", {x})) == "f32[N, 6, 4, 2]");
}

TEST_CASE_METHOD(Fixture, "unknown operands give unknown results, not errors", "[infer]") {
  Node *unknown = model.getGraph().placeholder("u");
  CHECK(infer(function("torch.relu", {unknown})) == "unknown");
  CHECK(infer(function("torch.conv2d", {x, unknown})) == "unknown");
  CHECK(infer(function("torch.cat", {Argument::list({x, unknown})})) == "unknown");
  CHECK(infer(function("operator.getitem", {function("operator.add", {method("size", {x}), method("size", {x})}), 1})) == "6");
  CHECK(infer(method("view", {x, method("size", {unknown, 0}), -1})) == "unknown");
}

TEST_CASE_METHOD(Fixture, "given input types override declared ones", "[infer]") {
  Node *flat = function("torch.flatten", {x, 1});
  auto types = inferTypes(model, {makeType(DType::Float32, {3, 2, 5})});
  REQUIRE(bool(types));
  CHECK(describe(types->lookup(flat)) == "f32[3, 10]");
}

TEST_CASE_METHOD(Fixture, "all errors come together, each once", "[infer]") {
  Node *bad = function("torch.flatten", {x, 9});
  function("torch.relu", {bad});
  function("torch.permute", {x, Argument::ints({0, 1})});
  auto types = inferTypes(model);
  REQUIRE_FALSE(bool(types));
  std::vector<Diagnostic> diagnostics = takeDiagnostics(types.takeError());
  REQUIRE(diagnostics.size() == 2);
  CHECK(diagnostics[0].message == "'Flatten' has no dimension 9 in a tensor of rank 4");
  CHECK(diagnostics[0].code == "flatten_dim");
  CHECK(diagnostics[1].message == "'Permute' wants 4 dimensions, got 2");
  CHECK(diagnostics[1].code == "permute_dim");
}

TEST_CASE_METHOD(Fixture, "sizes that overflow are errors", "[infer]") {
  Node *big = input(makeType(DType::Float32, {int64_t(1) << 40, int64_t(1) << 20}));
  SECTION("repeat") { CHECK(fail(method("repeat", {big, 4, 4})) == "tensor_size"); }
  SECTION("expand") { CHECK(fail(method("expand", {input(makeType(DType::Float32, {1})), int64_t(1) << 62, 4, 1})) == "tensor_size"); }
  SECTION("matmul") {
    Node *row = input(makeType(DType::Float32, {1, int64_t(1) << 40})), *column = input(makeType(DType::Float32, {int64_t(1) << 40, 1}));
    CHECK(fail(function("torch.matmul", {column, row})) == "tensor_size");
  }
  SECTION("pad") {
    CHECK(fail(function("torch.nn.functional.pad", {big, Argument::ints({INT64_MAX, INT64_MAX})})) == "pad_pads");
  }
  SECTION("conv") {
    CHECK(fail(function("torch.conv2d", {x, input(makeType(DType::Float32, {1, 6, 1, 1})), Argument(), INT64_MAX})) == "conv2d_geometry");
  }
}

TEST_CASE_METHOD(Fixture, "memory formats follow PyTorch's tensors", "[infer]") {
  TensorType last = makeType(DType::QUInt8, {1, 6, 4, 4}, perTensor(1, 0));
  last.format = MemoryFormat::ChannelsLast;
  Node *q = input(last);
  auto getFormat = [&](Node *node) {
    auto types = inferTypes(model);
    REQUIRE(bool(types));
    return types->lookup(node).getTensor()->format;
  };
  CHECK(getFormat(function("torch.nn.functional.avg_pool2d", {q, 2})) == MemoryFormat::ChannelsLast);
  CHECK(getFormat(method("permute", {q, 0, 2, 3, 1})) == MemoryFormat::Contiguous);
  CHECK(getFormat(method("permute", {method("contiguous", {q}), 0, 3, 1, 2})) == MemoryFormat::ChannelsLast);
  CHECK(getFormat(method("contiguous", {q})) == MemoryFormat::Contiguous);
  CHECK(getFormat(function("torch.flatten", {q, 1})) == MemoryFormat::Contiguous);
  CHECK(getFormat(method("dequantize", {q})) == MemoryFormat::ChannelsLast);
}
