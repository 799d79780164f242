"""Makes the golden data of eager mode in this folder with torch.ao.quantization, one folder per model of models.py.

<model>/  model.qfx + model.safetensors   the float model as exported, qconfigs included
          flow.txt                        the passes that do what was done here
          calib.safetensors               batches 0 and 1
          input.safetensors               what expected.safetensors belongs to
          expected.safetensors            per DeQuantize module, in order of calls: `<i>.codes` (u8 or i8), `<i>.scale`, `<i>.zero_point`;
                                          `output`, the float result
Dynamic*/, Recurrent*/  the same with `output` only; `<path>.<weight>` are the integer (or float16) weights of each layer
Activation ranges stay below 128 (reduce_range) where integers are multiplied, so that PyTorch's own kernels do not saturate on a CPU without
VNNI (operators 25.3).
"""
import copy
import os
import sys
import warnings

import torch
from torch.ao import quantization as tq

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "..", "tools", "export"), HERE]
import models  # noqa: E402
import qfx_export  # noqa: E402
from qfx_export.tensors import safetensors_bytes, write_together  # noqa: E402

warnings.filterwarnings("ignore")
SEED = 11
ENGINE = "x86"


def set_qconfigs(model, cls):
    """The qconfig attributes of a model, as its class says."""
    if getattr(cls, "qat", False):
        model.qconfig = tq.get_default_qat_qconfig(ENGINE)
    elif getattr(cls, "qconfig", "") == "per_tensor":
        model.qconfig = tq.default_qconfig
    else:
        model.qconfig = tq.get_default_qconfig(ENGINE)
    for path in getattr(cls, "no_qconfig", []):
        model.get_submodule(path).qconfig = None
    for path, name in getattr(cls, "qconfig_of", {}).items():
        model.get_submodule(path).qconfig = getattr(tq, name)


def flow_of(cls):
    """The pipeline that does the same in qfx."""
    mode = " mode=qat" if getattr(cls, "qat", False) else ""
    steps = []
    if getattr(cls, "fuse", []):
        steps.append("eager-fuse{modules=%s%s}" % (";".join(",".join(group) for group in cls.fuse), mode))
    if getattr(cls, "wrap", False):
        steps.append("eager-wrap")
    steps += ["eager-prepare" + ("{%s}" % mode.strip() if mode else ""), "calibrate", "eager-convert"]
    return ",".join(steps)


def convert(model, cls, calibration):
    """prepare, calibrate, convert."""
    qat = getattr(cls, "qat", False)
    if getattr(cls, "fuse", []):
        model = (tq.fuse_modules_qat if qat else tq.fuse_modules)(model, cls.fuse)
    if getattr(cls, "wrap", False):
        tq.propagate_qconfig_(model)
        model = tq.add_quant_dequant(model)
    prepared = tq.prepare_qat(model.train()).eval() if qat else tq.prepare(model)
    with torch.no_grad():
        for batch in calibration:
            prepared(*batch)
    return prepared, tq.convert(prepared)


def codes_at_dequantize(converted, inputs):
    """What reaches each DeQuantize module, in order of the calls, and the result."""
    tensors, handles = {}, []

    def note(_, args):
        value, index = args[0], len(tensors) // 3
        tensors["%d.codes" % index] = value.int_repr().contiguous()
        tensors["%d.scale" % index] = torch.tensor(value.q_scale(), dtype=torch.float64)
        tensors["%d.zero_point" % index] = torch.tensor(value.q_zero_point())

    for module in converted.modules():
        if type(module).__name__ == "DeQuantize":
            handles.append(module.register_forward_pre_hook(note))
    with torch.no_grad():
        output = converted(*inputs)
    for handle in handles:
        handle.remove()
    tensors["output"] = output.detach().contiguous()
    return tensors


def named(model_path, batches):
    """Batches under the names of the model's inputs."""
    return {("%d.x" % i if len(batches) > 1 else "x"): batch[0] for i, batch in enumerate(batches)}


def write(name, files):
    write_together({os.path.join(HERE, name, file): data for file, data in files.items()})


def make_static(cls):
    name = cls.__name__
    os.makedirs(os.path.join(HERE, name), exist_ok=True)
    model = models.build(cls, SEED)
    calibration, inputs = models.batches(cls, 2, SEED + 1), models.batches(cls, 1, SEED + 2)
    set_qconfigs(model, cls)
    qfx_export.export(model, inputs[0], os.path.join(HERE, name, "model"), dynamic_batch=False)
    _, converted = convert(copy.deepcopy(model), cls, calibration)
    write(name, {
        "calib.safetensors": safetensors_bytes(named(name, calibration), {}),
        "input.safetensors": safetensors_bytes(named(name, inputs), {}),
        "expected.safetensors": safetensors_bytes(codes_at_dequantize(converted, inputs[0]), {}),
        "flow.txt": ("# torch %s seed %d engine %s\n%s\n" % (torch.__version__, SEED, ENGINE, flow_of(cls))).encode(),
    })


def weights_of(module):
    """Unpacked weights of a dynamic module by name."""
    return module.get_weight() if hasattr(module, "get_weight") else {"weight": module.weight()}


def make_dynamic(cls, dtype, name):
    os.makedirs(os.path.join(HERE, name), exist_ok=True)
    model = models.build(cls, SEED)
    inputs = models.batches(cls, 1, SEED + 2)
    qfx_export.export(model, inputs[0], os.path.join(HERE, name, "model"), dynamic_batch=False)
    quantized = tq.quantize_dynamic(model, dtype=dtype)
    tensors = {"output": quantized(*inputs[0]).detach()}
    for path, module in quantized.named_children():
        if ".dynamic." in type(module).__module__:
            for key, weight in weights_of(module).items():
                tensors["%s.%s" % (path, key)] = (weight.int_repr() if weight.is_quantized else weight).contiguous()
    write(name, {
        "input.safetensors": safetensors_bytes(named(name, inputs), {}),
        "expected.safetensors": safetensors_bytes(tensors, {}),
        "flow.txt": ("# torch %s seed %d engine %s\neager-quantize-dynamic{dtype=%s}\n" % (
            torch.__version__, SEED, ENGINE, str(dtype)[6:])).encode(),
    })


def main():
    torch.backends.quantized.engine = ENGINE
    torch.set_num_threads(1)
    wanted = sys.argv[1:]
    for cls in models.MODELS:
        if not wanted or cls.__name__ in wanted:
            make_static(cls)
    for cls, dtype, name in ((models.Dynamic, torch.qint8, "DynamicInt8"), (models.Dynamic, torch.float16, "DynamicFloat16"),
                             (models.Recurrent, torch.qint8, "RecurrentInt8"), (models.Recurrent, torch.float16, "RecurrentFloat16")):
        if not wanted or name in wanted:
            make_dynamic(cls, dtype, name)


if __name__ == "__main__":
    main()
