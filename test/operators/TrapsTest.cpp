// The entries of cases/known_traps.md that concern kernels, numerics and serialization of quantized operators.
#include "QuantizedCases.h"

#include "Catch.h"
#include "ir/text/QfxText.h"
#include "kernels/requant/Requant.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <functional>

using namespace qfx;
using namespace qfx::test;

static llvm::Expected<GraphModule> parse(const std::string &text) {
  return parseQfx(std::make_shared<SourceText>(SourceText{"trap", "qfx 1\n" + text}));
}

/// The codes (or floats) of the first output; `fill` may replace tensors of the root.
static std::vector<double> runText(const std::string &text, const std::function<void(Module &)> &fill = {},
                                   bool keepAll = false, const char *node = "out") {
  std::vector<double> numbers;
  auto model = parse(text);
  if (!model) {
    FAIL_CHECK(toText(model.takeError()));
    return numbers;
  }
  if (fill)
    fill(model->getRoot());
  auto program = Program::compile(*model);
  if (!program) {
    FAIL_CHECK(toText(program.takeError()));
    return numbers;
  }
  auto results = keepAll ? (*program)->runAndKeep({}) : (*program)->run(llvm::ArrayRef<Tensor>());
  if (!results) {
    FAIL_CHECK(toText(results.takeError()));
    return numbers;
  }
  for (const NamedValue &value : *results)
    if (value.name == node)
      for (int64_t i = 0; i < value.value.tensor.getNumElements(); ++i)
        numbers.push_back(value.value.tensor.getElementAsDouble(i));
  return numbers;
}

TEST_CASE("B13: a fused convolution and addition round once", "[quantized][traps]") {
  const std::string text = R"(
buffer x : quint8[1, 1, 1, 1]{scale=0.1, zero_point=0} = [[[[4]]]]
buffer z : quint8[1, 1, 1, 1]{scale=0.1, zero_point=0} = [[[[4]]]]
buffer w : qint8[1, 1, 1, 1]{scale=1.0, zero_point=0} = [[[[1]]]]
graph() {
  %x = get_attr[x]()
  %z = get_attr[z]()
  %w = get_attr[w]()
  %p = call_function[torch.ops.quantized.conv2d_prepack](%w, None, [1, 1], [0, 0], [1, 1], 1)
  %y = call_function[torch.ops.quantized.conv2d_add](%x, %z, %p, 1.0, 0)
  return %y
})";
  CHECK(runText(text) == std::vector<double>{1}); // 0.4 + 0.4; rounding twice gives 0
}

TEST_CASE("B51: transposed convolutions quantize per output channel along axis 1", "[quantized][traps]") {
  // Weight [[1, 10, 100], [1, 10, 100]], layout in, out: each output channel has its own scale, so that no channel is
  // crushed.
  const std::string text = R"(
buffer x : quint8[1, 2, 1, 1]{scale=1.0, zero_point=0} = [[[[1]], [[2]]]]
buffer w : qint8[2, 3, 1, 1]{axis=1, scales=[0.00784313725490196, 0.0784313725490196, 0.784313725490196], zero_points=[0, 0, 0]} = 127
graph() {
  %x = get_attr[x]()
  %w = get_attr[w]()
  %p = call_function[torch.ops.quantized.conv_transpose2d_prepack](%w, None, [1, 1], [0, 0], [0, 0], [1, 1], 1)
  %y = call_function[torch.ops.quantized.conv_transpose2d](%x, %p, 1.5, 0)
  return %y
})";
  CHECK(runText(text) == std::vector<double>{2, 20, 199}); // 3 * 0.99608 * (1, 10, 100) / 1.5
}

TEST_CASE("B58, B93: relu clamps at the zero point", "[quantized][traps]") {
  for (int zeroPoint : {-128, -10, 0, 127}) {
    const std::string text =
        "buffer x : qint8[256]{scale=0.5, zero_point=" + std::to_string(zeroPoint) +
        "} = 0\ngraph() {\n  %x = get_attr[x]()\n  %y = call_function[torch.relu](%x)\n  return %y\n}";
    const std::vector<double> codes = runText(text, [&](Module &root) {
      root.setBuffer(
          "x",
          generate({"qint8[256]{scale=0.5, zero_point=" + std::to_string(zeroPoint) + "}", "n", {-128, 1, 256}, 1}));
    });
    REQUIRE(codes.size() == 256);
    for (int q = -128; q < 128; ++q)
      CHECK(codes[static_cast<size_t>(q + 128)] == std::max(q, zeroPoint));
  }
}

