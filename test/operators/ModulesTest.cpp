// Every quantized module class gives what the operator gives that it stands for (operators 13, 18).
#include "QuantizedCases.h"

#include "Catch.h"
#include "ir/text/QfxText.h"

using namespace qfx;
using namespace qfx::test;

namespace {

struct ModuleRow {
  const char *module;  ///< class and constructor arguments
  const char *tensors; ///< "name type; ..." of the module's own tensors
  const char *input;   ///< type
  const char *call;    ///< the function; %x is the input, %name a tensor of the module
};

const char *const kQuint = "quint8[2, 4]{scale=0.05, zero_point=100}";
const char *const kLine = "quint8[2, 4, 7]{scale=0.05, zero_point=100}";
const char *const kImage = "quint8[2, 4, 5, 6]{scale=0.05, zero_point=100}";
const char *const kVolume = "quint8[1, 4, 3, 4, 5]{scale=0.05, zero_point=100}";

const ModuleRow kRows[] = {
    {"torch.ao.nn.quantized.Linear(in_features=4, out_features=3, scale=0.3, zero_point=9)",
     "weight qint8[3, 4]{scale=0.02, zero_point=0}; bias f32[3]", kQuint,
     "call_function[torch.ao.nn.quantized.functional.linear](%x, %weight, %bias, 0.3, 9)"},
    {"torch.ao.nn.intrinsic.quantized.LinearReLU(in_features=4, out_features=3, scale=0.3, zero_point=9)",
     "weight qint8[3, 4]{scale=0.02, zero_point=0}; bias f32[3]", kQuint,
     "call_function[torch.ops.quantized.linear_relu](%x, %linear, 0.3, 9)"},
    {"torch.ao.nn.intrinsic.quantized.LinearLeakyReLU(in_features=4, out_features=3, negative_slope=0.2, scale=0.3, "
     "zero_point=9)",
     "weight qint8[3, 4]{scale=0.02, zero_point=0}; bias f32[3]", kQuint,
     "call_function[torch.ops.quantized.linear_leaky_relu](%x, %linear, 0.3, 9, 0.2)"},
    {"torch.ao.nn.intrinsic.quantized.LinearTanh(in_features=4, out_features=3, scale=0.0078125, zero_point=128)",
     "weight qint8[3, 4]{scale=0.02, zero_point=0}; bias f32[3]", kQuint,
     "call_function[torch.ops.quantized.linear_tanh](%x, %linear, 0.0078125, 128)"},
    {"torch.ao.nn.quantized.Conv1d(in_channels=4, out_channels=6, kernel_size=(3,), stride=(2,), padding=(1,), "
     "groups=2, scale=0.3, zero_point=9)",
     "weight qint8[6, 2, 3]{scale=0.02, zero_point=0}; bias f32[6]", kLine,
     "call_function[torch.ao.nn.quantized.functional.conv1d](%x, %weight, %bias, 2, 1, 1, 2, scale=0.3, zero_point=9)"},
    {"torch.ao.nn.quantized.Conv2d(in_channels=4, out_channels=6, kernel_size=(3, 3), stride=(2, 1), padding=(1, 1), "
     "groups=2, scale=0.3, zero_point=9)",
     "weight qint8[6, 2, 3, 3]{scale=0.02, zero_point=0}; bias f32[6]", kImage,
     "call_function[torch.ao.nn.quantized.functional.conv2d](%x, %weight, %bias, (2, 1), 1, 1, 2, scale=0.3, "
     "zero_point=9)"},
    {"torch.ao.nn.quantized.Conv3d(in_channels=4, out_channels=2, kernel_size=(2, 2, 2), scale=0.3, zero_point=9)",
     "weight qint8[2, 4, 2, 2, 2]{scale=0.02, zero_point=0}; bias f32[2]", kVolume,
     "call_function[torch.ao.nn.quantized.functional.conv3d](%x, %weight, %bias, scale=0.3, zero_point=9)"},
    {"torch.ao.nn.intrinsic.quantized.ConvReLU1d(in_channels=4, out_channels=6, kernel_size=(3,), scale=0.3, "
     "zero_point=9)",
     "weight qint8[6, 4, 3]{scale=0.02, zero_point=0}; bias f32[6]", kLine,
     "call_function[torch.ops.quantized.conv1d_relu](%x, %conv1, 0.3, 9)"},
    {"torch.ao.nn.intrinsic.quantized.ConvReLU2d(in_channels=4, out_channels=6, kernel_size=(3, 3), scale=0.3, "
     "zero_point=9)",
     "weight qint8[6, 4, 3, 3]{scale=0.02, zero_point=0}; bias f32[6]", kImage,
     "call_function[torch.ops.quantized.conv2d_relu](%x, %conv2, 0.3, 9)"},
    {"torch.ao.nn.intrinsic.quantized.ConvReLU3d(in_channels=4, out_channels=2, kernel_size=(2, 2, 2), scale=0.3, "
     "zero_point=9)",
     "weight qint8[2, 4, 2, 2, 2]{scale=0.02, zero_point=0}; bias f32[2]", kVolume,
     "call_function[torch.ops.quantized.conv3d_relu](%x, %conv3, 0.3, 9)"},
    {"torch.ao.nn.quantized.ConvTranspose1d(in_channels=4, out_channels=6, kernel_size=(3,), scale=0.3, zero_point=9)",
     "weight qint8[4, 6, 3]{scale=0.02, zero_point=0}; bias f32[6]", kLine,
     "call_function[torch.ops.quantized.conv_transpose1d](%x, %transposed1, 0.3, 9)"},
    {"torch.ao.nn.quantized.ConvTranspose2d(in_channels=4, out_channels=6, kernel_size=(3, 3), scale=0.3, "
     "zero_point=9)",
     "weight qint8[4, 6, 3, 3]{scale=0.02, zero_point=0}; bias f32[6]", kImage,
     "call_function[torch.ops.quantized.conv_transpose2d](%x, %transposed2, 0.3, 9)"},
    {"torch.ao.nn.quantized.ConvTranspose3d(in_channels=4, out_channels=2, kernel_size=(2, 2, 2), scale=0.3, "
     "zero_point=9)",
     "weight qint8[4, 2, 2, 2, 2]{scale=0.02, zero_point=0}; bias f32[2]", kVolume,
     "call_function[torch.ops.quantized.conv_transpose3d](%x, %transposed3, 0.3, 9)"},
    {"torch.ao.nn.quantized.BatchNorm2d(num_features=4, scale=0.07, zero_point=90)",
     "weight f32[4]; bias f32[4]; running_mean f32[4]; running_var f32[4]", kImage,
     "call_function[torch.ops.quantized.batch_norm2d](%x, %weight, %bias, %running_mean, %running_var, 1e-05, 0.07, "
     "90)"},
    {"torch.ao.nn.quantized.BatchNorm3d(num_features=4, scale=0.07, zero_point=90)",
     "weight f32[4]; bias f32[4]; running_mean f32[4]; running_var f32[4]", kVolume,
     "call_function[torch.ops.quantized.batch_norm3d](%x, %weight, %bias, %running_mean, %running_var, 1e-05, 0.07, "
     "90)"},
    {"torch.ao.nn.intrinsic.quantized.BNReLU2d(num_features=4, scale=0.07, zero_point=90)",
     "weight f32[4]; bias f32[4]; running_mean f32[4]; running_var f32[4]", kImage,
     "call_function[torch.ops.quantized.batch_norm2d_relu](%x, %weight, %bias, %running_mean, %running_var, 1e-05, "
     "0.07, 90)"},
    {"torch.ao.nn.intrinsic.quantized.BNReLU3d(num_features=4, scale=0.07, zero_point=90)",
     "weight f32[4]; bias f32[4]; running_mean f32[4]; running_var f32[4]", kVolume,
     "call_function[torch.ops.quantized.batch_norm3d_relu](%x, %weight, %bias, %running_mean, %running_var, 1e-05, "
     "0.07, 90)"},
    {"torch.ao.nn.quantized.LayerNorm(normalized_shape=(5, 6), scale=0.03, zero_point=128)",
     "weight f32[5, 6]; bias f32[5, 6]", kImage,
     "call_function[torch.ops.quantized.layer_norm](%x, [5, 6], %weight, %bias, 1e-05, 0.03, 128)"},
    {"torch.ao.nn.quantized.GroupNorm(num_groups=2, num_channels=4, scale=0.03, zero_point=128)",
     "weight f32[4]; bias f32[4]", kImage,
     "call_function[torch.ops.quantized.group_norm](%x, 2, %weight, %bias, 1e-05, 0.03, 128)"},
    {"torch.ao.nn.quantized.InstanceNorm1d(num_features=4, scale=0.03, zero_point=128)", "weight f32[4]; bias f32[4]",
     kLine, "call_function[torch.ops.quantized.instance_norm](%x, %weight, %bias, 1e-05, 0.03, 128)"},
    {"torch.ao.nn.quantized.InstanceNorm2d(num_features=4, scale=0.03, zero_point=128)", "weight f32[4]; bias f32[4]",
     kImage, "call_function[torch.ops.quantized.instance_norm](%x, %weight, %bias, 1e-05, 0.03, 128)"},
    {"torch.ao.nn.quantized.InstanceNorm3d(num_features=4, scale=0.03, zero_point=128)", "", kVolume,
     "call_function[torch.ops.quantized.instance_norm](%x, None, None, 1e-05, 0.03, 128)"},
    {"torch.ao.nn.quantized.ReLU6()", "", kQuint, "call_function[torch.ops.quantized.relu6](%x)"},
    {"torch.ao.nn.quantized.Hardswish(scale=0.04, zero_point=20)", "", kQuint,
     "call_function[torch.ao.nn.quantized.functional.hardswish](%x, 0.04, 20)"},
    {"torch.ao.nn.quantized.ELU(scale=0.04, zero_point=20, alpha=0.7)", "", kQuint,
     "call_function[torch.ao.nn.quantized.functional.elu](%x, 0.04, 20, 0.7)"},
    {"torch.ao.nn.quantized.LeakyReLU(scale=0.04, zero_point=20, negative_slope=0.3)", "", kQuint,
     "call_function[torch.ao.nn.quantized.functional.leaky_relu](%x, 0.3, False, 0.04, 20)"},
    {"torch.ao.nn.quantized.Sigmoid(scale=0.005, zero_point=3)", "", kQuint,
     "call_function[torch.ops.quantized.sigmoid](%x, 0.005, 3)"},
    {"torch.ao.nn.quantized.Softmax(dim=1, scale=0.00390625, zero_point=0)", "", kQuint,
     "call_function[torch.ops.quantized.softmax](%x, 1, 0.00390625, 0)"},
    {"torch.ao.nn.quantized.PReLU(scale=0.04, zero_point=20, num_parameters=4)",
     "weight quint8[4]{scale=0.01, zero_point=30}", kImage,
     "call_function[torch.ops.quantized.prelu](%x, %weight, 0.04, 20)"},
    {"torch.ao.nn.quantized.Dropout()", "", kQuint, "call_method[clone](%x)"},
    {"torch.ao.nn.quantized.DeQuantize()", "", kQuint, "call_method[dequantize](%x)"},
    {"torch.ao.nn.quantized.Embedding(num_embeddings=3, embedding_dim=4)",
     "weight quint8[3, 4]{axis=0, scales=[0.5, 0.25, 0.125], zero_points=[1.5, 3.25, 0.75]}", "i64[5]",
     "call_function[torch.ops.quantized.embedding_byte](%table, %x)"},
    {"torch.ao.nn.quantized.EmbeddingBag(num_embeddings=3, embedding_dim=4)",
     "weight quint8[3, 4]{axis=0, scales=[0.5, 0.25, 0.125], zero_points=[1.5, 3.25, 0.75]}", "i64[2, 5]",
     "call_function[torch.ops.quantized.embedding_bag_byte](%table, %x)"},
};

/// Prepack calls that a row's function may name.
const std::pair<const char *, const char *> kPacks[] = {
    {"linear", "linear_prepack](%weight, %bias)"},
    {"conv1", "conv1d_prepack](%weight, %bias, [1], [0], [1], 1)"},
    {"conv2", "conv2d_prepack](%weight, %bias, [1, 1], [0, 0], [1, 1], 1)"},
    {"conv3", "conv3d_prepack](%weight, %bias, [1, 1, 1], [0, 0, 0], [1, 1, 1], 1)"},
    {"transposed1", "conv_transpose1d_prepack](%weight, %bias, [1], [0], [0], [1], 1)"},
    {"transposed2", "conv_transpose2d_prepack](%weight, %bias, [1, 1], [0, 0], [0, 0], [1, 1], 1)"},
    {"transposed3", "conv_transpose3d_prepack](%weight, %bias, [1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1], 1)"},
    {"table", "embedding_bag_prepack](%weight)"},
};

/// (name, type) of "name type; name type".
std::vector<std::pair<std::string, std::string>> splitTensors(const std::string &text) {
  std::vector<std::pair<std::string, std::string>> tensors;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find("; ", begin);
    end = end == std::string::npos ? text.size() : end;
    const std::string part = text.substr(begin, end - begin);
    tensors.push_back({part.substr(0, part.find(' ')), part.substr(part.find(' ') + 1)});
    begin = end + 2;
  }
  return tensors;
}

