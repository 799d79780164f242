"""Writes test/golden/recurrent: recurrent layers and cells as .qfx text, their inputs by seed, and PyTorch's outputs.

Run with the venv that has torch:  python test/golden/make_recurrent.py
Weights and inputs come from the text form's own random(seed, low, high) (docs/IR.md), rebuilt here, so that only texts and
results are stored.  Quantized cases run torch's dynamic modules with the x86 engine; where PyTorch has no module
(projection), its own linear_dynamic and float functions are put together as operators 11.4 says.
"""
import json
import os

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
import torch.ao.nn.quantized.dynamic as nnqd
from torch.ao.nn.quantized.dynamic.modules.rnn import PackedParameter

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recurrent")
MASK = (1 << 64) - 1
torch.backends.quantized.engine = "x86"
torch.set_num_threads(1)
cases, outputs = [], {}


def random_numbers(count, seed, low, high):
    """docs/IR.md: element i is low + (high - low) * (u >> 40) * 2^-24, u the (i+1)-th output of splitmix64."""
    values, state = np.empty(count), seed & MASK
    for i in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        values[i] = low + (high - low) * (((z ^ (z >> 31)) >> 40) * 2.0 ** -24)
    return values


def random_floats(shape, seed, low, high):
    numbers = random_numbers(int(np.prod(shape)), seed, low, high)
    return torch.from_numpy(numbers.astype(np.float32)).reshape(shape)


def random_codes(shape, seed, bound=127):
    numbers = np.rint(random_numbers(int(np.prod(shape)), seed, -bound, bound))
    return torch.from_numpy(numbers.astype(np.int8)).reshape(shape)


def dims(shape):
    return ", ".join(str(size) for size in shape)


class Case:
    """One model: weights are added by name in the order of the state dict, then inputs."""

    def __init__(self, name, target, attributes, seed):
        self.name, self.seed = name, seed
        self.lines = ["qfx 1", "module m : %s(%s)" % (target, attributes)]
        self.inputs, self.weights = [], {}

    def next_seed(self):
        self.seed += 1
        return self.seed

    def float_weight(self, name, shape, bound=0.6, dtype="f32"):
        seed = self.next_seed()
        self.lines.append("parameter m.%s : %s[%s] = random(seed=%d, low=%s, high=%s)"
                          % (name, dtype, dims(shape), seed, -bound, bound))
        self.weights[name] = random_floats(shape, seed, -bound, bound)
        return self.weights[name]

    def code_weight(self, name, shape, per_channel, bound=127):
        seed = self.next_seed()
        codes = random_codes(shape, seed, bound)
        if per_channel:
            scales = [0.003 + 0.0001 * (i % 17) for i in range(shape[0])]
            text = "axis=0, scales=[%s], zero_points=[%s]" % (", ".join(repr(s) for s in scales),
                                                             ", ".join("0" for _ in scales))
            weight = torch._make_per_channel_quantized_tensor(
                codes, torch.tensor(scales, dtype=torch.float64), torch.zeros(shape[0], dtype=torch.int64), 0)
        else:
            text = "scale=0.0045, zero_point=0"
            weight = torch._make_per_tensor_quantized_tensor(codes, 0.0045, 0)
        self.lines.append("parameter m.%s : qint8[%s]{%s} = random(seed=%d, low=%d, high=%d)"
                          % (name, dims(shape), text, seed, -bound, bound))
        return weight

    def input(self, name, shape, declared, bound=2.0):
        seed = self.next_seed()
        self.inputs.append({"name": name, "shape": list(shape), "seed": seed, "low": -bound, "high": bound,
                            "declared": declared})
        return random_floats(shape, seed, -bound, bound)

    def finish(self, arguments, result):
        header = ", ".join("%%%s : f32[%s]" % (i["name"], i.pop("declared")) for i in self.inputs)
        self.lines += ["graph(%s) {" % header, "  %%r = call_module[m](%s)" % arguments, "  return %r", "}"]
        cases.append({"name": self.name, "text": "\n".join(self.lines) + "\n", "inputs": self.inputs})

        def record(key, value):
            if isinstance(value, torch.Tensor):
                outputs["%s/%s" % (self.name, key or "out")] = value.detach().contiguous().clone()
            else:
                for i, element in enumerate(value):
                    record("%s.%d" % (key, i) if key else str(i), element)
        record("", result)


