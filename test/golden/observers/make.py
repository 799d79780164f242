"""Records what PyTorch's observers, qconfigs and default mappings give: run with torch 2.13, writes the .json files beside it.

Floats stand as the unsigned integers of their float32 bits; long buffers as FNV-1a hashes of their bytes.
"""
import json
import pathlib
import sys
import warnings

import torch
import torch.ao.quantization as tq
from torch.ao.quantization import fake_quantize, observer, qconfig, qconfig_mapping
from torch.ao.quantization.fx import _equalize

import histogram_search  # noqa: F401  (each search once)
import inputs

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
HERE = pathlib.Path(__file__).parent


def bits(tensor):
    return [int(x) & 0xFFFFFFFF for x in tensor.detach().reshape(-1).to(torch.float32).view(torch.int32).tolist()]


def fnv(tensor):
    value = 0xCBF29CE484222325
    for byte in tensor.contiguous().numpy().tobytes():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def encode_args(kwargs):
    out = {}
    for key, value in kwargs.items():
        if isinstance(value, (torch.dtype, torch.qscheme)):
            value = str(value).removeprefix("torch.")
        out[key] = value
    return out


def encode_buffers(module):
    out = {}
    for name, tensor in module.state_dict().items():
        if tensor.numel() > 64:
            out[name] = fnv(tensor)
        elif tensor.dtype == torch.float32:
            out[name] = bits(tensor)
        else:
            out[name] = tensor.reshape(-1).tolist()
    return out


def encode_qparams(module):
    scale, zero_point = module.calculate_qparams()
    floats = zero_point.dtype == torch.float32
    return {"scale": bits(scale), "zero_point": bits(zero_point) if floats else zero_point.reshape(-1).tolist()}


def run(make, batches):
    """Constructs, observes and reads off; an exception is recorded by the step it came from."""
    try:
        module = make()
    except (AssertionError, NotImplementedError, TypeError):
        return {"error": "construct"}
    for k, batch in enumerate(batches):
        try:
            module(batch)
        except RuntimeError:
            return {"error": f"batch {k}"}
    try:
        qparams = encode_qparams(module)
    except AssertionError:
        return {"error": "qparams"}
    return {**qparams, "buffers": encode_buffers(module)}


def record(rows, class_name, kwargs, family, batches):
    cls = getattr(observer, class_name)
    rows.append({"class": class_name, "args": encode_args(kwargs), "family": family, **run(lambda: cls(**kwargs), batches)})


DTYPES = [torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.uint8, torch.int8, torch.int16, torch.int32, torch.uint16,
          torch.float8_e5m2, torch.float8_e4m3fn, torch.quint2x4, torch.float16]
RANGES = [(torch.quint8, 0, 127), (torch.quint8, 0, 15), (torch.qint8, -127, 127), (torch.qint8, -8, 7), (torch.quint8, 0, 1000), (torch.int16, -100, 100),
          (torch.quint8, 1, 5), (torch.quint8, 0, 0), (torch.qint8, -200, 100), (torch.qint8, -100, 155), (torch.qint8, -101, 155)]


