"""Writes test/golden/float_ops: calls of float operators in every spelling, with PyTorch's types and values.

    python test/golden/make_float_ops.py

shapes.json   the calls with the types of their results (test/unit/ir/ShapesTest.cpp, make_op_tests.py)
cases.txt     the same calls as .qfx models, one behind the other, parted by `// ----- name`
values.safetensors   inputs `name/in/x0`, results `name/out/out` or `name/out/0` (test/unit/backends/runtime/FloatOpsTest.cpp)

Run with the torch whose behaviour is wanted; version and seed stand in the files.
"""
import json
import operator
import os
import warnings

import torch
from float_composed import composed
from float_signals import signals
from safetensors.torch import save_file

warnings.filterwarnings("ignore")
SEED = 20261130
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "float_ops")
NAMES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64", torch.int8: "i8", torch.uint8: "u8",
         torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "bool"}
generator = torch.Generator().manual_seed(SEED)
cases, models, values = [], [], {}


def f(*sizes, dtype=torch.float32, low=-2.0, high=2.0):
    """Floats, rounded to few digits so that the weights of modules stay short as text."""
    x = torch.rand(sizes, generator=generator) * (high - low) + low
    return ((x * 1024).round() / 1024).to(dtype)


def i(*sizes, low=-5, high=6, dtype=torch.int64):
    return torch.randint(low, high, sizes, generator=generator).to(dtype)


def b(*sizes):
    return torch.randint(0, 2, sizes, generator=generator).bool()


def describe(value):
    if isinstance(value, torch.Tensor):
        return {"tensor": {"dtype": NAMES[value.dtype], "shape": list(value.shape)}}
    if isinstance(value, float):
        return {"float": value}
    if isinstance(value, torch.dtype):
        return {"dtype": NAMES[value]}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, (tuple, torch.Size)):
        return {"tuple": [describe(v) for v in value]}
    if isinstance(value, list):
        return [describe(v) for v in value]
    return value


class Model:
    """One call as .qfx text; tensors become inputs."""

    def __init__(self):
        self.inputs, self.tensors, self.lines = [], [], []

    def text(self, value):
        if isinstance(value, torch.Tensor):
            name = "x%d" % len(self.tensors)
            self.inputs.append("%%%s : %s" % (name, type_text(value)))
            self.tensors.append(value)
            return "%" + name
        if isinstance(value, bool) or value is None:
            return str(value)
        if isinstance(value, str):
            return '"%s"' % value
        if isinstance(value, torch.dtype):
            return str(value)
        if isinstance(value, tuple):
            return "(%s%s)" % (", ".join(self.text(v) for v in value), "," if len(value) == 1 else "")
        if isinstance(value, list):
            return "[%s]" % ", ".join(self.text(v) for v in value)
        return repr(value)


def type_text(tensor):
    return "%s[%s]" % (NAMES[tensor.dtype], ", ".join(map(str, tensor.shape)))


def parts(result):
    """Results by name: `out`, or numbers for the elements of a tuple; complex ones as `real` and `imag`."""
    if isinstance(result, torch.Tensor) and result.is_complex():
        return {"real": result.real.resolve_conj(), "imag": result.imag.resolve_conj()}
    if isinstance(result, tuple) and not isinstance(result, torch.Size) or isinstance(result, list):
        return {str(n): v for n, v in enumerate(result) if isinstance(v, torch.Tensor)}
    return {"out": torch.tensor(result) if isinstance(result, bool) else result}


def chain(calls, tensors, options={}):
    """Calls one behind the other: %x0, %x1 are the tensors, %y0, %y1 the calls' values, ** the options."""
    model, env = Model(), {}
    for n, tensor in enumerate(tensors):
        assert model.text(tensor) == "%%x%d" % n
        env["x%d" % n] = tensor
    keywords = ", ".join("%s=%s" % (k, model.text(v)) for k, v in options.items())
    lines = []
    for n, call in enumerate(calls):
        call = call.replace("**", keywords).replace(", )", ")")
        env["y%d" % n] = eval(call.replace("%", ""), {"torch": torch, "operator": operator, **env})
        lines.append("  %%y%d = call_function[%s](%s\n" % (n, call[:call.index("(")], call[call.index("(") + 1:]))
    name = "%03d_%s" % (len(models), calls[-1][:calls[-1].index("(")].replace(".", "_"))
    models.append("// ----- %s\nqfx 1\n\ngraph(%s) {\n%s  return %%y%d\n}\n" % (name, ", ".join(model.inputs), "".join(lines), len(calls) - 1))
    for n, tensor in enumerate(model.tensors):
        values["%s/in/x%d" % (name, n)] = tensor.contiguous().clone()
    for key, tensor in parts(env["y%d" % (len(calls) - 1)]).items():
        values["%s/out/%s" % (name, key)] = tensor.contiguous().clone()


def resolve(text):
    if text.startswith("operator."):
        return getattr(operator, text.split(".")[1])
    value = torch
    for part in ("ops." + text if text.startswith("aten.") else text[len("torch."):]).split("."):
        value = getattr(value, part)
    return value