def layer_inputs(case, kind, features, hidden, layers, directions, batch_first, shape, with_state, width):
    """x and, if asked for, the initial states; returns (arguments as text, torch arguments)."""
    length, batch = shape
    if batch is None:
        x = case.input("x", (length, features), "T, %d" % features)
        state_shape, declared = (layers * directions,), "%d" % (layers * directions)
    else:
        x = case.input("x", (batch, length, features) if batch_first else (length, batch, features),
                       "%s, %d" % ("N, T" if batch_first else "T, N", features))
        state_shape, declared = (layers * directions, batch), "%d, N" % (layers * directions)
    if not with_state:
        return "%x", (x,)
    h = case.input("h", state_shape + (width,), "%s, %d" % (declared, width), 1.0)
    if kind != "LSTM":
        return "%x, %h", (x, h)
    c = case.input("c", state_shape + (hidden,), "%s, %d" % (declared, hidden), 1.5)
    return "%x, (%h, %c)", (x, (h, c))


def attribute_text(**values):
    return ", ".join("%s=%s" % (key, ("'%s'" % value).replace("'", '"') if isinstance(value, str) else value)
                     for key, value in values.items())


def float_layer(name, kind, features, hidden, shape=(5, 3), layers=1, bidirectional=False, batch_first=False, bias=True,
                state=False, proj_size=0, nonlinearity="tanh", seed=0):
    options = dict(num_layers=layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional)
    if kind == "LSTM" and proj_size:
        options["proj_size"] = proj_size
    if kind == "RNN":
        options["nonlinearity"] = nonlinearity
    module = getattr(nn, kind)(features, hidden, **options).eval()
    case = Case(name, "torch.nn." + kind, attribute_text(input_size=features, hidden_size=hidden, **options), seed)
    state_dict = {key: case.float_weight(key, tuple(value.shape)) for key, value in module.state_dict().items()}
    module.load_state_dict(state_dict)
    text, arguments = layer_inputs(case, kind, features, hidden, layers, 2 if bidirectional else 1, batch_first, shape,
                                   state, proj_size or hidden)
    with torch.no_grad():
        case.finish(text, module(*arguments))


def dynamic_layer(name, kind, features, hidden, shape=(5, 3), layers=1, bidirectional=False, batch_first=False,
                  bias=True, state=False, per_channel=False, dtype="qint8", seed=0):
    options = dict(num_layers=layers, bias=bias, batch_first=batch_first, bidirectional=bidirectional)
    text_options = dict(options, dtype="torch." + dtype) if dtype != "qint8" else options
    attributes = attribute_text(input_size=features, hidden_size=hidden, **text_options).replace('"', "")
    case = Case(name, "torch.ao.nn.quantized.dynamic." + kind, attributes, seed)
    module = getattr(nnqd, kind)(features, hidden, num_layers=layers, batch_first=batch_first,
                                 bidirectional=bidirectional)
    directions, gates = 2 if bidirectional else 1, 4 if kind == "LSTM" else 3
    packed = []
    for layer in range(layers):
        for suffix in ["_l%d" % layer, "_l%d_reverse" % layer][:directions]:
            width = features if layer == 0 else directions * hidden
            shapes = {"ih": (gates * hidden, width), "hh": (gates * hidden, hidden)}
            make = (lambda key, size: case.float_weight(key, size, dtype="f16")) if dtype == "float16" else \
                (lambda key, size: case.code_weight(key, size, per_channel))
            weights = [make("weight_%s%s" % (part, suffix), shapes[part]) for part in ("ih", "hh")]
            biases = [case.float_weight("bias_%s%s" % (part, suffix), (gates * hidden,)) if bias
                      else torch.zeros(gates * hidden) for part in ("ih", "hh")]
            if dtype == "float16":
                parts = [torch.ops.quantized.linear_prepack_fp16(w, b) for w, b in zip(weights, biases)]
                params = torch.ops.quantized.make_quantized_cell_params_fp16(*parts)
            else:
                parts = [torch.ops.quantized.linear_prepack(w, b) for w, b in zip(weights, biases)]
                params = torch.ops.quantized.make_quantized_cell_params_dynamic(*parts, *biases, True)
            packed.append(PackedParameter(params))
    module._all_weight_values = nn.ModuleList(packed)
    module.dtype = getattr(torch, dtype)
    text, arguments = layer_inputs(case, kind, features, hidden, layers, directions, batch_first, shape, state, hidden)
    case.finish(text, module(*arguments))


