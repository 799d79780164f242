"""Makes the golden graphs in this folder with PyTorch: texts of every phase, quantization parameters, integer values.

<A-model>/  model.qfx + model.safetensors, calib.safetensors (batches 0 and 1), <phase>.txt, qparams.json,
            intermediates.safetensors (every tensor of the converted graph on calibration batch 0, by node name)
A4/         texts are upstream's, numbers follow QFX's rule for scalars (workflow 4.7): see separate_observers
digits/     the same for test/models/digits/digits.qfx calibrated with its calib.safetensors; instead of intermediates
            digests.json for first.safetensors, the first test image: per node shape, dtype, scale, zero point, CRC-32
            of the codes (row-major NCHW bytes; f32: little-endian) and the first eight codes. observers.safetensors are
            the statistics that PyTorch's calibration ends with; parameters and integers belong to them: of 26 histogram
            searches some pass so near a threshold that one of 4.9 million activations, moved over a bin edge by float
            rounding, decides (PyTorch's own observer flips in 2 of 40 trials with noise of our size, 4e-8 of the range)
<network>/  model.qfx with inline seeded weights (graph text does not depend on them), texts of the phases; calibrate
            with calib_32.safetensors. The two that are left out here for their size run in test/parity
Text files start with one line `# torch VERSION seed SEED engine ENGINE`; the rest is str(graph).
"""
import copy
import json
import math
import os
import sys
import zlib

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "parity"), HERE]
from upstream import (ENGINE, Phases, intermediates, load_digits_net, save_tensors, seeded_network,  # noqa: E402
                      stated_data)

import qfx_export  # noqa: E402
from models import APPENDIX, build  # noqa: E402
from qfx_export.tracer import trace  # noqa: E402
from qfx_export.writer import ModelWriter  # noqa: E402

SEED = 0
ALL_PHASES = ("resnet18",)  # the other networks show prepared and converted: the reference texts are long
COMMITTED = ("resnet18", "mobilenet_v3_small", "shufflenet_v2_x1_0", "vgg11_bn")


def folder_of(name):
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    return folder


def write_texts(phases, folder, names):
    for name in names:
        with open(os.path.join(folder, name + ".txt"), "w") as file:
            file.write("# torch %s seed %d engine %s\n" % (torch.__version__, SEED, ENGINE))
            file.write(phases.text(name) + "\n")


def write_qparams(qparams, folder):
    about = {"torch": torch.__version__, "seed": SEED, "engine": ENGINE}
    with open(os.path.join(folder, "qparams.json"), "w") as file:
        file.write(lines_of({"about": about, **qparams}) + "\n")


def separate_observers(prepared):
    """QFX, workflow 4.7: upstream's observer of `linear` also sees linear + 2.0, which ruins both ranges. Here it sees
    linear alone; what the sum's observer gathers is not used, its parameters are those that PyTorch's quantized::add
    derives for a scalar (operators 6)."""
    prepared.activation_post_process_2 = copy.deepcopy(prepared.activation_post_process_1)


def derive_scalar_result(qparams, values):
    """The sum's parameters from PyTorch's quantized::add of codes and a number."""
    total = values["add_1"]
    qparams["activations"]["quantize_per_tensor_2"] = {"scale": total.q_scale(), "zero_point": total.q_zero_point()}


def lines_of(value, depth=0):
    """JSON with one line per entry of the outer two levels."""
    if depth == 2 or not isinstance(value, dict):
        return json.dumps(value)
    entries = ["%s%s: %s" % (" " * (depth + 1), json.dumps(k), lines_of(v, depth + 1)) for k, v in value.items()]
    return "{\n" + ",\n".join(entries) + "\n" + " " * depth + "}"


def digest(tensor):
    """What digests.json says of one value."""
    if tensor.is_quantized:
        codes, scale, zero_point = tensor.int_repr(), tensor.q_scale(), tensor.q_zero_point()
    else:
        codes, scale, zero_point = tensor, None, None
    codes = codes.contiguous()
    return {
        "shape": list(tensor.shape), "dtype": str(tensor.dtype).replace("torch.", ""), "scale": scale,
        "zero_point": zero_point, "crc32": zlib.crc32(codes.numpy().tobytes()),
        "first": codes.reshape(-1)[:8].tolist(),
    }