def record(kind, text, compute, args, kwargs, model, target, facts):
    case = {"kind": kind, "text": text, "args": [describe(a) for a in args], "kwargs": {k: describe(v) for k, v in kwargs.items()}, **facts}
    try:
        with torch.no_grad():
            result = compute()
    except Exception as error:
        cases.append({**case, "raises": type(error).__name__})
        return
    results = parts(result)
    is_complex = "real" in results
    is_sequence = isinstance(result, tuple) and not isinstance(result, torch.Size) or isinstance(result, list)
    case["result"] = {"complex": describe(results["real"])} if is_complex else describe(tuple(result) if is_sequence else results["out"])
    cases.append(case)
    texts = [model.text(a) for a in args] + ["%s=%s" % (k, model.text(v)) for k, v in kwargs.items()]
    name = "%03d_%s" % (len(models), text.replace(".", "_"))
    body = "  %%y = call_%s[%s](%s)\n" % (kind, target, ", ".join(texts))
    models.append("// ----- %s\nqfx 1\n%s\ngraph(%s) {\n%s  return %%y\n}\n" % (
        name, "\n".join(model.lines), ", ".join(model.inputs), body))
    for n, tensor in enumerate(model.tensors):
        values["%s/in/x%d" % (name, n)] = tensor.contiguous().clone()
    for key, tensor in results.items():
        values["%s/out/%s" % (name, key)] = tensor.contiguous().clone()


def function(texts, *args, **kwargs):
    for text in [texts] if isinstance(texts, str) else texts:
        record("function", text, lambda: resolve(text)(*args, **kwargs), args, kwargs, Model(), text, {})


def method(names, *args, **kwargs):
    for name in [names] if isinstance(names, str) else names:
        record("method", name, lambda: getattr(args[0], name)(*args[1:], **kwargs), args, kwargs, Model(), name, {})


def module(text, attributes, *args, **kwargs):
    torch.manual_seed(SEED)
    instance = resolve(text)(**attributes).eval()
    if args and args[0].dtype in (torch.float16, torch.bfloat16):
        instance.to(args[0].dtype)
    for key, value in instance.state_dict().items():
        if value.is_floating_point():
            noise = f(*value.shape)
            value.copy_(noise.abs() + 0.5 if key.endswith("running_var") else noise)
    model = Model()
    model.lines.append("module m : %s(%s)" % (text, ", ".join("%s=%s" % (k, Model().text(v)) for k, v in attributes.items())))
    for name, child in instance.named_children():
        path = "torch.nn.modules.linear.NonDynamicallyQuantizableLinear"
        model.lines.append("module m.%s : %s(in_features=%d, out_features=%d, bias=%s)" % (
            name, path, child.in_features, child.out_features, child.bias is not None))
    tensors = {}
    for key, value in instance.state_dict().items():
        tensors[key] = describe(value)["tensor"]
        word = "buffer" if "running" in key or "num_batches" in key else "parameter"
        model.lines.append("%s m.%s : %s = %s" % (word, key, type_text(value), json.dumps(value.tolist())))
    record("module", text, lambda: instance(*args, **kwargs), args, kwargs, model, "m",
           {"attributes": {k: describe(v) for k, v in attributes.items()}, "tensors": {k: v for k, v in tensors.items() if "." not in k}})


F = "torch.nn.functional."