def make_per_tensor():
    rows = []
    plain = [f for f in inputs.FAMILIES if f != "many"]
    few = ["uniform", "positive", "zeros", "nan", "infinity", "empty", "tiny", "denormal"]
    for family in plain:
        batches = inputs.make_family(family)
        for scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            for dtype in (torch.quint8, torch.qint8):
                record(rows, "MinMaxObserver", {"dtype": dtype, "qscheme": scheme}, family, batches)
        for constant in (0.01, 1, 0.3):
            record(rows, "MovingAverageMinMaxObserver", {"averaging_constant": constant}, family, batches)
    for family in few:
        batches = inputs.make_family(family)
        for dtype in DTYPES:
            for scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric, torch.per_channel_affine):
                for reduce_range in (False, True):
                    record(rows, "MinMaxObserver", {"dtype": dtype, "qscheme": scheme, "reduce_range": reduce_range}, family, batches)
        for dtype, low, high in RANGES:
            for scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
                for reduce_range in (False, True):
                    record(rows, "MinMaxObserver", {"dtype": dtype, "qscheme": scheme, "quant_min": low, "quant_max": high,
                                                    "reduce_range": reduce_range}, family, batches)
        record(rows, "MinMaxObserver", {"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric, "eps": 2**-12}, family, batches)
        record(rows, "MinMaxObserver", {"quant_min": 3}, family, batches)
        record(rows, "MovingAverageMinMaxObserver", {"is_dynamic": True}, family, batches)
        record(rows, "MovingAverageMinMaxObserver", {"is_dynamic": True, "averaging_constant": 1}, family, batches)
    return rows


def make_per_channel():
    rows = []
    schemes = (torch.per_channel_affine, torch.per_channel_symmetric, torch.per_channel_affine_float_qparams)
    for family, (shape, _, _) in inputs.CHANNEL_FAMILIES.items():
        batches = inputs.make_channel_family(family)
        for cls, extra in (("PerChannelMinMaxObserver", {}), ("MovingAveragePerChannelMinMaxObserver", {"averaging_constant": 0.25})):
            for axis in range(-1, len(shape)):
                for scheme in schemes:
                    for dtype in (torch.qint8, torch.quint8, torch.quint4x2):
                        record(rows, cls, {"ch_axis": axis, "qscheme": scheme, "dtype": dtype, **extra}, family, batches)
            record(rows, cls, {"qscheme": torch.per_tensor_affine, **extra}, family, batches)
            record(rows, cls, {"is_dynamic": True, **extra}, family, batches)
            record(rows, cls, {"qscheme": torch.per_channel_symmetric, "reduce_range": True, **extra}, family, batches)
            record(rows, cls, {"dtype": torch.qint8, "qscheme": torch.per_channel_symmetric, "quant_min": -127, "quant_max": 127, "eps": 2**-12, **extra}, family, batches)
    return rows


def make_histogram():
    rows = []
    for family in inputs.FAMILIES:
        batches = inputs.make_family(family)
        record(rows, "HistogramObserver", {"reduce_range": True}, family, batches)
        if family == "many":
            continue
        record(rows, "HistogramObserver", {"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric}, family, batches)
        record(rows, "HistogramObserver", {"bins": 8}, family, batches)
        record(rows, "HistogramObserver", {"bins": 100, "dtype": torch.quint4x2}, family, batches)
    for family in ("uniform", "cubed_batches", "outlier"):
        batches = inputs.make_family(family)
        record(rows, "HistogramObserver", {"dtype": torch.qint32, "bins": 64}, family, batches)
        record(rows, "HistogramObserver", {"dtype": torch.int16, "bins": 256}, family, batches)
        record(rows, "HistogramObserver", {"dtype": torch.qint8, "quant_min": -127, "quant_max": 127, "eps": 2**-12}, family, batches)
    one = inputs.make_family("uniform")
    record(rows, "HistogramObserver", {"dtype": torch.float8_e5m2}, "uniform", one)
    record(rows, "HistogramObserver", {"is_dynamic": True}, "uniform", one)
    record(rows, "HistogramObserver", {"qscheme": torch.per_channel_affine}, "uniform", one)
    record(rows, "HistogramObserver", {"qscheme": torch.per_tensor_symmetric, "reduce_range": True}, "uniform", one)
    return rows


def public_names(module, suffixes):
    return [n for n in vars(module) if n.endswith(suffixes)]


def make_fake_quantize():
    rows = []
    per_channel = [n for n in public_names(fake_quantize, ("fake_quant", "fake_quant_4bit", "neg_127_to_127"))]
    for alias in per_channel:
        make = getattr(fake_quantize, alias)
        if not hasattr(make, "with_args") or "FixedQParams" in str(make):
            continue
        if make().is_per_channel:
            families = [(f, inputs.make_channel_family(f)) for f in ("conv_weight", "linear_weight", "batches", "zero_rows", "one_sided")]
        else:
            families = [(f, inputs.make_family(f)) for f in ("uniform", "positive", "negative", "walk", "zeros", "tiny", "constant", "shrinking")]
        for family, batches in families:
            rows.append({"alias": alias, "family": family, "is_per_channel": make().is_per_channel, **run(make, batches)})
    return rows


def canonical(target):
    if isinstance(target, str):
        return target
    if isinstance(target, type):
        return "torch.nn." + target.__name__
    for home, name in ((torch.nn.functional, "torch.nn.functional"), (torch, "torch")):
        if getattr(home, target.__name__, None) is target:
            return f"{name}.{target.__name__}"
    raise ValueError(target)


def make_mapping(mapping):
    return {"global": repr(mapping.global_qconfig),
            "object_type": [[canonical(k), repr(v)] for k, v in mapping.object_type_qconfigs.items()]}


def attributes(make):
    m = make()
    m = getattr(m, "activation_post_process", m)
    number = lambda v: None if v is None else float(v)
    return {"dtype": str(getattr(m, "dtype", None)).removeprefix("torch."), "is_dynamic": bool(getattr(m, "is_dynamic", False)),
            "quant_min": getattr(m, "quant_min", None), "quant_max": getattr(m, "quant_max", None), "eps": number(getattr(m, "eps", None))}


def make_qconfigs():
    observers = {n: getattr(observer, n) for n in public_names(observer, ("_observer", "_observer_4bit", "neg_127_to_127"))
                 if not n.startswith("_") and hasattr(getattr(observer, n), "with_args")}
    fakes = {n: getattr(fake_quantize, n) for n in public_names(fake_quantize, ("fake_quant", "fake_quant_4bit", "neg_127_to_127"))
             if hasattr(getattr(fake_quantize, n), "with_args")}
    equalizers = {n: getattr(_equalize, n) for n in ("input_equalization_observer", "weight_equalization_observer")}
    qconfigs = {n: v for n, v in vars(qconfig).items() if isinstance(v, qconfig.QConfig)}
    names = list(qconfigs)
    out = {"observers": {n: {"text": repr(v), **attributes(v)} for n, v in {**observers, **fakes, **equalizers}.items()},
           "qconfigs": {n: repr(v) for n, v in qconfigs.items()},
           "equal": [[a, b] for i, a in enumerate(names) for b in names[i + 1:] if qconfig.qconfig_equals(qconfigs[a], qconfigs[b])],
           "defaults": {}, "mappings": {}}
    for backend in ("fbgemm", "x86", "qnnpack", "onednn"):
        out["defaults"][backend] = [repr(tq.get_default_qconfig(backend)), repr(tq.get_default_qat_qconfig(backend, 0)),
                                    repr(tq.get_default_qat_qconfig(backend, 1))]
        out["mappings"][backend] = make_mapping(tq.get_default_qconfig_mapping(backend))
        out["mappings"][backend + "_qat"] = make_mapping(tq.get_default_qat_qconfig_mapping(backend))
    out["mappings"]["symmetric_qnnpack"] = make_mapping(qconfig_mapping._get_symmetric_qnnpack_qconfig_mapping())
    out["mappings"]["symmetric_qnnpack_qat"] = make_mapping(qconfig_mapping._get_symmetric_qnnpack_qat_qconfig_mapping())
    small = tq.QConfigMapping().set_global(None).set_module_name("a.b", tq.default_qconfig)
    small.set_module_name_regex("a.*", None).set_module_name_object_type_order("a", "relu", 2, tq.default_reuse_input_qconfig)
    out["print"] = repr(small)
    return out


def make_families():
    """The families themselves, for the C++ side: numbers as float32 bits."""
    def piece(p):
        return {"bits": bits(torch.tensor(p, dtype=torch.float32))} if isinstance(p, list) else {"kind": p[0], "seed": p[1], "count": p[2], "low": p[3], "high": p[4]}
    flat = {name: [[piece(p) for p in batch] for batch in batches] for name, batches in inputs.FAMILIES.items()}
    channel = {name: {"shape": shape, "channels_last": layout == "channels_last", "batches": [[piece(p) for p in batch] for batch in batches]}
               for name, (shape, layout, batches) in inputs.CHANNEL_FAMILIES.items()}
    return {"per_tensor": flat, "per_channel": channel}


def make_quantize():
    """Weights quantized as modules do it in convert: observer, qparams, codes (hashes)."""
    rows = []
    for family in ("conv_weight", "linear_weight", "zero_rows", "one_sided", "one_channel"):
        weight = inputs.make_channel_family(family)[0]
        for alias in ("default_weight_observer", "default_per_channel_weight_observer", "default_float_qparams_observer", "default_float_qparams_observer_4bit"):
            obs = getattr(observer, alias)()
            obs(weight)
            scale, zero_point = obs.calculate_qparams()
            if obs.qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
                q = torch.quantize_per_tensor(weight, float(scale), int(zero_point), obs.dtype)
            else:
                if "float" not in alias:
                    scale, zero_point = scale.to(torch.double), zero_point.to(torch.int64)
                q = torch.quantize_per_channel(weight, scale, zero_point, obs.ch_axis, obs.dtype)
            rows.append({"alias": alias, "family": family, "codes": fnv(q.int_repr().reshape(-1)), "values": fnv(q.dequantize().reshape(-1))})
    return rows


def main():
    parts = {"per_tensor": make_per_tensor, "per_channel": make_per_channel, "histogram": make_histogram,
             "fake_quantize": make_fake_quantize, "qconfigs": make_qconfigs, "quantize": make_quantize, "families": make_families}
    for name in sys.argv[1:] or parts:
        rows = parts[name]()
        data = {"torch": torch.__version__, "rows": rows} if isinstance(rows, list) else {"torch": torch.__version__, **rows}
        text = json.dumps(data, separators=(",", ":")).replace('},{"class"', '},\n{"class"').replace('},{"alias"', '},\n{"alias"')
        (HERE / f"{name}.json").write_text(text + "\n")
        print(name, len(rows))


if __name__ == "__main__":
    main()
