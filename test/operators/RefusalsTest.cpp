// What quantized operators do not take is refused when a program is compiled, by node, operator, what it got and what it takes.
#include "QuantizedCases.h"

#include "Catch.h"
#include "ir/text/QfxText.h"

using namespace qfx;
using namespace qfx::test;

namespace {

struct Refusal {
  const char *inputs; ///< declarations of %x, %y, ...
  const char *nodes;  ///< lines before the call
  const char *call;
  const char *message; ///< what the error must say
};

const char *const kWeights = R"(buffer w : qint8[3, 4]{scale=0.1, zero_point=0} = 1
buffer wf : f32[3, 4] = 1.0
buffer wu : quint8[3, 4]{scale=0.1, zero_point=0} = 1
buffer w4 : qint8[6, 2, 3, 3]{scale=0.1, zero_point=0} = 1
buffer wt : qint8[4, 3, 3, 3]{axis=0, scales=[0.1, 0.2, 0.3, 0.4], zero_points=[0, 0, 0, 0]} = 1
buffer b : f32[3] = 0.5
buffer b2 : f32[2] = 0.5
buffer ch : quint8[3, 4]{axis=0, scales=[0.1, 0.2, 0.3], zero_points=[0, 0, 0]} = 1
buffer pt : quint8[3, 4]{scale=0.1, zero_point=3} = 1
)";

const Refusal kRefusals[] = {
    // dtypes and schemes
    {"%x : f32[2, 4]", "%p = call_function[torch.ops.quantized.linear_prepack](%w, %b)", "call_function[torch.ops.quantized.linear](%x, %p, 0.1, 3)", "wants a quantized tensor"},
    {"%x : qint8[2, 4]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.linear_prepack](%w, %b)", "call_function[torch.ops.quantized.linear](%x, %p, 0.1, 3)", "wants a quint8 input"},
    {"%x : quint8[2, 4]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.linear_prepack](%wf, %b)", "call_function[torch.ops.quantized.linear](%x, %p, 0.1, 3)", "qint8 weight"},
    {"%x : quint8[2, 4]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.linear_prepack](%wu, %b)", "call_function[torch.ops.quantized.linear](%x, %p, 0.1, 3)", "qint8 weight"},
    {"%x : quint8[2, 4]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.linear_prepack](%w, %b2)", "call_function[torch.ops.quantized.linear](%x, %p, 0.1, 3)", "bias"},
    {"%x : quint8[2, 5]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.linear_prepack](%w, %b)", "call_function[torch.ops.quantized.linear](%x, %p, 0.1, 3)", "4"},
    {"%x : quint8[4]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.linear_prepack](%w, %b)", "call_function[torch.ops.quantized.linear](%x, %p, 0.1, 3)", "rank >= 2"},
    {"%x : quint8[2, 4]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.linear_prepack](%w, %b)", "call_function[torch.ops.quantized.linear](%x, %p, 0.1, 300)", "wants a zero point in 0..255 for quint8, got 300"},
    {"%x : quint8[2, 4]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.linear_prepack](%w, %b)", "call_function[torch.ops.quantized.linear](%x, %p, -0.1, 3)", "scale"},
    {"%x : quint8[1, 4, 5, 5]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.conv2d_prepack](%w4, None, [1, 1], [0, 0], [1, 1], 1)", "call_function[torch.ops.quantized.conv2d](%x, %p, 0.1, 3)", "channels"},
    {"%x : quint8[4, 5, 5]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.conv2d_prepack](%w4, None, [1, 1], [0, 0], [1, 1], 2)", "call_function[torch.ops.quantized.conv2d](%x, %p, 0.1, 3)", "rank 4"},
    {"%x : quint8[1, 4, 2, 5]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.conv2d_prepack](%w4, None, [1, 1], [0, 0], [1, 1], 2)", "call_function[torch.ops.quantized.conv2d](%x, %p, 0.1, 3)", "output"},
    {"%x : quint8[1, 4, 5, 5]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.conv2d_prepack](%w4, None, [0, 1], [0, 0], [1, 1], 2)", "call_function[torch.ops.quantized.conv2d](%x, %p, 0.1, 3)", "stride"},
    {"%x : quint8[1, 4, 5, 5]{scale=0.1, zero_point=3}", "%p = call_function[torch.ops.quantized.conv_transpose2d_prepack](%wt, None, [1, 1], [0, 0], [0, 0], [1, 1], 1)", "call_function[torch.ops.quantized.conv_transpose2d](%x, %p, 0.1, 3)", "axis 1"},
    // two operands
    {"%x : quint8[2, 4]{scale=0.1, zero_point=3}, %y : qint8[2, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.add](%x, %y, 0.1, 3)", "one dtype"},
    {"%x : quint8[2, 4]{scale=0.1, zero_point=3}, %y : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.mul](%x, %y, 0.1, 3)", "broadcast"},
    {"%x : quint8[2, 4]{scale=0.1, zero_point=3}, %y : f32[2, 4]", "", "call_function[torch.ops.quantized.add](%x, %y, 0.1, 3)", "other operand"},
    {"%x : quint8[2, 4]{scale=0.1, zero_point=3}, %y : quint8[2, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.add](%x, %y)", "scale and a zero point"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.add](%x, %ch, 0.1, 3)", "per-tensor"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}, %y : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.matmul](%x, %y, 0.1, 3)", "4"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}, %y : qint8[4, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.matmul](%x, %y, 0.1, 3)", "one dtype"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}, %y : qint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.cat]([%x, %y], 1, 0.1, 3)", "one dtype"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.cat]([], 1, 0.1, 3)", "at least one tensor"},
    // per-channel tensors go into weights only
    {"%x : f32[1]", "", "call_function[torch.relu](%ch)", "per-tensor"},
    {"%x : f32[1]", "", "call_function[torch.sigmoid](%ch)", "per-tensor"},
    {"%x : f32[1]", "", "call_function[torch.ops.quantized.hardswish](%ch, 0.1, 3)", "per-tensor"},
    {"%x : f32[1]", "", "call_method[mean](%ch)", "per-tensor"},
    {"%x : f32[1]", "", "call_function[torch.nn.functional.pad](%ch, (1, 1))", "per-tensor"},
    // no quantized kernel (operators 7, 24.13)
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.nn.functional.silu](%x)", "quantized"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.nn.functional.elu](%x)", "quantized"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.exp](%x)", "quantized"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.add](%x, %x)", "quantized"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.sum](%x)", "quantized"},
    {"%x : quint8[1, 3, 4, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.nn.functional.interpolate](%x, scale_factor=2.0, mode=\"bicubic\")", "mode 'bicubic'"},
    {"%x : quint8[1, 3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.nn.functional.interpolate](%x, scale_factor=2.0)", "mode 'nearest'"},
    {"%x : quint8[1, 3, 4, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.nn.functional.pad](%x, (1, 1), \"replicate\")", "replicate"},
    // shapes and arguments
    {"%x : quint8[1, 3, 4, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.nn.functional.max_pool2d](%x, 2, 2, 2)", "padding"},
    {"%x : quint8[1, 3, 4, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.nn.functional.avg_pool2d](%x, 2, divisor_override=0)", "divisor_override"},
    {"%x : quint8[1, 3, 4, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ao.nn.quantized.functional.max_pool2d](%x, 2, return_indices=True)", "indices"},
    {"%x : quint8[1, 3, 4, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.group_norm](%x, 2, None, None, 1e-05, 0.1, 3)", "divisible"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.instance_norm](%x, None, None, 1e-05, 0.1, 3)", "rank"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.layer_norm](%x, [5], None, None, 1e-05, 0.1, 3)", "5"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.batch_norm2d](%x, %b, %b, %b, %b, 1e-05, 0.1, 3)", "rank"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ops.quantized.softmax](%x, 2, 0.1, 3)", "dimension 2"},
    {"%x : f32[2, 4]", "", "call_function[torch.ao.nn.quantized.functional.hardtanh](%x)", "wants a quantized input to 'torch.ao.nn.quantized.functional.hardtanh'"},
    {"%x : f32[1, 2, 4, 4]", "", "call_function[torch.ao.nn.quantized.functional.max_pool2d](%x, 2)", "wants a quantized input to"},
    {"%x : quint8[3, 4]{scale=0.1, zero_point=3}", "", "call_function[torch.ao.nn.quantized.functional.leaky_relu](%x, 0.1, scale=0.1)", "both a scale and a zero point"},
    {"%x : f32[4]", "%e = call_function[torch.ops.quantized.embedding_bag_prepack](%pt)", "call_function[torch.ops.quantized.embedding_byte](%e, %x)", "int32 or int64"},
    {"%x : i64[4]", "%e = call_function[torch.ops.quantized.embedding_bag_prepack](%pt)", "call_function[torch.ops.quantized.embedding_byte](%e, %x)", "float qparams"},
    {"%x : i64[4]", "%e = call_function[torch.ops.quantized.embedding_bag_prepack](%wf)", "call_function[torch.ops.quantized.embedding_byte](%e, %x)", "quint8 or quint4x2"},
};

} // namespace