def elementwise():
    x, y, k, m = f(3, 5), f(3, 5), i(3, 5), i(3, 5, low=1)
    for name in ("exp2", "sin", "cos", "tan", "atan", "sinh", "cosh", "erfc"):
        function(["torch." + name, "aten.%s.default" % name], x)
        method(name, x)
    for name in ("log2", "log10"):
        function(["torch." + name, "aten.%s.default" % name], x.abs() + 0.25)
        method(name, x.abs() + 0.25)
    for name in ("asin", "acos"):
        function(["torch." + name, "aten.%s.default" % name], x / 2)
        method(name, x / 2)
    function("torch.sin", k)
    special = torch.tensor([[1.0, float("nan"), float("inf")], [-float("inf"), 0.0, -2.5]])
    for name in ("isnan", "isinf", "isfinite", "logical_not"):
        function(["torch." + name, "aten.%s.default" % name], special)
        method(name, special)
        function("torch." + name, k)
    function(["torch.nan_to_num", "aten.nan_to_num.default"], special)
    method("nan_to_num", special, 1.0, 2.0, -3.0)
    for name in ("fmod", "remainder"):
        function("torch." + name, x, y)
        function("torch." + name, k, m)
        function("torch." + name, x, 0.75)
        function("torch." + name, -k, 3)
        method(name, x, 0.5)
        function("aten.%s.Tensor" % name, x, y)
        function("aten.%s.Scalar" % name, x, 0.75)
    function("torch.floor_divide", x, y)
    function(["torch.floor_divide", "operator.floordiv", "aten.floor_divide.default"], k, m)
    method("floor_divide", k, 3)
    function("torch.div", x, y, rounding_mode="floor")
    function("torch.div", x, y, rounding_mode="trunc")
    function("torch.div", k, m, rounding_mode="trunc")
    function("torch.div", k, m)
    function("operator.truediv", k, 4)
    function(["torch.pow", "aten.pow.Tensor_Tensor"], x.abs() + 0.5, y)
    function(["torch.pow", "operator.pow", "aten.pow.Tensor_Scalar"], x, 3)
    function("torch.pow", k, 2)
    function("torch.pow", 2.0, y)
    method("pow", x, 2.0)
    for name in ("atan2", "hypot"):
        function(["torch." + name, "aten.%s.default" % name], x, y)
        method(name, x, y)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        function(["torch." + name, "operator." + name, "aten.%s.Tensor" % name], k, m)
        function(["torch." + name, "aten.%s.Scalar" % name], x, 0.5)
        method(name, x, y)
    function("torch.gt", k, 1.5)
    function("torch.eq", b(3, 5), b(5))
    for name in ("logical_and", "logical_or", "logical_xor"):
        function(["torch." + name, "aten.%s.default" % name], b(3, 5), b(5))
        function("torch." + name, k, x)
        method(name, k, m)
    for name in ("and", "or"):
        function(["torch.bitwise_" + name, "operator.%s_" % name, "aten.bitwise_%s.Tensor" % name, "aten.__%s__.Tensor" % name], b(3, 5), b(3, 1))
        function("torch.bitwise_" + name, k, 3)
        method("bitwise_" + name, k, m)
    function(["torch.bitwise_xor", "operator.xor", "aten.bitwise_xor.Tensor"], k, m)
    method("bitwise_xor", k, m)
    function(["torch.bitwise_not", "operator.invert", "aten.bitwise_not.default"], b(3, 5))
    method("bitwise_not", k)
    function("torch.bitwise_not", x)
    function("torch.bitwise_and", x, y)
    function(["torch.where", "aten.where.self"], b(3, 5), x, y)
    function("torch.where", b(3, 1), x, f(5))
    function(["torch.where", "aten.where.ScalarOther"], b(3, 5), x, 0.5)
    function("torch.where", b(3, 5), k, 2)
    function("torch.where", k, x, y)
    method("where", x, b(5), y)
    method("masked_fill", x, b(3, 5), -1.5)
    function(["torch.masked_fill", "aten.masked_fill.Scalar"], k, b(3, 1), 7)
    function(["torch.addcmul", "aten.addcmul.default"], x, y, f(5), value=0.5)
    method("addcmul", k, m, m, value=2)
    function(["torch.addcdiv", "aten.addcdiv.default"], x, y, f(3, 5) + 3.0, value=0.5)
    method("addcdiv", x, y, y + 3.0)
    function("torch.addcdiv", k, m, m)
    function(["torch.lerp", "aten.lerp.Tensor"], x, y, f(3, 5, low=0.0, high=1.0))
    function(["torch.lerp", "aten.lerp.Scalar"], x, y, 0.75)
    method("lerp", x, y, 0.25)
    for text in ("torch.add", "operator.mul", "torch.sub", "torch.maximum", "torch.minimum"):
        function(text, k, m)
        function(text, i(3, 5, dtype=torch.int32), i(5, dtype=torch.int32))
        function(text, i(3, 5, low=0, dtype=torch.uint8), i(3, 5, low=0, dtype=torch.uint8))
    function("torch.add", k, m, alpha=3)
    function("torch.add", k, 2)
    function("operator.add", k, x)
    function("operator.mul", b(3, 5), x)
    function("torch.rsub", k, 7)
    for dtype in (torch.float16, torch.bfloat16):
        h = f(3, 5, dtype=dtype)
        function("torch.add", h, h)
        function("torch.mul", h, 1.5)
        function("torch.exp", h)
        function("torch.relu", h)
        function("torch.where", b(3, 5), h, 0.5)
        function(F + "softmax", h, dim=1)
        function("torch.mean", h, 1)
    for name in ("abs", "neg", "sign", "square", "relu"):
        function("torch." + name, k)
    function("torch.floor", k)
    function("torch.clamp", k, -2, 3)
    function("torch.clamp", x, f(5) - 1.5, f(3, 1) + 1.5)
    function("torch.clamp", x, min=f(5))
    function("torch.exp", k)
    function("torch.sqrt", m)
    dtypes = [torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool]
    for dtype in dtypes:
        method("to", x, dtype)
        method("to", k, dtype)
        method("to", f(3, 5).to(dtype), torch.float32)
    method("float", k)
    method("long", x)
    method("bool", k)
    method("half", x)
    method("int", x)
    function("aten.to.dtype", k, torch.float32)
    function("aten.type_as.default", k, x)


def activations():
    x, image = f(3, 6), f(2, 6, 4, 3)
    for size in (1, 6):
        module("torch.nn.PReLU", dict(num_parameters=size), image)
    function(["torch.prelu", "aten.prelu.default"], x, f(6))
    function(F + "prelu", image, f(1))
    module("torch.nn.RReLU", {}, x)
    function(F + "rrelu", x)
    module("torch.nn.Softmin", dict(dim=1), x)
    function(F + "softmin", x, dim=0)
    module("torch.nn.Softmax2d", {}, image)
    module("torch.nn.GLU", {}, x)
    function([F + "glu", "aten.glu.default"], image, 1)
    function("aten._softmax.default", x, 1, False)
    function("aten._log_softmax.default", x, -1, False)
    function("torch.softmax", f(3), 0, torch.float32)


