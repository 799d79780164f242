"""Writes test/golden/float_layers: modules with children, functions of torchvision and writes into slices, with PyTorch's types and values.

    python test/golden/make_float_layers.py

The files are those of make_float_ops.py (read by the same tests); `children` in shapes.json tells the modules below the called one.
Version and seed stand in shapes.json.
"""
import json
import os
import sys
import warnings

import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tools", "export"), os.path.join(ROOT, "tools", "export", "examples")]
from export_torchvision import import_torchvision  # noqa: E402
from make_float_ops import NAMES, Model, describe, resolve, type_text  # noqa: E402
from qfx_export.modules import is_library_leaf, module_arguments  # noqa: E402
from qfx_export.text import class_name, format_arg  # noqa: E402

warnings.filterwarnings("ignore")
SEED = 20261201
OUT = os.path.join(HERE, "float_layers")
F = "torch.nn.functional."
SWIN = "torchvision.models.swin_transformer."
generator = torch.Generator().manual_seed(SEED)
cases, models, values = [], [], {}


def f(*sizes, low=-2.0, high=2.0):
    """Floats, rounded to few digits so that the weights of modules stay short as text."""
    return ((torch.rand(sizes, generator=generator) * (high - low) + low) * 1024).round() / 1024


class Weight:
    """A tensor that a model holds: float linear layers take no weight that is an input."""

    def __init__(self, tensor):
        self.tensor = tensor


class LayerModel(Model):
    """Weights become parameters, read by nodes in front of the call."""

    def __init__(self):
        super().__init__()
        self.reads = []

    def text(self, value):
        if not isinstance(value, Weight):
            return super().text(value)
        name = "w%d" % len(self.reads)
        self.lines.append("parameter %s : %s = %s" % (name, type_text(value.tensor), json.dumps(value.tensor.tolist())))
        self.reads.append("  %%%s = get_attr[%s]()\n" % (name, name))
        return "%" + name


def unwrap(value):
    return value.tensor if isinstance(value, Weight) else value


def record(kind, text, compute, args, kwargs, model, target, facts):
    case = {"kind": kind, "text": text, "args": [describe(unwrap(a)) for a in args],
            "kwargs": {k: describe(unwrap(v)) for k, v in kwargs.items()}, **facts}
    cases.append(case)
    try:
        with torch.no_grad():
            result = compute()
    except Exception as error:
        case["raises"] = type(error).__name__
        return
    results = {str(n): v for n, v in enumerate(result)} if isinstance(result, tuple) else {"out": result}
    case["result"] = describe(result)
    parts = [model.text(a) for a in args] + ["%s=%s" % (k, model.text(v)) for k, v in kwargs.items()]
    name = "%03d_%s" % (len(models), text.replace(".", "_"))
    models.append("// ----- %s\nqfx 1\n%s\ngraph(%s) {\n%s  %%y = call_%s[%s](%s)\n  return %%y\n}\n" % (
        name, "\n".join(model.lines), ", ".join(model.inputs), "".join(model.reads), kind, target, ", ".join(parts)))
    for n, tensor in enumerate(model.tensors):
        values["%s/in/x%d" % (name, n)] = tensor.contiguous().clone()
    for key, tensor in results.items():
        values["%s/out/%s" % (name, key)] = tensor.contiguous().clone()


def function(texts, *args, **kwargs):
    for text in [texts] if isinstance(texts, str) else texts:
        plain = [unwrap(a) for a in args], {k: unwrap(v) for k, v in kwargs.items()}
        record("function", text, lambda: find(text)(*plain[0], **plain[1]), args, kwargs, LayerModel(), text, {})


def method(name, *args, **kwargs):
    record("method", name, lambda: getattr(args[0], name)(*args[1:], **kwargs), args, kwargs, LayerModel(), name, {})


def find(text):
    if not text.startswith("torchvision."):
        return resolve(text)
    value = import_torchvision()
    for part in text.split(".")[1:]:
        value = getattr(value, part)
    return value


def declared(path, module):
    """`torch.nn.Linear(in_features=4, ...)` of one module."""
    arguments = module_arguments(module, path) if is_library_leaf(module) else []
    return "%s(%s)" % (class_name(type(module)), ", ".join("%s=%s" % (k, format_arg(v, path)) for k, v in arguments))


