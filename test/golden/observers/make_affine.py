"""The affine family (numerics 3.13) computed a second time, from the specification's formulas: writes affine.json.

torch core has no concrete class of it, so numpy is the oracle: each operation in double, rounded to float32, which is float32 arithmetic
(double has more than twice the digits). Inputs are uniform numbers of inputs.py, scaled.
"""
import itertools
import json
import pathlib

import numpy as np
import torch

import inputs

HERE = pathlib.Path(__file__).parent
EPS = np.float32(2.0**-23)
BOUNDS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-32768, 32767), "uint4": (0, 15), "uint2": (0, 3), "int4": (-8, 7), "int1": (-1, 0),
          "float8_e4m3fn": (-448, 448), "float8_e5m2": (-57344, 57344)}
# shape -> granularities with the block size that follows (core's rules, and torchao's for groups of other ranks and blocks)
CASES = {(4, 16): [("PerTensor()", (4, 16)), ("PerAxis(axis=0)", (1, 16)), ("PerAxis(axis=1)", (4, 1)), ("PerAxis(axis=-1)", (4, 1)), ("PerGroup(group_size=4)", (1, 4)),
                   ("PerRow()", (1, 16)), ("PerToken()", (1, 16)), ("PerBlock(block_size=(2, 8))", (2, 8)), ("PerBlock(block_size=(8,))", (1, 8))],
         (2, 3, 8): [("PerTensor()", (2, 3, 8)), ("PerAxis(axis=1)", (2, 1, 8)), ("PerGroup(group_size=2)", (1, 1, 2)), ("PerToken()", (1, 1, 8)),
                     ("PerRow(dim=0)", (2, 1, 1)), ("PerBlock(block_size=(3, 4))", (1, 3, 4))]}
OPTIONS = [("SYMMETRIC", True, "INT"), ("SYMMETRIC", True, "NONE"), ("SYMMETRIC_NO_CLIPPING_ERR", True, "INT"), ("ASYMMETRIC", True, "INT"), ("ASYMMETRIC", True, "NONE"),
           ("ASYMMETRIC", False, "FLOAT"), ("ASYMMETRIC", True, "FLOAT"), ("SYMMETRIC", False, "INT"), ("SYMMETRIC", True, "FLOAT"), ("ASYMMETRIC", False, "INT")]


def f(x):
    return np.asarray(x, np.float64).astype(np.float32)


def d(x):
    return np.asarray(x, np.float64)


def blocks_of(x, block):
    """[blocks..., elements of a block], and the function that spreads one number per block over the tensor."""
    split = [n for size, b in zip(x.shape, block) for n in (size // b, b)]
    rank = x.ndim
    order = [2 * i for i in range(rank)] + [2 * i + 1 for i in range(rank)]
    flat = x.reshape(split).transpose(order).reshape([size // b for size, b in zip(x.shape, block)] + [-1])

    def spread(values):
        full = np.broadcast_to(values[..., None], flat.shape).reshape([split[i] for i in order])
        return full.transpose(np.argsort(order)).reshape(x.shape)

    return flat, spread


def kept_shape(shape, block):
    return [size // b for size, b in zip(shape, block) if b == 1 or b != size]


def choose(low, high, mapping, preserve, domain, target):
    qmin, qmax = BOUNDS[target]
    if target.startswith("float8") and mapping != "SYMMETRIC":
        return None
    n, p = (np.minimum(low, 0), np.maximum(high, 0)) if preserve else (low, high)
    if mapping != "ASYMMETRIC":
        if not preserve or domain == "FLOAT":
            return None
        if mapping == "SYMMETRIC":
            scale = f(d(np.maximum(-n, p)) / ((qmax - qmin) / 2))
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                a, b = f(d(n) / qmin), f(d(p) / qmax)
            scale = np.where(a > b, a, b)
        return np.maximum(scale, EPS), np.full(scale.shape, np.trunc((qmax + qmin + 1) / 2), np.float32)
    scale = np.maximum(f(d(f(d(p) - d(n))) / (qmax - qmin)), EPS)
    if preserve:
        zero = np.clip(f(qmin - np.rint(f(d(n) / d(scale)))), qmin, qmax)
    elif domain == "FLOAT":
        zero = f(d(n) + d(f(d(scale) * ((qmax + qmin + 1) / 2))))
    else:
        return None
    return scale, None if domain == "NONE" else zero


def quantize(x, scale, zero, domain, target):
    qmin, qmax = BOUNDS[target]
    if domain == "FLOAT":
        middle = (qmax + qmin + 1) / 2
        low = f(d(zero) - d(f(d(scale) * middle)))
        return np.clip(np.rint(f(d(f(d(x) - d(low))) / d(scale))), qmin, qmax)
    scaled = f(d(x) * d(f(1 / d(scale))))
    if target.startswith("float8"):
        return np.clip(scaled, qmin, qmax)
    return np.clip(f(d(np.rint(scaled)) + (d(zero) if domain == "INT" else 0)), qmin, qmax)


def dequantize(q, scale, zero, domain, target):
    qmin, qmax = BOUNDS[target]
    if domain == "FLOAT":
        return f(d(f(d(f(q - (qmax + qmin + 1) / 2)) * d(scale))) + d(zero))
    return f(d(f(q - (d(zero) if domain == "INT" else 0))) * d(scale))


def raw(x):
    return np.ascontiguousarray(x + np.float32(0), np.float32).view(np.uint32).reshape(-1).tolist()


def main():
    rows = []
    seed = 900
    for shape, granularities in CASES.items():
        for (granularity, block), (mapping, preserve, domain), target in itertools.product(granularities, OPTIONS, BOUNDS):
            seed += 1
            count = int(np.prod(shape))
            x = inputs.uniform(seed, count, -3.0 if seed % 3 else 0.25, 5.0).numpy().reshape(shape)
            flat, spread = blocks_of(x, block)
            row = {"seed": seed, "low": -3.0 if seed % 3 else 0.25, "shape": shape, "granularity": granularity, "mapping": mapping, "preserve_zero": preserve,
                   "domain": domain, "target": target}
            if target.startswith("float8") and domain != "NONE":
                continue
            if mapping == "SYMMETRIC_NO_CLIPPING_ERR" and 0 in BOUNDS[target]:
                continue  # divides by a bound of 0
            chosen = choose(flat.min(-1), flat.max(-1), mapping, preserve, domain, target)
            if chosen is None:
                rows.append({**row, "error": True})
                continue
            scale, zero = chosen
            full_scale, full_zero = spread(scale), None if zero is None else spread(zero)
            q = quantize(x, full_scale, full_zero, domain, target)
            if target.startswith("float8"):
                # the conversion itself is torch's
                q = torch.from_numpy(np.ascontiguousarray(q)).to(getattr(torch, target)).to(torch.float32).numpy()
            rows.append({**row, "block_size": block, "parameter_shape": kept_shape(shape, block), "scale": raw(scale), "zero_point": None if zero is None else raw(zero),
                         "codes": [float(v) if target.startswith("float8") else int(v) for v in q.reshape(-1)],
                         "values": raw(dequantize(q, full_scale, full_zero, domain, target))})
    # A part of the product keeps the file small: every granularity, mapping, domain and target still occurs many times.
    rows = [row for i, row in enumerate(rows) if i % 4 == 0 or "error" in row and i % 2]
    text = json.dumps({"numpy": np.__version__, "torch": torch.__version__, "rows": rows}, separators=(",", ":")).replace('},{"seed"', '},\n{"seed"')
    (HERE / "affine.json").write_text(text + "\n")
    print(len(rows), len(text))


if __name__ == "__main__":
    main()