def cell_inputs(case, kind, features, hidden, batch, state):
    x = case.input("x", (batch, features) if batch else (features,), "N, %d" % features if batch else "%d" % features)
    if not state:
        return "%x", (x,)
    shape, declared = ((batch, hidden), "N, %d" % hidden) if batch else ((hidden,), "%d" % hidden)
    h = case.input("h", shape, declared, 1.0)
    if kind != "LSTMCell":
        return "%x, %h", (x, h)
    return "%x, (%h, %c)", (x, (h, case.input("c", shape, declared, 1.5)))


def float_cell(name, kind, features, hidden, batch=3, bias=True, state=False, nonlinearity="tanh", seed=0):
    options = dict(bias=bias)
    if kind == "RNNCell":
        options["nonlinearity"] = nonlinearity
    module = getattr(nn, kind)(features, hidden, **options).eval()
    case = Case(name, "torch.nn." + kind, attribute_text(input_size=features, hidden_size=hidden, **options), seed)
    module.load_state_dict({key: case.float_weight(key, tuple(value.shape)) for key, value in module.state_dict().items()})
    text, arguments = cell_inputs(case, kind, features, hidden, batch, state)
    with torch.no_grad():
        case.finish(text, module(*arguments))


def dynamic_cell(name, kind, features, hidden, batch=3, bias=True, state=False, nonlinearity="tanh", per_channel=False,
                 dtype="qint8", seed=0):
    options = dict(bias=bias)
    if kind == "RNNCell":
        options["nonlinearity"] = nonlinearity
    module = getattr(nnqd, kind)(features, hidden, **options)
    text_options = dict(options)
    attributes = attribute_text(input_size=features, hidden_size=hidden, **text_options)
    if dtype != "qint8":
        attributes += ", dtype=torch." + dtype
    case = Case(name, "torch.ao.nn.quantized.dynamic." + kind, attributes, seed)
    gates = {"LSTMCell": 4, "GRUCell": 3, "RNNCell": 1}[kind]
    make = (lambda key, size: case.float_weight(key, size, dtype="f16")) if dtype == "float16" else \
        (lambda key, size: case.code_weight(key, size, per_channel))
    prepack = torch.ops.quantized.linear_prepack_fp16 if dtype == "float16" else torch.ops.quantized.linear_prepack
    weights = [make("weight_ih", (gates * hidden, features)), make("weight_hh", (gates * hidden, hidden))]
    biases = [case.float_weight("bias_" + part, (gates * hidden,)) if bias else torch.zeros(gates * hidden)
              for part in ("ih", "hh")]
    module._packed_weight_ih, module._packed_weight_hh = (prepack(w, b) for w, b in zip(weights, biases))
    text, arguments = cell_inputs(case, kind, features, hidden, batch, state)
    case.finish(text, module(*arguments))


def reference_case(name, kind, features, hidden, shape, per_channel, seed, **options):
    """A reference module: float weights that are quantized and dequantized."""
    attributes = dict(input_size=features, hidden_size=hidden, **options)
    scheme = "per_channel_affine" if per_channel else "per_tensor_affine"
    case = Case(name, "torch.ao.nn.quantized.reference." + kind,
                attribute_text(**attributes) + ", weight_qscheme=torch.%s, weight_dtype=torch.qint8" % scheme, seed)
    plain = getattr(nn, kind)(features, hidden, **options)
    qparams, state = {}, {}
    for key, value in plain.state_dict().items():
        state[key] = case.float_weight(key, tuple(value.shape))
        if not key.startswith("weight"):
            continue
        count = value.shape[0] if per_channel else 1
        scale = torch.tensor([0.004 + 0.0001 * (i % 13) for i in range(count)])
        qparams[key] = {"qscheme": getattr(torch, scheme), "dtype": torch.qint8, "axis": 0,
                        "scale": scale if per_channel else scale[0], "zero_point": torch.zeros_like(scale, dtype=torch.int64)
                        if per_channel else torch.tensor(0)}
        size = "[%d]" % count if per_channel else "[]"
        text = json.dumps([float(v) for v in scale]) if per_channel else repr(float(scale[0]))
        case.lines += ["buffer m.%s_scale : f32%s = %s" % (key, size, text),
                       "buffer m.%s_zero_point : i64%s = %s" % (key, size, json.dumps([0] * count) if per_channel else "0")]
    qparams["is_decomposed"] = False
    module = getattr(torch.ao.nn.quantized.reference, kind)(features, hidden, **options, weight_qparams_dict=qparams)
    module.load_state_dict(state, strict=False)
    if kind.endswith("Cell"):
        text, arguments = cell_inputs(case, kind, features, hidden, shape, True)
    else:
        text, arguments = layer_inputs(case, kind, features, hidden, options.get("num_layers", 1),
                                       2 if options.get("bidirectional") else 1, False, shape, True, hidden)
    case.finish(text, module.eval()(*arguments))


