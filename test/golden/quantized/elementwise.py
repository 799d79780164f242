"""Arithmetic of two tensors and of a tensor and a number, cat, activations, matmul, softmax."""
import math

import numpy as np
import torch
import torch.nn.functional as F
import torch.ao.nn.quantized.functional as qF

from golden import Input, number

Q = torch.ops.quantized
# Sizes around the vector lengths of AVX2 and AVX-512, alone and as the last dimension.
SHAPES = ([1], [7], [8], [9], [31], [32], [33], [63], [64], [65], [3, 5], [2, 3, 4], [2, 3, 4, 5], [0, 3], [1, 5, 1, 1], [130], [])
LAST = {"channels_last": [2, 6, 3, 5]}
PARAMS = {"quint8": [(0.0517, 100), (0.0211, 0), (0.033, 255), (0.0617732517, 126)],
          "qint8": [(0.0517, -5), (0.0211, -128), (0.033, 127), (0.06177, 3)]}
OTHER = {"quint8": (0.0893, 31), "qint8": (0.0893, 11)}


def inputs(dtype, n, shape, form=None):
    scale, zero_point = PARAMS[dtype][n % 4]
    low, high = (0, 255) if dtype == "quint8" else (-128, 127)
    spec = ("i", low, high) if n % 3 else ("n", low, 7 + 4 * n, 256) if dtype == "quint8" else ("x", low, high, zero_point, 0, 1, -1)
    return Input(shape, dtype, scale, zero_point, None, spec, seed=n + 1, form=form)


