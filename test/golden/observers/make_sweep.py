"""Every observer x dtype x qscheme x reduce_range x custom range x axis over the families of inputs.py, as torch 2.13 computes it.

Writes sweep.json: `families` and `channel_families` name the columns; each row holds a configuration and one result per family:
"S:Z" (float32 bits of the scale in hex, zero point), for per-channel observers the FNV-1a hash of all scales' bits and zero points as
little-endian int64, "B<k>" for an error in batch k, "Q" for one in calculate_qparams; or "E" for the whole row if construction fails.
`buffers` has, per class and family, the hash of the state dict's tensors.  NaN counts as 0x7fc00000, -0 as 0.
"""
import itertools
import json
import pathlib
import warnings

import torch
from torch.ao.quantization import observer

import histogram_search  # noqa: F401  (each search once)
import inputs

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
HERE = pathlib.Path(__file__).parent

DTYPES = ["quint8", "qint8", "qint32", "quint4x2", "uint8", "int8", "int16", "int32", "uint16", "float8_e5m2", "float8_e4m3fn"]
# Besides None: one range that is narrower than the dtype and one that is not around 0 evenly.
RANGES = {"quint8": [(0, 127), (0, 15)], "qint8": [(-127, 127), (-8, 7)], "qint32": [(-1000, 1000), (0, 65535)], "quint4x2": [(0, 7), (-3, 3)],
          "uint8": [(0, 127), (0, 15)], "int8": [(-127, 127), (-100, 27)], "int16": [(-100, 100), (-32767, 32767)], "int32": [(-1000, 1000), (-7, 70000)],
          "uint16": [(0, 1023), (0, 65534)], "float8_e5m2": [(0, 200), (-448, 448)], "float8_e4m3fn": [(-448, 448), (0, 31)]}
FAMILIES = ["uniform", "positive", "negative", "relu_batches", "constant", "constant_negative", "zeros", "outlier", "tiny", "denormal", "denormal_batches", "denormal_then_range",
            "vanishing", "large", "large_batches", "huge", "huge_batches", "overflow", "overflow_later", "huge_constant", "huge_constant_then_range",
            "tiny_then_huge", "infinity", "infinities", "nan", "nan_later", "empty", "empty_then_data", "growing", "shrinking", "walk"]
CHANNEL_FAMILIES = list(inputs.CHANNEL_FAMILIES)
SCHEMES = {False: ["per_tensor_affine", "per_tensor_symmetric"],
           True: ["per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams"]}
CLASSES = [("MinMaxObserver", {}, False), ("MovingAverageMinMaxObserver", {"averaging_constant": 0.3}, False), ("HistogramObserver", {"bins": 128}, False),
           ("PerChannelMinMaxObserver", {}, True), ("MovingAveragePerChannelMinMaxObserver", {"averaging_constant": 0.25}, True)]


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def bits(tensor):
    """float32 bits, one NaN and one zero."""
    flat = tensor.detach().reshape(-1).to(torch.float32)
    flat = torch.where(torch.isnan(flat), torch.tensor(float("nan")), flat) + 0.0
    return [0x7FC00000 if value != value else int(raw) & 0xFFFFFFFF for value, raw in zip(flat.tolist(), flat.view(torch.int32).tolist())]


def integers(tensor):
    return bits(tensor) if tensor.dtype == torch.float32 else [int(v) for v in tensor.reshape(-1).tolist()]


def pack(numbers):
    return b"".join((n & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little") for n in numbers)


def state(module):
    return fnv(pack([n for tensor in module.state_dict().values() for n in integers(tensor)]))


def run(make, batches, per_channel):
    """(result, state hash)"""
    module = make()
    for k, batch in enumerate(batches):
        try:
            module(batch)
        except (RuntimeError, IndexError):
            return f"B{k}", None
    try:
        scale, zero_point = module.calculate_qparams()
    except AssertionError:
        return "Q", None
    if per_channel:
        return fnv(pack(bits(scale) + integers(zero_point))), state(module)
    return f"{bits(scale)[0]:x}:{integers(zero_point)[0]}", state(module)


def main():
    plain = {name: inputs.make_family(name) for name in FAMILIES}
    channel = {name: inputs.make_channel_family(name) for name in CHANNEL_FAMILIES}
    rows, buffers = [], {}
    for name, extra, per_channel in CLASSES:
        families = channel if per_channel else plain
        for dtype, scheme, reduce_range, axis in itertools.product(DTYPES, SCHEMES[per_channel], (False, True), (0, 1) if per_channel else (None,)):
            for bounds in [None] + RANGES[dtype]:
                args = {"dtype": dtype, "qscheme": scheme, "reduce_range": reduce_range, **extra}
                if bounds:
                    args.update(quant_min=bounds[0], quant_max=bounds[1])
                if axis is not None:
                    args["ch_axis"] = axis
                real = {**args, "dtype": getattr(torch, dtype), "qscheme": getattr(torch, scheme)}
                make = lambda: getattr(observer, name)(**real)
                try:
                    make()
                except (AssertionError, NotImplementedError, TypeError):
                    rows.append({"class": name, "args": args, "results": "E"})
                    continue
                results = []
                for family, batches in families.items():
                    result, state_hash = run(make, batches, per_channel)
                    results.append(result)
                    if state_hash:
                        key = f"{name}/{axis}/{family}"
                        assert buffers.setdefault(key, state_hash) == state_hash, key
                rows.append({"class": name, "args": args, "results": results})
    data = {"torch": torch.__version__, "families": FAMILIES, "channel_families": CHANNEL_FAMILIES, "buffers": buffers, "rows": rows}
    text = json.dumps(data, separators=(",", ":")).replace('},{"class"', '},\n{"class"')
    (HERE / "sweep.json").write_text(text + "\n")
    print(len(rows), "rows", len(text), "bytes")


if __name__ == "__main__":
    main()
