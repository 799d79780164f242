"""Writes test/golden/runtime: small models as .qfx text, their inputs and PyTorch's outputs (test/unit/backends/runtime).

Run with the venv that has torch:  python test/golden/make_runtime.py
Float cases are modules written by tools/export; code cases are calls of quantized operators written here line by line and
evaluated by torch with the x86 engine.  Everything is seeded.
"""
import os
import shutil
import sys

import torch
from safetensors.torch import save_file
from torch import nn
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "runtime")
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "export"))
import qfx_export  # noqa: E402

torch.backends.quantized.engine = "x86"
tensors = {}


def randomize(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.state_dict().items():
        if value.dtype != torch.float32:
            continue
        noise = torch.randn(value.shape, generator=generator) * 0.5
        value.copy_(noise.abs() + 0.5 if name.endswith("running_var") else noise)
    return model.eval()


def record(name, inputs, outputs):
    for key, value in inputs.items():
        tensors["%s/in/%s" % (name, key)] = value.contiguous().clone()
    for key, value in outputs.items():
        if value.is_quantized:
            tensors["%s/scale/%s" % (name, key)] = torch.tensor(value.q_scale(), dtype=torch.float64)
            tensors["%s/zero_point/%s" % (name, key)] = torch.tensor(value.q_zero_point())
            value = value.int_repr()
        tensors["%s/out/%s" % (name, key)] = value.contiguous().clone()


def float_case(name, model, *shapes, seed=1):
    generator = torch.Generator().manual_seed(seed)
    inputs = [torch.randn(shape, generator=generator) for shape in shapes]
    randomize(model, seed + 100)
    with torch.no_grad():
        result = model(*inputs)
    exported = qfx_export.export(model, tuple(inputs), os.path.join(OUT, name + ".qfx"))
    names = [node.target for node in exported.graph_module.graph.nodes if node.op == "placeholder"]
    outputs = {"out": result} if isinstance(result, torch.Tensor) else \
        result if isinstance(result, dict) else {str(i): value for i, value in enumerate(result)}
    record(name, dict(zip(names, inputs)), outputs)


def one(module):
    class One(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = module

        def forward(self, x):
            return self.m(x)
    return One()


def fn(function):
    """A module of one input around a function that fx can trace."""
    class Fn(nn.Module):
        def forward(self, x):
            return function(x)
    return Fn()


def fn2(function):
    class Fn2(nn.Module):
        def forward(self, x, y):
            return function(x, y)
    return Fn2()


def float_cases():
    convs = {
        "conv2d_plain": (nn.Conv2d(5, 7, 3), (2, 5, 9, 8)),
        "conv2d_stride": (nn.Conv2d(3, 33, (3, 5), stride=(2, 1), padding=(1, 2), bias=False), (1, 3, 11, 9)),
        "conv2d_groups": (nn.Conv2d(6, 9, 3, groups=3, padding=1, dilation=2), (2, 6, 8, 8)),
        "conv2d_depthwise": (nn.Conv2d(8, 8, 3, groups=8, padding=1), (1, 8, 7, 7)),
        "conv2d_multiplier": (nn.Conv2d(4, 8, 5, groups=4, stride=2, padding=2), (1, 4, 9, 9)),
        "conv2d_pointwise": (nn.Conv2d(16, 24, 1), (2, 16, 5, 5)),
        "conv2d_same": (nn.Conv2d(2, 3, (2, 4), padding="same"), (1, 2, 6, 7)),
        "conv2d_valid": (nn.Conv2d(2, 3, 2, padding="valid"), (1, 2, 4, 4)),
        "conv2d_reflect": (nn.Conv2d(2, 3, 3, padding=(2, 1), padding_mode="reflect"), (1, 2, 5, 6)),
        "conv2d_circular": (nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), (2, 2, 4, 5)),
        "conv2d_replicate": (nn.Conv2d(2, 3, 3, padding=2, padding_mode="replicate"), (1, 2, 4, 5)),
        "conv1d": (nn.Conv1d(4, 6, 3, stride=2, padding=1), (2, 4, 11)),
        "conv3d": (nn.Conv3d(3, 4, (2, 3, 1), padding=(1, 1, 0)), (1, 3, 4, 5, 6)),
    }
    for name, (module, shape) in convs.items():
        float_case(name, one(module), shape)
    float_case("linear", one(nn.Linear(37, 19)), (3, 37))
    float_case("linear_nd", one(nn.Linear(8, 5, bias=False)), (2, 3, 4, 8))
    float_case("conv_relu6", one(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU6())), (1, 3, 6, 6))
    float_case("conv_bn_relu", one(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())), (2, 3, 6, 6))
    float_case("batch_norm_2", one(nn.BatchNorm1d(6)), (4, 6))
    float_case("batch_norm_3", one(nn.BatchNorm1d(6)), (2, 6, 5))
    float_case("batch_norm_5", one(nn.BatchNorm3d(3)), (1, 3, 2, 3, 4))
    pools = {
        "max_pool": (nn.MaxPool2d(3, 2, 1), (2, 5, 9, 8)),
        "max_pool_ceil": (nn.MaxPool2d(2, 2, ceil_mode=True), (1, 3, 5, 7)),
        "max_pool_dilation": (nn.MaxPool2d((2, 3), (1, 2), (1, 1), dilation=2), (1, 3, 9, 9)),
        "max_pool1d": (nn.MaxPool1d(3, 2), (2, 3, 10)),
        "avg_pool": (nn.AvgPool2d(3, 2, 1), (2, 5, 9, 8)),
        "avg_pool_exclude": (nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), (1, 3, 6, 6)),
        "avg_pool_divisor": (nn.AvgPool2d(2, divisor_override=3), (1, 3, 6, 6)),
        "adaptive": (nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 7, 5)),
        "adaptive_global": (nn.AdaptiveAvgPool2d(1), (2, 9, 7, 7)),
    }
    for name, (module, shape) in pools.items():
        float_case(name, one(module), shape)
    acts = {
        "relu": nn.ReLU(), "hardtanh": nn.Hardtanh(-0.5, 0.75), "hardswish": nn.Hardswish(),
        "hardsigmoid": nn.Hardsigmoid(), "sigmoid": nn.Sigmoid(), "silu": nn.SiLU(), "tanh": nn.Tanh(),
        "elu": nn.ELU(0.7), "gelu": nn.GELU(), "gelu_tanh": nn.GELU("tanh"), "leaky": nn.LeakyReLU(0.2),
        "softplus": nn.Softplus(2.0, 1.0), "mish": nn.Mish(), "selu": nn.SELU(), "celu": nn.CELU(1.3),
        "threshold": nn.Threshold(0.3, -0.5), "softsign": nn.Softsign(), "tanhshrink": nn.Tanhshrink(),
        "hardshrink": nn.Hardshrink(0.4), "softshrink": nn.Softshrink(0.3), "logsigmoid": nn.LogSigmoid(),
    }
    for name, module in acts.items():
        float_case("act_" + name, one(module), (3, 5, 4, 3))
    functions = {
        "expm1": (lambda x: torch.expm1(x), (3, 7)),
        "exp": (lambda x: torch.exp(x), (3, 7)),
        "log": (lambda x: torch.log(torch.square(x) + 0.1), (3, 7)),
        "log1p": (lambda x: torch.log1p(torch.abs(x)), (3, 7)),
        "sqrt": (lambda x: torch.sqrt(torch.square(x)), (3, 7)),
        "rsqrt": (lambda x: torch.rsqrt(torch.abs(x) + 1.0), (3, 7)),
        "erf": (lambda x: torch.erf(x), (3, 7)),
        "reciprocal": (lambda x: torch.reciprocal(torch.exp(x)), (3, 7)),
        "sign": (lambda x: torch.sign(x), (3, 7)),
        "floor": (lambda x: torch.floor(x * 3.0), (3, 7)),
        "ceil": (lambda x: torch.ceil(x * 3.0), (3, 7)),
        "round": (lambda x: torch.round(x * 3.0), (3, 7)),
        "trunc": (lambda x: torch.trunc(x * 3.0), (3, 7)),
        "neg": (lambda x: -x, (3, 7)),
        "clamp": (lambda x: torch.clamp(x, -0.5, 0.7), (3, 7)),
        "clamp_min": (lambda x: torch.clamp(x, min=0.2), (3, 7)),
        "torch_rsub": (lambda x: torch.rsub(x, 2.0), (3, 7)),
        "log_softmax": (lambda x: F.log_softmax(x, dim=1), (2, 5, 3)),
        "clone": (lambda x: x.clone() + 1.0, (2, 3)),
        "detach": (lambda x: x.detach() + 1.0, (2, 3)),
        "unflatten": (lambda x: x.unflatten(1, (2, 3)), (2, 6, 2)),
        "expand": (lambda x: x.expand(-1, 4, 3) * 2.0, (2, 1, 3)),
        "unbind": (lambda x: x.unbind(1)[2] + 1.0, (2, 3, 4)),
        "select": (lambda x: x.select(1, -1), (2, 3, 4)),
        "to_float": (lambda x: x.to(torch.float32) + 1.0, (2, 3)),
        "channel_shuffle": (lambda x: F.channel_shuffle(x, 3), (2, 6, 3, 2)),
        "add_scalar": (lambda x: x + 1.5, (2, 3)),
        "rsub": (lambda x: 1.0 - x, (2, 3)),
        "mean_hw": (lambda x: x.mean([2, 3]), (2, 5, 4, 3)),
        "mean_keep": (lambda x: torch.mean(x, dim=(1, 2), keepdim=True), (2, 3, 4, 5)),
        "mean_middle": (lambda x: torch.mean(x, 1), (2, 3, 4)),
        "mean_all": (lambda x: torch.mean(x), (2, 3, 4)),
        "sum_last": (lambda x: torch.sum(x, -1), (2, 3, 4, 5)),
        "flatten": (lambda x: torch.flatten(x, 1), (2, 3, 4, 5)),
        "reshape": (lambda x: x.reshape(x.size(0), -1, 2), (2, 4, 3, 5)),
        "shuffle": (lambda x: x.view(x.size(0), 2, 3, x.size(2), x.size(3)).transpose(1, 2).contiguous()
                    .view(x.size(0), 6, x.size(2), x.size(3)), (2, 6, 4, 5)),
        "chunk": (lambda x: torch.cat([F.relu(x.chunk(2, dim=1)[1]), x.chunk(2, dim=1)[0]], dim=1), (2, 6, 3, 3)),
        "split": (lambda x: x.split([1, 3, 2], dim=1)[1] + 1.0, (2, 6, 3)),
        "permute": (lambda x: x.permute(0, 2, 3, 1).contiguous(), (2, 3, 4, 5)),
        "squeeze": (lambda x: x.unsqueeze(1).squeeze(1).unsqueeze(-1), (2, 3)),
        "getitem": (lambda x: x[:, 1:3, ..., -1] * 2.0, (2, 4, 3, 5)),
        "getitem_none": (lambda x: x[0, :, None, ::2], (2, 4, 3)),
        "narrow": (lambda x: x.narrow(1, 1, 2), (2, 4, 3)),
        "softmax": (lambda x: F.softmax(x, dim=1), (2, 5, 3)),
        "softmax_last": (lambda x: torch.softmax(x, -1), (2, 3, 5)),
        "stack": (lambda x: torch.stack([x, x * 2.0], 1), (2, 3)),
        "size_math": (lambda x: x.view(x.size(0) * 2, x.shape[1] // 2), (3, 8)),
        "tuple_out": (lambda x: (x + 1.0, x * 2.0), (2, 3)),
        "dict_out": (lambda x: {"a": x + 1.0, "b": x}, (2, 3)),
        "dropout": (lambda x: F.dropout(x, 0.5, training=False), (2, 3)),
    }
    for name, (function, shape) in functions.items():
        float_case("fn_" + name, fn(function), shape)
    binary = {
        "add": (lambda x, y: x + y, (2, 3, 4, 5), (2, 3, 4, 5)),
        "add_broadcast": (lambda x, y: torch.add(x, y, alpha=0.5), (2, 3, 4, 5), (3, 1, 1)),
        "mul_channel": (lambda x, y: x * y, (2, 3, 4, 5), (2, 3, 1, 1)),
        "mul_outer": (lambda x, y: x * y, (4, 1), (1, 5)),
        "div": (lambda x, y: x / (y * y + 1.0), (2, 3), (2, 3)),
        "add_relu": (lambda x, y: F.relu(x + y), (2, 3, 4, 5), (2, 3, 4, 5)),
        "sub": (lambda x, y: x - y, (3,), (2, 3)),
        "matmul": (lambda x, y: torch.matmul(x, y), (2, 3, 4), (4, 5)),
        "matmul_batch": (lambda x, y: torch.matmul(x, y), (2, 1, 3, 4), (5, 4, 2)),
        "maximum": (lambda x, y: torch.maximum(x, y), (2, 3), (2, 3)),
        "minimum": (lambda x, y: torch.minimum(x, y), (2, 3), (3,)),
        "bmm": (lambda x, y: torch.bmm(x, y), (2, 3, 4), (2, 4, 5)),
        "mm": (lambda x, y: torch.mm(x, y), (3, 4), (4, 5)),
        "matmul_t": (lambda x, y: torch.matmul(x, y.transpose(0, 1)), (3, 4), (6, 4)),
    }
    for name, (function, a, b) in binary.items():
        float_case("fn_" + name, fn2(function), a, b)


def quantized_input(shape, seed, spread=4.0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * spread


def number(value):
    return repr(float(value))


def code_case(name, inputs, qparams, body, function, channels_last=False):
    """inputs: float tensors quantized in the graph with `qparams` [(scale, zero_point, dtype)]; body: lines with %q0, %q1."""
    types, lines, quantized = [], [], []
    for i, (x, (scale, zero_point, dtype)) in enumerate(zip(inputs, qparams)):
        dims = ", ".join(["N"] + [str(size) for size in x.shape[1:]])
        types.append("%%x%d : f32[%s]" % (i, dims))
        lines.append("  %%q%d = call_function[torch.quantize_per_tensor](%%x%d, %s, %d, torch.%s)"
                     % (i, i, number(scale), zero_point, dtype))
        q = torch.quantize_per_tensor(x, scale, zero_point, getattr(torch, dtype))
        if channels_last:
            q = q.contiguous(memory_format=torch.channels_last)
        quantized.append(q)
    text = "qfx 1\n\ngraph(%s) {\n%s\n%s\n}\n" % (", ".join(types), "\n".join(lines), body.strip("\n"))
    with open(os.path.join(OUT, name + ".qfx"), "w") as file:
        file.write(text)
    record(name, {"x%d" % i: x for i, x in enumerate(inputs)}, {"out": function(*quantized)})


def code_cases():
    q = torch.ops.quantized
    u = (0.05, 100, "quint8")
    v = (0.08, 30, "quint8")
    s = (0.06, -5, "qint8")
    shape = (2, 5, 6, 7)
    for letter, params in (("u", u), ("s", s)):
        x = [quantized_input(shape, 1)]
        def unary(name, target, function, extra="", params=params, letter=letter, x=x):
            code_case("code_%s_%s" % (name, letter), x, [params],
                      "  %%y = %s(%%q0%s)\n  return %%y" % (target, extra), function)
        unary("relu", "call_function[torch.relu]", torch.relu)
        unary("relu6", "call_function[torch.nn.functional.relu6]", F.relu6)
        unary("hardtanh", "call_function[torch.nn.functional.hardtanh]", lambda t: F.hardtanh(t, -1.5, 2.0), ", -1.5, 2.0")
        unary("sigmoid", "call_function[torch.sigmoid]", torch.sigmoid)
        unary("tanh", "call_function[torch.tanh]", torch.tanh)
        unary("hardsigmoid", "call_function[torch.nn.functional.hardsigmoid]", F.hardsigmoid)
        unary("leaky_relu", "call_function[torch.nn.functional.leaky_relu]", lambda t: F.leaky_relu(t, 0.1), ", 0.1")
        unary("hardswish", "call_function[torch.ops.quantized.hardswish]", lambda t: q.hardswish(t, 0.04, 7), ", 0.04, 7")
        unary("elu", "call_function[torch.ops.quantized.elu]", lambda t: q.elu(t, 0.05, 40, 1.0), ", 0.05, 40, 1.0")
        unary("max_pool", "call_function[torch.nn.functional.max_pool2d]",
              lambda t: F.max_pool2d(t, 3, 2, 1), ", 3, 2, 1")
        unary("mean_hw", "call_method[mean]", lambda t: t.mean([2, 3]), ", [2, 3]")
        unary("mean_c", "call_method[mean]", lambda t: t.mean(1), ", 1")
        unary("flatten", "call_function[torch.flatten]", lambda t: torch.flatten(t, 1), ", 1")
        unary("add_scalar", "call_function[torch.ops.quantized.add]", lambda t: q.add(t, 1.3), ", 1.3")
        unary("mul_scalar", "call_function[torch.ops.quantized.mul]", lambda t: q.mul(t, -0.7), ", -0.7")
        unary("dequantize", "call_method[dequantize]", lambda t: t.dequantize())
        unary("quantized_relu6", "call_function[torch.ops.quantized.relu6]", lambda t: q.relu6(t))
        unary("quantized_clamp", "call_function[torch.ops.quantized.clamp]", lambda t: q.clamp(t, -1.1, 2.2), ", -1.1, 2.2")
        unary("clamp", "call_function[torch.clamp]", lambda t: torch.clamp(t, -1.1, 2.2), ", -1.1, 2.2")
        unary("quantized_threshold", "call_function[torch.ops.quantized.threshold]",
              lambda t: q.threshold(t, 1.0, -0.5), ", 1.0, -0.5")
        unary("threshold", "call_function[torch.nn.functional.threshold]",
              lambda t: F.threshold(t, 1.0, -0.5), ", 1.0, -0.5")
        unary("quantized_celu", "call_function[torch.ops.quantized.celu]", lambda t: q.celu(t, 0.051, 40, 1.5), ", 0.051, 40, 1.5")
        unary("quantized_sigmoid", "call_function[torch.ops.quantized.sigmoid]",
              lambda t: q.sigmoid(t, 0.0041, 3), ", 0.0041, 3")
        unary("quantized_leaky_relu", "call_function[torch.ops.quantized.leaky_relu]",
              lambda t: q.leaky_relu(t, 0.2, False, 0.061, 20), ", 0.2, False, 0.061, 20")
        unary("quantized_softmax", "call_function[torch.ops.quantized.softmax]",
              lambda t: q.softmax(t, 1, 0.00390625, 0), ", 1, 0.00390625, 0")
        unary("quantized_dropout", "call_function[torch.ops.quantized.dropout]",
              lambda t: q.dropout(t, 1.0, 0, 0.5, False), ", 1.0, 0, 0.5, False")
        unary("gelu", "call_function[torch._C._nn.gelu]", lambda t: F.gelu(t))
        unary("int_repr", "call_method[int_repr]", lambda t: t.int_repr())
        unary("clone", "call_method[clone]", lambda t: t.clone())
        unary("detach", "call_method[detach]", lambda t: t.detach())
        unary("contiguous", "call_method[contiguous]", lambda t: t.contiguous())
        unary("unflatten", "call_method[unflatten]", lambda t: t.reshape(2, 5, 2, 3, 7), ", 2, (2, 3)")
        unary("reshape", "call_method[reshape]", lambda t: t.reshape(2, 5, 42), ", -1, 5, 42")
        unary("unsqueeze", "call_method[unsqueeze]", lambda t: t.unsqueeze(1), ", 1")
        unary("squeeze", "call_method[squeeze]", lambda t: t.squeeze(), "")
        unary("expand", "call_method[expand]", lambda t: t.expand(2, 5, 6, 7), ", -1, 5, 6, 7")
        unary("select", "call_method[select]", lambda t: t.select(1, -1), ", 1, -1")
        unary("narrow", "call_method[narrow]", lambda t: t.narrow(1, 1, 3), ", 1, 1, 3")
        unary("transpose", "call_method[transpose]", lambda t: t.transpose(1, 3), ", 1, 3")
        unary("permute", "call_method[permute]", lambda t: t.permute(0, 2, 3, 1), ", 0, 2, 3, 1")
        unary("getitem", "call_function[operator.getitem]", lambda t: t[:, 1:4, -1],
              ", (slice(None, None, None), slice(1, 4, None), -1)")
        unary("slice", "call_function[aten.slice.Tensor]", lambda t: t[:, 1:4:2], ", 1, 1, 4, 2")
        unary("channel_shuffle", "call_function[torch.channel_shuffle]", lambda t: t, ", 5")
        unary("identity", "call_function[torch.nn.functional.dropout]", lambda t: t, ", 0.5, False")
        for op in ("chunk", "split", "unbind"):
            call = {"chunk": ", 3, 1", "split": ", [1, 2, 2], 1", "unbind": ", 1"}[op]
            parts = {"chunk": lambda t: t.chunk(3, 1), "split": lambda t: t.split([1, 2, 2], 1), "unbind": lambda t: t.unbind(1)}[op]
            code_case("code_%s_%s" % (op, letter), x, [params],
                      "  %%p = call_method[%s](%%q0%s)\n  %%y = call_function[operator.getitem](%%p, 1)\n  return %%y" % (op, call),
                      lambda t, parts=parts: parts(t)[1])
        pair = [quantized_input(shape, 1), quantized_input(shape, 2)]
        other = (v if letter == "u" else (0.09, 11, "qint8"))
        for op in ("add", "add_relu", "mul", "mul_relu"):
            code_case("code_%s_%s" % (op, letter), pair, [params, other],
                      "  %%y = call_function[torch.ops.quantized.%s](%%q0, %%q1, 0.11, 60)\n  return %%y" % op,
                      lambda a, b, op=op: getattr(q, op)(a, b, 0.11, 60))
        code_case("code_cat_%s" % letter, pair, [params, other],
                  "  %y = call_function[torch.ops.quantized.cat]([%q0, %q1], 1, 0.107, 50)\n  return %y",
                  lambda a, b: q.cat([a, b], 1, 0.107, 50))
        code_case("code_cat_relu_%s" % letter, pair, [params, other],
                  "  %y = call_function[torch.ops.quantized.cat_relu]([%q0, %q1], 2, 0.107, 50)\n  return %y",
                  lambda a, b: q.cat_relu([a, b], 2, 0.107, 50))
        code_case("code_torch_cat_%s" % letter, pair, [params, params],
                  "  %y = call_function[torch.cat]([%q0, %q1], -1)\n  return %y", lambda a, b: torch.cat([a, b], -1))
    code_case("code_mul_broadcast", [quantized_input((2, 5, 6, 7), 1), quantized_input((2, 5, 1, 1), 2)], [u, v],
              "  %y = call_function[torch.ops.quantized.mul](%q0, %q1, 0.2, 90)\n  return %y",
              lambda a, b: q.mul(a, b, 0.2, 90))
    for zero_point in (3, 100):
        params = (0.05, zero_point, "quint8")
        x = [quantized_input((2, 8, 6, 8), 3, 2.0)]
        code_case("code_avg_pool_%d" % zero_point, x, [params],
                  "  %y = call_function[torch.nn.functional.avg_pool2d](%q0, 2)\n  return %y", lambda t: F.avg_pool2d(t, 2))
        code_case("code_avg_pool_pad_%d" % zero_point, x, [params],
                  "  %y = call_function[torch.nn.functional.avg_pool2d](%q0, 3, 2, 1, True, False)\n  return %y",
                  lambda t: F.avg_pool2d(t, 3, 2, 1, True, False))
        code_case("code_adaptive_%d" % zero_point, x, [params],
                  "  %y = call_function[torch.nn.functional.adaptive_avg_pool2d](%q0, (3, 4))\n  return %y",
                  lambda t: F.adaptive_avg_pool2d(t, (3, 4)))
        code_case("code_adaptive_global_%d" % zero_point, x, [params],
                  "  %y = call_function[torch.nn.functional.adaptive_avg_pool2d](%q0, 1)\n  return %y",
                  lambda t: F.adaptive_avg_pool2d(t, 1))


def packed_case(name, x, weight_shape, relu, per_channel, scale, zero_point, stride=1, padding=0, dilation=1, groups=1,
                then=None):
    """quantize, conv or linear with packed weights, optionally a function of `torch.nn.functional` with its arguments
    behind it (on a channels-last tensor)."""
    x = x.clamp(max=0.04 * 67)  # codes up to 127: above, PyTorch saturates on processors without VNNI (operators 3.5)
    generator = torch.Generator().manual_seed(len(name))
    weight = torch.randn(weight_shape, generator=generator) * 0.3
    bias = torch.randn(weight_shape[0], generator=generator)
    if per_channel:
        scales = weight.abs().amax(dim=list(range(1, weight.dim()))) / 127 + 1e-4
        quantized = torch.quantize_per_channel(weight, scales.double(), torch.zeros(len(scales), dtype=torch.int64), 0, torch.qint8)
    else:
        quantized = torch.quantize_per_tensor(weight, 0.011, 0, torch.qint8)
    spatial = len(weight_shape) - 2
    wide = lambda n: [n] * spatial if isinstance(n, int) else list(n)
    q = torch.ops.quantized
    if spatial == 0:
        packed, op = q.linear_prepack(quantized, bias), "linear"
        module = "torch.classes.quantized.LinearPackedParamsBase()"
    else:
        packed = getattr(q, "conv%dd_prepack" % spatial)(quantized, bias, wide(stride), wide(padding), wide(dilation), groups)
        op = "conv%dd" % spatial
        module = ("torch.classes.quantized.Conv%dPackedParamsBase(stride=%s, padding=%s, output_padding=%s, dilation=%s, groups=%d)"
                  % (spatial, *(str(tuple(wide(v))) for v in (stride, padding, 0, dilation)), groups)).replace(
                      "Conv%dPacked" % spatial, "Conv%ddPacked" % spatial)
    op += "_relu" if relu else ""
    dims = ", ".join(["N"] + [str(size) for size in x.shape[1:]])
    lines = ["  %q0 = call_function[torch.quantize_per_tensor](%x0, 0.04, 60, torch.quint8)",
             "  %packed = get_attr[_packed_weight_0]()",
             "  %%y = call_function[torch.ops.quantized.%s](%%q0, %%packed, %s, %d)" % (op, number(scale), zero_point)]
    result = getattr(q, op)(torch.quantize_per_tensor(x, 0.04, 60, torch.quint8), packed, scale, zero_point)
    if then:
        lines.append("  %%p = call_function[torch.nn.functional.%s](%s)" % (then[0], ", ".join(["%y"] + [str(v) for v in then[1:]])))
        result = getattr(F, then[0])(result, *then[1:])
    lines.append("  return %" + ("p" if then else "y"))
    with open(os.path.join(OUT, name + ".qfx"), "w") as file:
        file.write("qfx 1\nweights \"%s.safetensors\"\nmodule _packed_weight_0 : %s\n\ngraph(%%x0 : f32[%s]) {\n%s\n}\n"
                   % (name, module, dims, "\n".join(lines)))
    metadata = {"_packed_weight_0.weight": "qint8 per_channel_affine axis=0" if per_channel else "qint8 per_tensor_affine"}
    key = "_packed_weight_0.weight"
    stored = {key: quantized.int_repr(), "_packed_weight_0.bias": bias}
    if per_channel:
        stored[key + ":scales"] = quantized.q_per_channel_scales().double()
        stored[key + ":zero_points"] = quantized.q_per_channel_zero_points()
    else:
        stored[key + ":scales"] = torch.tensor([quantized.q_scale()], dtype=torch.float64)
        stored[key + ":zero_points"] = torch.tensor([quantized.q_zero_point()])
    save_file(stored, os.path.join(OUT, name + ".safetensors"), metadata)
    record(name, {"x0": x}, {"out": result})


def packed_cases():
    x = quantized_input((2, 8, 9, 10), 5, 1.5)
    packed_case("packed_conv_plain", x, (12, 8, 3, 3), False, True, 0.09, 110, padding=1)
    packed_case("packed_conv_relu", x, (12, 8, 3, 3), True, True, 0.05, 3, stride=2, padding=1)
    packed_case("packed_conv_tensor", x, (12, 8, 3, 3), False, False, 0.2, 128, dilation=2)
    packed_case("packed_conv_groups", x, (12, 4, 3, 2), True, True, 0.04, 0, groups=2, padding=(1, 0))
    packed_case("packed_conv_pointwise", x, (20, 8, 1, 1), False, True, 0.03, 90)
    packed_case("packed_conv_depthwise", x, (8, 1, 3, 3), True, True, 0.02, 10, groups=8, padding=1)
    packed_case("packed_conv_multiplier", x, (16, 1, 5, 5), False, True, 0.06, 128, groups=8, padding=2, stride=2)
    packed_case("packed_conv_pool", x, (16, 8, 3, 3), False, True, 0.09, 111, padding=1, then=("avg_pool2d", 2))
    packed_case("packed_conv_adaptive", x, (16, 8, 3, 3), False, True, 0.09, 111, padding=1, then=("adaptive_avg_pool2d", 2))
    packed_case("packed_conv_relu6", x, (12, 8, 3, 3), False, True, 0.06, 40, then=("relu6",))
    packed_case("packed_conv_hardtanh", x, (8, 1, 3, 3), False, True, 0.03, 128, groups=8, then=("hardtanh", -1.0, 0.5))
    packed_case("packed_conv_max_pool", x, (16, 8, 3, 3), True, True, 0.06, 7, padding=1, then=("max_pool2d", 3, 2, 1))
    packed_case("packed_linear_hardtanh", quantized_input((5, 70), 6, 1.5), (33, 70), True, True, 0.1, 9,
                then=("hardtanh", -3.0, -1.0))
    packed_case("packed_linear", quantized_input((5, 70), 6, 1.5), (33, 70), False, True, 0.1, 120)
    packed_case("packed_linear_relu", quantized_input((5, 70), 6, 1.5), (33, 70), True, False, 0.1, 9)
    packed_case("packed_conv1d", quantized_input((2, 4, 17), 7, 1.5), (6, 4, 3), False, True, 0.05, 100, padding=1, stride=2)


def text_case(name, x, declarations, stored, lines, result, metadata=None):
    """A graph of one float input %x written by hand, with tensors in a weights file."""
    dims = ", ".join(["N"] + [str(size) for size in x.shape[1:]])
    with open(os.path.join(OUT, name + ".qfx"), "w") as file:
        file.write("qfx 1\nweights \"%s.safetensors\"\n%s\ngraph(%%x : f32[%s]) {\n%s\n}\n"
                   % (name, "".join(line + "\n" for line in declarations), dims, "\n".join("  " + line for line in lines)))
    save_file({key: value.contiguous().clone() for key, value in stored.items()},
              os.path.join(OUT, name + ".safetensors"), metadata)
    record(name, {"x": x}, {"out": result})


def dynamic_cases():
    x = quantized_input((5, 70), 11, 1.5)
    weight = quantized_input((33, 70), 12, 0.3)
    bias = quantized_input((33,), 13, 1.0)
    quantized = torch.quantize_per_tensor(weight, 0.011, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(quantized, bias)
    stored = {"w": weight, "b": bias}
    declarations = ["parameter w : f32[33, 70]", "parameter b : f32[33]"]
    prepack = ["%w = get_attr[w]()", "%b = get_attr[b]()",
               "%qw = call_function[torch.quantize_per_tensor](%w, 0.011, 0, torch.qint8)",
               "%packed = call_function[torch.ops.quantized.linear_prepack](%qw, %b)"]
    for op, reduce_range in (("linear_dynamic", True), ("linear_relu_dynamic", True)):
        text_case(op, x.clamp(min=0), declarations, stored,
                  prepack + ["%%y = call_function[torch.ops.quantized.%s](%%x, %%packed, %s)" % (op, reduce_range), "return %y"],
                  getattr(torch.ops.quantized, op)(x.clamp(min=0), packed, reduce_range))
    text_case("quantize_dynamic", x, declarations[:1], {"w": weight},
              ["%q = call_function[torch.quantize_per_tensor_dynamic](%x, torch.quint8, False)",
               "%d = call_method[dequantize](%q)", "return %d"],
              torch.quantize_per_tensor_dynamic(x, torch.quint8, False).dequantize())


def reference_cases():
    """Reference modules, and the same weights through prepack calls."""
    for spatial in (1, 2, 3):
        shape = (6, 4) + (3, 2, 2)[:spatial]
        x = quantized_input((2, 4) + (7, 6, 5)[:spatial], 20 + spatial, 1.5).clamp(max=0.04 * 67)
        weight = quantized_input(shape, 30 + spatial, 0.3)
        bias = quantized_input((6,), 40 + spatial, 1.0)
        scales = weight.abs().flatten(1).amax(1) / 127 + 1e-4
        zero_points = torch.zeros(6, dtype=torch.int64)
        reference = getattr(torch.ao.nn.quantized.reference, "Conv%dd" % spatial)(
            4, 6, shape[2:], padding=1, weight_qparams={"qscheme": torch.per_channel_affine, "dtype": torch.qint8,
                                                        "scale": scales, "zero_point": zero_points, "axis": 0})
        reference.weight, reference.bias = nn.Parameter(weight), nn.Parameter(bias)
        attributes = "in_channels=4, out_channels=6, kernel_size=%s, padding=%s" % (tuple(shape[2:]), (1,) * spatial)
        text_case("reference_conv%dd" % spatial, x,
                  ["module m : torch.ao.nn.quantized.reference.Conv%dd(%s, weight_qscheme=torch.per_channel_affine, "
                   "weight_dtype=torch.qint8, weight_axis=0)" % (spatial, attributes)],
                  {"m.weight": weight, "m.bias": bias, "m.weight_scale": scales, "m.weight_zero_point": zero_points},
                  ["%y = call_module[m](%x)", "return %y"], reference(x).detach())
        quantized = torch.quantize_per_tensor(weight, 0.011, 0, torch.qint8)
        ones = [1] * spatial
        packed = getattr(torch.ops.quantized, "conv%dd_prepack" % spatial)(quantized, bias, ones, ones, ones, 1)
        dims = lambda tensor: ", ".join(str(size) for size in tensor.shape)
        text_case("prepack_conv%dd" % spatial, x,
                  ["parameter w : f32[%s]" % dims(weight), "parameter b : f32[6]"], {"w": weight, "b": bias},
                  ["%w = get_attr[w]()", "%b = get_attr[b]()",
                   "%qw = call_function[torch.quantize_per_tensor](%w, 0.011, 0, torch.qint8)",
                   "%%packed = call_function[torch.ops.quantized.conv%dd_prepack](%%qw, %%b, %s, %s, %s, 1)"
                   % (spatial, ones, ones, ones),
                   "%q = call_function[torch.quantize_per_tensor](%x, 0.04, 60, torch.quint8)",
                   "%%y = call_function[torch.ops.quantized.conv%dd](%%q, %%packed, 0.06, 100)" % spatial, "return %y"],
                  getattr(torch.ops.quantized, "conv%dd" % spatial)(
                      torch.quantize_per_tensor(x, 0.04, 60, torch.quint8), packed, 0.06, 100))


def stub_cases():
    """Eager-mode markers run as identities."""
    x = quantized_input((2, 3), 50)
    declarations = ["module quant : torch.ao.quantization.stubs.QuantStub()", "parameter unused : f32[1]"]
    text_case("stub", x, declarations, {"unused": torch.zeros(1)},
              ["%s = call_module[quant](%x)", "%y = call_function[torch.relu](%s)", "return %y"], torch.relu(x))
    q = torch.quantize_per_tensor(x, 0.1, 5, torch.quint8)
    text_case("stub_codes", x, declarations, {"unused": torch.zeros(1)},
              ["%q = call_function[torch.quantize_per_tensor](%x, 0.1, 5, torch.quint8)",
               "%s = call_module[quant](%q)", "%y = call_function[torch.relu](%s)", "return %y"], torch.relu(q))


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    float_cases()
    code_cases()
    packed_cases()
    dynamic_cases()
    reference_cases()
    stub_cases()
    save_file(tensors, os.path.join(OUT, "cases.safetensors"), {"torch": torch.__version__})
    print("%d tensors with torch %s" % (len(tensors), torch.__version__))


if __name__ == "__main__":
    main()
