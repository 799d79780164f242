"""Writes test/ir/ops/<op>.qfx, one per operator of the table: calls with the types that PyTorch gave (shapes.json, and HAND below for
operators that shapes.json cannot hold), printed and parsed again, and a call that is refused.

    python test/golden/make_op_tests.py            # after make_shapes.py or a change of ir/ops/*.def

Needs a C++ compiler (`c++ -E` reads the rows) and no torch.
"""
import json
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(ROOT, "test", "ir", "ops")


def read_rows():
    """(operator names in order, {(kind, spelling): operator})."""
    source = """
#define QFX_OP(Kind, ...) @op Kind @end
#define QFX_FUNCTION(Kind, text, ...) @function Kind text @end
#define QFX_METHOD(Kind, text, ...) @method Kind text @end
#define QFX_MODULE(Kind, text, ...) @module Kind text @end
#include "ir/Ops.def"
"""
    text = subprocess.run(["c++", "-E", "-P", "-x", "c++", "-I", ROOT, "-"], input=source, capture_output=True, text=True, check=True).stdout
    text = " ".join(text.split())
    ops, spellings = re.findall(r"@op (\w+) @end", text), {}
    for kind, op, literals in re.findall(r"@(function|method|module) (\w+) (.*?) @end", text):
        spellings[kind, "".join(re.findall(r'"([^"]*)"', literals))] = op
    return ops, spellings