def norms():
    x3, x4, x5, x2 = f(2, 6, 5), f(2, 6, 4, 3), f(1, 6, 2, 3, 2), f(3, 6)
    module("torch.nn.LayerNorm", dict(normalized_shape=[4, 3]), x4)
    module("torch.nn.LayerNorm", dict(normalized_shape=5, elementwise_affine=False), x3)
    module("torch.nn.LayerNorm", dict(normalized_shape=6, bias=False, eps=0.01), x2)
    function([F + "layer_norm"], x4, [3], f(3), f(3))
    function("torch.layer_norm", x4, [4, 3])
    function("aten.layer_norm.default", x3, [5], f(5), f(5), 1e-12)
    function(F + "layer_norm", f(2, 130), [130])
    module("torch.nn.GroupNorm", dict(num_groups=3, num_channels=6), x4)
    module("torch.nn.GroupNorm", dict(num_groups=2, num_channels=6, affine=False), x2)
    function(F + "group_norm", x3, 6, f(6), f(6))
    function("aten.group_norm.default", x5, 1, f(6), f(6), 1e-5)
    for d, x in ((1, x3), (2, x4), (3, x5)):
        name = "torch.nn.InstanceNorm%dd" % d
        module(name, dict(num_features=6), x)
        module(name, dict(num_features=6, affine=True, track_running_stats=True), x)
        module(name, dict(num_features=6, affine=True), x[0])
    function(F + "instance_norm", x4, weight=f(6), bias=f(6))
    function(F + "instance_norm", x4, f(6), f(6).abs() + 0.5, f(6), f(6), False)
    function("aten.instance_norm.default", x4, f(6), f(6), None, None, True, 0.1, 1e-5, False)
    module("torch.nn.RMSNorm", dict(normalized_shape=[4, 3]), x4)
    module("torch.nn.RMSNorm", dict(normalized_shape=6, eps=0.1, elementwise_affine=False), x2)
    function([F + "rms_norm", "torch.rms_norm", "aten.rms_norm.default"], x3, [5], f(5))
    for size in (1, 2, 3):
        module("torch.nn.LocalResponseNorm", dict(size=size, alpha=0.5), x4)
    function(F + "local_response_norm", x3, 5, 0.3, 0.5, 2.0)
    function(F + "normalize", x4)
    function(F + "normalize", x4, 1.0, -1)
    function(F + "normalize", x2, dim=0, eps=3.0)


def products():
    function(["torch.addmm", "aten.addmm.default"], f(3, 5), f(3, 4), f(4, 5), beta=0.5, alpha=2)
    method("addmm", f(5), f(3, 4), f(4, 5))
    function("torch.addmm", f(4), f(3, 4), f(4, 5))
    function(["torch.baddbmm", "aten.baddbmm.default"], f(2, 3, 5), f(2, 3, 4), f(2, 4, 5), beta=0.5, alpha=-1)
    method("baddbmm", f(1, 1, 5), f(2, 3, 4), f(2, 4, 5), beta=0)
    function(["torch.mv", "aten.mv.default"], f(3, 4), f(4))
    method("mv", f(3, 4), f(4))
    function("torch.mv", f(3, 4), f(5))
    function(["torch.dot", "aten.dot.default"], f(7), f(7))
    method("dot", f(7), f(7))
    function(["torch.outer", "aten.outer.default"], f(3), f(4))
    method("outer", f(3), f(4))
    for a, bb in ((f(4), f(4)), (f(4), f(4, 5)), (f(3, 4), f(4)), (f(2, 3, 4), f(4)), (f(4), f(2, 4, 3)), (f(2, 1, 3, 4), f(5, 4, 2))):
        function("torch.matmul", a, bb)
    for equation, operands in (
            ("ij,jk->ik", (f(3, 4), f(4, 5))), ("ij,jk", (f(3, 4), f(4, 5))), ("bij,bjk->bik", (f(2, 3, 4), f(2, 4, 5))),
            ("bhld,bhsd->bhls", (f(2, 3, 4, 5), f(2, 3, 6, 5))), ("bhls,bhsd->blhd", (f(2, 3, 4, 6), f(2, 3, 6, 5))),
            ("ii->i", (f(4, 4),)), ("ii", (f(4, 4),)), ("ij->ji", (f(3, 4),)), ("i,j->ij", (f(3), f(4))), ("i,i->", (f(5), f(5))),
            ("...ij,...jk->...ik", (f(2, 3, 4), f(4, 5))), ("... i j -> ... j i", (f(2, 3, 4),)), ("ij,ij->ij", (f(3, 4), f(3, 4))),
            ("bn,anm,bm->ba", (f(2, 3), f(4, 3, 5), f(2, 5))), ("nkctv,kvw->nctw", (f(2, 3, 4, 5, 6), f(3, 6, 6))),
            ("ij->", (f(3, 4),)), ("ijk->j", (f(2, 3, 4),))):
        function("torch.einsum", equation, *operands)
        function("aten.einsum.default", equation, list(operands))
    function("torch.einsum", "ij,jk->iz", f(3, 4), f(4, 5))
    function("torch.einsum", "ij,jk->ik", f(3, 4), f(3, 5))


def attention():
    q, k, v = f(2, 3, 5, 4), f(2, 3, 6, 4), f(2, 3, 6, 7)
    names = [F + "scaled_dot_product_attention", "aten.scaled_dot_product_attention.default"]
    function(names, q, k, v)
    function(names, q, k, v, f(5, 6))
    mask = b(2, 1, 5, 6)
    mask[..., 0] = True
    function(names, q, k, v, mask)
    function(names, q, k, v, scale=0.3)
    function(names, q, q, q, is_causal=True)
    function(names[0], f(5, 4), f(6, 4), f(6, 3))
    function(names[0], f(2, 5, 4), f(2, 6, 4), f(2, 6, 3), f(2, 5, 6))
    function(names[0], f(1, 2, 150, 8), f(1, 2, 140, 8), f(1, 2, 140, 8))
    function(names[0], f(2, 6, 5, 4), f(2, 2, 7, 4), f(2, 2, 7, 4), enable_gqa=True)
    function(names[0], q, k, v, f(5, 6), is_causal=True)
    function(names[0], q, f(2, 3, 6, 5), v)
    masked = torch.ones(5, 6, dtype=torch.bool)
    masked[2] = False
    function(names[0], q, k, v, masked)
    x, y = f(5, 2, 8), f(6, 2, 8)
    name = "torch.nn.MultiheadAttention"
    module(name, dict(embed_dim=8, num_heads=2), x, x, x)
    module(name, dict(embed_dim=8, num_heads=4, batch_first=True), x, x, x, need_weights=False)
    module(name, dict(embed_dim=8, num_heads=2, bias=False), x, y, y, average_attn_weights=False)
    module(name, dict(embed_dim=8, num_heads=2, kdim=5, vdim=3), x, f(6, 2, 5), f(6, 2, 3))
    module(name, dict(embed_dim=8, num_heads=2, add_bias_kv=True, add_zero_attn=True), x, y, y)
    padding = torch.zeros(2, 6, dtype=torch.bool)
    padding[1, 4:] = True
    module(name, dict(embed_dim=8, num_heads=2), x, y, y, key_padding_mask=padding)
    module(name, dict(embed_dim=8, num_heads=2), x, y, y, attn_mask=f(5, 6))
    module(name, dict(embed_dim=8, num_heads=2), x, y, y, attn_mask=f(4, 5, 6))
    module(name, dict(embed_dim=8, num_heads=2), f(5, 8), f(5, 8), f(5, 8))