TEST_CASE("B59: a clamp that joins the layer before it changes no code", "[quantized][traps]") {
  // Bounds in quarter steps of the output's scale, half-step rounding included; keeping every node's value keeps both
  // apart.
  for (int low = -9; low <= 9; low += 3)
    for (int high = -2; high <= 34; ++high) {
      if (high < low)
        continue;
      const std::string text = R"(
buffer x : quint8[60, 1]{scale=0.25, zero_point=20} = 0
buffer w : qint8[1, 1]{scale=0.5, zero_point=0} = [[1]]
graph() {
  %x = get_attr[x]()
  %w = get_attr[w]()
  %p = call_function[torch.ops.quantized.linear_prepack](%w, None)
  %q = call_function[torch.ops.quantized.linear](%x, %p, 0.5, 3)
  %y = call_function[torch.nn.functional.hardtanh](%q, )" +
                               std::to_string(low * 0.125) + ", " + std::to_string(high * 0.125) + ")\n  return %y\n}";
      auto fill = [](Module &root) {
        root.setBuffer("x", generate({"quint8[60, 1]{scale=0.25, zero_point=20}", "n", {0, 1, 60}, 1}));
      };
      INFO(low << " " << high);
      CHECK(runText(text, fill) == runText(text, fill, /*keepAll=*/true, "y"));
    }
}

TEST_CASE("B71: long reductions neither wrap nor lose steps", "[quantized][traps]") {
  for (int64_t k : {65793, 65794, 66311, 66312, 70000, 200000})
    for (int weight : {127, -128}) {
      const double sum = static_cast<double>(k) * 255 * weight / 255 / 127.5;
      const double scale = 1013;
      const int zeroPoint = weight > 0 ? 0 : 255;
      const std::string shape = std::to_string(k);
      auto fill = [&](Module &root) {
        root.setBuffer("x",
                       generate({"quint8[1, " + shape + "]{scale=0.00392156862745098, zero_point=0}", "x", {255}, 1}));
        root.setBuffer(
            "w",
            generate({"qint8[1, " + shape + "]{scale=0.00784313725490196, zero_point=0}", "x", {double(weight)}, 1}));
      };
      const std::string head =
          "buffer x : quint8[1, " + shape + "]{scale=0.00392156862745098, zero_point=0} = 0\nbuffer w : qint8[1, " +
          shape +
          "]{scale=0.00784313725490196, zero_point=0} = 0\ngraph() {\n  %x = get_attr[x]()\n  %w = get_attr[w]()\n";
      const std::string linear = head +
                                 "  %p = call_function[torch.ops.quantized.linear_prepack](%w, None)\n"
                                 "  %y = call_function[torch.ops.quantized.linear](%x, %p, " +
                                 std::to_string(scale) + ", " + std::to_string(zeroPoint) + ")\n  return %y\n}";
      const double steps = sum / scale + zeroPoint;
      REQUIRE(std::abs(steps - std::floor(steps) - 0.5) > 0.01);
      INFO(k << " " << weight);
      CHECK(runText(linear, fill) == std::vector<double>{std::nearbyint(steps)});
      const std::string conv =
          head + "  %i = call_method[reshape](%x, 1, " + shape + ", 1, 1)\n  %v = call_method[reshape](%w, 1, " +
          shape +
          ", 1, 1)\n  %p = call_function[torch.ops.quantized.conv2d_prepack](%v, None, [1, 1], [0, 0], [1, 1], 1)\n"
          "  %y = call_function[torch.ops.quantized.conv2d](%i, %p, " +
          std::to_string(scale) + ", " + std::to_string(zeroPoint) + ")\n  return %y\n}";
      CHECK(runText(conv, fill) == std::vector<double>{std::nearbyint(steps)});
    }
}

TEST_CASE("B74: a code's place in a tensor does not matter", "[quantized][traps]") {
  for (int64_t n = 1; n <= 130; ++n) {
    const std::string size = std::to_string(n);
    const std::string leaky =
        "buffer x : quint8[" + size +
        "]{scale=0.06177325174212456, zero_point=126} = 91\ngraph() {\n"
        "  %x = get_attr[x]()\n  %y = call_function[torch.nn.functional.leaky_relu](%x, 0.1)\n  return %y\n}";
    CHECK(runText(leaky) == std::vector<double>(static_cast<size_t>(n), 123));
    const std::string sigmoid = "buffer x : f32[" + size +
                                "] = 514.0\ngraph() {\n  %x = get_attr[x]()\n"
                                "  %q = call_function[torch.quantize_per_tensor](%x, 1028.02, 255, torch.quint8)\n"
                                "  %y = call_function[torch.sigmoid](%q)\n  return %y\n}";
    CHECK(runText(sigmoid) == std::vector<double>(static_cast<size_t>(n), 128));
  }
}

TEST_CASE("B82: the logical channel decides, not the place in memory", "[quantized][traps]") {
  const std::string text = R"(
buffer w : qint8[2, 3, 1, 2]{axis=0, scales=[1.0, 10.0], zero_points=[0, 0]} = [[[[1, 2]], [[3, 4]], [[5, 6]]], [[[7, 8]], [[9, 10]], [[11, 12]]]]
graph() {
  %w = get_attr[w]()
  %c = call_method[contiguous](%w, memory_format=torch.channels_last)
  %y = call_method[dequantize](%c)
  return %y
})";
  CHECK(runText(text) == std::vector<double>{1, 2, 3, 4, 5, 6, 70, 80, 90, 100, 110, 120});
}

