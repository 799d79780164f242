"""Writes test/golden/quantizable: quantizable and quantized LSTM and attention modules as .qfx text, and PyTorch's outputs.

Run with the venv that has torch:  python test/golden/make_quantizable.py
Models go through eager mode's prepare, calibration and convert (engine x86, activations of 7 bits so that FBGEMM's 16-bit sums cannot saturate);
the module tree that comes out is written with all numbers inline.  Inputs come from random(seed, low, high) (docs/IR.md).
"""
import json
import os
import warnings

import torch
from safetensors.torch import save_file
from torch import nn
import torch.ao.quantization as tq

from make_recurrent import dims, random_floats

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quantizable")
warnings.filterwarnings("ignore")
torch.backends.quantized.engine = "x86"
torch.set_num_threads(1)
cases, outputs = [], {}
CUSTOM = {"float_to_observed_custom_module_class": {nn.LSTM: torch.ao.nn.quantizable.LSTM,
                                                    nn.MultiheadAttention: torch.ao.nn.quantizable.MultiheadAttention},
          "observed_to_quantized_custom_module_class": {torch.ao.nn.quantizable.LSTM: torch.ao.nn.quantized.LSTM,
                                                        torch.ao.nn.quantizable.MultiheadAttention:
                                                            torch.ao.nn.quantized.MultiheadAttention}}


def randomize(model, seed):
    for index, parameter in enumerate(model.parameters()):
        parameter.data = random_floats(tuple(parameter.shape), seed + index, -0.5, 0.5)
    return model.eval()


def numbers(tensor):
    return json.dumps(tensor.tolist())


def tensor_line(word, path, value):
    if not value.is_quantized:
        return "%s %s : f32[%s] = %s" % (word, path, dims(value.shape), numbers(value.detach()))
    if value.qscheme() == torch.per_tensor_affine:
        text = "scale=%r, zero_point=%d" % (value.q_scale(), value.q_zero_point())
    else:
        text = "axis=0, scales=%s, zero_points=%s" % (numbers(value.q_per_channel_scales()),
                                                     numbers(value.q_per_channel_zero_points()))
    dtype = {torch.qint8: "qint8", torch.quint8: "quint8"}[value.dtype]
    return "%s %s : %s[%s]{%s} = %s" % (word, path, dtype, dims(value.shape), text, numbers(value.int_repr()))


LSTM_NAMES = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "bidirectional")
ATTENTION_NAMES = ("embed_dim", "num_heads", "add_zero_attn", "batch_first")