TEST_CASE("what no kernel takes is refused at compile time", "[quantized][refusals]") {
  for (const Refusal &row : kRefusals) {
    std::string nodes = row.nodes, call = row.call, text = "qfx 1\n" + std::string(kWeights) + "graph(" + row.inputs + ") {\n";
    for (const char *name : {"w", "wf", "wu", "w4", "wt", "b", "b2", "ch", "pt"})
      if ((nodes + call).find("%" + std::string(name) + ",") != std::string::npos || (nodes + call).find("%" + std::string(name) + ")") != std::string::npos)
        text += "  %" + std::string(name) + " = get_attr[" + name + "]()\n";
    text += (nodes.empty() ? "" : "  " + nodes + "\n") + "  %bad = " + call + "\n  return %bad\n}\n";
    INFO(row.inputs << "\n" << row.nodes << "\n" << row.call);
    auto model = parseQfx(std::make_shared<SourceText>(SourceText{"refusal", text}));
    std::string message;
    if (!model) {
      message = toText(model.takeError());
    } else {
      auto program = Program::compile(*model);
      if (program) {
        FAIL_CHECK("compiled");
        continue;
      }
      message = toText(program.takeError());
    }
    INFO(message);
    CHECK(message.find(row.message) != std::string::npos);
    CHECK(message.find("refusal:") != std::string::npos); // the place
    CHECK(message.find('\'') != std::string::npos);       // the operator
  }
}