TEST_CASE("B85: average pooling divides by what the window holds", "[quantized][traps]") {
  // Ceil mode: the last window reaches over the edge; a window that would start in the padding is left out
  // (operators 8.1).
  for (const char *form : {"", ", format=channels_last"}) {
    const std::string head = "graph(%x : quint8[1, 1, 3, 3]{scale=1.0, zero_point=4" + std::string(form) +
                             "}) {\n  %y = call_function[torch.nn.functional.avg_pool2d](";
    const Tensor x = Tensor::of<uint8_t>(DType::QUInt8, {1, 1, 3, 3}, {10, 20, 30, 40, 50, 60, 70, 80, 90},
                                         std::make_shared<const Quantizer>(Quantizer::perTensor(1.0, 4)));
    auto run = [&](const std::string &arguments) {
      auto model = parse(head + "%x, " + arguments + ")\n  return %y\n}");
      REQUIRE(static_cast<bool>(model));
      auto program = Program::compile(*model);
      REQUIRE(static_cast<bool>(program));
      auto result = (*program)->run({x});
      REQUIRE(static_cast<bool>(result));
      return (*result)[0].value.tensor.getData<uint8_t>().vec();
    };
    CHECK(run("2, 2, 0, True, False") == std::vector<uint8_t>{30, 45, 75, 90});
    CHECK(run("2, 2, 0, True, True") == std::vector<uint8_t>{30, 45, 75, 90});
    CHECK(run("3, 3, 1, True, False") == std::vector<uint8_t>{30, 45, 75, 90});
    CHECK(run("3, 3, 1, False, False, 9").size() == 1);
  }
}

TEST_CASE("B101: multiplication and addition round apart", "[quantized][traps]") {
  struct Sample {
    int32_t acc;
    float multiplier, bias, separate;
  };
  // Written out in binary32: f32(acc * multiplier) + bias; fused the results would round to 4 and 55.
  for (const Sample &sample :
       {Sample{2851, 0.001978253247216344f, -2.14f, 3}, Sample{577, 0.09305025637149811f, 1.81f, 56}}) {
    const int32_t offset[64] = {};
    const int64_t wide[64] = {};
    float bias[64] = {sample.bias}, multiplier[64] = {sample.multiplier};
    kernels::RequantParams params;
    params.offset = offset;
    params.wideOffset = wide;
    params.bias = bias;
    params.multiplier = multiplier;
    params.floor = -__builtin_inff();
    const int64_t acc = sample.acc;
    float result = 0;
    kernels::dequantizeRow(&acc, 0, 0, 1, params, &result);
    CHECK(std::nearbyint(result) == sample.separate);
  }
}

