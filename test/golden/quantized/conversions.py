"""Quantize and dequantize, embeddings, comparisons and moves of quantized tensors."""
import numpy as np
import torch

from golden import Input, number

Q = torch.ops.quantized
SHAPES = ([1], [7], [32], [33], [65], [3, 5], [2, 3, 4, 5], [0, 3], [130], [])


def quantize(g):
    n = 0
    for dtype in ("quint8", "qint8", "qint32"):
        torch_dtype = getattr(torch, dtype)
        for shape in SHAPES:
            n += 1
            s, z = (0.0517, 0.00214854861, 0.3)[n % 3], (0, 100, 127)[n % 3]
            spec = ("f", -20.0, 20.0) if n % 2 else ("f", -1000.0, 1000.0)
            g.add("quantize_%s_%d" % (dtype, n), "T0", "  %%y = call_function[torch.quantize_per_tensor](%%x0, %s, %d, torch.%s)\n  return %%y" % (number(s), z, dtype),
                  [Input(shape, "f32", spec=spec, seed=n)], lambda x, s=s, z=z, d=torch_dtype: torch.quantize_per_tensor(x, s, z, d))
            form = "channels_last" if len(shape) == 4 else None
            q = Input(shape, dtype, s, z, spec=("i", -100000, 100000) if dtype == "qint32" else None, seed=n, form=form)
            g.add("dequantize_%s_%d" % (dtype, n), "T0", "  %y = call_method[dequantize](%x0)\n  return %y", [q], lambda q: q.dequantize())
        for shape, axis in (([3, 5], 0), ([2, 4, 3], 1), ([2, 3, 4, 5], 3), ([5, 33], 0), ([2, 33], 1)):
            n += 1
            c = shape[axis]
            scales = [round(0.01 + 0.007 * i, 6) for i in range(c)]
            zeros = [(i * 3) % 7 for i in range(c)]
            w = [Input([c], "f32"), Input([c], "i64", spec=("n", 0, 3, 7))]
            q = Input(shape, dtype, scales, zeros, axis, ("i", -1000, 1000) if dtype == "qint32" else None, seed=n)
            g.add("dequantize_pc_%s_%d" % (dtype, n), "T0", "  %w0 = get_attr[w0]()\n  %y = call_method[dequantize](%w0)\n  return %y", [], lambda q: q.dequantize(), [q])
            g.add("int_repr_%s_%d" % (dtype, n), "T0", "  %w0 = get_attr[w0]()\n  %y = call_method[int_repr](%w0)\n  return %y", [], lambda q: q.int_repr(), [q])
            del w


