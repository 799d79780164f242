"""Input families of the observer tests: integer arithmetic that test/unit/backends/observe/Families.cpp repeats bit for bit."""
import torch

MASK = (1 << 64) - 1


def uniform(seed, count, low, high):
    """splitmix64 as in docs/IR.md: element i is low + (high - low) * (u >> 40) * 2^-24, rounded to float32."""
    state, values = seed, []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        values.append(low + (high - low) * ((z >> 40) * 2.0**-24))
    return torch.tensor(values, dtype=torch.float64).to(torch.float32)


def cubed(seed, count, low, high):
    x = uniform(seed, count, low, high)
    return x * x * x


def relu(seed, count, low, high):
    return torch.clamp(uniform(seed, count, low, high), min=0.0)


KINDS = {"uniform": uniform, "cubed": cubed, "relu": relu}
INF, NAN = float("inf"), float("nan")

# family -> batches; a batch is a list of pieces laid end to end: ("kind", seed, count, low, high) or a list of numbers.
FAMILIES = {
    "uniform": [[("uniform", 1, 1000, -1.0, 1.0)]],
    "positive": [[("uniform", 2, 500, 0.25, 3.0)]],
    "negative": [[("uniform", 3, 500, -3.0, -0.25)]],
    "relu_batches": [[("relu", 4, 4096, -1.0, 1.0)], [("relu", 5, 4096, -3.0, 3.0)], [("relu", 6, 4096, -1.0, 2.0)]],
    "cubed": [[("cubed", 7, 3000, -2.0, 3.0)]],
    "cubed_batches": [[("cubed", 8, 2000, -2.0, 3.0)], [("cubed", 9, 2000, -3.0, 1.0)], [("cubed", 10, 2000, -1.0, 4.0)]],
    "outlier": [[("uniform", 11, 1000, -0.3, 0.7), [50.0]]],
    "growing": [[("uniform", 60, 300, -0.1, 0.1)], [("uniform", 61, 300, -1.0, 0.5)], [("uniform", 62, 300, -3.0, 8.0)], [("uniform", 63, 300, -3.0, 90.0)]],
    "shrinking": [[("uniform", 12, 800, -8.0, 8.0)], [("uniform", 13, 800, -1.0, 1.0)]],
    "walk": [[("uniform", 20 + k, 300, -1.0 - 0.37 * k, 1.0 + 0.21 * k)] for k in range(12)],
    "constant": [[[5.0, 5.0, 5.0]]],
    "constant_negative": [[[-3.0, -3.0]]],
    "constant_then_range": [[[3.0, 3.0]], [[1.0, 5.0]]],
    "constant_batches": [[[2.0, 2.0]], [[2.0]], [[2.5]]],
    "zeros": [[[0.0] * 16]],
    "zeros_then_range": [[[0.0] * 16], [("uniform", 14, 200, -1.0, 1.0)]],
    "single": [[[0.75]]],
    "pair": [[[-1.0, 2.0]]],
    "steps": [[[0.0, 0.5, 1.0, 1.0, 2.0, 4.0]]],
    "tiny": [[("uniform", 15, 300, -1e-6, 2e-6)]],
    "denormal": [[("uniform", 16, 300, -1e-39, 2e-39)]],
    "denormal_batches": [[("uniform", 80, 300, -1e-39, 2e-39)], [("uniform", 81, 300, -3e-39, 1e-39)], [("uniform", 82, 300, -1e-39, 1e-39)]],
    "denormal_then_range": [[("uniform", 83, 300, -1e-39, 2e-39)], [("uniform", 84, 300, -1.0, 1.0)]],
    "vanishing": [[("uniform", 85, 300, -1e-44, 2e-44)]],
    "large": [[("uniform", 17, 300, -1e20, 2e20)]],
    "large_batches": [[("uniform", 86, 300, -1e20, 2e20)], [("uniform", 87, 300, -3e20, 2e20)], [("uniform", 88, 300, -1e36, 1e34)]],
    "huge": [[("uniform", 89, 300, -1e38, 2e38)]],
    "huge_batches": [[("uniform", 90, 300, -1e38, 5e37)], [("uniform", 91, 300, -1e38, 1.5e38)]],
    "overflow": [[("uniform", 92, 300, -3e38, 3e38)]],
    "overflow_later": [[("uniform", 93, 300, -1e38, 5e37)], [("uniform", 94, 300, -3e38, 3e38)], [("uniform", 95, 300, -1.0, 1.0)]],
    "huge_constant": [[[1e30, 1e30]], [[1e30]]],
    "huge_constant_then_range": [[[1e30, 1e30]], [("uniform", 96, 300, -1e30, 3e30)]],
    "tiny_then_huge": [[[0.0, 1e-9]], [("uniform", 97, 300, -1e10, 1e30)]],
    "narrow": [[("uniform", 18, 500, 1.0, 1.0001)], [("uniform", 19, 500, 0.9999, 1.0002)]],
    "far": [[("uniform", 40, 500, 1000.0, 1000.125)], [("uniform", 41, 500, 999.5, 1001.0)]],
    "integers": [[[float(i % 17 - 5) for i in range(400)]]],
    "infinity": [[[1.0, INF]]],
    "infinities": [[[1.0, -2.0, INF, -INF, 0.5]], [[3.0, -INF]]],
    "only_infinity": [[[INF, INF]]],
    "nan": [[[1.0, NAN, 2.0]]],
    "nan_later": [[[1.0, 2.0]], [[0.5, NAN]], [[3.0]]],
    "empty": [[[]]],
    "empty_then_data": [[[]], [("uniform", 42, 100, -1.0, 2.0)]],
    "many": [[("cubed", 43, 120000, -1.5, 1.5)], [("cubed", 44, 120000, -1.6, 1.4)]],
}