TEST_CASE("B105: 4-bit tables of odd width", "[quantized][traps]") {
  for (int64_t columns : {1, 3, 5, 33}) {
    const std::string width = std::to_string(columns);
    // Row r has scale 0.5 * (r + 1) and float zero point r; codes run through the flat nibbles.
    std::vector<uint8_t> bytes(static_cast<size_t>((3 * columns + 1) / 2));
    for (int64_t i = 0; i < 3 * columns; ++i)
      bytes[static_cast<size_t>(i / 2)] |= static_cast<uint8_t>((i * 7 % 16) << (i % 2 * 4));
    const std::string text = "parameter m.weight : quint4x2[3, " + width +
                             "]{axis=0, scales=[0.5, 1.0, 1.5], zero_points=[0.0, 1.0, 2.0]} = 0\n"
                             "module m : torch.ao.nn.quantized.Embedding(num_embeddings=3, embedding_dim=" +
                             width +
                             ", dtype=torch.quint4x2)\nbuffer i : i64[3] = [2, 0, 1]\n"
                             "graph() {\n  %i = get_attr[i]()\n  %y = call_module[m](%i)\n  return %y\n}";
    const std::vector<double> values = runText(text, [&](Module &root) {
      ModuleRef module = root.findModule("m");
      module->setParameter("weight", Tensor::build(
                                         DType::QUInt4x2, {3, columns},
                                         [&](MutableBytes dst) {
                                           std::copy_n(reinterpret_cast<const std::byte *>(bytes.data()), dst.size(),
                                                       dst.data());
                                         },
                                         module->getTensor("weight").getQuantizer()));
    });
    REQUIRE(values.size() == static_cast<size_t>(3 * columns));
    const int64_t rows[] = {2, 0, 1};
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t row = rows[r], code = (row * columns + c) * 7 % 16;
        CHECK(values[static_cast<size_t>(r * columns + c)] ==
              0.5 * double(row + 1) * double(code - row)); // all exact in float16
      }
  }
}

TEST_CASE("embedding bags of other modes and bad indices are refused", "[quantized][traps]") {
  auto mean =
      parse("parameter m.weight : quint8[3, 2]{axis=0, scales=[0.5, 1.0, 1.5], zero_points=[0.0, 1.0, 2.0]} = 1\n"
            "module m : torch.ao.nn.quantized.EmbeddingBag(num_embeddings=3, embedding_dim=2, mode=\"mean\")\n"
            "graph(%i : i64[2, 2]) {\n  %y = call_module[m](%i)\n  return %y\n}");
  REQUIRE(static_cast<bool>(mean));
  auto refused = Program::compile(*mean);
  REQUIRE_FALSE(static_cast<bool>(refused));
  CHECK(toText(refused.takeError()).find("no mode 'mean'") != std::string::npos);
  auto bag =
      parse("parameter m.weight : quint8[3, 2]{axis=0, scales=[0.5, 1.0, 1.5], zero_points=[0.0, 1.0, 2.0]} = 1\n"
            "module m : torch.ao.nn.quantized.EmbeddingBag(num_embeddings=3, embedding_dim=2)\n"
            "graph(%i : i64[2, 2]) {\n  %y = call_module[m](%i)\n  return %y\n}");
  REQUIRE(static_cast<bool>(bag));
  auto program = Program::compile(*bag);
  REQUIRE(static_cast<bool>(program));
  for (int64_t index : {int64_t(3), int64_t(-1), int64_t(1) << 40}) {
    auto result = (*program)->run({Tensor::of<int64_t>(DType::Int64, {2, 2}, {0, 1, index, 2})});
    REQUIRE_FALSE(static_cast<bool>(result));
    CHECK(toText(result.takeError()).find("is outside the table of 3 rows") != std::string::npos);
  }
}