def tree_lines(path, module):
    """Declarations of a module and all below it."""
    name, lines = type(module).__name__, []
    kind = type(module).__module__ + "." + name
    if name == "LSTMCell":
        lines.append("module %s : torch.ao.nn.quantizable.LSTMCell(input_dim=%d, hidden_dim=%d, bias=%s)"
                     % (path, module.input_size, module.hidden_size, module.bias))
    elif name == "LSTM":
        package = "quantized" if "quantized" in kind else "quantizable"
        text = ", ".join("%s=%s" % (key, getattr(module, key)) for key in LSTM_NAMES)
        lines.append("module %s : torch.ao.nn.%s.LSTM(%s)" % (path, package, text))
    elif name == "MultiheadAttention":
        package = "quantized" if "nn.quantized" in kind else "quantizable"
        text = ", ".join("%s=%s" % (key, getattr(module, key)) for key in ATTENTION_NAMES)
        text += ", add_bias_kv=%s" % (module.bias_k is not None)
        if module.kdim != module.embed_dim:
            text += ", kdim=%d, vdim=%d" % (module.kdim, module.vdim)
        lines.append("module %s : torch.ao.nn.%s.MultiheadAttention(%s)" % (path, package, text))
        for key in ("bias_k", "bias_v"):
            if getattr(module, key) is not None:
                lines.append(tensor_line("parameter", "%s.%s" % (path, key), getattr(module, key)))
    elif name in ("Linear", "NonDynamicallyQuantizableLinear") and "quantized" not in kind:
        lines.append("module %s : torch.nn.Linear(in_features=%d, out_features=%d, bias=%s)"
                     % (path, module.in_features, module.out_features, module.bias is not None))
        lines += [tensor_line("parameter", "%s.%s" % (path, key), value) for key, value in module.named_parameters()]
        return lines
    elif name == "Linear":
        weight, bias = module._weight_bias()
        lines.append("module %s : torch.ao.nn.quantized.Linear(in_features=%d, out_features=%d, scale=%r, zero_point=%d)"
                     % (path, module.in_features, module.out_features, module.scale, module.zero_point))
        lines.append(tensor_line("parameter", path + ".weight", weight))
        if bias is not None:
            lines.append(tensor_line("parameter", path + ".bias", bias))
        return lines
    elif name == "QFunctional":
        return ["module %s : torch.ao.nn.quantized.QFunctional()" % path,
                "buffer %s.scale : f64[] = %r" % (path, module.scale), "buffer %s.zero_point : i64[] = %d" % (path, module.zero_point)]
    elif name == "FloatFunctional":
        return ["module %s : torch.ao.nn.quantized.FloatFunctional()" % path]
    elif name == "Quantize":
        return ["module %s : torch.ao.nn.quantized.Quantize()" % path,
                "buffer %s.scale : f32[1] = %s" % (path, numbers(module.scale)),
                "buffer %s.zero_point : i64[1] = %s" % (path, numbers(module.zero_point))]
    elif name == "Sigmoid" and "quantized" in kind:
        return ["module %s : torch.ao.nn.quantized.Sigmoid(output_scale=%r, output_zero_point=%d)"
                % (path, module.output_scale, module.output_zero_point)]
    elif name in ("Sigmoid", "Tanh"):
        return ["module %s : torch.nn.%s()" % (path, name)]
    elif name == "DeQuantize":
        return ["module %s : torch.ao.nn.quantized.DeQuantize()" % path]
    elif name in ("QuantStub", "DeQuantStub"):
        return ["module %s : torch.ao.quantization.stubs.%s()" % (path, name)]
    for key, child in module.named_children():
        if not isinstance(child, nn.Identity):
            lines += tree_lines("%s.%s" % (path, key), child)
    return lines


class Net(nn.Module):
    """Stubs around one module; several inputs are quantized one by one."""

    def __init__(self, module, count):
        super().__init__()
        self.m = module
        self.quants = nn.ModuleList([tq.QuantStub() for _ in range(count)])

    def forward(self, *inputs, **options):
        return self.m(*[quant(x) for quant, x in zip(self.quants, inputs)], **options)


def record(name, lines, inputs, body, result):
    header = ", ".join("%%%s : f32[%s]" % (i["name"], dims(i["shape"])) for i in inputs)
    text = "\n".join(["qfx 1"] + lines + ["graph(%s) {" % header] + ["  " + line for line in body] + ["}"]) + "\n"
    cases.append({"name": name, "text": text, "inputs": inputs})

    def store(key, value):
        if value is None:
            return
        if not isinstance(value, torch.Tensor):
            for i, element in enumerate(value):
                store("%s.%d" % (key, i) if key else str(i), element)
            return
        if value.is_quantized:
            outputs["%s/%s/scale" % (name, key)] = torch.tensor(value.q_scale(), dtype=torch.float64)
            outputs["%s/%s/zero_point" % (name, key)] = torch.tensor(value.q_zero_point())
            value = value.int_repr()
        outputs["%s/%s" % (name, key)] = value.detach().contiguous().clone()
    store("", result)


def qconfig():
    """7-bit activations: no pair of products can saturate 16 bits on processors without VNNI."""
    return tq.QConfig(activation=tq.MinMaxObserver.with_args(reduce_range=True), weight=tq.default_per_channel_weight_observer)


def mask_lines(masks):
    """Masks as buffers of the root, the nodes that read them."""
    lines = ["buffer %s : %s[%s] = %s" % (key, "bool" if value.dtype == torch.bool else "f32", dims(value.shape), numbers(value.int() if value.dtype == torch.bool else value))
             for key, value in masks.items()]
    return lines, ["%%%s = get_attr[%s]()" % (key, key) for key in masks]