def module(instance, *args, **kwargs):
    """A call of a module with random weights: norms near 1, the rest small enough that layers do not saturate."""
    instance = instance.eval()
    for key, value in instance.state_dict().items():
        if value.is_floating_point():
            value.copy_(f(*value.shape, low=0.5, high=1.5) if "norm" in key or "running_var" in key else f(*value.shape, low=-0.5, high=0.5))
    model, children = LayerModel(), {}
    for path, child in instance.named_modules():
        if path:
            children[path] = declared(path, child)
        model.lines.append("module %s : %s" % ("m." + path if path else "m", declared(path, child)))
    tensors = {}
    for key, value in instance.state_dict().items():
        tensors[key] = describe(value)["tensor"]
        word = "buffer" if "running" in key or "num_batches" in key else "parameter"
        model.lines.append("%s m.%s : %s = %s" % (word, key, type_text(value), json.dumps(value.tolist())))
    attributes = {k: describe(v) for k, v in module_arguments(instance, "m")}
    record("module", class_name(type(instance)), lambda: instance(*args, **kwargs), args, kwargs, model, "m",
           {"attributes": attributes, "tensors": tensors, "children": children})


def transformers():
    nn, causal = torch.nn, torch.nn.Transformer.generate_square_subsequent_mask(5)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, 3:] = True
    late = torch.zeros(2, 6, dtype=torch.bool)
    late[0, 4:] = True
    x, y = f(5, 2, 8), f(6, 2, 8)
    module(nn.TransformerEncoderLayer(8, 2, 12), x)
    module(nn.TransformerEncoderLayer(8, 2, 12, activation="gelu", norm_first=True, batch_first=True), f(2, 5, 8), src_mask=causal)
    module(nn.TransformerEncoderLayer(8, 4, 12, bias=False, layer_norm_eps=0.01), x, src_mask=f(5, 5))
    module(nn.TransformerEncoderLayer(8, 4, 12), f(5, 8))
    module(nn.TransformerEncoderLayer(8, 4, 12), f(5, 2, 7))
    module(nn.TransformerDecoderLayer(8, 2, 12), x, y)
    module(nn.TransformerDecoderLayer(8, 2, 12, activation="gelu", norm_first=True, batch_first=True), f(2, 5, 8), f(2, 6, 8), tgt_mask=causal,
           memory_key_padding_mask=late)
    module(nn.TransformerDecoderLayer(8, 2, 12), x, y, memory_mask=f(5, 6), tgt_key_padding_mask=padding)
    module(nn.TransformerDecoderLayer(8, 2, 12), x, f(6, 3, 8))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12), 2, enable_nested_tensor=False)
    module(encoder, x)
    module(encoder, x, causal)
    module(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, norm_first=True), 2, nn.LayerNorm(8), False), x)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12, batch_first=True), 2, nn.LayerNorm(8))
    module(decoder, f(2, 5, 8), f(2, 6, 8), tgt_mask=causal)
    module(decoder, f(2, 5, 8), f(2, 6, 9))
    model = nn.Transformer(8, 2, 1, 1, 12, batch_first=True)
    module(model, f(2, 6, 8), f(2, 5, 8), tgt_mask=causal)
    module(model, f(2, 6, 8), f(3, 5, 8))


def swin():
    attention, table, index = SWIN + "shifted_window_attention", f(49, 2), torch.randint(0, 49, (256,), generator=generator)
    qkv, out, bias = Weight(f(24, 8)), Weight(f(8, 8)), f(1, 2, 16, 16)
    function(attention, f(2, 8, 8, 8), qkv, out, bias, [4, 4], 2, shift_size=[0, 0], training=False)
    function(attention, f(2, 8, 8, 8), qkv, out, bias, [4, 4], 2, shift_size=[2, 2], qkv_bias=Weight(f(24)), proj_bias=Weight(f(8)), training=False)
    function(attention, f(1, 7, 10, 8), qkv, out, bias, [4, 4], 2, [2, 1], 0.0, 0.0, Weight(f(24)), Weight(f(8)), training=False)
    function(attention, f(1, 4, 9, 8), qkv, out, bias, [4, 4], 2, [2, 2], training=False)
    function(attention, f(1, 8, 8, 8), qkv, out, bias, [4, 4], 2, [0, 2], training=False)
    function(attention, f(1, 8, 6, 8), qkv, out, f(1, 4, 12, 12), [4, 3], 4, [1, 2], qkv_bias=Weight(f(24)), logit_scale=f(4, 1, 1) + 3, training=False)
    function(attention, f(2, 8, 8, 8), qkv, out, bias, [4, 4], 3, [0, 0], training=False)
    function(SWIN + "_get_relative_position_bias", table, index, [4, 4])
    function(SWIN + "_get_relative_position_bias", table, index, [4, 3])
    for shape in ((2, 6, 4, 3), (1, 5, 7, 2), (4, 4, 3)):
        function(SWIN + "_patch_merging_pad", f(*shape))
    function(SWIN + "_patch_merging_pad", f(4, 3))