def reductions():
    x, k = f(3, 4, 5), i(3, 4, 5)
    for name in ("amax", "amin"):
        function(["torch." + name, "aten.%s.default" % name], x, [1])
        function("torch." + name, x, (0, 2), keepdim=True)
        method(name, k, 1)
    for name in ("argmax", "argmin"):
        function(["torch." + name, "aten.%s.default" % name], x, 1)
        function("torch." + name, k)
        method(name, k, -1, keepdim=True)
    function("torch.prod", x)
    function(["torch.prod", "aten.prod.dim_int"], x, 1)
    method("prod", k, 2, keepdim=True)
    function("torch.sum", k)
    method("sum", k, 1)
    function("torch.sum", b(3, 4), 0)
    function("torch.sum", k, (0, 1), dtype=torch.float32)
    function("torch.mean", k, 1, dtype=torch.float32)
    for name in ("any", "all"):
        function(["torch." + name, "aten.%s.dim" % name], b(3, 4), 1)
        function("torch." + name, b(3, 4))
        method(name, k, 1, keepdim=True)
        function("torch." + name, i(3, 4, low=0, high=2, dtype=torch.uint8))
    function("torch.count_nonzero", k)
    method("count_nonzero", k, (0, 2))
    for name in ("max", "min"):
        function("torch." + name, x)
        function(["torch." + name, "aten.%s.dim" % name], x, 1)
        function("torch." + name, k, 2, True)
        function(["torch." + name, "aten.%s.other" % name], x, f(4, 5))
        method(name, k)
        method(name, k, 0)
    for name in ("std", "var"):
        function("torch." + name, x)
        function(["torch." + name, "aten.%s.correction" % name], x, [1])
        function("torch." + name, x, 1, correction=0)
        function("torch." + name, x, (0, 2), True, True)
        method(name, x, False)
        method(name, x, -1, unbiased=False)
        function("torch.%s_mean" % name, x, 1)
        function("torch.%s_mean" % name, x)
        function("torch." + name, k)
    for p in (2.0, 1.0, 0.0, 3.0):
        function(["torch.linalg.vector_norm", "torch.norm"], x, p, 1)
    function("torch.norm", x)
    method("norm", x, 2, -1, True)
    function("torch.norm", k)
    function(["torch.logsumexp", "aten.logsumexp.default"], x, [1])
    method("logsumexp", x, (0, 2), True)
    for name in ("cumsum", "cumprod"):
        function(["torch." + name, "aten.%s.default" % name], x, 1)
        function("torch." + name, k, 0)
        method(name, x, -1)
    ties = i(3, 7, low=0, high=3)
    function(["torch.sort", "aten.sort.default"], x, 1)
    function("torch.sort", ties, dim=1, stable=True)
    function("torch.sort", ties, dim=0, descending=True, stable=True)
    method("sort", x)
    function("torch.argsort", x, 1, True)
    method("argsort", x, 0)
    function("aten.argsort.default", x)
    function(["torch.topk", "aten.topk.default"], x, 2, 1)
    method("topk", x, 3, largest=False)
    function("torch.topk", x, 6)