def make_appendix(cls):
    folder = folder_of(cls.__name__)
    model, batches = build(cls, SEED)
    qfx_export.export(model, batches[0], os.path.join(folder, "model.qfx"))
    names = list(cls.inputs)
    save_tensors(os.path.join(folder, "calib.safetensors"), {
        "%d.%s" % (k, name): value for k, batch in enumerate(batches) for name, value in zip(names, batch)})
    scalar = cls.__name__ == "A4"
    phases = Phases(model, batches, separate_observers if scalar else None)
    qparams, values = phases.qparams(), intermediates(phases.converted, batches[0])[1]
    if scalar:
        derive_scalar_result(qparams, values)
    write_texts(phases, folder, Phases.NAMES)
    write_qparams(qparams, folder)
    save_tensors(os.path.join(folder, "intermediates.safetensors"), values)


def make_digits():
    folder = folder_of("digits")
    model, calibration, test = load_digits_net()
    phases = Phases(model, [(batch,) for batch in calibration])
    write_texts(phases, folder, Phases.NAMES)
    write_qparams(phases.qparams(), folder)
    save_tensors(os.path.join(folder, "observers.safetensors"), unique(phases.observers()))
    first = test[0][:1].contiguous()
    save_tensors(os.path.join(folder, "first.safetensors"), {"x": first})
    values = intermediates(phases.converted, (first,))[1]
    about = {"torch": torch.__version__, "seed": SEED, "engine": ENGINE}
    with open(os.path.join(folder, "digests.json"), "w") as file:
        file.write(lines_of({"about": about, "nodes": {k: digest(v) for k, v in values.items()}}) + "\n")


def unique(tensors):
    """Without the second names of a shared observer's buffers."""
    seen, kept = set(), {}
    for key, tensor in tensors.items():
        if tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            kept[key] = tensor
    return kept


def initializer(path, tensor, seed):
    """A seeded .qfx initializer that keeps activations in a sane range."""
    name = path.rpartition(".")[2]
    if not tensor.is_floating_point():
        return "0"
    if name == "running_var" or (name == "weight" and tensor.dim() == 1):
        low, high = 0.5, 1.5
    elif tensor.dim() > 1:
        high = round(2.0 / math.sqrt(tensor[0].numel()), 4)
        low = -high
    else:
        low, high = -0.1, 0.1
    return "random(seed=%d, low=%r, high=%r)" % (seed, low, high)


def make_network(name, calibration):
    folder = folder_of(name)
    model = seeded_network(name, SEED, 32, 4)
    graph_module, scopes = trace(model)
    written = ModelWriter(graph_module, scopes, {"x": calibration[:1]}, 1, model).write("none")
    lines = [line for line in written.text.splitlines() if not line.startswith("weights ")]
    graph = next(i for i, line in enumerate(lines) if line.startswith("graph("))
    declarations = [
        "%s %s : %s[%s] = %s" % (
            "parameter" if path.endswith((".weight", ".bias")) else "buffer", path,
            "i64" if tensor.dtype == torch.int64 else "f32", ", ".join(map(str, tensor.shape)),
            initializer(path, tensor, seed))
        for seed, (path, tensor) in enumerate(written.tensors.items(), 1)
    ]
    lines[graph - 1 : graph - 1] = declarations
    with open(os.path.join(folder, "model.qfx"), "w") as file:
        file.write("\n".join(lines) + "\n")
    phases = Phases(model, [(calibration,)])
    write_texts(phases, folder, Phases.NAMES if name in ALL_PHASES else ("prepared", "converted"))


def main():
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    for cls in APPENDIX:
        if not wanted or cls.__name__ in wanted:
            make_appendix(cls)
    if not wanted or "digits" in wanted:
        make_digits()
    calibration = stated_data(1, 2, 32, SEED + 2)[0]
    if not wanted:
        save_tensors(os.path.join(HERE, "calib_32.safetensors"), {"0.x": calibration})
    for name in COMMITTED:
        if not wanted or name in wanted:
            make_network(name, calibration)


if __name__ == "__main__":
    main()
