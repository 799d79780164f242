"""Makes test/golden/flow/numbers/<case>.safetensors: what PyTorch's converted model of a flow case computes.

usage: make_numbers.py [CASE...]
Weights are those of test/passes/flow/<case>.test (random(seed=...) of docs/IR.md, computed here). Two seeded batches calibrate
(`0.<input>`, `1.<input>`), a third one runs (`in.<input>`); `out.<name>` is what convert_fx's model returns for it, `ref.<name>`
what convert_to_reference_fx's does, and for equalization cases
`state.<key>` its scales and zero points. Names of results are qfx-run's: `out`, or indexes and keys of what is returned, joined by
points. A quantized result is stored as codes with `<name>:scale` and `<name>:zero_point`. `step.<name>` is the scale of the codes that
a float result was dequantized from, 0 where it comes out of float arithmetic. Cases that cannot run are listed with the reason.
"""
import copy
import json
import os
import re
import sys
import zlib

import numpy as np
import torch
from safetensors.numpy import save_file
from torch.ao.quantization.quantize_fx import convert_fx, convert_to_reference_fx, prepare_fx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import make  # noqa: E402
import torch_custom  # noqa: E402
import torch_equalization  # noqa: E402
from configuration import mapping_of  # noqa: E402
from declare import CASES  # noqa: E402

OUT = os.path.join(HERE, "numbers")
DECLARATION = re.compile(r"^(?:parameter|buffer) ([\w.]+) : f32\[([\d, ]*)\] = random\(seed=(\d+), low=([^,]+), high=([^)]+)\)", re.MULTILINE)
MASK = (1 << 64) - 1


def random_tensor(seed, shape, low, high):
    """`random(seed, low, high)` of the text format: splitmix64, the upper 24 bits."""
    count = int(np.prod(shape, dtype=np.int64))
    values = np.empty(count, np.float64)
    state = seed
    for i in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        values[i] = low + (high - low) * (float((z ^ (z >> 31)) >> 40) * 2.0 ** -24)
    return torch.from_numpy(values.astype(np.float32).reshape(shape))


def load_weights(model, text):
    """Sets what the .qfx text declares; every parameter of the model must be declared there."""
    declared = {}
    for path, shape, seed, low, high in DECLARATION.findall(text):
        declared[path] = random_tensor(int(seed), [int(n) for n in shape.split(",") if n.strip()], float(low), float(high))
    tensors = dict(model.named_parameters(remove_duplicate=False), **dict(model.named_buffers(remove_duplicate=False)))
    missing = [path for path, _ in model.named_parameters() if path not in declared]
    if missing:
        raise ValueError("not declared: %s" % ", ".join(missing))
    with torch.no_grad():
        for path, value in declared.items():
            if path in tensors:
                tensors[path].copy_(value)


def batch(case, rng):
    values = [torch.from_numpy(rng.standard_normal(tuple(t.shape)).astype(np.float32)) if t.is_floating_point() else t
              for t in case.inputs.values()]
    return values if case.equalization is None else [spread(value) for value in values]


def spread(value):
    """Channels (axis 1) of 1/4 to 8 times the range: something to equalize."""
    return value * torch.logspace(-2, 3, value.shape[1], base=2).reshape([1, -1] + [1] * (value.dim() - 2))


def parameters_of(reference):
    """Scales, zero points and equalization scales of a reference model, under `state.`."""
    return {"state." + key: value.numpy() for key, value in reference.state_dict().items()
            if isinstance(value, torch.Tensor) and re.search(r"scale|zero_point", key)}


def flatten(value, prefix=""):
    """(name, tensor) as qfx-run names results."""
    if isinstance(value, torch.Tensor):
        return [(prefix or "out", value)]
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        return []
    return [pair for key, item in items for pair in flatten(item, prefix + "." + str(key) if prefix else str(key))]


def steps_of(converted):
    """{result name: scale of the codes below its dequantize}; the values of the scales are found by running the graph's nodes."""
    steps = {}

    class Watcher(torch.fx.Interpreter):
        def run_node(self, node):
            value = super().run_node(node)
            if node.op == "call_method" and node.target == "dequantize":
                source = self.env[node.args[0]]
                if isinstance(source, torch.Tensor) and source.is_quantized and source.qscheme() == torch.per_tensor_affine:
                    steps[id(value)] = source.q_scale()
                    kept.append(value)
            elif isinstance(value, torch.Tensor) and node.op.startswith("call_"):  # what only moves such values has their step
                for source in (self.env[operand] for operand in node.all_input_nodes):
                    if isinstance(source, torch.Tensor) and id(source) in steps and torch.isin(value, source).all():
                        steps[id(value)] = steps[id(source)]
                        kept.append(value)
            return value

    kept = []
    return Watcher(converted), steps, kept


