"""Order, extremes and deviation of quantized tensors, and elementwise operators on 32-bit codes."""
import numpy as np
import torch

from golden import Input, number

Q = torch.ops.quantized
CODES = {"quint8": None, "qint8": None, "qint32": ("i", -300, 300)}


def call(kind, target, arguments):
    return "  %%y = call_%s[%s](%s)\n  return %%y" % (kind, target, arguments)


def order(g):
    n = 0
    for dtype in CODES:
        for shape, dim in (([1], 0), ([7], -1), ([33], 0), ([130], 0), ([3, 5], 0), ([3, 5], 1), ([2, 3, 4, 5], 1), ([2, 65], -1), ([4, 1], 1)):
            n += 1
            # few different codes: ties, of which the first counts
            spread = Input(shape, dtype, 0.05, 10 if dtype != "qint8" else -10, spec=CODES[dtype], seed=n)
            ties = Input(shape, dtype, 0.05, 3, spec=("i", 0, 4), seed=n + 500)
            distinct = np.unique(spread.values()).size == spread.values().size
            for descending in (False, True) if distinct else ():
                g.add("sort_%s_%d_%s" % (dtype, n, descending), "T0", call("method", "sort", "%%x0, %d, %s" % (dim, descending)), [spread],
                      lambda t, d=dim, e=descending: t.sort(d, e))
            size = shape[dim]
            k = (size + 1) // 2
            for largest in (False, True):
                g.add("topk_values_%s_%d_%s" % (dtype, n, largest), "T0",
                      "  %%p = call_method[topk](%%x0, %d, %d, %s)\n  %%y = call_function[operator.getitem](%%p, 0)\n  return %%y" % (k, dim, largest),
                      [ties], lambda t, d=dim, k=k, e=largest: t.topk(k, d, e)[0])
            for name in ("max", "min"):
                g.add("%s_%s_%d" % (name, dtype, n), "T0", call("method", name, "%x0"), [spread], lambda t, f=name: getattr(t, f)())
                g.add("%s_dim_%s_%d" % (name, dtype, n), "T0", call("method", name, "%%x0, %d, True" % dim), [ties],
                      lambda t, f=name, d=dim: getattr(t, f)(d, True))
            g.add("sort_values_%s_%d" % (dtype, n), "T0",
                  "  %%p = call_function[torch.sort](%%x0, %d)\n  %%y = call_function[operator.getitem](%%p, 0)\n  return %%y" % dim,
                  [ties], lambda t, d=dim: torch.sort(t, d)[0])