def moves():
    x, k = f(3, 4, 5), i(3, 4, 5)
    function(["torch.index_select", "aten.index_select.default"], x, 1, i(6, low=0, high=4))
    method("index_select", k, 0, i(2, low=0, high=3, dtype=torch.int32))
    function("torch.index_select", x, 1, i(2, 2, low=0, high=4))
    function(["torch.gather", "aten.gather.default"], x, 1, i(3, 2, 5, low=0, high=4))
    method("gather", x, 2, i(2, 4, 7, low=0, high=5))
    function("torch.gather", x, 1, i(4, 2, 5, low=0, high=3))
    function("torch.take_along_dim", x, i(3, 1, 5, low=0, high=4), 1)
    method("take_along_dim", x, i(7, low=0, high=60))
    for indices in ([i(6, low=0, high=3)], [None, i(2, 3, low=0, high=4)], [i(6, low=-3, high=3), i(6, low=0, high=4)],
                    [i(2, 1, low=0, high=3), None, i(3, low=0, high=5)], [None, i(4, low=0, high=4), i(4, low=0, high=5)]):
        function("aten.index.Tensor", x, indices)
    function("aten.index.Tensor", b(4, 5), [i(4, 1, low=0, high=4), i(1, 3, low=0, high=5)])
    function("aten.index_put.default", x, [i(2, low=0, high=2) * 0 + torch.tensor([0, 2])], f(2, 4, 5))
    function("aten.index_put.default", x, [torch.tensor([0, 0, 1])], f(4, 5), True)
    method("index_put", x, [torch.tensor([1, 2]), torch.tensor([0, 3])], f(5))
    index = torch.tensor([[2, 0, 1, 2, 0]]).expand(3, 5).reshape(3, 1, 5).contiguous()
    function(["torch.scatter", "aten.scatter.src"], x, 1, index, f(3, 1, 5))
    function(["torch.scatter", "aten.scatter.value"], x, 1, index, 2.5)
    method("scatter", k, 1, index, i(3, 1, 5))
    function(["torch.scatter_add", "aten.scatter_add.default"], x, 1, i(3, 6, 5, low=0, high=4), f(3, 6, 5))
    method("scatter_add", k, 1, i(3, 2, 5, low=0, high=4), i(3, 2, 5))
    function(["torch.index_add", "aten.index_add.default"], x, 1, i(3, low=0, high=4), f(3, 3, 5), alpha=2)
    method("index_add", x, 0, i(4, low=0, high=3), f(4, 4, 5))
    function("torch.scatter", x, 1, index, i(3, 1, 5))
    function(["torch.roll", "aten.roll.default"], x, [1, -2], [0, 2])
    function("torch.roll", x, 7)
    method("roll", k, 1, 1)
    function(["torch.flip", "aten.flip.default"], x, [0, 2])
    method("flip", k, 1)
    function("torch.flip", f(2, 3, 4, 5), (2, 3))
    function("torch.flip", x, [0, 0])
    for name in ("triu", "tril"):
        function(["torch." + name, "aten.%s.default" % name], x, 1)
        method(name, k, -1)
        function("torch." + name, b(4, 4))
        function("torch." + name, f(3))
    function(["torch.diagonal", "aten.diagonal.default"], x)
    function("torch.diagonal", x, 1, 1, 2)
    method("diagonal", x, -1, 0, 2)
    method("unfold", x, 2, 3, 1)
    function("aten.unfold.default", x, 1, 2, 2)
    function(["torch.movedim", "torch.moveaxis", "aten.movedim.int"], x, 0, 2)
    method("movedim", x, (0, 1), (2, 0))
    method("expand_as", f(3, 1, 5), x)
    function("aten.expand_as.default", f(5), x)
    function("aten.expand_as.default", x, f(5))
    function(["torch.tile", "aten.tile.default"], x, (2, 1))
    method("tile", f(2, 3), 2, 1, 2)
    function("torch.repeat_interleave", x, 2, 1)
    method("repeat_interleave", x, 3)
    function("aten.repeat_interleave.self_int", x, 2, 2)
    function("aten.meshgrid.indexing", [f(3), f(4)], indexing="ij")
    function("aten.meshgrid.indexing", [f(3), f(4), f(2)], indexing="xy")
    function("aten.meshgrid.default", [f(3), f(4)])
    module("torch.nn.Embedding", dict(num_embeddings=7, embedding_dim=5), i(3, 4, low=0, high=7))
    function(F + "embedding", i(6, low=0, high=7, dtype=torch.int32), f(7, 5))
    function("aten.embedding.default", f(7, 5), i(3, 4, low=0, high=7))
    for mode in ("sum", "mean", "max"):
        module("torch.nn.EmbeddingBag", dict(num_embeddings=7, embedding_dim=5, mode=mode), i(3, 4, low=0, high=7))
        module("torch.nn.EmbeddingBag", dict(num_embeddings=7, embedding_dim=5, mode=mode, include_last_offset=True, padding_idx=2),
               i(8, low=0, high=7), torch.tensor([0, 3, 3, 8]))
    function(F + "embedding_bag", i(8, low=0, high=7), f(7, 5), torch.tensor([0, 5]), mode="sum", per_sample_weights=f(8))
    function([F + "one_hot"], i(2, 3, low=0, high=4), 4)


def creation():
    x = f(2, 3)
    function("torch.zeros", 2, 3)
    function("torch.ones", (2, 3), dtype=torch.int64)
    function(["torch.full", "aten.full.default"], [2, 3], 2.5)
    function("torch.full", (2,), 7)
    function("torch.full", (2,), True)
    function("aten.zeros.default", [2, 3])
    function("aten.ones.default", [2], dtype=torch.bool)
    for name in ("zeros_like", "ones_like"):
        function(["torch." + name, "aten.%s.default" % name], x)
        function("torch." + name, x, dtype=torch.int32)
    function(["torch.full_like", "aten.full_like.default"], x, 1.5)
    method("new_zeros", x, 2, 2)
    method("new_ones", x, (3,), dtype=torch.bool)
    method("new_full", i(2), (2, 2), 5)
    function("aten.new_ones.default", i(2), [])
    function("aten.new_zeros.default", x, [2])
    function("aten.new_full.default", x, [2], 3.5)
    function(["torch.arange", "aten.arange.default"], 5)
    function(["torch.arange", "aten.arange.start"], 2, 9)
    function(["torch.arange", "aten.arange.start_step"], 2, 9, 3)
    function("torch.arange", 0.5, 3.0, 0.25)
    function("torch.arange", 5, dtype=torch.float32)
    function("torch.arange", 5, 1)
    function(["torch.linspace", "aten.linspace.default"], -1.0, 2.0, 7)
    function("torch.eye", 3)
    function("torch.eye", 2, 4)
    function("aten.eye.default", 3)
    function("torch.scalar_tensor", 2.5)
    function("aten.scalar_tensor.default", 3, dtype=torch.int64)