def run_case(name, module, shapes, seed, call="", forward_options=None):
    net = Net(randomize(module, seed), len(shapes)).eval()
    net.qconfig = qconfig()
    inputs = [{"name": key, "shape": list(shape), "seed": seed + 50 + i, "low": -1.5, "high": 1.5}
              for i, (key, shape) in enumerate(shapes)]
    tensors = [random_floats(tuple(i["shape"]), i["seed"], i["low"], i["high"]) for i in inputs]
    forward_options = forward_options or {}
    masks = {key: value for key, value in forward_options.items() if isinstance(value, torch.Tensor)}
    buffers, reads = mask_lines(masks)
    net = tq.prepare(net, prepare_custom_config_dict=CUSTOM)
    for child in net.modules():
        if isinstance(child, nn.MultiheadAttention):
            child.batch_first = module.batch_first
    with torch.no_grad():
        for round_number in range(3):
            net(*[random_floats(tuple(i["shape"]), i["seed"] + 7 * round_number, i["low"], i["high"]) for i in inputs],
                **forward_options)
        names = ["%" + i["name"] for i in inputs]
        observed = net.m(*tensors, **forward_options)
        record(name + "_float", tree_lines("m", net.m) + buffers, [dict(i) for i in inputs],
               reads + ["%%r = call_module[m](%s%s)" % (", ".join(names), call), "return %r"], observed)
        converted = tq.convert(net, convert_custom_config_dict=CUSTOM)
        quantizers = [(q.scale.item(), int(q.zero_point)) for q in converted.quants]
        body = ["%%q%d = call_function[torch.quantize_per_tensor](%s, %r, %d, torch.quint8)" % (i, key, scale, zero_point)
                for i, (key, (scale, zero_point)) in enumerate(zip(names, quantizers))]
        codes = ["%%q%d" % i for i in range(len(names))]
        captured = capture(converted.m) if masks else {}
        result = converted(*tensors, **forward_options)
        record(name + "_quantized", tree_lines("m", converted.m) + buffers, inputs,
               reads + body + ["%%r = call_module[m](%s%s)" % (", ".join(codes), call), "return %r"], result)
        if masks:
            record_bounds(name + "_quantized", converted.m, captured, result)


def capture(attention):
    """The floats that the quantizer before out_proj gets, filled in when the module runs."""
    captured = {}
    attention.quant_attn_output.register_forward_pre_hook(lambda _, args: captured.__setitem__("output", args[0]))
    return captured


def find_ties(values, quantizer):
    """Where the unrounded value lies within 1e-4 of a tie (operators 1.1, T1)."""
    steps = values.double() / quantizer.scale.double()
    return (steps - steps.floor() - 0.5).abs() <= 1e-4


def record_bounds(name, attention, captured, result):
    """By how many codes the result may differ, `0/bound`: a last bit of the float softmax may turn codes of quant_attn_output at a tie, each of
    which moves what out_proj makes of its row by a weight."""
    tied = find_ties(captured["output"], attention.quant_attn_output).double()
    weight, _ = attention.out_proj._weight_bias()
    reach = tied @ weight.dequantize().double().abs().t() * (attention.quant_attn_output.scale.double() / attention.out_proj.scale)
    bound = torch.where(reach > 0, reach.ceil() + 1, torch.zeros_like(reach)).to(torch.int32)
    outputs[name + "/0/bound"] = (bound.transpose(0, 1) if attention.batch_first else bound).reshape(result[0].shape).contiguous()


class CellNet(nn.Module):
    """A cell that is called once; its states are quantized with parameters of their own."""

    def __init__(self, cell):
        super().__init__()
        self.m = cell
        self.quants = nn.ModuleList([tq.QuantStub() for _ in range(3)])

    def forward(self, x, h, c):
        x, h, c = (quant(value) for quant, value in zip(self.quants, (x, h, c)))
        return self.m(x, (h, c))