def numbers(case):
    config = make.config_of(case.oracle)
    torch.backends.quantized.engine = case.engine
    custom = torch_custom.Custom(case, False)
    if case.mode != "ptq":
        raise ValueError("training")
    prepare = (case.custom or {}).get("prepare", {})
    if prepare.get("input_quantized_idxs"):
        raise ValueError("quantized inputs")
    with open(os.path.join(make.OUT, case.name + ".test")) as file:
        text = file.read().split("//--- m.qfx\n")[1].split("//---")[0]
    model = case.build()
    load_weights(model, text)
    rng = np.random.RandomState(zlib.crc32(case.name.encode()) % (1 << 31))
    batches = [batch(case, rng) for _ in range(3)]
    with torch.no_grad():
        prepared = prepare_fx(model, mapping_of(case.mapping, case.backend, False), tuple(batches[0]), custom.prepare,
                              torch_equalization.equalization_of(case.equalization), backend_config=config)
        for inputs in batches[:2]:
            prepared(*inputs)
        reference = convert_to_reference_fx(copy.deepcopy(prepared), custom.convert, backend_config=config,
                                            qconfig_mapping=custom.convert_mapping(prepared))
        converted = convert_fx(copy.deepcopy(prepared), custom.convert, backend_config=config,
                               qconfig_mapping=custom.convert_mapping(prepared))
        expected = reference(*batches[2])
        watcher, steps, _ = steps_of(converted)
        result = watcher.run(*batches[2])
    tensors = {} if case.equalization is None else parameters_of(reference)
    for k, inputs in enumerate(batches):
        for name, value in zip(case.inputs, inputs):
            tensors["%s.%s" % ("in" if k == 2 else k, name)] = value.numpy()
    for kind, values in (("out", result), ("ref", expected)):
        for name, value in flatten(values):
            key = "%s.%s" % (kind, name)
            if value.is_quantized:
                tensors[key + ":scale"] = np.array([value.q_scale()], np.float64)
                tensors[key + ":zero_point"] = np.array([value.q_zero_point()], np.int64)
                tensors[key] = value.int_repr().numpy()
            else:
                tensors[key] = value.contiguous().numpy()
                if kind == "out":
                    tensors["step." + name] = np.array([steps.get(id(value), 0.0)], np.float64)
    return {name: np.ascontiguousarray(value) for name, value in tensors.items()}


class EagerAttention(torch.nn.Module):
    """What the graph of attention-custom.test computes, as an eager model: FX observes the tuple of an attention and cannot run it."""

    def __init__(self):
        super().__init__()
        self.quants = torch.nn.ModuleList([torch.ao.quantization.QuantStub() for _ in range(3)])
        self.attention, self.fc = torch.nn.MultiheadAttention(8, 2), torch.nn.Linear(8, 3)
        self.dequant = torch.ao.quantization.DeQuantStub()

    def forward(self, q, k, v):
        q, k, v = (quant(x) for quant, x in zip(self.quants, (q, k, v)))
        self.codes = self.fc(self.attention(q, k, v)[0])
        return self.dequant(self.codes)


def attention_numbers():
    torch.backends.quantized.engine = "x86"
    with open(os.path.join(make.OUT, "attention-custom.test")) as file:
        text = file.read()
    model = EagerAttention().eval()
    load_weights(model, text)
    model.qconfig = torch.ao.quantization.default_qconfig
    rng = np.random.RandomState(7)
    batches = [[torch.from_numpy(rng.standard_normal((length, 2, 8)).astype(np.float32)) for length in (5, 6, 6)] for _ in range(3)]
    with torch.no_grad():
        prepared = torch.ao.quantization.prepare(model)
        for inputs in batches[:2]:
            prepared(*inputs)
        converted = torch.ao.quantization.convert(prepared)
        output = converted(*batches[2])
    tensors = {"%s.%s" % ("in" if k == 2 else k, name): value.numpy()
               for k, inputs in enumerate(batches) for name, value in zip("qkv", inputs)}
    return {**tensors, "out.out": output.numpy(), "step.out": np.array([converted.codes.q_scale()], np.float64)}


def main():
    torch.set_num_threads(1)
    torch_equalization.mend()
    for family in make.FAMILIES:
        __import__(family)
    os.makedirs(OUT, exist_ok=True)
    skipped = {}
    wanted = sys.argv[1:] or [*CASES, "attention-custom"]
    for name in wanted:
        try:
            tensors = attention_numbers() if name == "attention-custom" else numbers(CASES[name])
        except Exception as error:
            skipped[name] = "%s: %s" % (type(error).__name__, str(error).strip().splitlines()[0][:100] if str(error) else "")
            continue
        save_file(tensors, os.path.join(OUT, name + ".safetensors"), {"torch": torch.__version__})
    print("%d cases" % (len(wanted) - len(skipped)))
    print(json.dumps(skipped, indent=1))


if __name__ == "__main__":
    main()