def snake(name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def type_text(tensor):
    text = "%s[%s]" % (tensor["dtype"], ", ".join(map(str, tensor["shape"])))
    q = tensor.get("q")
    if q is None:
        return text
    if len(q) == 2:
        return text + "{scale=%r, zero_point=%d}" % (float(q[0]), q[1])
    return text + "{axis=%d, scales=%s, zero_points=%s}" % (q[2], [float(s) for s in q[0]], list(q[1]))


TORCH = {"f32": "float32", "f16": "float16", "f64": "float64", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32",
         "i64": "int64"}


class Model:
    """One .qfx text."""

    def __init__(self):
        self.lines, self.inputs, self.nodes, self.checks = [], [], [], []

    def argument(self, value):
        if value is None or isinstance(value, bool):
            return str(value)
        if isinstance(value, int):
            return str(value)
        if isinstance(value, str):
            return '"%s"' % value
        if isinstance(value, list):
            return "[%s]" % ", ".join(self.argument(v) for v in value)
        if "tensor" in value:
            name = "x%d" % len(self.inputs)
            self.inputs.append("%%%s : %s" % (name, type_text(value["tensor"])))
            return "%" + name
        if "float" in value:
            return repr(value["float"])
        if "dtype" in value:
            return "torch." + TORCH.get(value["dtype"], value["dtype"])
        if "memory_format" in value:
            return value["memory_format"]
        if "tuple" in value:
            parts = [self.argument(v) for v in value["tuple"]]
            return "(%s%s)" % (", ".join(parts), "," if len(parts) == 1 else "")
        if "slice" in value:
            return "slice(%s)" % ", ".join(self.argument(v) for v in value["slice"])
        if "ellipsis" in value:
            return "..."
        return self.call("call_function", value["call"], value["args"], value["kwargs"])

    def call(self, opcode, target, args, kwargs, result=None, comment=""):
        parts = [self.argument(a) for a in args] + ["%s=%s" % (k, self.argument(v)) for k, v in kwargs.items()]
        name = "r%d" % len(self.nodes)
        line = "%%%s = %s[%s](%s)" % (name, opcode, target, ", ".join(parts))
        if isinstance(result, dict) and "tensor" in result:
            line += " : " + type_text(result["tensor"])
        self.checks.append(line)
        self.nodes.append("  " + line + comment)
        return "%" + name

    def add(self, case, comment=""):
        kind, target = case["kind"], case["text"]
        if kind == "module":
            path = "m%d" % len(self.nodes)
            attributes = ", ".join("%s=%s" % (k, self.argument(v)) for k, v in case["attributes"].items())
            self.lines.append("module %s : %s(%s)" % (path, target, attributes))
            for child, text in case.get("children", {}).items():
                self.lines.append("module %s.%s : %s" % (path, child, text))
            for name, tensor in case["tensors"].items():
                tensor = tensor.get("tensor", tensor)
                word = "buffer" if any(b in name for b in ("running", "num_batches", "_scale", "_zero_point")) or name in ("scale", "zero_point") else "parameter"
                self.lines.append("%s %s.%s : %s = %d" % (word, path, name, type_text(tensor), name == "scale"))
            target = path
        self.call("call_" + kind, target, case["args"], case["kwargs"], case.get("result"), comment)

    def text(self):
        head = ["qfx 1"] + self.lines + ["graph(%s) {" % ", ".join(self.inputs)]
        return "\n".join(head + self.nodes + ["  return %%r%d" % (len(self.nodes) - 1), "}"]) + "\n"


def escape(line):
    """A CHECK line in which nothing is a pattern."""
    return re.sub(r"\[\[|\]\]", lambda m: "{{" + "".join("\\" + c for c in m.group()) + "}}", line)


def t(dtype, *shape, q=None):
    tensor = {"dtype": dtype, "shape": list(shape)}
    if q:
        tensor["q"] = list(q)
    return {"tensor": tensor}


def module(text, attributes, tensors, args, result, children=None):
    return {"kind": "module", "text": text, "attributes": attributes, "tensors": tensors, "args": args, "kwargs": {}, "result": result,
            "children": children or {}}


def function(text, args, result):
    return {"kind": "function", "text": text, "args": args, "kwargs": {}, "result": result}


def hand_cases():
    """Operators that PyTorch has only as modules with observers, packed objects or qconfigs; shapes follow from the float operator."""
    cases = []
    q, out = [0.1, 3], [0.5, 10]
    names = {"weight_dtype": {"dtype": "qint8"}}
    shapes = {1: (2, 6, 8), 2: (2, 6, 8, 9), 3: (2, 6, 5, 8, 9)}
    for d, shape in shapes.items():
        kernel = [3] * d
        conv = dict(in_channels=6, out_channels=4, kernel_size=3)
        weight, bias = t("f32", 4, 6, *kernel), t("f32", 4)
        transposed = t("f32", 6, 4, *kernel)
        smaller, larger = [s - 2 for s in shape[2:]], [s + 2 for s in shape[2:]]
        x, y, z = t("f32", *shape), t("f32", 2, 4, *smaller), t("f32", 2, 4, *larger)
        qx, qy, qz = t("quint8", *shape, q=q), t("quint8", 2, 4, *smaller, q=out), t("quint8", 2, 4, *larger, q=out)
        ref, n = "torch.ao.nn.quantized.reference.", "%dd" % d
        scales = {"weight_scale": t("f32", 1), "weight_zero_point": t("i64", 1)}
        cases.append(module(ref + "Conv" + n, {**conv, **names}, {"weight": weight, "bias": bias, **scales}, [x], y))
        cases.append(module(ref + "ConvTranspose" + n, {**conv, **names}, {"weight": transposed, "bias": bias, **scales}, [x], z))
        fake = {"weight_fake_quant": "torch.ao.quantization.fake_quantize.FakeQuantize(quant_min=-128, quant_max=127)"}
        for name in ("torch.ao.nn.qat.Conv", "torch.ao.nn.intrinsic.qat.ConvReLU", "torch.ao.nn.intrinsic.qat.ConvBn", "torch.ao.nn.intrinsic.qat.ConvBnReLU"):
            cases.append(module(name + n, conv, {"weight": weight, **({} if "Bn" in name else {"bias": bias})}, [x], y))
        qw, qt = t("qint8", 4, 6, *kernel, q=[0.02, 0]), t("qint8", 6, 4, *kernel, q=[0.02, 0])
        outs = {"scale": {"float": 0.5}, "zero_point": 10}
        cases.append(module("torch.ao.nn.quantized.Conv" + n, {**conv, **outs}, {"weight": qw, "bias": bias}, [qx], qy))
        cases.append(module("torch.ao.nn.intrinsic.quantized.ConvReLU" + n, {**conv, **outs}, {"weight": qw}, [qx], qy))
        cases.append(module("torch.ao.nn.quantized.ConvTranspose" + n, {**conv, **outs}, {"weight": qt, "bias": bias}, [qx], qz))
        cases.append(module("torch.ao.nn.quantized.dynamic.Conv" + n, conv, {"weight": qw, "bias": bias}, [x], y))
        cases.append(module("torch.ao.nn.quantized.dynamic.ConvTranspose" + n, conv, {"weight": qt, "bias": bias}, [x], z))
        one, zero = [1] * d, [0] * d
        pack = {"call": "torch.ops.quantized.conv%s_prepack" % n, "args": [qw, bias, one, zero, one, 1], "kwargs": {}}
        cases.append(function("torch.ops.quantized.conv" + n, [qx, pack, {"float": 0.5}, 10], qy))
        pack_t = {"call": "torch.ops.quantized.conv_transpose%s_prepack" % n, "args": [qt, bias, one, zero, zero, one, 1], "kwargs": {}}
        cases.append(function("torch.ops.quantized.conv_transpose" + n, [qx, pack_t, {"float": 0.5}, 10], qz))
        cases.append(dict(function(pack["call"], pack["args"], None)))
        cases.append(dict(function(pack_t["call"], pack_t["args"], None)))
        if d == 2:
            for name in ("ConvAdd2d", "ConvAddReLU2d"):
                children = {"0": "torch.nn.Conv2d(in_channels=6, out_channels=4, kernel_size=3)"}
                cases.append(module("torch.ao.nn.intrinsic." + name, {}, {"0.weight": weight, "0.bias": bias}, [x, y], y, children))
                cases.append(module("torch.ao.nn.intrinsic.quantized." + name, {**conv, **outs}, {"weight": qw, "bias": bias}, [qx, qy], qy))
            children = {"0": "torch.nn.Conv2d(in_channels=6, out_channels=4, kernel_size=3)", "1": "torch.nn.ReLU()"}
            for name in ("torch.nn.Sequential", "torch.ao.nn.intrinsic.ConvReLU2d"):
                cases.append(module(name, {}, {"0.weight": weight, "0.bias": bias}, [x], y, children))
    linear = dict(in_features=6, out_features=5)
    x, y, qx, qy = t("f32", 4, 6), t("f32", 4, 5), t("quint8", 4, 6, q=q), t("quint8", 4, 5, q=out)
    weight, bias, qw = t("f32", 5, 6), t("f32", 5), t("qint8", 5, 6, q=[0.02, 0])
    outs = {"scale": {"float": 0.5}, "zero_point": 10}
    cases.append(module("torch.ao.nn.quantized.reference.Linear", {**linear, **names}, {"weight": weight, "bias": bias}, [x], y))
    for name in ("torch.ao.nn.qat.Linear", "torch.ao.nn.intrinsic.qat.LinearReLU", "torch.ao.nn.intrinsic.qat.LinearBn1d"):
        cases.append(module(name, linear, {"weight": weight, "bias": bias}, [x], y))
    for name in ("torch.ao.nn.quantized.Linear", "torch.ao.nn.intrinsic.quantized.LinearReLU", "torch.ao.nn.intrinsic.quantized.LinearTanh"):
        cases.append(module(name, {**linear, **outs}, {"weight": qw, "bias": bias}, [qx], qy))
    cases.append(module("torch.ao.nn.intrinsic.quantized.LinearLeakyReLU", {**linear, "negative_slope": {"float": 0.1}, **outs}, {"weight": qw}, [qx], qy))
    for name in ("torch.ao.nn.quantized.dynamic.Linear", "torch.ao.nn.intrinsic.quantized.dynamic.LinearReLU"):
        cases.append(module(name, linear, {"weight": qw, "bias": bias}, [x], y))
    cases.append(function("torch.ops.quantized.linear_prepack", [qw, bias], None))
    cases.append(function("torch.ops.quantized.linear_prepack_fp16", [weight, bias], None))
    pack = {"call": "torch.ops.quantized.linear_prepack", "args": [qw, bias], "kwargs": {}}
    for text in ("", "relu_"):
        cases.append(function("torch.ops.quantized.linear_with_input_q_dq_qweight_dq_%soutput_fp32" % text, [x, {"float": 0.5}, 10, pack], y))
    cases.append(function("torch.ops.quantized.linear_dynamic_fp16_unpacked_weight", [x, weight, bias], y))
    cases.append(function("torch.ops.quantized.linear_unpack", [pack], None))
    pack = {"call": "torch.ops.quantized.conv2d_prepack", "args": [t("qint8", 4, 6, 3, 3, q=[0.02, 0]), None, [2, 1], [1, 0], [1, 1], 1], "kwargs": {}}
    for text in ("conv2d_stride", "conv2d_padding", "conv2d_output_padding", "conv2d_dilation", "conv2d_groups", "conv2d_transpose"):
        cases.append(function("torch.ops.quantized." + text, [pack], None))
    pack = {"call": "torch.ops.quantized.embedding_bag_prepack", "args": [t("quint8", 7, 5, q=[0.1, 0])], "kwargs": {}}
    cases.append(function("torch.ops.quantized.embedding_bag_unpack", [pack], t("quint8", 7, 5, q=[0.1, 0])))
    cases.append(function("torch.ops.quantized.embedding_bag_byte_prepack_with_rowwise_min_max", [t("f32", 5, 4), t("f32", 5, 2)], t("u8", 5, 12)))
    cases.append(function("aten.round.default", [x], x))
    for text in ("builtins.float", "math.sqrt", "math.floor", "math.ceil"):
        cases.append(function(text, [9], None))
    for text in ("q_scale", "q_zero_point"):
        cases.append(function("torch." + text, [t("quint8", 4, 6, q=q)], None))
    for way, end in (("dynamic", [bias, bias, True]), ("fp16", [])):
        packs = [{"call": "torch.ops.quantized.linear_prepack" + ("_fp16" if way == "fp16" else ""), "args": [weight if way == "fp16" else qw, bias],
                  "kwargs": {}} for _ in range(2)]
        cases.append(function("torch.ops.quantized.make_quantized_cell_params_" + way, packs + end, None))
    table, ids = dict(num_embeddings=7, embedding_dim=5), t("i64", 3, 4)
    rows = {"weight": t("f32", 7, 5)}
    qrows = t("quint8", 7, 5, q=[0.1, 0])
    for name in ("torch.ao.nn.qat.", "torch.ao.nn.quantized.reference."):
        cases.append(module(name + "Embedding", table, rows, [ids], t("f32", 3, 4, 5)))
        cases.append(module(name + "EmbeddingBag", table, rows, [ids], t("f32", 3, 5)))
    cases.append(module("torch.ao.nn.quantized.Embedding", table, {"weight": qrows}, [ids], t("f32", 3, 4, 5)))
    cases.append(module("torch.ao.nn.quantized.EmbeddingBag", table, {"weight": qrows}, [ids], t("f32", 3, 5)))
    cases.append(function("torch.ops.quantized.embedding_bag_prepack", [qrows], None))
    layer, cell = dict(input_size=3, hidden_size=4), t("f32", 2, 4)
    for prefix, dtype in (("torch.ao.nn.quantized.reference.", "f32"), ("torch.ao.nn.quantized.dynamic.", "qint8")):
        scale = [0.1, 0] if dtype == "qint8" else None
        for name, gates in (("LSTM", 16), ("GRU", 12), ("RNN", 4)):
            suffix = "_l0"
            tensors = lambda s: {"weight_ih" + s: t(dtype, gates, 3, q=scale), "weight_hh" + s: t(dtype, gates, 4, q=scale),
                                 "bias_ih" + s: t("f32", gates), "bias_hh" + s: t("f32", gates)}
            if name != "RNN":
                cases.append(module(prefix + name, layer, tensors(suffix), [t("f32", 5, 2, 3)], None))
            cases.append(module(prefix + name + "Cell", layer, tensors(""), [t("f32", 2, 3)], None if name == "LSTM" else cell))
    sequence = t("f32", 5, 2, 3)
    for name in ("quantizable", "quantized"):
        cases.append(module("torch.ao.nn.%s.LSTM" % name, layer, {}, [sequence], None))
        cases.append(module("torch.ao.nn.%s.MultiheadAttention" % name, dict(embed_dim=6, num_heads=2), {}, [t("f32", 5, 2, 6)] * 3, None))
    cases.append(module("torch.ao.nn.quantizable.LSTMCell", dict(input_dim=3, hidden_dim=4), {}, [t("f32", 2, 3)], None))
    cases.append(module("qfx.nn.WeightOnlyLinear", dict(linear, bits=4, group_size=4), {"weight": t("u8", 5, 3), "bias": bias, "weight_scale": t("f32", 5, 2)}, [x], y))
    cases.append(function("aten._weight_int8pack_mm.default", [x, t("i8", 5, 6), t("f32", 5)], y))
    weights = [t("f32", 16, 3), t("f32", 16, 4), t("f32", 16), t("f32", 16)]
    states = [t("f32", 1, 2, 4), t("f32", 1, 2, 4)]
    flags = [True, 1, {"float": 0.0}, False, False, False]
    cases.append(function("aten.lstm.input", [sequence, states, weights] + flags, None))
    shrink = lambda gates: [t("f32", gates, 3), t("f32", gates, 4), t("f32", gates), t("f32", gates)]
    for text, gates in (("aten.gru.input", 12), ("aten.rnn_tanh.input", 4), ("aten.rnn_relu.input", 4)):
        cases.append(function(text, [sequence, states[0], shrink(gates)] + flags, None))
    cases.append(function("aten.lstm_cell.default", [t("f32", 2, 3), [cell, cell]] + shrink(16), None))
    for text, gates in (("aten.gru_cell.default", 12), ("aten.rnn_tanh_cell.default", 4), ("aten.rnn_relu_cell.default", 4)):
        cases.append(function(text, [t("f32", 2, 3), cell] + shrink(gates), cell))
    for text, gates in (("lstm", 16), ("gru", 12), ("rnn_tanh", 4), ("rnn_relu", 4)):
        packs = [{"call": "torch.ops.quantized.linear_prepack", "args": [t("qint8", gates, width, q=[0.1, 0]), t("f32", gates)], "kwargs": {}}
                 for width in (3, 4)]
        state = [cell, cell] if text == "lstm" else cell
        cases.append(function("torch.ops.quantized.quantized_%s_cell_dynamic" % text, [t("f32", 2, 3), state] + packs + [t("f32", gates)] * 2,
                              None if text == "lstm" else cell))
    complex_value = {"call": "torch.complex", "args": [t("f32", 2, 5), t("f32", 2, 5)], "kwargs": {}}
    for name, result in (("view_as_real", t("f32", 2, 5, 2)), ("real", t("f32", 2, 5)), ("imag", t("f32", 2, 5)), ("angle", t("f32", 2, 5)), ("conj", None)):
        cases.append(function("torch." + name, [complex_value], result))
    cases.append(function("torch.fft.irfft", [t("f32", 2, 5)], t("f32", 2, 8)))
    cases.append(function("torch.polar", [t("f32", 2, 5), t("f32", 2, 5)], None))
    cases.append(function("torch.view_as_complex", [t("f32", 5, 2)], None))
    spectrum = {"call": "torch.stft", "args": [t("f32", 2, 64), 16], "kwargs": {"return_complex": True}}
    cases.append(function("torch.istft", [spectrum, 16], t("f32", 2, 64)))
    packed = {"call": "torch.nn.utils.rnn.pack_padded_sequence", "args": [t("f32", 5, 2, 3), t("i64", 2)], "kwargs": {"enforce_sorted": False}}
    cases.append(function(packed["call"], packed["args"], None))
    cases.append(function("torch.nn.utils.rnn.pad_packed_sequence", [packed], None))
    cases.append(module("torch.ao.nn.quantized.Quantize", {}, {"scale": t("f32", 1), "zero_point": t("i64", 1)}, [x], t("quint8", 4, 6)))
    cases.append(module("torch.ao.nn.quantized.DeQuantize", {}, {}, [qx], x))
    cases.append(function("torch.quantize_per_channel", [x, t("f32", 6), t("i64", 6), 1, {"dtype": "qint8"}], t("qint8", 4, 6)))
    cases.append(function("torch.quantize_per_tensor_dynamic", [x, {"dtype": "quint8"}, False], t("quint8", 4, 6)))
    cases.append(module("torch.ao.quantization.stubs.QuantStub", {}, {}, [x], x))
    cases.append(module("torch.ao.quantization.observer.PlaceholderObserver", {}, {}, [x], x))
    floats = t("f32", 2, 6)
    for text in ("torch.hardshrink", "torch.nn.functional.tanhshrink", "torch._C._nn.softshrink", "torch._C._nn.log_sigmoid", "torch.celu", "torch.selu",
                 "torch.expm1", "torch.log", "torch.log1p", "torch.rsqrt", "torch.erf", "torch.reciprocal", "torch.sign", "torch.square", "torch.ceil",
                 "torch.round", "torch.trunc", "torch.detach", "torch.clone"):
        cases.append(function(text, [floats], floats))
    cases.append(function("torch.nn.functional.threshold", [floats, {"float": 0.5}, {"float": 1.0}], floats))
    for text in ("torch.rsub", "torch.remainder", "torch.minimum", "torch.sub", "torch.floor_divide"):
        cases.append(function(text, [floats, t("f32", 6)], floats))
    for text in ("torch.eq", "torch.ne", "torch.lt", "torch.le", "torch.gt", "torch.ge"):
        cases.append(function(text, [floats, 1], t("bool", 2, 6)))
    for text in ("torch.amin", "torch.amax"):
        cases.append(function(text, [floats, 1], t("f32", 2)))
    cases.append(function("torch.broadcast_to", [t("f32", 1, 6), [3, 6]], t("f32", 3, 6)))
    cases.append({"kind": "method", "text": "resize_", "args": [floats, 3, 4], "kwargs": {}, "result": t("f32", 3, 4)})
    cases.append({"kind": "method", "text": "shape", "args": [floats], "kwargs": {}})
    for d in (1, 2):
        cases.append(function("torch.nn.functional.adaptive_max_pool%dd" % d, [t("f32", *shapes[d]), 2], t("f32", 2, 6, *[2] * d)))
    for name in ("torch.ops.quantized.cat_relu",):
        cases.append(function(name, [[qx, qx], 1, {"float": 0.5}, 10], t("quint8", 4, 12, q=out)))
    cases.append(function("aten.slice.Tensor", [floats, 1, 1, 5, 2], t("f32", 2, 2)))
    image = t("quint8", 2, 6, 8, 9, q=q)
    norm = [t("f32", 6)] * 4 + [{"float": 1e-5}, {"float": 0.5}, 10]
    for text in ("torch.ops.quantized.batch_norm2d_relu", "torch.ops.quantized.batch_norm_relu"):
        cases.append(function(text, [image] + norm, t("quint8", 2, 6, 8, 9, q=out)))
    for name in ("torch.ops.quantized.instance_norm",):
        cases.append(function(name, [t("quint8", 2, 6, 8, q=q), t("f32", 6), t("f32", 6), {"float": 1e-5}, {"float": 0.5}, 10], t("quint8", 2, 6, 8, q=out)))
    half, blocks, bytes_, domain = t("f16", 4, 6), {"tuple": [1, 3]}, {"dtype": "u8"}, [None, None, "INT"]
    parameters = [t("f16", 4, 2), t("f16", 4, 2)]
    cases.append(function("torch.ops.pt2e_quant.choose_qparams_affine", [half, "ASYMMETRIC", blocks, bytes_], None))
    cases.append(function("torch.ops.pt2e_quant.quantize_affine", [half, blocks] + parameters + [bytes_] + domain, t("u8", 4, 6)))
    dequantize = function("torch.ops.pt2e_quant.dequantize_affine", [t("u8", 4, 6), blocks] + parameters + [bytes_] + domain, t("f16", 4, 6))
    cases.append(dict(dequantize, kwargs={"output_dtype": {"dtype": "f16"}}))
    cases.append(function("torch._assert", [True, "a message"], None))
    for text in ("item", "tolist"):
        cases.append({"kind": "method", "text": text, "args": [t("f32", 1)], "kwargs": {}, "result": None})
    cases.append(function("aten.item.default", [t("f32", 1)], None))
    for prefix, end in (("torch.", ""), ("aten.", ".default")):
        cases.append(function(prefix + "_choose_qparams_per_tensor" + end, [floats], None))
        scales = [t("f32", 6), t("i64", 6)]
        cases.append(function(prefix + "_make_per_channel_quantized_tensor" + end, [t("i8", 2, 6)] + scales + [1], t("qint8", 2, 6)))
        cases.append(dict(function(prefix + "_empty_per_channel_affine_quantized" + end, [[2, 6]], t("qint8", 2, 6)),
                          kwargs={"scales": scales[0], "zero_points": scales[1], "axis": 1, "dtype": {"dtype": "qint8"}}))
    cases.append(function("operator.setitem", [floats, {"tuple": [{"slice": [None, None, None]}, 1]}, t("f32", 2)], floats))
    return cases


def is_plain(case):
    """Cases whose text says all: no huge numbers."""
    return "9223372036854775807" not in json.dumps(case)


def main():
    cases = []
    for name in ("shapes.json", "float_ops/shapes.json", "float_layers/shapes.json"):
        with open(os.path.join(HERE, name)) as file:
            cases += json.load(file)["cases"]
        cases += hand_cases() if name == "shapes.json" else []
    ops, spellings = read_rows()
    good, bad = {}, {}
    for case in cases:
        op = spellings[case["kind"], case["text"]]
        bucket = bad if "raises" in case else good
        if is_plain(case):
            bucket.setdefault(op, []).append(case)
    os.makedirs(FOLDER, exist_ok=True)
    for name in os.listdir(FOLDER):
        with open(os.path.join(FOLDER, name)) as file:
            generated = "Written by test/golden/make_op_tests.py" in file.readline()
        if generated:
            os.remove(os.path.join(FOLDER, name))
    missing = []
    for op in ops:
        valid, spelled = Model(), set()
        for case in good.get(op, []):  # one call for each spelling
            if (case["kind"], case["text"]) not in spelled and len(spelled) < 8:
                spelled.add((case["kind"], case["text"]))
                valid.add(case)
        if not spelled and op != "PackedWeights":
            missing.append(op)
            continue
        invalid = Model()
        refused = bad.get(op, [])
        if op == "PackedWeights":
            valid.lines += ["module p : torch.classes.quantized.LinearPackedParamsBase()",
                            "parameter p.weight : qint8[5, 6]{scale=0.5, zero_point=0} = 0"]
            valid.call("get_attr", "p", [], {})
            invalid.lines += valid.lines
            invalid.call("call_module", "p", [], {}, comment=" // expected-error {{[packed_weights_call]}}")
        elif refused:
            invalid.add(refused[0], " // expected-error {{ [%s_}}" % snake(op))
        else:
            invalid.add(dict(good[op][0], args=[], kwargs={}, result=None), " // expected-error {{ [node_arity]}}")
        path = os.path.join(FOLDER, snake(op) + ".qfx")
        with open(path, "w") as file:
            file.write("// %s: spellings, types as PyTorch gives them, and a call that is refused.  Written by test/golden/make_op_tests.py.\n" % op)
            file.write("// RUN: split-file %s %t\n// RUN: qfx-opt %t/valid.qfx --print-weights > %t/printed.qfx\n")
            file.write("// RUN: FileCheck %s < %t/printed.qfx\n// RUN: qfx-opt %t/printed.qfx --print-weights | diff %t/printed.qfx -\n")
            file.write("// RUN: qfx-opt %t/invalid.qfx --verify-diagnostics\n\n")
            for check in valid.checks:
                file.write("// CHECK: %s\n" % escape(check))
            file.write("\n//--- valid.qfx\n%s\n//--- invalid.qfx\n%s" % (valid.text(), invalid.text()))
    print(len(ops), "operators; without a case:", " ".join(missing) or "none")


main()