TEST_CASE("B110, B116: quantized layers survive a file, and the file holds only codes", "[quantized][traps]") {
  struct Kind {
    const char *module, *weight, *input;
  };
  const Kind kinds[] = {
      {"torch.ao.nn.quantized.Linear(in_features=4, out_features=3, scale=0.3, zero_point=9)",
       "qint8[3, 4]{scale=0.02, zero_point=0}", "quint8[2, 4]{scale=0.1, zero_point=3}"},
      {"torch.ao.nn.quantized.Conv1d(in_channels=2, out_channels=3, kernel_size=(3,), scale=0.3, zero_point=9)",
       "qint8[3, 2, 3]{axis=0, scales=[0.1, 0.2, 0.3], zero_points=[0, 0, 0]}",
       "quint8[1, 2, 5]{scale=0.1, zero_point=3}"},
      {"torch.ao.nn.quantized.Conv2d(in_channels=4, out_channels=4, kernel_size=(3, 3), groups=2, padding=(1, 1), "
       "scale=0.3, zero_point=9)",
       "qint8[4, 2, 3, 3]{scale=0.02, zero_point=0}", "quint8[1, 4, 5, 5]{scale=0.1, zero_point=3}"},
      {"torch.ao.nn.quantized.Conv3d(in_channels=2, out_channels=3, kernel_size=(2, 2, 2), scale=0.3, zero_point=9)",
       "qint8[3, 2, 2, 2, 2]{scale=0.02, zero_point=0}", "quint8[1, 2, 3, 3, 3]{scale=0.1, zero_point=3}"},
      {"torch.ao.nn.quantized.ConvTranspose2d(in_channels=2, out_channels=3, kernel_size=(3, 3), stride=(2, 2), "
       "scale=0.3, zero_point=9)",
       "qint8[2, 3, 3, 3]{scale=0.02, zero_point=0}", "quint8[1, 2, 3, 3]{scale=0.1, zero_point=3}"},
      {"torch.ao.nn.quantized.Embedding(num_embeddings=5, embedding_dim=3)",
       "quint8[5, 3]{axis=0, scales=[0.5, 1.0, 1.5, 2.0, 2.5], zero_points=[0.0, 1.0, 2.0, 3.0, 4.0]}", "i64[4]"},
      {"torch.ao.nn.quantized.Linear(in_features=512, out_features=512, scale=0.3, zero_point=9)",
       "qint8[512, 512]{scale=0.02, zero_point=0}", "quint8[2, 512]{scale=0.1, zero_point=3}"},
  };
  for (const Kind &kind : kinds) {
    INFO(kind.module);
    const bool isEmbedding = std::string(kind.module).find("Embedding") != std::string::npos;
    auto model =
        parse("module m : " +
              std::string(kind.module).insert(std::string(kind.module).size() - 1, isEmbedding ? "" : ", bias=False") +
              "\nparameter m.weight : " + kind.weight + " = 0\ngraph(%x : " + kind.input +
              ") {\n  %y = call_module[m](%x)\n  return %y\n}");
    if (!model) { // nnq.Linear spells it bias_
      llvm::consumeError(model.takeError());
      model =
          parse("module m : " + std::string(kind.module).insert(std::string(kind.module).size() - 1, ", bias_=False") +
                "\nparameter m.weight : " + kind.weight + " = 0\ngraph(%x : " + kind.input +
                ") {\n  %y = call_module[m](%x)\n  return %y\n}");
    }
    if (!model) {
      FAIL_CHECK(toText(model.takeError()));
      continue;
    }
    model->getRoot().findModule("m")->setParameter(
        "weight", generate({kind.weight, "i", {isEmbedding ? 0.0 : -128.0, isEmbedding ? 255.0 : 127.0}, 5}));
    llvm::SmallString<128> path;
    REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("trap", "qfx", path));
    llvm::Error saved = saveModel(*model, path);
    if (saved) {
      FAIL_CHECK(toText(std::move(saved)));
      continue;
    }
    auto loaded = loadModel(path);
    llvm::SmallString<128> weights = path;
    llvm::sys::path::replace_extension(weights, "safetensors");
    uint64_t bytes = 0;
    CHECK_FALSE(llvm::sys::fs::file_size(weights, bytes));
    CHECK(bytes <= model->getRoot().findModule("m")->getTensor("weight").getSizeBytes() + 1024);
    llvm::sys::fs::remove(path);
    llvm::sys::fs::remove(weights);
    if (!loaded) {
      FAIL_CHECK(toText(loaded.takeError()));
      continue;
    }
    std::string why;
    CHECK(isIdentical(*model, *loaded, &why));
    CHECK(why.empty());
    const Tensor input = generate({kind.input, "i", {0, isEmbedding ? 4.0 : 255.0}, 6});
    std::vector<Tensor> results;
    for (const GraphModule *one : {&*model, &*loaded}) {
      auto program = Program::compile(*one);
      if (!program) {
        FAIL_CHECK(toText(program.takeError()));
        continue;
      }
      auto result = (*program)->run({input});
      if (!result) {
        FAIL_CHECK(toText(result.takeError()));
        continue;
      }
      results.push_back((*result)[0].value.tensor);
    }
    REQUIRE(results.size() == 2);
    CHECK(results[0].equals(results[1]));
  }
}