def binary(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for shape, form in [(s, None) for s in SHAPES] + [(LAST["channels_last"], "channels_last")]:
            for op in ("add", "add_relu", "mul", "mul_relu"):
                n += 1
                a = inputs(dtype, n, shape, form)
                scale, zero_point = OTHER[dtype]
                b = Input(shape, dtype, scale, zero_point, seed=n + 5000, form=form)
                s, z = (0.113, 60) if op[0] == "a" else (0.307, 20)
                body = "  %%y = call_function[torch.ops.quantized.%s](%%x0, %%x1, %s, %d)\n  return %%y" % (op, number(s), z)
                model = (lambda a, b: a + b) if op == "add" else (lambda a, b: np.maximum(a + b, 0)) if op == "add_relu" else None
                g.add("%s_%s_%d" % (op, dtype, n), "T1" if model else "T0", body, [a, b],
                      lambda a, b, op=op, s=s, z=z: getattr(Q, op)(a, b, s, z), model=model)
    pairs = [([2, 4], [1, 4]), ([2, 3, 4, 5], [2, 3, 1, 1]), ([2, 3, 4, 5], []), ([4, 1], [1, 5]), ([3], [2, 3]), ([2, 1, 3], [1, 4, 1]), ([0, 4], [1, 4])]
    for i, (left, right) in enumerate(pairs):
        for op in ("add", "mul", "add_relu", "mul_relu"):
            for dtype in ("quint8", "qint8"):
                n += 1
                a, b = inputs(dtype, n, left), Input(right, dtype, *OTHER[dtype], seed=n + 5000)
                s, z = (0.113, 60) if op[0] == "a" else (0.307, 20)
                body = "  %%y = call_function[torch.ops.quantized.%s](%%x0, %%x1, %s, %d)\n  return %%y" % (op, number(s), z)
                model = (lambda a, b: a + b) if op == "add" else (lambda a, b: np.maximum(a + b, 0)) if op == "add_relu" else None
                g.add("%s_broadcast_%s_%d" % (op, dtype, n), "T1" if model else "T0", body, [a, b],
                      lambda a, b, op=op, s=s, z=z: getattr(Q, op)(a, b, s, z), model=model)
    for i, shape in enumerate(([33], [2, 3, 4, 5], [64], [1])):
        for op in ("add", "add_relu"):  # fixed-point kernel of qnnpack
            for j, (s, z) in enumerate(((0.113, 60), (0.0271, 128), (0.9, 3))):
                n += 1
                a, b = inputs("quint8", n, shape), Input(shape, "quint8", *OTHER["quint8"], seed=n + 5000)
                body = "  %%y = call_function[torch.ops.quantized.%s](%%x0, %%x1, %s, %d)\n  return %%y" % (op, number(s), z)
                g.add("%s_qnnpack_%d" % (op, n), "T0", body, [a, b], lambda a, b, op=op, s=s, z=z: getattr(Q, op)(a, b, s, z), engine="qnnpack")


def scalars(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for op in ("add_scalar", "add_scalar_relu", "mul_scalar", "mul_scalar_relu"):
            for i, c in enumerate((1.0, -1.0, 8.0, -10.0, 0.0, 0.025, 1000.0, -0.37, 2.0, 1e-3)):
                n += 1
                if op == "add_scalar" and c == 1000.0:
                    continue  # PyTorch's output scale is right, its codes too; kept apart below by the trap tests
                x = inputs(dtype, n, ([256], [2, 3, 4, 5], [33])[n % 3])
                g.add("%s_%s_%d" % (op, dtype, n), "T0", "  %%y = call_function[torch.ops.quantized.%s](%%x0, %s)\n  return %%y" % (op, number(c)),
                      [x], lambda x, op=op, c=c: getattr(Q, op)(x, c))


def cat(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for relu in (False, True):
            for i, (shapes, dim, form) in enumerate((([[2, 3], [2, 5]], 1, None), ([[33], [31], [1]], 0, None), ([[2, 3, 4, 5], [2, 1, 4, 5]], 1, None),
                                                     ([[2, 3, 4, 5], [2, 35, 4, 5]], 1, "channels_last"), ([[2, 3, 4], [1, 3, 4]], -3, None),
                                                     ([[1, 2, 3, 3], [1, 2, 2, 3]], 2, None), ([[4, 0], [4, 3]], 1, None), ([[2, 64]], 1, None))):
                n += 1
                parts = [inputs(dtype, n + j, shape, form) for j, shape in enumerate(shapes)]
                s, z = (0.107, 50) if i != 2 else PARAMS[dtype][n % 4]
                op = "cat_relu" if relu else "cat"
                names = ", ".join("%%x%d" % j for j in range(len(parts)))
                body = "  %%y = call_function[torch.ops.quantized.%s]([%s], %d, %s, %d)\n  return %%y" % (op, names, dim, number(s), z)

                def model(*parts, dim=dim, relu=relu):
                    y = np.concatenate(parts, dim)
                    return np.maximum(y, 0) if relu else y
                g.add("%s_%s_%d" % (op, dtype, n), "T1", body, parts, lambda *p, op=op, dim=dim, s=s, z=z: getattr(Q, op)(list(p), dim, s, z), model=model)


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def activations(g):
    """(name, target and arguments, function, model or None for exact rules)"""
    def given(dtype):
        return (0.0413, 20) if dtype == "quint8" else (0.0413, -20)

    def rows(dtype):
        s, z = given(dtype)
        args = "%s, %d" % (number(s), z)
        neg = (lambda t: np.maximum(t, -745.0))
        yield "relu", "torch.relu", "", torch.relu, None
        yield "relu6", "torch.ops.quantized.relu6", "", Q.relu6, None
        yield "f_relu6", "torch.nn.functional.relu6", "", F.relu6, None
        yield "hardtanh", "torch.nn.functional.hardtanh", ", -1.5, 2.0", lambda t: F.hardtanh(t, -1.5, 2.0), None
        yield "qf_hardtanh", "torch.ao.nn.quantized.functional.hardtanh", ", -3.0, 4.0", lambda t: qF.hardtanh(t, -3.0, 4.0), None
        yield "clamp", "torch.clamp", ", -1.1, 2.2", lambda t: torch.clamp(t, -1.1, 2.2), None
        yield "clamp_min", "torch.clamp", ", min=0.2", lambda t: torch.clamp(t, min=0.2), None
        yield "clamp_max", "torch.clamp", ", max=0.4", lambda t: torch.clamp(t, max=0.4), None
        yield "clamp_crossed", "torch.clamp", ", 2.0, -1.0", lambda t: torch.clamp(t, 2.0, -1.0), None
        yield "qf_clamp", "torch.ao.nn.quantized.functional.clamp", ", -0.3, 900.0", lambda t: qF.clamp(t, -0.3, 900.0), None
        yield "hardswish", "torch.ops.quantized.hardswish", ", " + args, lambda t: Q.hardswish(t, s, z), lambda x: x * np.clip(x + 3, 0, 6) / 6
        yield "qf_hardswish", "torch.ao.nn.quantized.functional.hardswish", ", " + args, lambda t: qF.hardswish(t, s, z), lambda x: x * np.clip(x + 3, 0, 6) / 6
        yield "hardsigmoid", "torch.nn.functional.hardsigmoid", "", F.hardsigmoid, lambda x: np.clip(x + 3, 0, 6) / 6
        yield "qf_hardsigmoid", "torch.ao.nn.quantized.functional.hardsigmoid", "", lambda t: qF.hardsigmoid(t), lambda x: np.clip(x + 3, 0, 6) / 6
        yield "sigmoid", "torch.sigmoid", "", torch.sigmoid, lambda x: 1 / (1 + np.exp(-x))
        yield "q_sigmoid", "torch.ops.quantized.sigmoid", ", 0.0041, 3", lambda t: Q.sigmoid(t, 0.0041, 3), lambda x: 1 / (1 + np.exp(-x))
        yield "tanh", "torch.tanh", "", torch.tanh, np.tanh
        yield "elu", "torch.ops.quantized.elu", ", " + args + ", 0.9, 1.1, 0.8", lambda t: Q.elu(t, s, z, 0.9, 1.1, 0.8), \
            lambda x: np.where(x > 0, x * 1.1, np.expm1(neg(x) * 0.8) * 0.9 * 1.1)
        yield "qf_elu", "torch.ao.nn.quantized.functional.elu", ", " + args, lambda t: qF.elu(t, s, z), lambda x: np.where(x > 0, x, np.expm1(x))
        yield "celu", "torch.ops.quantized.celu", ", " + args + ", 1.7", lambda t: Q.celu(t, s, z, 1.7), lambda x: np.where(x > 0, x, 1.7 * np.expm1(x / 1.7))
        yield "qf_celu", "torch.ao.nn.quantized.functional.celu", ", " + args + ", 2.0", lambda t: qF.celu(t, s, z, 2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))
        yield "leaky_relu", "torch.nn.functional.leaky_relu", ", 0.1", lambda t: F.leaky_relu(t, 0.1), lambda x: np.where(x > 0, x, x * 0.1)
        yield "q_leaky_relu", "torch.ops.quantized.leaky_relu", ", 0.2, False, " + args, lambda t: Q.leaky_relu(t, 0.2, False, s, z), lambda x: np.where(x > 0, x, x * 0.2)
        yield "qf_leaky_relu", "torch.ao.nn.quantized.functional.leaky_relu", ", 0.3, scale=%s, zero_point=%d" % (number(s), z), \
            lambda t: qF.leaky_relu(t, 0.3, scale=s, zero_point=z), lambda x: np.where(x > 0, x, x * 0.3)
        yield "qf_leaky_relu_same", "torch.ao.nn.quantized.functional.leaky_relu", ", 0.3", lambda t: qF.leaky_relu(t, 0.3), lambda x: np.where(x > 0, x, x * 0.3)
        yield "threshold", "torch.ops.quantized.threshold", ", 1.01, -0.53", lambda t: Q.threshold(t, 1.01, -0.53), lambda x: np.where(x > 1.01, x, -0.53)
        yield "qf_threshold", "torch.ao.nn.quantized.functional.threshold", ", -0.77, 1.31", lambda t: qF.threshold(t, -0.77, 1.31), lambda x: np.where(x > -0.77, x, 1.31)
        yield "gelu", "torch.nn.functional.gelu", "", F.gelu, lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2)))
        yield "gelu_tanh", "torch.nn.functional.gelu", ", approximate='tanh'", lambda t: F.gelu(t, approximate="tanh"), \
            lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
        yield "dropout", "torch.ops.quantized.dropout", ", 1.0, 0, 0.5, False", lambda t: Q.dropout(t, 1.0, 0, 0.5, False), None
    n = 0
    for dtype in ("quint8", "qint8"):
        low = 0 if dtype == "quint8" else -128
        for row, (name, target, extra, function, model) in enumerate(rows(dtype)):
            for i in range(6):
                n += 1
                scale, zero_point = PARAMS[dtype][i % 4]
                shape, form = (([256], None), ([256], None), (SHAPES[(row * 3 + i) % len(SHAPES)], None), ([2, 6, 3, 5], "channels_last"),
                               ([65], None), ([2, 3, 4, 5], None))[i]
                spec = ("n", low, 1, 256) if i < 2 else ("i", low, low + 255)  # every code once
                if i == 1:
                    scale *= 3.7
                x = Input(shape, dtype, scale, zero_point, None, spec, seed=n, form=form)
                extra_text = extra.replace("'tanh'", '"tanh"')
                g.add("%s_%s_%d" % (name, dtype, n), "T1" if model else "T0",
                      "  %%y = call_function[%s](%%x0%s)\n  return %%y" % (target, extra_text), [x], function, model=model)