# Per-channel cases: family -> (shape, memory format, batches as above).
CHANNEL_FAMILIES = {
    "conv_weight": ((6, 4, 3, 3), "contiguous", [[("uniform", 50, 216, -0.5, 0.7)]]),
    "conv_channels_last": ((6, 4, 3, 3), "channels_last", [[("uniform", 51, 216, -0.5, 0.7)], [("uniform", 52, 216, -0.9, 0.2)]]),
    "linear_weight": ((8, 16), "contiguous", [[("cubed", 53, 128, -1.0, 1.2)]]),
    "batches": ((5, 4, 7), "contiguous", [[("uniform", 54, 140, -1.0, 1.0)], [("uniform", 55, 140, -2.0, 1.5)], [("uniform", 56, 140, -0.1, 0.1)]]),
    "zero_rows": ((2, 2), "contiguous", [[[0.0, 0.0, 1.0, -2.0]]]),
    "one_sided": ((3, 2), "contiguous", [[[0.5, 1.0, -1.0, 0.25, -0.1, -0.2]]]),
    "one_channel": ((1, 9), "contiguous", [[("uniform", 57, 9, -1.0, 4.0)]]),
    "nan_channel": ((3, 2), "contiguous", [[[1.0, 2.0, NAN, 0.5, -1.0, 3.0]], [[0.0, 4.0, 1.0, 1.0, -2.0, 0.0]]]),
    "inf_channel": ((2, 3), "contiguous", [[[1.0, INF, 2.0, -INF, 0.5, 1.0]]]),
    "empty": ((0, 3), "contiguous", [[[]]]),
    "constant": ((3, 4), "contiguous", [[[5.0] * 4 + [-3.0] * 4 + [0.25] * 4]]),
    "zeros": ((3, 4), "contiguous", [[[0.0] * 12]]),
    "outlier": ((4, 5), "contiguous", [[("uniform", 64, 19, -0.3, 0.7), [50.0]]]),
    "tiny": ((4, 5), "contiguous", [[("uniform", 65, 20, -1e-6, 2e-6)]]),
    "huge": ((4, 5), "contiguous", [[("uniform", 66, 20, -1e20, 2e20)]]),
    "subnormal": ((4, 5), "contiguous", [[("uniform", 67, 20, -1e-39, 2e-39)]]),
    "positive": ((4, 5), "contiguous", [[("uniform", 68, 20, 0.25, 3.0)]]),
    "growing": ((4, 5), "contiguous", [[("uniform", 69, 20, -0.1, 0.1)], [("uniform", 70, 20, -1.0, 0.5)], [("uniform", 71, 20, -3.0, 80.0)]]),
}


def make_batch(pieces):
    parts = [torch.tensor(p, dtype=torch.float32) if isinstance(p, list) else KINDS[p[0]](*p[1:]) for p in pieces]
    return torch.cat(parts)


def make_family(name):
    return [make_batch(batch) for batch in FAMILIES[name]]


def make_channel_family(name):
    shape, layout, batches = CHANNEL_FAMILIES[name]
    tensors = [make_batch(batch).reshape(shape) for batch in batches]
    if layout == "channels_last":
        tensors = [tensor.contiguous(memory_format=torch.channels_last) for tensor in tensors]
    return tensors