def aten_case(name, kind, features, hidden, shape, layers, bidirectional, seed):
    """The ATen spelling, as torch.export records it: weights as a list, results flat."""
    module = getattr(nn, kind)(features, hidden, num_layers=layers, bidirectional=bidirectional).eval()
    case = Case(name, "torch.nn.Identity", "", seed)
    case.lines = ["qfx 1"]
    state_dict = {}
    for key, value in module.state_dict().items():
        line = len(case.lines)
        state_dict[key] = case.float_weight(key, tuple(value.shape))
        case.lines[line] = case.lines[line].replace("parameter m.", "parameter ")
    module.load_state_dict(state_dict)
    text, arguments = layer_inputs(case, kind, features, hidden, layers, 2 if bidirectional else 1, False, shape, True, hidden)
    target = {"LSTM": "aten.lstm.input", "GRU": "aten.gru.input", "RNN": "aten.rnn_tanh.input"}[kind]
    result = module(*arguments)
    if kind == "LSTM":
        text, result = text.replace("(%h, %c)", "[%h, %c]"), (result[0],) + result[1]
    case.finish(text, result)
    entry = cases[-1]
    names = list(state_dict)
    body = ["  %%%s = get_attr[%s]()" % (key, key) for key in names]
    body.append("  %%r = call_function[%s](%s, [%s], True, %d, 0.0, False, %s, False)"
                % (target, text, ", ".join("%" + key for key in names), layers, bidirectional))
    entry["text"] = entry["text"].replace("  %%r = call_module[m](%s)" % text, "\n".join(body))


def functional_case(name, kind, features, hidden, shape, layers, bidirectional, seed, dtype="qint8", reduce_range=True, batch_first=False):
    """torch.quantized_lstm and torch.quantized_gru on what make_quantized_cell_params_* gives, packed in the graph."""
    case = Case(name, "torch.nn.Identity", "", seed)
    case.lines = ["qfx 1"]
    directions, gates = 2 if bidirectional else 1, 4 if kind == "LSTM" else 3
    body, cells, packed, declared = [], [], [], []
    q = torch.ops.quantized
    for layer in range(layers):
        for suffix in ["l%d" % layer, "l%d_reverse" % layer][:directions]:
            parts = {}
            for part, width in (("ih", features if layer == 0 else directions * hidden), ("hh", hidden)):
                key, size = "%s_%s" % (part, suffix), (gates * hidden, width)
                # without reduce_range codes reach 255: larger weights would saturate FBGEMM's 16-bit sums on processors without VNNI
                weight = case.code_weight("w_" + key, size, False, 127 if reduce_range else 63) if dtype == "qint8" else case.float_weight("w_" + key, size)
                bias = case.float_weight("b_" + key, (gates * hidden,))
                prepack = "linear_prepack" if dtype == "qint8" else "linear_prepack_fp16"
                parts[part] = getattr(q, prepack)(weight, bias), bias
                body += ["%%w_%s = get_attr[w_%s]()" % (key, key), "%%b_%s = get_attr[b_%s]()" % (key, key),
                         "%%p_%s = call_function[torch.ops.quantized.%s](%%w_%s, %%b_%s)" % (key, prepack, key, key)]
            if dtype == "qint8":
                packed.append(q.make_quantized_cell_params_dynamic(parts["ih"][0], parts["hh"][0], parts["ih"][1], parts["hh"][1], reduce_range))
                body.append("%%c_%s = call_function[torch.ops.quantized.make_quantized_cell_params_dynamic](%%p_ih_%s, %%p_hh_%s, %%b_ih_%s, %%b_hh_%s, %s)"
                            % ((suffix,) * 5 + (reduce_range,)))
            else:
                packed.append(q.make_quantized_cell_params_fp16(parts["ih"][0], parts["hh"][0]))
                body.append("%%c_%s = call_function[torch.ops.quantized.make_quantized_cell_params_fp16](%%p_ih_%s, %%p_hh_%s)" % ((suffix,) * 3))
            cells.append("%%c_%s" % suffix)
    case.lines = [line.replace("parameter m.", "parameter ") for line in case.lines]
    text, arguments = layer_inputs(case, kind, features, hidden, layers, directions, batch_first, shape, True, hidden)
    if kind == "LSTM":
        text = text.replace("(%h, %c)", "[%h, %c]")
        result = torch.quantized_lstm(arguments[0], list(arguments[1]), packed, True, layers, 0.0, False, bidirectional, batch_first,
                                      dtype=torch.float16 if dtype == "float16" else torch.qint8, use_dynamic=True)
        more = ", dtype=torch.%s, use_dynamic=True" % dtype
    else:
        result, more = torch.quantized_gru(arguments[0], arguments[1], packed, True, layers, 0.0, False, bidirectional, batch_first), ""
    case.finish(text, result)
    entry = cases[-1]
    body.append("%%r = call_function[torch.quantized_%s](%s, [%s], True, %d, 0.0, False, %s, %s%s)"
                % (kind.lower(), text, ", ".join(cells), layers, bidirectional, batch_first, more))
    entry["text"] = entry["text"].replace("  %%r = call_module[m](%s)" % text, "\n".join("  " + line for line in body))