def prelu(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for shape, slopes in (([256], 1), ([3, 5], 5), ([2, 6, 3, 5], 6), ([2, 6, 3, 5], 1), ([2, 33, 4], 33), ([1, 1], 1), ([0, 4], 4), ([2, 6, 3, 5], 6)):
            n += 1
            x = inputs(dtype, n, shape, "channels_last" if n % 8 == 0 else None)
            w = Input([slopes], dtype, 0.0131, 30 if dtype == "quint8" else -30, seed=n + 77)
            s, z = 0.0571, 90 if dtype == "quint8" else -9
            g.add("prelu_%s_%d" % (dtype, n), "T0", "  %%w0 = get_attr[w0]()\n  %%y = call_function[torch.ops.quantized.prelu](%%x0, %%w0, %s, %d)\n  return %%y" % (
                number(s), z), [x], lambda x, w, s=s, z=z: Q.prelu(x, w, s, z), [w])


def matmul(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for a, b in (([2, 3], [3, 4]), ([1, 1], [1, 1]), ([5, 17], [17, 9]), ([2, 4, 8], [2, 8, 3]), ([2, 1, 3, 5], [4, 5, 2]), ([3, 4], [4]), ([4], [4, 3]),
                     ([6], [6]), ([0, 3], [3, 2]), ([3, 65], [65, 33]), ([2, 3, 4, 33], [2, 3, 33, 4])):
            n += 1
            k = a[-1]
            x, y = inputs(dtype, 3 * n + 1, a), Input(b, dtype, *OTHER[dtype], seed=n + 40)
            s, z = float("%.4g" % (0.05 * 0.09 * math.sqrt(k) * 74 * 74 / 50)), 70
            g.add("matmul_%s_%d" % (dtype, n), "T1", "  %%y = call_function[torch.ops.quantized.matmul](%%x0, %%x1, %s, %d)\n  return %%y" % (number(s), z),
                  [x, y], lambda a, b, s=s, z=z: Q.matmul(a, b, s, z), model=np.matmul)


def softmax(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for shape, dim in (([5], 0), ([3, 33], 1), ([3, 33], 0), ([2, 3, 4, 5], 1), ([2, 3, 4, 5], -1), ([1, 1], 1), ([4, 64], 1), ([0, 3], 1), ([2, 7, 3], 2)):
            n += 1
            x = inputs(dtype, 3 * n + 1, shape)
            s, z = ((1 / 256, 0) if dtype == "quint8" else (1 / 256, -128)) if n % 2 else (0.0057, 12)

            def model(x, dim=dim):
                if x.size == 0:
                    return x
                e = np.exp(x - x.max(dim, keepdims=True))
                return e / e.sum(dim, keepdims=True)
            g.add("softmax_%s_%d" % (dtype, n), "T1", "  %%y = call_function[torch.ops.quantized.softmax](%%x0, %d, %s, %d)\n  return %%y" % (dim, number(s), z),
                  [x], lambda x, dim=dim, s=s, z=z: Q.softmax(x, dim, s, z), model=model)


def all_cases(g):
    binary(g)
    scalars(g)
    cat(g)
    activations(g)
    prelu(g)
    matmul(g)
    softmax(g)