def deviation(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for shape, dim, correction in (([7], 0, 1), ([33], 0, 0), ([3, 5], 1, 1), ([3, 5], 0, 0), ([2, 3, 4, 5], 1, 1), ([2, 65], 1, 2), ([1, 4], 0, 0)):
            n += 1
            x = Input(shape, dtype, 0.05, 100 if dtype == "quint8" else -20, seed=n)

            def real(v, dim=dim, c=correction):
                return np.sqrt(v.var(axis=dim, ddof=c))

            g.add("std_%s_%d" % (dtype, n), "T1", call("method", "std", "%%x0, %d, correction=%d" % (dim, correction)), [x],
                  lambda t, d=dim, c=correction: torch.std(t, [d], correction=c), model=real)
        x = Input([4, 9], dtype, 0.05, 100 if dtype == "quint8" else -20, seed=n + 90)
        g.add("std_all_%s" % dtype, "T1", call("function", "torch.std", "%x0"), [x], lambda t: torch.std(t, [0, 1]), model=lambda v: np.sqrt(v.var(ddof=1)))
        g.add("std_zero_%s" % dtype, "T0", call("method", "std", "%x0, 1"), [Input([3, 4], dtype, 0.05, 7, spec=("i", 7, 7), seed=1)], lambda t: torch.std(t, [1]))


def wide(g):
    """qint32.  PyTorch's vector kernels narrow through float32 as the rules say; ties and sums beyond 2^24 are left out by the codes' range."""
    n = 0
    for shape in ([1], [33], [2, 3, 4, 5]):
        for s, z in ((0.05, 100), (0.02, -70)):
            n += 1
            x = Input(shape, "qint32", s, z, spec=CODES["qint32"], seed=n)
            o = Input(shape, "qint32", 0.013, 31, spec=CODES["qint32"], seed=n + 40)
            out = (0.03, 12)
            q = "%s, %d" % (number(out[0]), out[1])
            for name, body, function, model in (
                    ("relu", call("function", "torch.relu", "%x0"), torch.relu, lambda v: np.maximum(v, 0)),
                    ("relu6", call("function", "torch.ops.quantized.relu6", "%x0"), Q.relu6, None),
                    ("clamp", call("function", "torch.clamp", "%x0, -1.1, 2.2"), lambda t: torch.clamp(t, -1.1, 2.2), None),
                    ("hardtanh", call("function", "torch.nn.functional.hardtanh", "%x0, -1.5, 2.0"), lambda t: torch.nn.functional.hardtanh(t, -1.5, 2.0), None),
                    ("hardswish", call("function", "torch.ops.quantized.hardswish", "%x0, " + q), lambda t: Q.hardswish(t, *out), lambda v: v * np.clip(v + 3, 0, 6) / 6),
                    ("elu", call("function", "torch.ops.quantized.elu", "%x0, " + q), lambda t: Q.elu(t, *out), lambda v: np.where(v > 0, v, np.expm1(np.minimum(v, 0)))),
                    ("celu", call("function", "torch.ops.quantized.celu", "%x0, " + q + ", 2.0"), lambda t: Q.celu(t, *out, 2.0), lambda v: np.where(v > 0, v, 2 * np.expm1(np.minimum(v, 0) / 2))),
                    ("leaky_relu", call("function", "torch.ops.quantized.leaky_relu", "%x0, 0.2, False, " + q), lambda t: Q.leaky_relu(t, 0.2, False, *out), lambda v: np.where(v > 0, v, v * np.float32(0.2))),
                    ("threshold", call("function", "torch.ops.quantized.threshold", "%x0, 1.0, -0.5"), lambda t: Q.threshold(t, 1.0, -0.5), lambda v: np.where(v > 1, v, -0.5))):
                g.add("wide_%s_%d" % (name, n), "T1" if model else "T0", body, [x], function, model=model)
            g.add("wide_add_%d" % n, "T1", call("function", "torch.ops.quantized.add", "%x0, %x1, " + q), [x, o], lambda a, b: Q.add(a, b, *out), model=lambda a, b: a + b)
            g.add("wide_add_relu_%d" % n, "T1", call("function", "torch.ops.quantized.add_relu", "%x0, %x1, " + q), [x, o], lambda a, b: Q.add_relu(a, b, *out), model=lambda a, b: np.maximum(a + b, 0))
            g.add("wide_mul_%d" % n, "T0", call("function", "torch.ops.quantized.mul", "%x0, %x1, " + q), [x, o], lambda a, b: Q.mul(a, b, *out))
            g.add("wide_mul_relu_%d" % n, "T0", call("function", "torch.ops.quantized.mul_relu", "%x0, %x1, " + q), [x, o], lambda a, b: Q.mul_relu(a, b, *out))
            for c in (1.3, -0.7, 0.0):
                g.add("wide_mul_scalar_%d_%s" % (n, c), "T0", call("function", "torch.ops.quantized.mul_scalar", "%%x0, %r" % c), [x], lambda t, c=c: Q.mul_scalar(t, c))
                g.add("wide_add_scalar_%d_%s" % (n, c), "T0", call("function", "torch.ops.quantized.add_scalar", "%%x0, %r" % c), [x], lambda t, c=c: Q.add_scalar(t, c))
                g.add("wide_mul_scalar_relu_%d_%s" % (n, c), "T0", call("function", "torch.ops.quantized.mul_scalar_relu", "%%x0, %r" % c), [x], lambda t, c=c: Q.mul_scalar_relu(t, c))
            g.add("wide_cat_%d" % n, "T1", call("function", "torch.ops.quantized.cat", "[%x0, %x1], 0, " + q), [x, o], lambda a, b: Q.cat([a, b], 0, *out),
                  model=lambda a, b: np.concatenate([a, b], 0))
            for op in ("lt", "ge"):
                g.add("wide_%s_%d" % (op, n), "T0", call("method", op, "%x0, %x1"), [x, o], lambda a, b, op=op: getattr(a, op)(b))


def all_cases(g):
    order(g)
    deviation(g)
    wide(g)
