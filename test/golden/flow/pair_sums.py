"""Recomputes converted convolution chains in exact arithmetic and with saturating 16-bit pairs, as x86 without VNNI does (operators 3.5, 25.3).

`pmaddubsw` multiplies unsigned by signed bytes and adds two neighbouring products into 16 bits that saturate; oneDNN takes the input channels of
a tap two by two. Reads the lowered model that qfx-opt wrote and the codes that qfx-run dumped; needs the Python standard library only.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "graphs"))
from check import read_safetensors  # noqa: E402

MODULE = re.compile(r"^module (\w+) : torch\.ao\.nn\.(?:intrinsic\.)?quantized\.(\w+)\((.*)\)$", re.MULTILINE)
CALL = re.compile(r"^  %(\w+) = call_module\[(\w+)\]\((.*?)\)", re.MULTILINE)
KERNEL, PADDING = 3, 1  # all of the cases' convolutions; stride, dilation and groups are 1
TIE = 1e-4  # of a step: binary32 arithmetic may have taken the other side of a tie


class Codes:
    """Codes of one image as [channel][row][column], real = scale * (code - zero_point)."""

    def __init__(self, values, scale, zero_point):
        self.values, self.scale, self.zero_point = values, scale, zero_point

    @classmethod
    def read(cls, tensors, name):
        channels, height, width = tensors[name].shape[1:]
        flat = iter(tensors[name].values())
        values = [[[next(flat) for _ in range(width)] for _ in range(height)] for _ in range(channels)]
        return cls(values, tensors[name + ":scales"].values()[0], tensors[name + ":zero_points"].values()[0])

    def at(self, channel, row, column):
        inside = 0 <= row < len(self.values[0]) and 0 <= column < len(self.values[0][0])
        return self.values[channel][row][column] if inside else self.zero_point


def product_sum(codes, weights, saturates):
    """The sum over one tap: input channels in pairs, the last one with a zero."""
    total = 0
    for i in range(0, len(codes), 2):
        pair = sum(c * w for c, w in zip(codes[i : i + 2], weights[i : i + 2]))
        total += max(-32768, min(32767, pair)) if saturates else pair
    return total


class Chain:
    """The calls of quantized convolutions in a lowered model."""

    def __init__(self, text, weights, dump):
        self.modules = {path: (kind, arguments) for path, kind, arguments in MODULE.findall(text)}
        self.calls = [(name, path, re.findall(r"%(\w+)", operands)) for name, path, operands in CALL.findall(text)]
        self.weights, self.dump = weights, dump

    def run(self, saturates):
        """{node: (unrounded codes as [channel][row][column], bounds, Codes)} of every call; inputs are qfx's own codes."""
        values, known = {}, {}
        for name, path, operands in self.calls:
            for operand in operands:
                known.setdefault(operand, None)
                if known[operand] is None:
                    known[operand] = Codes.read(self.dump, operand)
            values[name] = self.convolve(path, [known[operand] for operand in operands], saturates)
            known[name] = values[name][2]
        return values

    def convolve(self, path, operands, saturates):
        kind, arguments = self.modules[path]
        number = lambda key: float(re.search(key + r"=([-+\w.]+)", arguments).group(1))  # noqa: E731
        scale, zero_point = number("scale"), int(number("zero_point"))
        low = zero_point if "ReLU" in kind else 0
        x, addend = operands[0], operands[1] if "Add" in kind else None
        weight, channels = self.weights[path + ".weight"], len(x.values)
        taps, biases = weight.values(), self.weights[path + ".bias"].values()
        height, width, size = len(x.values[0]), len(x.values[0][0]), KERNEL * KERNEL
        real, rounded = [], []
        for out, weight_scale in enumerate(self.weights[path + ".weight:scales"].values()):
            own = taps[out * channels * size : (out + 1) * channels * size]
            offset = x.zero_point * sum(own)
            plane = []
            for row in range(height):
                line = []
                for column in range(width):
                    total = -offset
                    for tap in range(size):
                        position = row + tap // KERNEL - PADDING, column + tap % KERNEL - PADDING
                        codes = [x.at(c, *position) for c in range(channels)]
                        total += product_sum(codes, own[tap::size], saturates)
                    value = total * x.scale * weight_scale + biases[out]
                    if addend:
                        value += addend.scale * (addend.values[out][row][column] - addend.zero_point)
                    line.append(value / scale + zero_point)
                plane.append(line)
            real.append(plane)
            rounded.append([[max(low, min(255, round(value))) for value in line] for line in plane])
        return real, (low, 255), Codes(rounded, scale, zero_point)


def count_unexplained(values, codes):
    """How many of `codes` (flat) are no rounding of the unrounded values."""
    real, (low, high), _ = values
    flat = [value for plane in real for line in plane for value in line]
    return sum(abs(max(low, min(high, value)) - code) > 0.5 + TIE for value, code in zip(flat, codes))


def explain(model, weights, nodes, result, wanted):
    """Problems, as texts: qfx's codes must be exact arithmetic's, PyTorch's those of saturating pairs.

    :param nodes: every value of a run; `result` is the name of the node whose dequantized value
    the model returns, `wanted` are PyTorch's codes for it."""
    with open(model) as file:
        chain = Chain(file.read(), read_safetensors(weights)[0], nodes)
    exact, saturated = chain.run(False), chain.run(True)
    problems = []
    for name, _, _ in chain.calls:
        wrong = count_unexplained(exact[name], chain.dump[name].values())
        if wrong:
            problems.append("'%s': %d of qfx's codes are not exact" % (name, wrong))
    wrong = count_unexplained(saturated[result], wanted)
    if wrong:
        problems.append("'%s': %d of PyTorch's codes are not those of saturating pairs" % (result, wrong))
    return problems
