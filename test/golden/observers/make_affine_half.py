"""The affine family (numerics 3.13) on float16 and bfloat16, and with parameters of other dtypes: writes affine_half.json.

torch 2.13 has no concrete class of the family; the formulas of the specification run here on torch tensors, so that every rounding between
operations is PyTorch's own. Inputs are uniform numbers of inputs.py, rounded to the dtype.
"""
import json
import math
import pathlib

import torch

import inputs

HERE = pathlib.Path(__file__).parent
BOUNDS = {"uint8": (0, 255), "int8": (-128, 127), "uint4": (0, 15), "int4": (-8, 7), "int16": (-32768, 32767)}
STORAGE = {"uint8": torch.uint8, "int8": torch.int8, "uint4": torch.uint8, "int4": torch.int8, "int16": torch.int16}
GRANULARITIES = [("PerTensor()", (4, 16)), ("PerAxis(axis=1)", (4, 1)), ("PerGroup(group_size=4)", (1, 4)), ("PerToken()", (1, 16)),
                 ("PerBlock(block_size=(2, 8))", (2, 8))]
MAPPINGS = [("SYMMETRIC", True, "INT"), ("SYMMETRIC_NO_CLIPPING_ERR", True, "INT"), ("ASYMMETRIC", True, "INT"), ("ASYMMETRIC", True, "NONE"),
            ("ASYMMETRIC", False, "FLOAT")]
# dtypes of input, scale, zero point and result; None: as the input's
DTYPES = [("float16", None, None, "float16"), ("bfloat16", None, None, "bfloat16"), ("float16", "float32", "int32", "float16"),
          ("bfloat16", "float32", "int64", "bfloat16"), ("float16", None, "int8", "float32"), ("float32", "float64", "int32", "float32"),
          ("float32", "bfloat16", "int32", "float32"), ("float32", "float16", None, "bfloat16")]
SHAPE = (4, 16)


def split(x, block):
    """[blocks of rows, rows of a block, blocks of columns, columns of a block]"""
    return x.reshape(SHAPE[0] // block[0], block[0], SHAPE[1] // block[1], block[1])


def choose(x, mapping, preserve, domain, low, high, scale_dtype, zero_dtype):
    least, most = x.amin((1, 3), keepdim=True), x.amax((1, 3), keepdim=True)
    n = torch.minimum(least, torch.zeros_like(least)) if preserve else least
    p = torch.maximum(most, torch.zeros_like(most)) if preserve else most
    eps = torch.finfo(x.dtype).eps
    middle = (high + low + 1) / 2
    if mapping == "ASYMMETRIC":
        scale = torch.clamp((p - n) / float(high - low), min=eps)
        zero = torch.clamp(low - torch.round(n / scale), low, high) if preserve else n + scale * middle
        zero = None if domain == "NONE" else zero
    else:
        if mapping == "SYMMETRIC":
            scale = torch.maximum(-n, p) / (float(high - low) / 2)
        else:
            a, b = n / float(low), p / float(high)
            scale = torch.where(a > b, a, b)
        scale = torch.clamp(scale, min=eps)
        zero = torch.full_like(scale, math.trunc(middle))
    return scale.to(scale_dtype or x.dtype), None if zero is None else zero.to(zero_dtype or x.dtype)


def quantize(x, scale, zero, domain, low, high):
    if domain == "FLOAT":
        least = zero - scale * ((high + low + 1) / 2)
        return torch.clamp(torch.round((x - least) / scale), low, high)
    codes = torch.round(x * (1.0 / scale))
    return torch.clamp(codes if zero is None else codes + zero, low, high)


def dequantize(q, scale, zero, domain, low, high, output):
    if domain == "FLOAT":
        values = (q - (high + low + 1) / 2).to(output)
        values *= scale
        values += zero
        return values
    steps = q.to(torch.int32)
    if zero is not None:
        steps = steps - zero.to(torch.int32)
    return (steps.to(output) * scale).to(output)


def numbers(x):
    return [float(v) for v in x.double().reshape(-1)]


def main():
    rows, seed = [], 7000
    for dtypes in DTYPES:
        for granularity, block in GRANULARITIES:
            for mapping, preserve, domain in MAPPINGS:
                for target, (low, high) in BOUNDS.items():
                    seed += 1
                    if seed % 5 or (mapping == "SYMMETRIC_NO_CLIPPING_ERR" and low == 0) or (dtypes[2] or "f").startswith("int") and domain == "FLOAT":
                        continue
                    if target == "int16" and dtypes[0] != "float32":
                        continue  # 32767 is no number of the halves: PyTorch's cast to int16 wraps
                    x_dtype, scale_dtype, zero_dtype, output = (getattr(torch, name) if name else None for name in dtypes)
                    start = -3.0 if seed % 3 else 0.25
                    x = split(inputs.uniform(seed, SHAPE[0] * SHAPE[1], start, 5.0).to(x_dtype), block)
                    scale, zero = choose(x, mapping, preserve, domain, low, high, scale_dtype, zero_dtype)
                    codes = quantize(x, scale, zero, domain, low, high).to(STORAGE[target])
                    values = dequantize(codes, scale, zero, domain, low, high, output)
                    rows.append({"seed": seed, "low": start, "shape": SHAPE, "granularity": granularity, "mapping": mapping, "preserve_zero": preserve, "domain": domain,
                                 "target": target, "dtype": dtypes[0], "scale_dtype": dtypes[1], "zero_point_dtype": dtypes[2], "output_dtype": output and dtypes[3],
                                 "scale": numbers(scale), "zero_point": None if zero is None else numbers(zero), "codes": [int(v) for v in codes.reshape(-1)],
                                 "values": numbers(values)})
    text = json.dumps({"torch": torch.__version__, "rows": rows}, separators=(",", ":")).replace('},{"seed"', '},\n{"seed"')
    (HERE / "affine_half.json").write_text(text + "\n")
    print(len(rows), len(text))


if __name__ == "__main__":
    main()