QuantizedCase::Generated makeSource(const std::string &type, uint64_t seed) {
  if (type.rfind("f32", 0) == 0)
    return {type, "f", {0.2, 1.5}, seed};
  if (type.rfind("i64", 0) == 0)
    return {type, "i", {0, 2}, seed};
  if (type.rfind("qint8", 0) == 0)
    return {type, "i", {-128, 127}, seed};
  return {type, "i", {0, 255}, seed};
}

} // namespace

TEST_CASE("quantized modules give what their operators give", "[quantized][modules]") {
  for (const ModuleRow &row : kRows) {
    INFO(row.module);
    const auto tensors = splitTensors(row.tensors);
    std::string text = "qfx 1\nmodule m : " + std::string(row.module) + "\n", gets;
    for (const auto &[name, type] : tensors) {
      const std::string kind = name.rfind("running", 0) == 0 ? "buffer " : "parameter ";
      text += kind + "m." + name + " : " + type + " = 0\nbuffer " + name + " : " + type + " = 0\n";
      gets += "  %" + name + " = get_attr[" + name + "]()\n";
    }
    const std::string call = row.call;
    for (auto [name, pack] : kPacks)
      if (call.find("%" + std::string(name) + ",") != std::string::npos)
        gets += "  %" + std::string(name) + " = call_function[torch.ops.quantized." + pack + "\n";
    text += "graph(%x : " + std::string(row.input) + ") {\n" + gets + "  %a = call_module[m](%x)\n  %b = " + call +
            "\n  return (%a, %b)\n}\n";
    auto model = parseQfx(std::make_shared<SourceText>(SourceText{"module", text}));
    if (!model) {
      FAIL_CHECK(toText(model.takeError()));
      continue;
    }
    uint64_t seed = 1;
    for (const auto &[name, type] : tensors) {
      const Tensor tensor = generate(makeSource(type, seed++));
      ModuleRef module = model->getRoot().findModule("m");
      if (name.rfind("running", 0) == 0)
        module->setBuffer(name, tensor);
      else
        module->setParameter(name, tensor);
      model->getRoot().setBuffer(name, tensor);
    }
    auto program = Program::compile(*model);
    if (!program) {
      FAIL_CHECK(toText(program.takeError()));
      continue;
    }
    auto results = (*program)->run({generate(makeSource(row.input, 9))});
    if (!results) {
      FAIL_CHECK(toText(results.takeError()));
      continue;
    }
    REQUIRE(results->size() == 2);
    CHECK((*results)[0].value.tensor.equals((*results)[1].value.tensor));
  }
}
