"""Fake-quantize outputs, gradient masks and states of torch 2.13, written to fake_forward.json.

`functions`: fake_quantize_per_tensor_affine and _per_channel_affine on a vector of ordinary, halfway, huge, infinite and NaN values;
outputs as float bits, masks as the gradient of ones.  `modules`: every alias, through all four settings of its two switches; outputs,
masks and states as FNV-1a hashes of little-endian int64 (float32 bits; one NaN, one zero).
"""
import json
import struct
import warnings

import torch
from torch.ao.quantization import fake_quantize

import inputs
from make_sweep import HERE, bits, fnv, integers, pack

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

VALUES = [-0.5, -0.51, 0.5, 1.5, 2.5, 2.51, -1.0, -0.3, 0.1, 0.26, 0.273939937, 9.0, 0.0, -0.0, 1e-40, 3e9, -3e9, 1e20, -1e20, 37.35000228881836,
          -37.35000228881836, -35.25, 127.5, -128.5, 254.49999, float("inf"), float("-inf"), float("nan"), 0.3, 0.7, 1.1, 100.25]
PER_TENSOR = [(1.0, 0, 0, 2), (0.00214854861, 100, 0, 255), (0.3, 0, -128, 127), (0.1, 3, 0, 255), (0.05, -8, -128, 127), (1e-8, 0, -128, 127),
              (1e-38, 5, 0, 255), (0.25, 7, 7, 7), (2.0, 0, -2147483648, 2147483647), (0.5, 1000000000, 0, 2147483647), (0.01, 32768, 0, 65535)]
FAMILIES = ["uniform", "positive", "negative", "relu_batches", "constant", "zeros", "outlier", "tiny", "large", "denormal", "infinity", "nan", "growing"]
CHANNEL_FAMILIES = ["conv_weight", "conv_channels_last", "linear_weight", "batches", "zero_rows", "one_sided", "one_channel", "constant", "outlier", "tiny", "huge",
                    "subnormal", "nan_channel", "inf_channel"]


def raw(tensor):
    """Bits of the tensor's own dtype, one NaN and one zero."""
    form = {torch.float32: "<I", torch.float64: "<Q", torch.float16: "<H", torch.bfloat16: "<H"}[tensor.dtype]
    as_int = {torch.float32: torch.int32, torch.float64: torch.int64, torch.float16: torch.int16, torch.bfloat16: torch.int16}[tensor.dtype]
    size = struct.calcsize(form)
    out = []
    for value, word in zip((tensor + 0.0).tolist(), (tensor + 0.0).view(as_int).tolist()):
        out.append("nan" if value != value else f"{word & ((1 << 8 * size) - 1):x}")
    return out


def with_mask(function, x):
    x = x.detach().clone().requires_grad_()
    y = function(x)
    y.backward(torch.ones_like(y))
    return y.detach(), x.grad


def make_functions():
    rows = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        x = torch.tensor(VALUES, dtype=torch.float64).to(dtype)
        for scale, zero_point, low, high in PER_TENSOR:
            y, mask = with_mask(lambda t: torch.fake_quantize_per_tensor_affine(t, scale, zero_point, low, high), x)
            rows.append({"dtype": str(dtype).removeprefix("torch."), "scale": scale, "zero_point": zero_point, "range": [low, high],
                         "output": raw(y), "mask": [int(m) for m in mask.tolist()]})
    x = torch.tensor(VALUES, dtype=torch.float32).reshape(4, 4, 2)
    scales = torch.tensor([0.1, 0.05, 1.0, 0.00214854861], dtype=torch.float32)
    for axis in (0, 1):
        for zero_point in (torch.tensor([0, 3, 100, 7], dtype=torch.int32), torch.tensor([0.25, -3.7, 100.5, 0.0])):
            for low, high in ((0, 255), (-128, 127), (0, 15)):
                if zero_point.dtype == torch.int32 and high < 100:
                    continue
                y, mask = with_mask(lambda t: torch.fake_quantize_per_channel_affine(t, scales, zero_point, axis, low, high), x)
                rows.append({"dtype": "float32", "axis": axis, "scales": scales.tolist(), "zero_points": zero_point.tolist(),
                             "is_float": zero_point.dtype == torch.float32, "range": [low, high],
                             "output": raw(y.reshape(-1)), "mask": [int(m) for m in mask.reshape(-1).tolist()]})
    return rows


SWITCHES = [(1, 1), (0, 1), (0, 0), (1, 0), (1, 1)]  # observer_enabled, fake_quant_enabled of each step


def run(make, batches):
    module, steps = make(), []
    for k, (observes, fakes) in enumerate(SWITCHES):
        module.enable_observer(bool(observes))
        module.enable_fake_quant(bool(fakes))
        x = batches[k % len(batches)] * (1.0 + 0.5 * k)
        try:
            y, mask = with_mask(module, x)
        except (RuntimeError, AssertionError):
            steps.append("error")
            break
        # values in the order of memory, as the other side stores them
        order = sorted(range(x.dim()), key=lambda d: -x.stride(d))
        y, mask = y.permute(order), mask.permute(order)
        steps.append([fnv(pack(bits(y))), fnv(pack([int(m) for m in mask.reshape(-1).tolist()])), state(module)])
    return steps


def state(module):
    return fnv(pack([n for tensor in module.state_dict().values() for n in integers(tensor)]))


def make_modules():
    rows = []
    names = [n for n, v in vars(fake_quantize).items() if n.endswith(("fake_quant", "fake_quant_4bit", "neg_127_to_127")) and hasattr(v, "with_args")]
    for name in names:
        make = getattr(fake_quantize, name)
        per_channel = make().is_per_channel
        # each state of a histogram is searched for 1e5 Python steps: fewer families
        for family in CHANNEL_FAMILIES if per_channel else ["uniform", "relu_batches", "growing", "nan"] if "histogram" in name else FAMILIES:
            batches = inputs.make_channel_family(family) if per_channel else inputs.make_family(family)
            rows.append({"alias": name, "family": family, "is_per_channel": bool(per_channel), "steps": run(make, batches)})
    return rows


def main():
    data = {"torch": torch.__version__, "values": bits(torch.tensor(VALUES, dtype=torch.float32)), "doubles": [repr(v) for v in VALUES], "switches": SWITCHES,
            "functions": make_functions(), "modules": make_modules()}
    text = json.dumps(data, separators=(",", ":")).replace('},{"', '},\n{"')
    (HERE / "fake_forward.json").write_text(text + "\n")
    print(len(data["functions"]), len(data["modules"]), len(text))


if __name__ == "__main__":
    main()