def images():
    x3, x4, x5 = f(2, 3, 7), f(2, 3, 5, 6), f(1, 2, 3, 4, 5)
    for d, x in ((1, x3), (2, x4), (3, x5)):
        channels = x.shape[1]
        name = "torch.nn.ConvTranspose%dd" % d
        module(name, dict(in_channels=channels, out_channels=4, kernel_size=3), x)
        module(name, dict(in_channels=channels, out_channels=4, kernel_size=3, stride=2, padding=1, output_padding=1, bias=False), x)
        module(name, dict(in_channels=channels, out_channels=2 * channels, kernel_size=2, groups=channels, dilation=2), x)
        module(name, dict(in_channels=channels, out_channels=2, kernel_size=3, stride=3), x[0])
        weight = f(channels, 2, *[3] * d)
        aten = "aten.conv_transpose1d.default" if d == 1 else "aten.conv_transpose%dd.input" % d
        function([F + "conv_transpose%dd" % d, "torch.conv_transpose%dd" % d], x, weight, f(2), 2, 1)
        function(aten, x, weight, f(2), [2] * d, [1] * d)
        module("torch.nn.Conv%dd" % d, dict(in_channels=channels, out_channels=3, kernel_size=2), x[0])
    module("torch.nn.ConvTranspose2d", dict(in_channels=3, out_channels=2, kernel_size=3, stride=2), x4, output_size=[12, 13])
    for mode, x in (("nearest", x3), ("nearest", x4), ("nearest", x5), ("nearest-exact", x4), ("linear", x3), ("bilinear", x4),
                    ("bicubic", x4), ("trilinear", x5), ("area", x3), ("area", x4)):
        spatial = x.dim() - 2
        function(F + "interpolate", x, scale_factor=2.0, mode=mode)
        function(F + "interpolate", x, size=[s + 3 - n for n, s in enumerate(x.shape[2:])], mode=mode)
        function(F + "interpolate", x, size=[max(1, s - 2) for s in x.shape[2:]], mode=mode)
        if mode in ("linear", "bilinear", "bicubic", "trilinear"):
            function(F + "interpolate", x, size=[s + 2 for s in x.shape[2:]], mode=mode, align_corners=True)
            function(F + "interpolate", x, scale_factor=[1.5] * spatial, mode=mode, align_corners=False)
        if mode in ("bilinear", "bicubic"):
            function(F + "interpolate", x, size=[2, 3], mode=mode, antialias=True)
            function(F + "interpolate", x, size=[7, 9], mode=mode, antialias=True)
    function(F + "interpolate", x4, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)
    module("torch.nn.Upsample", dict(scale_factor=2.0, mode="bilinear", align_corners=True), x4)
    module("torch.nn.UpsamplingNearest2d", dict(scale_factor=2), x4)
    module("torch.nn.UpsamplingBilinear2d", dict(size=[7, 8]), x4)
    function("aten.upsample_nearest2d.vec", x4, None, [2.0, 2.0])
    function("aten.upsample_bilinear2d.vec", x4, [7, 8], False, None)
    function("aten.upsample_linear1d.vec", x3, [9], True, None)
    for d, x in ((1, x3), (2, x4), (3, x5)):
        module("torch.nn.MaxPool%dd" % d, dict(kernel_size=2, return_indices=True), x)
        module("torch.nn.MaxPool%dd" % d, dict(kernel_size=2, stride=1, padding=1, return_indices=True, ceil_mode=True), x)
        function(F + "max_pool%dd_with_indices" % d, x, 2, 2, 1)
    module("torch.nn.MaxPool2d", dict(kernel_size=(2, 3), stride=(1, 2), dilation=2, padding=1, return_indices=True), x4)
    for d, x in ((1, x3), (2, x4)):
        module("torch.nn.AdaptiveMaxPool%dd" % d, dict(output_size=3), x)
        module("torch.nn.AdaptiveMaxPool%dd" % d, dict(output_size=2, return_indices=True), x)
        function(F + "adaptive_max_pool%dd" % d, x[0], 4)
    module("torch.nn.Unfold", dict(kernel_size=(2, 3), padding=1, stride=(2, 1), dilation=(1, 2)), x4)
    function(F + "unfold", x4[0], 2)
    function("aten.im2col.default", x4, [2, 2], [1, 1], [0, 0], [2, 2])
    module("torch.nn.Fold", dict(output_size=(5, 6), kernel_size=(2, 2), stride=2, padding=1), f(2, 12, 12))
    function(F + "fold", f(2, 12, 20), (5, 6), 2)
    function("aten.col2im.default", f(12, 20), [5, 6], [2, 2], [1, 1], [0, 0], [1, 1])
    function(F + "fold", f(2, 12, 19), (5, 6), 2)


