// What must not change a quantized result: instruction set, threads, where a tensor lies.
#include "QuantizedCases.h"

#include "Catch.h"
#include "ir/text/QfxText.h"
#include "kernels/isa/Isa.h"

using namespace qfx;
using namespace qfx::test;

/// The results of a case, or nothing and a failed check.
static std::vector<Tensor> getResults(const QuantizedCase &one, int threads) {
  std::vector<Tensor> tensors;
  llvm::Expected<std::vector<NamedValue>> results = runCase(one, threads);
  if (!results) {
    FAIL_CHECK(toText(results.takeError()));
    return tensors;
  }
  for (NamedValue &value : *results)
    tensors.push_back(value.value.tensor);
  return tensors;
}

static void checkEqual(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i)
    CHECK(a[i].equals(b[i]));
}

TEST_CASE("threads and instruction sets change no bit of a quantized operator", "[quantized][invariance]") {
  for (const QuantizedCase &one : getQuantizedCases()) {
    INFO(one.name);
    const std::vector<Tensor> expected = getResults(one, 1);
    for (int threads : {2, 3})
      checkEqual(getResults(one, threads), expected);
    kernels::ScopedIsa scalar(kernels::Isa::Scalar);
    checkEqual(getResults(one, 1), expected);
  }
}

// known_traps B80, B107: a tensor's place in memory is no part of its value.
TEST_CASE("permuted, sliced and channels-last inputs give the contiguous result", "[quantized][invariance]") {
  const char *const calls[] = {
      "call_function[torch.relu](%x)",
      "call_function[torch.ops.quantized.relu6](%x)",
      "call_function[torch.nn.functional.hardtanh](%x, -1.5, 2.0)",
      "call_function[torch.clamp](%x, -1.1, 2.2)",
      "call_function[torch.sigmoid](%x)",
      "call_function[torch.tanh](%x)",
      "call_function[torch.nn.functional.hardsigmoid](%x)",
      "call_function[torch.nn.functional.gelu](%x)",
      "call_function[torch.ops.quantized.hardswish](%x, 0.04, 7)",
      "call_function[torch.ops.quantized.elu](%x, 0.05, 40)",
      "call_function[torch.ops.quantized.celu](%x, 0.05, 40, 1.5)",
      "call_function[torch.ops.quantized.leaky_relu](%x, 0.2, False, 0.061, 20)",
      "call_function[torch.ops.quantized.threshold](%x, 1.0, -0.5)",
      "call_function[torch.ops.quantized.prelu](%x, %slope, 0.05, 90)",
      "call_function[torch.ops.quantized.prelu](%x, %slopes, 0.05, 90)",
      "call_function[torch.ops.quantized.add](%x, %o, 0.11, 60)",
      "call_function[torch.ops.quantized.add_relu](%x, %o, 0.11, 60)",
      "call_function[torch.ops.quantized.mul](%x, %o, 0.21, 60)",
      "call_function[torch.ops.quantized.mul](%o, %x, 0.21, 60)",
      "call_function[torch.ops.quantized.mul](%x, %row, 0.21, 60)",
      "call_function[torch.ops.quantized.add_scalar](%x, 1.3)",
      "call_function[torch.ops.quantized.mul_scalar](%x, -0.7)",
      "call_function[torch.ops.quantized.cat]([%x, %o], 1, 0.1, 50)",
      "call_function[torch.ops.quantized.cat]([%x, %o], 3, 0.1, 50)",
      "call_function[torch.ops.quantized.softmax](%x, 1, 0.00390625, 0)",
      "call_function[torch.ops.quantized.softmax](%x, 3, 0.00390625, 0)",
      "call_function[torch.ops.quantized.layer_norm](%x, [4, 5], None, None, 1e-05, 0.03, 128)",
      "call_function[torch.ops.quantized.group_norm](%x, 2, None, None, 1e-05, 0.03, 128)",
      "call_function[torch.ops.quantized.instance_norm](%x, None, None, 1e-05, 0.03, 128)",
      "call_function[torch.ops.quantized.batch_norm2d](%x, %f6, %f6, %f6, %f6, 1e-05, 0.07, 100)",
      "call_function[torch.ops.quantized.matmul](%x, %wide, 0.3, 100)",
      "call_function[torch.nn.functional.max_pool2d](%x, 2)",
      "call_function[torch.nn.functional.interpolate](%x, scale_factor=1.5)",
      "call_function[torch.nn.functional.pad](%x, (1, 2, 0, 1), \"constant\", 0.4)",
      "call_function[torch.nn.functional.pad](%x, (1, 2, 2, 1), \"reflect\")",
      "call_function[torch.nn.functional.pixel_unshuffle](%half, 2)",
      "call_function[torch.channel_shuffle](%x, 3)",
      "call_method[repeat](%x, 2, 1, 3, 1)",
      "call_method[dequantize](%x)",
      "call_method[lt](%x, %o)",
      "call_method[ge](%x, 0.35)",
  };
  // Four ways to the same [2, 6, 4, 5] tensor: as it is, and out of larger, transposed or channels-last ones.
  const char *const sources[] = {
      "  %x = get_attr[base]()\n",
      "  %b = get_attr[base]()\n  %p = call_method[permute](%b, 3, 1, 0, 2)\n  %c = call_method[clone](%p)\n  %x = "
      "call_method[permute](%c, 2, 1, 3, 0)\n",
      "  %b = get_attr[base]()\n  %w = call_function[torch.cat]([%b, %b], 3)\n  %x = call_method[narrow](%w, 3, 5, "
      "5)\n",
      "  %b = get_attr[base]()\n  %w = call_function[torch.cat]([%b, %b], 1)\n  %x = call_method[narrow](%w, 1, 6, "
      "6)\n",
      "  %b = get_attr[base]()\n  %t = call_method[transpose](%b, 1, 3)\n  %m = call_method[reshape](%t, 2, 20, 6)\n  "
      "%n = call_method[reshape](%m, 2, 5, 4, 6)\n  %x = call_method[transpose](%n, 1, 3)\n",
  };
  const QuantizedCase::Generated base{"quint8[2, 6, 4, 5]{scale=0.05, zero_point=100}", "i", {0, 255}, 3};
  for (const char *call : calls) {
    std::vector<std::vector<Tensor>> results;
    for (const char *source : sources) {
      std::string text = "qfx 1\n"
                         "buffer base : quint8[2, 6, 4, 5]{scale=0.05, zero_point=100} = 0\n"
                         "buffer other : quint8[2, 6, 4, 5]{scale=0.08, zero_point=31} = 0\n"
                         "buffer row : quint8[6, 1, 1]{scale=0.08, zero_point=31} = 0\n"
                         "buffer slope : quint8[1]{scale=0.05, zero_point=0} = 7\n"
                         "buffer slopes : quint8[6]{scale=0.013, zero_point=30} = 0\n"
                         "buffer wide : quint8[5, 3]{scale=0.08, zero_point=31} = 0\n"
                         "buffer f6 : f32[6] = random(seed=5, low=0.2, high=1.4)\n"
                         "graph() {\n" +
                         std::string(source);
      for (const char *name : {"row", "slope", "slopes", "wide", "f6"})
        text += "  %" + std::string(name) + " = get_attr[" + name + "]()\n";
      text += "  %o = get_attr[other]()\n  %half = call_method[narrow](%x, 3, 0, 4)\n  %y = " + std::string(call) +
              "\n  return %y\n}\n";
      auto model = parseQfx(std::make_shared<SourceText>(SourceText{"test", text}));
      if (!model) {
        FAIL_CHECK(toText(model.takeError()));
        break;
      }
      model->getRoot().setBuffer("base", generate(base));
      for (auto [name, seed] :
           {std::pair("other", 4), std::pair("row", 5), std::pair("slopes", 6), std::pair("wide", 7)}) {
        QuantizedCase::Generated source{"", "i", {0, 255}, static_cast<uint64_t>(seed)};
        source.type = toString(model->getRoot().getTensor(name).getType());
        model->getRoot().setBuffer(name, generate(source));
      }
      auto program = Program::compile(*model);
      INFO(call << "\n" << source);
      if (!program) {
        FAIL_CHECK(toText(program.takeError()));
        break;
      }
      auto values = (*program)->run(llvm::ArrayRef<Tensor>());
      if (!values) {
        FAIL_CHECK(toText(values.takeError()));
        break;
      }
      results.push_back({});
      for (NamedValue &value : *values)
        results.back().push_back(value.value.tensor);
      checkEqual(results.back(), results.front());
    }
  }
}