def writes():
    x = f(4, 5, 6)
    names = ["torch.slice_scatter", "aten.slice_scatter.default"]
    function(names, x, f(4, 2, 6), 1, 1, 3)
    function(names, x, f(4, 5, 3), 2, 1, 6, 2)
    function(names[1], x, f(4, 5, 6), 0, 0, 9223372036854775807)
    function(names[1], x, f(2, 5, 6), 0, -3, -1)
    function(names[1], x, f(4, 3, 6), 1, 1, 3)
    method("slice_scatter", x, f(1, 5, 6), start=3)
    function(["torch.select_scatter", "aten.select_scatter.default"], x, f(4, 6), 1, -2)
    function("torch.select_scatter", x, f(4, 6), 1, 5)
    method("select_scatter", x, f(5, 6), 0, 1)
    function(["torch.fill", "aten.fill.Scalar"], x, 1.5)
    function(["torch.fill", "aten.fill.Tensor"], x, f())
    function("aten.fill.Scalar", torch.arange(6).reshape(2, 3), 7)
    function("torch.fill", x, f(2))
    function("aten.copy.default", x, f(5, 1))
    function("aten.copy.default", x, torch.arange(6))
    function("aten.copy.default", x, f(3))
    function("aten.zero.default", x)


def rest():
    nn, image, volume = torch.nn, f(2, 6, 4, 5), f(2, 3, 4, 6, 5)
    module(nn.SyncBatchNorm(6), image)
    for size in (1, 3, 4, 5):
        module(nn.CrossMapLRN2d(size, alpha=0.5, beta=0.6, k=1.5), image)
    module(nn.CrossMapLRN2d(3), f(2, 6, 4))
    module(nn.AdaptiveMaxPool3d((2, 3, 2)), volume)
    module(nn.AdaptiveMaxPool3d((None, 4, 1), return_indices=True), volume)
    module(nn.AdaptiveMaxPool3d(3, return_indices=True), volume[0].round())
    function(F + "adaptive_max_pool3d", volume, 2)
    function(F + "adaptive_max_pool3d", image[0], 2)
    for n, x in ((1, f(2, 3, 5)), (2, image), (3, volume)):
        module(getattr(nn, "CircularPad%dd" % n)((1, 0, 2, 1, 0, 3)[: 2 * n]), x)
    for p, keep in ((2.0, False), (1.0, True), (3.0, False), (float("inf"), True)):
        module(nn.PairwiseDistance(p, keepdim=keep), f(4, 6), f(4, 6))
    function([F + "pairwise_distance", "torch.pairwise_distance", "aten.pairwise_distance.default"], f(3, 4, 6), f(4, 1), 2.0, 1e-4)
    function(F + "pairwise_distance", f(3, 4), f(3, 5))


def main():
    torch.manual_seed(SEED)
    for part in (transformers, swin, writes, rest):
        part()
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "shapes.json"), "w") as file:
        file.write('{"torch": "%s", "seed": %d, "cases": [\n%s\n]}\n' % (torch.__version__, SEED, ",\n".join(line for line in map(json.dumps, cases) if "Infinity" not in line)))  # which is no JSON
    with open(os.path.join(OUT, "cases.txt"), "w") as file:
        file.write("".join(models))
    save_file(values, os.path.join(OUT, "values.safetensors"))
    print("%d cases, %d with values" % (len(cases), len(models)))


if __name__ == "__main__":
    main()