def dynamic_linear():
    """Packed weights of either kind; activation codes stay below 128 (reduce_range), where FBGEMM without VNNI does not saturate."""
    torch.backends.quantized.engine = "x86"
    q = torch.ops.quantized
    for k, n, with_bias in ((1, 1, True), (7, 3, False), (33, 17, True), (64, 40, True)):
        weight, bias, x = f(n, k, low=-1.0, high=1.0), f(n) if with_bias else None, f(4, k)
        scales = (weight.abs().amax(1) / 127).clamp(min=1e-3)
        for kind in ("tensor", "channel", "half"):
            for relu in (False, True):
                model = Model()
                arguments = ", ".join(["%w"] + (["%b"] if with_bias else ["None"]))
                model.lines = ["parameter w : %s = %s" % (type_text(weight), json.dumps(weight.tolist()))]
                if with_bias:
                    model.lines.append("parameter b : %s = %s" % (type_text(bias), json.dumps(bias.tolist())))
                lines = ["%w = get_attr[w]()"] + (["%b = get_attr[b]()"] if with_bias else [])
                if kind == "half":
                    packed, suffix = q.linear_prepack_fp16(weight, bias), "_fp16"
                    lines.append("%%p = call_function[torch.ops.quantized.linear_prepack_fp16](%s)" % arguments)
                else:
                    if kind == "tensor":
                        quantized = torch.quantize_per_tensor(weight, 0.0078125, 0, torch.qint8)
                        lines.append("%qw = call_function[torch.quantize_per_tensor](%w, 0.0078125, 0, torch.qint8)")
                    else:
                        quantized = torch.quantize_per_channel(weight, scales.double(), torch.zeros(n, dtype=torch.int64), 0, torch.qint8)
                        model.lines.append("buffer s : f32[%d] = %s" % (n, json.dumps(scales.tolist())))
                        model.lines.append("buffer z : i64[%d] = 0" % n)
                        lines += ["%s = get_attr[s]()", "%z = get_attr[z]()",
                                  "%qw = call_function[torch.quantize_per_channel](%w, %s, %z, 0, torch.qint8)"]
                    packed, suffix = q.linear_prepack(quantized, bias), ""
                    lines.append("%%p = call_function[torch.ops.quantized.linear_prepack](%%q%s)" % arguments[1:])
                name = "linear%s_dynamic%s" % ("_relu" if relu else "", suffix)
                last = () if kind == "half" else (True,)
                result = getattr(q, name)(x, packed, *last)
                lines.append("%%y = call_function[torch.ops.quantized.%s](%s, %%p%s)" % (name, model.text(x), ", True" if last else ""))
                case = "%03d_%s_%s_%d_%d" % (len(models), name, kind, n, k)
                models.append("// ----- %s\nqfx 1\n%s\ngraph(%s) {\n%s\n  return %%y\n}\n" % (
                    case, "\n".join(model.lines), ", ".join(model.inputs), "\n".join("  " + line for line in lines)))
                values[case + "/in/x0"], values[case + "/out/out"] = x.clone(), result


def reference():
    """Reference modules: the weight quantized and dequantized, then the float operator."""
    import torch.ao.nn.quantized.reference as nnqr

    def check(name, attributes, x, *more):
        qparams = {"qscheme": torch.per_tensor_affine, "dtype": torch.qint8, "scale": torch.tensor(0.03), "zero_point": torch.tensor(4)}
        instance = getattr(nnqr, name)(**attributes, weight_qparams=qparams).eval()
        model = Model()
        text = ", ".join("%s=%s" % (k, Model().text(v)) for k, v in attributes.items())
        model.lines.append("module m : torch.ao.nn.quantized.reference.%s(%s, weight_qscheme=torch.per_tensor_affine, weight_dtype=torch.qint8)" % (name, text))
        for key, value in instance.state_dict().items():
            if key in ("weight", "bias"):
                value.copy_(f(*value.shape))
                model.lines.append("parameter m.%s : %s = %s" % (key, type_text(value), json.dumps(value.tolist())))
        model.lines += ["buffer m.weight_scale : f32[] = 0.03", "buffer m.weight_zero_point : i64[] = 4"]
        inputs = ", ".join(model.text(value) for value in (x,) + more)
        with torch.no_grad():
            result = instance(x, *more)
        case = "%03d_reference_%s" % (len(models), name)
        models.append("// ----- %s\nqfx 1\n%s\ngraph(%s) {\n  %%y = call_module[m](%s)\n  return %%y\n}\n" % (
            case, "\n".join(model.lines), ", ".join(model.inputs), inputs))
        for n, tensor in enumerate(model.tensors):
            values["%s/in/x%d" % (case, n)] = tensor.contiguous().clone()
        values[case + "/out/out"] = result.contiguous().clone()

    for d, x in ((1, f(2, 3, 7)), (2, f(2, 3, 5, 6)), (3, f(1, 3, 3, 4, 5))):
        check("ConvTranspose%dd" % d, dict(in_channels=3, out_channels=4, kernel_size=2, stride=2), x)
    check("Embedding", dict(num_embeddings=7, embedding_dim=5), i(3, 4, low=0, high=7))
    check("EmbeddingBag", dict(num_embeddings=7, embedding_dim=5, mode="sum"), i(8, low=0, high=7), torch.tensor([0, 3, 5]))


def main():
    for family in (elementwise, activations, norms, products, attention, reductions, moves, creation, images, dynamic_linear, reference):
        family()
    composed(function, method, module, f, i, b)
    signals(function, method, module, chain, f, i)
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "shapes.json"), "w") as file:
        file.write('{"torch": %s, "seed": %d, "cases": [\n' % (json.dumps(torch.__version__), SEED))
        file.write(",\n".join(json.dumps(case) for case in cases) + "\n]}\n")
    with open(os.path.join(OUT, "cases.txt"), "w") as file:
        file.write("\n".join(models))
    save_file(values, os.path.join(OUT, "values.safetensors"), {"torch": torch.__version__, "seed": str(SEED)})
    print("%d calls (%d raise) with torch %s" % (len(cases), sum("raises" in c for c in cases), torch.__version__))


if __name__ == "__main__":
    main()