def packed_case(name, kind, features, hidden, lengths, layers=1, bidirectional=False, batch_first=False, dynamic=False, proj_size=0, state=False, seed=0):
    """pack_padded_sequence, a layer, pad_packed_sequence; rows in any order."""
    options = dict(num_layers=layers, batch_first=batch_first, bidirectional=bidirectional)
    if proj_size:
        options["proj_size"] = proj_size
    directions, gates = 2 if bidirectional else 1, {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    package = "torch.ao.nn.quantized.dynamic." if dynamic else "torch.nn."
    case = Case(name, package + kind, attribute_text(input_size=features, hidden_size=hidden, **options), seed)
    if dynamic:
        module, packed = getattr(nnqd, kind)(features, hidden, num_layers=layers, batch_first=batch_first, bidirectional=bidirectional), []
        for layer in range(layers):
            for suffix in ["_l%d" % layer, "_l%d_reverse" % layer][:directions]:
                shapes = {"ih": (gates * hidden, features if layer == 0 else directions * hidden), "hh": (gates * hidden, hidden)}
                weights = [case.code_weight("weight_%s%s" % (part, suffix), shapes[part], False) for part in ("ih", "hh")]
                biases = [case.float_weight("bias_%s%s" % (part, suffix), (gates * hidden,)) for part in ("ih", "hh")]
                parts = [torch.ops.quantized.linear_prepack(w, b) for w, b in zip(weights, biases)]
                packed.append(PackedParameter(torch.ops.quantized.make_quantized_cell_params_dynamic(*parts, *biases, True)))
        module._all_weight_values = nn.ModuleList(packed)
    else:
        module = getattr(nn, kind)(features, hidden, **options).eval()
        module.load_state_dict({key: case.float_weight(key, tuple(value.shape)) for key, value in module.state_dict().items()})
    case.lines.append("buffer n : i64[%d] = %s" % (len(lengths), json.dumps(lengths)))
    text, arguments = layer_inputs(case, kind, features, hidden, layers, directions, batch_first, (max(lengths), len(lengths)), state, proj_size or hidden)
    is_sorted = sorted(lengths, reverse=True) == lengths
    rows = nn.utils.rnn.pack_padded_sequence(arguments[0], torch.tensor(lengths), batch_first, is_sorted)
    output, states = module(rows, *arguments[1:])
    case.finish(text, (nn.utils.rnn.pad_packed_sequence(output, batch_first, padding_value=-0.5), states))
    rnn = "torch.nn.utils.rnn."
    cases[-1]["text"] = cases[-1]["text"].replace("  %%r = call_module[m](%s)\n  return %%r" % text, "\n".join([
        "  %n = get_attr[n]()", "  %%p = call_function[%spack_padded_sequence](%%x, %%n, %s, %s)" % (rnn, batch_first, is_sorted),
        "  %%r = call_module[m](%s)" % text.replace("%x", "%p"), "  %o = call_function[operator.getitem](%r, 0)", "  %s = call_function[operator.getitem](%r, 1)",
        "  %%y = call_function[%spad_packed_sequence](%%o, %s, padding_value=-0.5)" % (rnn, batch_first), "  return (%y, %s)"]))


def projected_layer(name, features, hidden, proj_size, shape=(4, 3), bidirectional=False, seed=0):
    """A dynamic LSTM with projection (known_traps B103): PyTorch has none, so its linear_dynamic is called step by step."""
    case = Case(name, "torch.ao.nn.quantized.dynamic.LSTM",
                attribute_text(input_size=features, hidden_size=hidden, bidirectional=bidirectional, proj_size=proj_size), seed)
    directions = []
    for suffix in ["_l0", "_l0_reverse"][:2 if bidirectional else 1]:
        parts = [case.code_weight("weight_%s%s" % (part, suffix), (4 * hidden, width), False)
                 for part, width in (("ih", features), ("hh", proj_size))]
        biases = [case.float_weight("bias_%s%s" % (part, suffix), (4 * hidden,)) for part in ("ih", "hh")]
        out = case.code_weight("weight_hr" + suffix, (proj_size, hidden), False)
        directions.append([torch.ops.quantized.linear_prepack(w, b) for w, b in zip(parts + [out], biases + [None])])
    length, batch = shape
    x = case.input("x", (length, batch, features), "T, N, %d" % features)
    columns, last_h, last_c = [], [], []
    for index, (ih, hh, hr) in enumerate(directions):
        gates = torch.ops.quantized.linear_dynamic(x, ih, True)
        h, c, rows = torch.zeros(batch, proj_size), torch.zeros(batch, hidden), [None] * length
        for t in (range(length) if index == 0 else reversed(range(length))):
            i, f, g, o = (torch.ops.quantized.linear_dynamic(h, hh, True) + gates[t]).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = torch.ops.quantized.linear_dynamic(o.sigmoid() * c.tanh(), hr, True)
            rows[t] = h
        columns.append(torch.stack(rows))
        last_h.append(h)
        last_c.append(c)
    case.finish("%x", (torch.cat(columns, 2), (torch.stack(last_h), torch.stack(last_c))))


def write_cases():
    seed = 0
    for kind in ("LSTM", "GRU", "RNN"):
        for number, (hidden, options) in enumerate([
                (1, {}), (5, dict(state=True)), (8, dict(bias=False)), (13, dict(bidirectional=True)),
                (16, dict(layers=2, state=True)), (7, dict(layers=3, bidirectional=True, state=True)),
                (9, dict(batch_first=True)), (33, dict(batch_first=True, bidirectional=True, layers=2, state=True)),
                (12, dict(shape=(6, None))), (12, dict(shape=(6, None), bidirectional=True, state=True, layers=2)),
                (6, dict(shape=(1, 1))), (4, dict(shape=(40, 2))), (24, dict(shape=(3, 70)))]):
            seed += 100
            float_layer("float_%s_%d" % (kind.lower(), number), kind, 3 + number, hidden, seed=seed, **options)
    for number, options in enumerate([{}, dict(bidirectional=True, layers=2, state=True), dict(batch_first=True, bias=False)]):
        seed += 100
        float_layer("float_proj_%d" % number, "LSTM", 5, 11, proj_size=4, seed=seed, **options)
        seed += 100
        float_layer("float_relu_%d" % number, "RNN", 5, 6, nonlinearity="relu", seed=seed, **options)
    for kind in ("LSTMCell", "GRUCell", "RNNCell"):
        for number, options in enumerate([{}, dict(state=True), dict(bias=False, state=True), dict(batch=None, state=True),
                                          dict(batch=None), dict(batch=1)]):
            seed += 100
            float_cell("float_%s_%d" % (kind.lower(), number), kind, 4, 5 + 4 * number, seed=seed, **options)
    seed += 100
    float_cell("float_rnncell_relu", "RNNCell", 6, 10, nonlinearity="relu", state=True, seed=seed)
    for kind in ("LSTM", "GRU"):
        for dtype in ("qint8", "float16"):
            for number, (hidden, options) in enumerate([
                    (1, {}), (5, dict(state=True)), (8, dict(bias=False)), (13, dict(bidirectional=True)),
                    (16, dict(layers=2, state=True)), (7, dict(layers=2, bidirectional=True, state=True)),
                    (9, dict(batch_first=True)), (33, dict(batch_first=True, bidirectional=True, layers=2, state=True)),
                    (24, dict(shape=(3, 70))), (6, dict(shape=(1, 1)))]):
                seed += 100
                dynamic_layer("%s_%s_%d" % (dtype, kind.lower(), number), kind, 3 + number, hidden, dtype=dtype, seed=seed,
                              **options)
        for number, options in enumerate([{}, dict(layers=2, bidirectional=True, state=True)]):
            seed += 100
            dynamic_layer("channel_%s_%d" % (kind.lower(), number), kind, 6, 10, per_channel=True, seed=seed, **options)
    for kind in ("LSTMCell", "GRUCell", "RNNCell"):
        for dtype in ("qint8", "float16"):
            for number, options in enumerate([{}, dict(state=True), dict(bias=False, state=True), dict(batch=1)]):
                seed += 100
                dynamic_cell("%s_%s_%d" % (dtype, kind.lower(), number), kind, 4, 5 + 4 * number, dtype=dtype, seed=seed,
                             **options)
        seed += 100
        dynamic_cell("channel_" + kind.lower(), kind, 7, 9, per_channel=True, state=True, seed=seed)
    seed += 100
    dynamic_cell("qint8_rnncell_relu", "RNNCell", 6, 10, nonlinearity="relu", state=True, seed=seed)
    for number, (kind, options) in enumerate([("LSTM", dict(num_layers=2, bidirectional=True)), ("LSTM", {}), ("GRU", dict(bidirectional=True)),
                                              ("LSTMCell", {}), ("GRUCell", {}), ("RNNCell", {}), ("RNNCell", dict(nonlinearity="relu"))]):
        for per_channel in (False, True):
            seed += 100
            reference_case("reference_%s_%d_%d" % (kind.lower(), number, per_channel), kind, 4, 6, 3 if "Cell" in kind else (4, 3),
                           per_channel, seed, **options)
    for kind in ("LSTM", "GRU", "RNN"):
        seed += 100
        aten_case("aten_" + kind.lower(), kind, 4, 6, (3, 2), 2, True, seed)
    projected_layer("projected", 4, 6, 3, seed=seed + 100)
    projected_layer("projected_both", 4, 6, 3, bidirectional=True, seed=seed + 200)
    for number, (kind, options) in enumerate([("LSTM", {}), ("GRU", {}), ("LSTM", dict(dtype="float16")), ("GRU", dict(dtype="float16")),
                                              ("LSTM", dict(reduce_range=False)), ("GRU", dict(batch_first=True))]):
        functional_case("functional_%s_%d" % (kind.lower(), number), kind, 4, 6, (4, 3), 1 + number % 2, number < 4, seed + 300 + 100 * number,
                        **options)
    for number, (kind, options) in enumerate([
            ("LSTM", {}), ("GRU", {}), ("RNN", {}), ("LSTM", dict(bidirectional=True, layers=2, state=True)), ("GRU", dict(bidirectional=True, batch_first=True)),
            ("LSTM", dict(batch_first=True, proj_size=3)), ("LSTM", dict(dynamic=True)), ("GRU", dict(dynamic=True, layers=2)),
            ("LSTM", dict(dynamic=True, bidirectional=True, layers=2, state=True, batch_first=True))]):
        packed_case("packed_%s_%d" % (kind.lower(), number), kind, 4, 6, [[5, 3, 1], [2, 5, 4], [1, 4, 2, 4]][number % 3], seed=seed + 1000 + 100 * number, **options)


def main():
    os.makedirs(OUT, exist_ok=True)
    with torch.no_grad():
        write_cases()
    with open(os.path.join(OUT, "cases.json"), "w") as file:
        json.dump({"torch": torch.__version__, "cases": cases}, file, indent=0)
        file.write("\n")
    save_file(outputs, os.path.join(OUT, "outputs.safetensors"), {"torch": torch.__version__})
    print("%d cases with torch %s" % (len(cases), torch.__version__))


if __name__ == "__main__":
    main()
