"""Writes test/golden/weight_only: linear layers with 8- and 4-bit weights, their inputs by seed, and results in double precision.

Run with numpy and the safetensors package:  python test/golden/make_weight_only.py
`module_*` cases give codes and scales; `pass_*` cases give the float weight, which the pass weight-only-linear has to quantize as
passes/weightonly/WeightOnlyLinear.h says.  Everything is rebuilt here from random(seed, low, high) (docs/IR.md); PyTorch is not involved.
"""
import json
import os

import numpy as np
from safetensors.numpy import save_file

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "weight_only")
MASK = (1 << 64) - 1
cases, outputs = [], {}


def random_numbers(shape, seed, low, high):
    count = int(np.prod(shape))
    values, state = np.empty(count), seed & MASK
    for i in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        values[i] = low + (high - low) * (((z ^ (z >> 31)) >> 40) * 2.0 ** -24)
    return values.reshape(shape)


def floats(shape, seed, low, high):
    return random_numbers(shape, seed, low, high).astype(np.float32)


def unpack(codes, k, bits):
    if bits == 8:
        return codes.astype(np.int64)
    low, high = codes.astype(np.int64) & 15, codes.astype(np.int64) >> 4
    return np.stack([low, high], 2).reshape(len(codes), -1)[:, :k]


def dequantize(codes, scale, zero_point, group_size):
    n, k = codes.shape
    groups = np.arange(k) // (group_size or max(k, 1))
    return (codes - zero_point.astype(np.float64)[:, groups]) * scale.astype(np.float64)[:, groups]


def record(name, text, x, weight, bias):
    y = x.astype(np.float64) @ weight.T
    if bias is not None:
        y = y + bias.astype(np.float64)
    outputs[name + "/out"] = y.astype(np.float32)
    cases.append({"name": name, "text": text, "inputs": [{"name": "x", "shape": list(x.shape), "seed": 1, "low": -2.0, "high": 2.0}]})


def graph(target, k):
    return "graph(%%x : f32[N, %d]) {\n  %%y = %s\n  return %%y\n}\n" % (k, target)


def module_case(name, n, k, bits, group_size, rows, bias, asymmetric):
    stored = k if bits == 8 else (k + 1) // 2
    groups = -(-k // group_size) if group_size else 1
    dtype, low, high = ("i8", -128, 127) if bits == 8 else ("u8", 0, 255)
    codes = np.rint(random_numbers((n, stored), 2, low, high))
    scale = floats((n, groups), 3, 0.001, 0.05)
    zero_point = np.rint(random_numbers((n, groups), 4, -20 if bits == 8 else 0, 20 if bits == 8 else 15)) if asymmetric \
        else np.full((n, groups), 0 if bits == 8 else 8)
    b = floats((n,), 5, -1, 1) if bias else None
    lines = ["qfx 1", "module m : qfx.nn.WeightOnlyLinear(in_features=%d, out_features=%d, bias=%s, bits=%d, group_size=%d)"
             % (k, n, bias, bits, group_size),
             "parameter m.weight : %s[%d, %d] = random(seed=2, low=%d, high=%d)" % (dtype, n, stored, low, high),
             "buffer m.weight_scale : f32[%d, %d] = random(seed=3, low=0.001, high=0.05)" % (n, groups)]
    if asymmetric:
        lines.append("buffer m.weight_zero_point : i32[%d, %d] = random(seed=4, low=%d, high=%d)"
                     % (n, groups, -20 if bits == 8 else 0, 20 if bits == 8 else 15))
    if bias:
        lines.append("parameter m.bias : f32[%d] = random(seed=5, low=-1, high=1)" % n)
    record(name, "\n".join(lines) + "\n" + graph("call_module[m](%x)", k), floats((rows, k), 1, -2.0, 2.0),
           dequantize(unpack(codes, k, bits), scale, zero_point, group_size), b)


def quantize(weight, bits, group_size, symmetric):
    """Codes, scales and zero points as the pass chooses them, in the float32 steps its documentation names."""
    n, k = weight.shape
    lo, hi = (-128, 127) if bits == 8 else (0, 15)
    size = group_size or max(k, 1)
    groups = -(-k // size)
    codes = np.zeros((n, k), np.int64)
    scale, zero_point = np.ones((n, groups), np.float32), np.full((n, groups), 8 if bits == 4 else 0)
    for row in range(n):
        for group in range(groups):
            part = weight[row, group * size:(group + 1) * size]
            low, high = min(0.0, float(part.min())), max(0.0, float(part.max()))
            s = np.float32(2 * max(-low, high) / (hi - lo) if symmetric else (high - low) / (hi - lo))
            scale[row, group] = s if s > 0 else np.float32(1)
            if not symmetric:
                zero_point[row, group] = np.clip(lo - np.rint(np.float32(low) / scale[row, group]), lo, hi)
            steps = np.rint(part * (np.float32(1) / scale[row, group]))
            codes[row, group * size:(group + 1) * size] = np.clip(steps + zero_point[row, group], lo, hi)
    return codes, scale, zero_point


def pass_case(name, n, k, bits, group_size, symmetric, rows=3, function=False):
    weight, bias = floats((n, k), 2, -0.7, 0.5), floats((n,), 5, -1, 1)
    if function:
        text = "qfx 1\nparameter w : f32[%d, %d] = random(seed=2, low=-0.7, high=0.5)\nparameter b : f32[%d] = random(seed=5, low=-1, high=1)\n" \
            % (n, k, n) + "graph(%%x : f32[N, %d]) {\n  %%w = get_attr[w]()\n  %%b = get_attr[b]()\n" \
            "  %%y = call_function[torch.nn.functional.linear](%%x, %%w, %%b)\n  return %%y\n}\n" % k
    else:
        text = "qfx 1\nmodule m : torch.nn.Linear(in_features=%d, out_features=%d)\nparameter m.weight : f32[%d, %d] = random(seed=2, low=-0.7, high=0.5)\n" \
            "parameter m.bias : f32[%d] = random(seed=5, low=-1, high=1)\n" % (k, n, n, k, n) + graph("call_module[m](%x)", k)
    codes, scale, zero_point = quantize(weight, bits, group_size, symmetric)
    record(name, text, floats((rows, k), 1, -2.0, 2.0), dequantize(codes, scale, zero_point, group_size), bias)
    cases[-1]["options"] = {"bits": bits, "group_size": group_size, "symmetric": symmetric}


def main():
    os.makedirs(OUT, exist_ok=True)
    number = 0
    for bits in (8, 4):
        for n, k, group_size in ((1, 1, 0), (5, 7, 0), (16, 32, 16), (17, 33, 16), (33, 70, 32), (40, 128, 128), (24, 67, 64), (8, 3, 5)):
            for asymmetric in (False, True):
                number += 1
                module_case("module_%d" % number, n, k, bits, group_size, 1 + number % 6, number % 3 > 0, asymmetric)
        for n, k, group_size, symmetric in ((9, 20, 0, True), (18, 37, 16, True), (18, 37, 16, False), (33, 64, 32, False)):
            number += 1
            pass_case("pass_%d" % number, n, k, bits, group_size, symmetric)
        pass_case("pass_function_%d" % bits, 12, 19, bits, 8, True, function=True)
    with open(os.path.join(OUT, "cases.json"), "w") as file:
        json.dump({"numpy": np.__version__, "cases": cases}, file, indent=0)
        file.write("\n")
    save_file(outputs, os.path.join(OUT, "outputs.safetensors"), {"numpy": np.__version__})
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