def cell_case(name, seed):
    cell = randomize(torch.ao.nn.quantizable.LSTMCell(3, 6), seed)
    net = CellNet(cell).eval()
    net.qconfig = qconfig()
    inputs = [{"name": key, "shape": list(shape), "seed": seed + 50 + i, "low": -1.5, "high": 1.5}
              for i, (key, shape) in enumerate([("x", (4, 3)), ("h", (4, 6)), ("c", (4, 6))])]
    tensors = [random_floats(tuple(i["shape"]), i["seed"], i["low"], i["high"]) for i in inputs]
    net = tq.prepare(net)
    with torch.no_grad():
        net(*tensors)
        record(name + "_float", tree_lines("m", net.m), [dict(i) for i in inputs], ["%r = call_module[m](%x, (%h, %c))", "return %r"],
               net.m(tensors[0], tuple(tensors[1:])))
        converted = tq.convert(net)
        body = ["%%q%d = call_function[torch.quantize_per_tensor](%%%s, %r, %d, torch.quint8)"
                % (i, entry["name"], q.scale.item(), int(q.zero_point)) for i, (entry, q) in enumerate(zip(inputs, converted.quants))]
        record(name + "_quantized", tree_lines("m", converted.m), inputs, body + ["%r = call_module[m](%q0, (%q1, %q2))", "return %r"],
               converted(*tensors))


def main():
    os.makedirs(OUT, exist_ok=True)
    for number, (options, shape) in enumerate([
            ({}, (4, 2, 3)), (dict(bias=False), (1, 1, 3)), (dict(batch_first=True), (3, 5, 4)),
            (dict(bidirectional=True), (4, 2, 3)), (dict(num_layers=2), (3, 2, 5)),
            (dict(num_layers=2, bidirectional=True), (4, 3, 3))]):
        run_case("lstm_%d" % number, nn.LSTM(shape[2], 5 + number, **options), [("x", shape)], 1000 * (number + 1))
    for number, (options, target, source, call, forward_options) in enumerate([
            ({}, 3, 3, "", {}), (dict(bias=False), 4, 6, "", {}),
            ({}, 5, 4, ", average_attn_weights=False", dict(average_attn_weights=False)),
            ({}, 2, 3, ", need_weights=False", dict(need_weights=False)),
            (dict(add_bias_kv=True, add_zero_attn=True), 3, 5, "", {}), (dict(kdim=6, vdim=10), 3, 4, "", {})]):
        module = nn.MultiheadAttention(8, 2, **options)
        shapes = [("q", (target, 2, 8)), ("k", (source, 2, options.get("kdim", 8))), ("v", (source, 2, options.get("vdim", 8)))]
        run_case("attention_%d" % number, module, shapes, 20000 + 1000 * number, call=call, forward_options=forward_options)
    # Masks of every kind, and batch_first with one head (with several PyTorch mixes heads and positions: docs/Differences.md).
    causal = torch.triu(torch.ones(4, 5, dtype=torch.bool), 2)
    padding = torch.tensor([[False, False, False, False, True], [False, True, False, False, False]])
    added = random_floats((4, 5), 70001, -2.0, 2.0)
    each = random_floats((4, 4, 5), 70002, -2.0, 2.0)
    for number, (options, heads, masks) in enumerate([
            ({}, 2, dict(attn_mask=causal)), ({}, 2, dict(attn_mask=added)), ({}, 2, dict(attn_mask=each)), ({}, 2, dict(key_padding_mask=padding)),
            ({}, 2, dict(key_padding_mask=padding, attn_mask=causal)), (dict(add_bias_kv=True, add_zero_attn=True), 2, dict(key_padding_mask=padding, attn_mask=added)),
            (dict(batch_first=True), 1, {}), (dict(batch_first=True), 1, dict(key_padding_mask=padding, attn_mask=added))]):
        module = nn.MultiheadAttention(8, heads, **options)
        order = (lambda length: (2, length, 8)) if options.get("batch_first") else (lambda length: (length, 2, 8))
        run_case("attention_masked_%d" % number, module, [("q", order(4)), ("k", order(5)), ("v", order(5))], 70100 + 1000 * number,
                 call="".join(", %s=%%%s" % (key, key) for key in masks), forward_options=masks)
    cell_case("cell", 90000)
    with open(os.path.join(OUT, "cases.json"), "w") as file:
        json.dump({"torch": torch.__version__, "cases": cases}, file, indent=0)
        file.write("\n")
    save_file(outputs, os.path.join(OUT, "outputs.safetensors"), {"torch": torch.__version__})
    print("%d cases with torch %s" % (len(cases), torch.__version__))


if __name__ == "__main__":
    main()