def embedding(g):
    n = 0
    for rows, columns in ((5, 4), (3, 1), (7, 3), (4, 8), (2, 16), (6, 33), (3, 64), (2, 7)):
        n += 1
        scale = [round(0.02 + 0.003 * i, 6) for i in range(rows)]
        zeros = [float(round(60.5 + 3.25 * i, 4)) for i in range(rows)]
        table = Input([rows, columns], "quint8", scale, zeros, 0, seed=n)
        indices = Input([4], "i64", spec=("i", 0, rows - 1), seed=n + 50)
        lead = "  %w0 = get_attr[w0]()\n  %p = call_function[torch.ops.quantized.embedding_bag_prepack](%w0)\n"
        g.add("embedding_byte_%d" % n, "T2", lead + "  %y = call_function[torch.ops.quantized.embedding_byte](%p, %x0)\n  return %y", [indices],
              lambda i, w: Q.embedding_byte(Q.embedding_bag_prepack(w), i), [table])
        grid = Input([2, 3], "i64", spec=("i", 0, rows - 1), seed=n + 60)
        g.add("embedding_byte_2d_%d" % n, "T2", lead + "  %y = call_function[torch.ops.quantized.embedding_byte](%p, %x0)\n  return %y", [grid],
              lambda i, w: Q.embedding_byte(Q.embedding_bag_prepack(w), i), [table])
        small = Input([4], "i32", spec=("i", 0, rows - 1), seed=n + 50)
        offsets = Input([3], "i32", spec=("n", 0, 2, 5), seed=1)
        g.add("embedding_bag_byte_%d" % n, "T2", lead + "  %y = call_function[torch.ops.quantized.embedding_bag_byte](%p, %x0, %x1)\n  return %y", [small, offsets],
              lambda i, o, w: Q.embedding_bag_byte(Q.embedding_bag_prepack(w), i, o), [table])
        per_sample = Input([4], "f32", spec=("f", -2.0, 2.0), seed=n + 70)
        off64 = Input([3], "i64", spec=("n", 0, 2, 5), seed=1)
        for last in (False, True):
            g.add("embedding_bag_byte_w_%d_%s" % (n, last), "T2", lead + "  %%y = call_function[torch.ops.quantized.embedding_bag_byte](%%p, %%x0, %%x1, per_sample_weights=%%x2, include_last_offset=%s)\n  return %%y" % last,
                  [indices, off64, per_sample], lambda i, o, p, w, last=last: Q.embedding_bag_byte(Q.embedding_bag_prepack(w), i, o, per_sample_weights=p, include_last_offset=last), [table])
        g.add("embedding_bag_byte_2d_%d" % n, "T2", lead + "  %y = call_function[torch.ops.quantized.embedding_bag_byte](%p, %x0)\n  return %y", [grid],
              lambda i, w: Q.embedding_bag_byte(Q.embedding_bag_prepack(w), i), [table])


def compare(g):
    n = 0
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        for dtype in ("quint8", "qint8"):
            n += 1
            a = Input([3, 33], dtype, 0.05, 10, seed=n, spec=("i", 0, 12))
            b = Input([3, 33], dtype, 0.05, 12, seed=n + 20, spec=("i", 0, 12))
            g.add("%s_%s_tensor" % (op, dtype), "T0", "  %%y = call_method[%s](%%x0, %%x1)\n  return %%y" % op, [a, b], lambda a, b, op=op: getattr(a, op)(b))
            g.add("%s_%s_scalar" % (op, dtype), "T0", "  %%y = call_method[%s](%%x0, -0.25)\n  return %%y" % op, [a], lambda a, op=op: getattr(a, op)(-0.25))


def moves(g):
    n = 0
    x4, x3 = [2, 5, 6, 4], [3, 4, 5]
    rows = [("flatten", ", 1", lambda t: t.flatten(1), x4), ("reshape", ", 2, 5, 24", lambda t: t.reshape(2, 5, 24), x4), ("view", ", 10, 24", lambda t: t.view(10, 24), x4),
            ("transpose", ", 1, 3", lambda t: t.transpose(1, 3), x4), ("permute", ", 0, 2, 3, 1", lambda t: t.permute(0, 2, 3, 1), x4), ("unsqueeze", ", 1", lambda t: t.unsqueeze(1), x3),
            ("select", ", 1, -1", lambda t: t.select(1, -1), x4), ("narrow", ", 1, 1, 3", lambda t: t.narrow(1, 1, 3), x4), ("expand", ", 4, 3, 4, 5", lambda t: t.expand(4, 3, 4, 5), x3),
            ("repeat", ", 2, 1, 3", lambda t: t.repeat(2, 1, 3), x3), ("contiguous", "", lambda t: t.contiguous(), x4), ("clone", "", lambda t: t.clone(), x4),
            ("detach", "", lambda t: t.detach(), x3), ("t", "", lambda t: t.t(), [3, 5])]
    for dtype in ("quint8", "qint8"):
        for name, args, function, shape in rows:
            for form in (None, "channels_last") if shape is x4 and name not in ("view",) else (None,):
                n += 1
                g.add("move_%s_%s_%d" % (name, dtype, n), "T0", "  %%y = call_method[%s](%%x0%s)\n  return %%y" % (name, args),
                      [Input(shape, dtype, 0.05, 7, seed=n, form=form)], function)


def all_cases(g):
    quantize(g)
    embedding(g)
    compare(g)
    moves(g)
