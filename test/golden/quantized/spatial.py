"""Pooling, resizing, padding, reductions, normalization of codes."""
import numpy as np
import torch
import torch.nn.functional as F
import torch.ao.nn.quantized.functional as qF

from golden import Input, number

Q = torch.ops.quantized
NF = "torch.nn.functional."
QFN = "torch.ao.nn.quantized.functional."


def codes(shape, n, dtype="quint8", form=None, zero_point=None, scale=0.05):
    low = 0 if dtype == "quint8" else -128
    zero_point = [low + 7, low + 100, low, low + 255][n % 4] if zero_point is None else zero_point
    spec = ("i", low, low + 255) if n % 5 else ("x", low, low + 255, zero_point, low + 1)
    return Input(shape, dtype, scale, zero_point, None, spec, seed=n + 9, form=form)


def variants(dims):
    """Shapes and formats: channels around the vector lengths, batch 1, 2, unbatched."""
    size = {1: [9], 2: [6, 7], 3: [3, 4, 5]}[dims]
    form = {2: "channels_last", 3: "channels_last_3d"}.get(dims)
    yield [2, 5] + size, None
    yield [1, 33] + size, None
    yield [3] + size, None
    if form:
        yield [2, 8] + size, form
        yield [1, 16] + size, form


def call(target, *args, **kwargs):
    parts = ["%x0"] + [repr(a) for a in args] + ["%s=%r" % (k, v) for k, v in kwargs.items()]
    return "  %%y = call_function[%s](%s)\n  return %%y" % (target, ", ".join(parts).replace("'", '"'))


def pooling(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for dims in (1, 2, 3):
            for shape, form in variants(dims):
                for args in ((2,), (3, 2, 1), (3, 1, 1, 1, True), (2, 2, 1, 2)):
                    n += 1
                    if dims == 3 and dtype == "qint8" and args[0] == 3 and len(args) == 3:
                        continue
                    function = getattr(F, "max_pool%dd" % dims)
                    kernel, stride, padding, dilation, ceil = (list(args) + [args[0], 0, 1, False][len(args) - 1:])
                    g.add("max_pool%dd_%s_%d" % (dims, dtype, n), "T0", call(NF + "max_pool%dd" % dims, kernel, stride, padding, dilation, ceil),
                          [codes(shape, n, dtype, form)], lambda t, f=function, a=(kernel, stride, padding, dilation, ceil): f(t, *a))
    for dtype in ("quint8", "qint8"):
        for dims in (1, 2, 3):
            for shape, form in variants(dims):
                if form and shape[1] % 8:
                    continue  # the last C mod 8 channels: PyTorch's result depends on the processor (docs/Differences.md)
                for args in ((2,), (3, 2, 1), (3, 2, 1, True), (3, 2, 1, False, False), (2, 2, 0, False, True, 3), (2, 1, 1, True, False)):
                    n += 1
                    if dims == 1 and len(args) == 6:
                        continue
                    x = codes(shape, n, dtype, form, zero_point=((0, 2, 100)[n % 3] if dtype == "quint8" else (-128, -4, 6)[n % 3]))
                    function = getattr(F, "avg_pool%dd" % dims)
                    full = list(args) + [args[0], 0, False, True, None][len(args) - 1:]
                    full = full[:5] if dims == 1 else full
                    g.add("avg_pool%dd_%s_%d" % (dims, dtype, n), "T0", call(NF + "avg_pool%dd" % dims, *full), [x], lambda t, f=function, a=full: f(t, *a))
    for dtype in ("quint8", "qint8"):
        for dims in (1, 2, 3):
            for shape, form in variants(dims):
                for out in (1, 2, 3, [2, None, 1][:dims] if dims > 1 else 4):
                    n += 1
                    if dims == 3 and out == 1 and form:
                        continue  # a mean in PyTorch: float sums in another order
                    function = getattr(F, "adaptive_avg_pool%dd" % dims)
                    arg = tuple(out) if isinstance(out, list) else out
                    g.add("adaptive_avg_pool%dd_%s_%d" % (dims, dtype, n), "T0", call(NF + "adaptive_avg_pool%dd" % dims, arg),
                          [codes(shape, n, dtype, form)], lambda t, f=function, a=arg: f(t, a))
    x = codes([2, 5, 6, 7], 1)
    for name, args in (("avg_pool2d", (2, 2, 1)), ("adaptive_avg_pool2d", (3,)), ("max_pool2d", (2, 2, 1))):
        g.add("qF_" + name, "T0", call(QFN + name, *args), [x], lambda t, f=getattr(qF, name), a=args: f(t, *a))
    g.add("qF_max_pool1d", "T0", call(QFN + "max_pool1d", 3, 2, 1), [codes([2, 5, 9], 2)], lambda t: qF.max_pool1d(t, 3, 2, 1))
    y = codes([1, 4, 3, 4, 5], 3, zero_point=100)
    g.add("qF_avg_pool3d", "T0", call(QFN + "avg_pool3d", 2, 1), [y], lambda t: qF.avg_pool3d(t, 2, 1))
    g.add("qF_adaptive_avg_pool3d", "T0", call(QFN + "adaptive_avg_pool3d", 2), [y], lambda t: qF.adaptive_avg_pool3d(t, 2))
    g.add("q_max_pool2d", "T0", call("torch.ops.quantized.max_pool2d", [2, 3], [1, 2], [1, 1], [1, 1], False), [x],
          lambda t: Q.max_pool2d(t, [2, 3], [1, 2], [1, 1], [1, 1], False))
    for out in ((2, 3),):
        g.add("adaptive_batch0", "T0", call(NF + "adaptive_avg_pool2d", out), [codes([0, 3, 4, 4], 2)], lambda t: F.adaptive_avg_pool2d(t, (2, 3)))
    g.add("max_pool_batch0", "T0", call(NF + "max_pool2d", 2), [codes([0, 3, 4, 4], 2)], lambda t: F.max_pool2d(t, 2))


def bilinear(x, out, align, factor):
    """The rule on real values in double; source positions as float32 kernels compute them."""
    f = np.float32
    n, c, h, w = x.shape
    def axis(size, target, scale):
        if align:
            r = f(size - 1) / f(target - 1) if target > 1 else f(0)
        else:
            r = f(1.0 / scale) if scale else f(size) / f(target)
        rows = []
        for d in range(target):
            s = f(r * f(d)) if align else max(f(f(r * f(f(d) + f(0.5))) - f(0.5)), f(0))
            i = min(int(s), size - 1)
            rows.append((i, i + 1 if i < size - 1 else i, float(f(s) - f(i))))
        return rows
    result = np.zeros((n, c) + tuple(out))
    ys, xs = axis(h, out[0], factor and factor[0]), axis(w, out[1], factor and factor[1])
    for i, (y0, y1, ly) in enumerate(ys):
        for j, (x0, x1, lx) in enumerate(xs):
            result[:, :, i, j] = (1 - ly) * ((1 - lx) * x[:, :, y0, x0] + lx * x[:, :, y0, x1]) + ly * ((1 - lx) * x[:, :, y1, x0] + lx * x[:, :, y1, x1])
    return result


def resize(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for form in (None, "channels_last"):
            for shape in ([2, 5, 6, 7], [1, 16, 3, 4], [1, 33, 5, 2]):
                for kwargs in (dict(size=(3, 9)), dict(size=(12, 14)), dict(scale_factor=2.0), dict(scale_factor=(0.5, 1.7)), dict(size=(6, 7))):
                    for mode in ("nearest", "nearest-exact", "bilinear", "bilinear_align"):
                        n += 1
                        if n % 3 and mode.startswith("nearest") and dtype == "qint8":
                            continue
                        x = codes(shape, n, dtype, form, zero_point=3 if dtype == "quint8" else -5)
                        options = dict(kwargs, mode=mode.split("_")[0])
                        if mode == "bilinear_align":
                            options["align_corners"] = True
                        elif mode == "bilinear":
                            options["align_corners"] = False
                        model, scale = None, kwargs.get("scale_factor")
                        if mode.startswith("bilinear"):
                            factor = (scale, scale) if isinstance(scale, float) else scale
                            out = kwargs.get("size") or tuple(int(shape[2 + i] * factor[i]) for i in range(2))
                            model = lambda x, out=out, a=mode.endswith("align"), f=factor: bilinear(x, out, a, f)
                        g.add("interpolate_%s_%s_%d" % (mode, dtype, n), "T1" if model else "T0", call(NF + "interpolate", **options), [x],
                              lambda t, o=options: F.interpolate(t, **o), model=model)
    for mode in ("nearest", "nearest-exact"):
        for form in (None, "channels_last_3d"):
            for kwargs in (dict(size=(2, 5, 7)), dict(scale_factor=1.5)):
                n += 1
                g.add("interpolate3d_%d" % n, "T0", call(NF + "interpolate", mode=mode, **kwargs), [codes([1, 4, 3, 4, 5], n, "quint8", form)],
                      lambda t, m=mode, k=kwargs: F.interpolate(t, mode=m, **k))
    x = codes([2, 3, 4, 5], 1)
    g.add("qF_interpolate", "T0", call(QFN + "interpolate", size=(7, 3)), [x], lambda t: qF.interpolate(t, size=(7, 3)))
    g.add("qF_upsample", "T0", call(QFN + "upsample", scale_factor=2.0), [x], lambda t: qF.upsample(t, scale_factor=2.0))
    g.add("qF_upsample_nearest", "T0", call(QFN + "upsample_nearest", size=(7, 3)), [x], lambda t: qF.upsample_nearest(t, size=(7, 3)))
    g.add("qF_upsample_bilinear", "T1", call(QFN + "upsample_bilinear", size=(7, 3)), [x], lambda t: qF.upsample_bilinear(t, size=(7, 3)),
          model=lambda x: bilinear(x, (7, 3), True, None))


def padding(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for shape, pads, mode in (([2, 3, 4, 5], (1, 2), "constant"), ([2, 3, 4, 5], (1, 0, 2, 1), "constant"), ([33], (3, 1), "constant"),
                                  ([2, 3, 4, 5], (-1, 2, 0, -1, 1, 1), "constant"), ([2, 3, 4, 5], (1, 2, 3, 0), "reflect"), ([2, 3, 9], (2, 4), "reflect"),
                                  ([3, 9], (1, 1), "reflect"), ([1, 8, 4, 4], (1, 1, 1, 1), "constant"), ([0, 3, 2, 2], (1, 1), "constant")):
            n += 1
            form = "channels_last" if len(shape) == 4 and n % 2 else None
            value = (0.3, -1.7, 1e6)[n % 3] if mode == "constant" else 0.0
            args = (tuple(pads), mode, value) if mode == "constant" else (tuple(pads), mode)
            g.add("pad_%s_%d" % (dtype, n), "T0", call(NF + "pad", *args), [codes(shape, n, dtype, form)], lambda t, a=args: F.pad(t, *a))
    for dtype in ("quint8", "qint8"):
        for form in (None, "channels_last"):
            n += 1
            g.add("pixel_shuffle_%d" % n, "T0", call(NF + "pixel_shuffle", 2), [codes([2, 12, 3, 4], n, dtype, form)], lambda t: F.pixel_shuffle(t, 2))
            g.add("pixel_unshuffle_%d" % n, "T0", call(NF + "pixel_unshuffle", 2), [codes([2, 3, 4, 6], n, dtype, form)], lambda t: F.pixel_unshuffle(t, 2))
    for form in (None, "channels_last"):
        n += 1
        g.add("channel_shuffle_%d" % n, "T0", call("torch.channel_shuffle", 3), [codes([2, 12, 3, 4], n, "quint8", form)], lambda t: torch.channel_shuffle(t, 3))


def reductions(g):
    n = 0
    for dtype in ("quint8", "qint8"):
        for shape, dims, form in (([2, 5, 6, 7], [2, 3], None), ([2, 5, 6, 7], [-1], None), ([2, 5, 6, 7], [1], None), ([2, 5, 6, 7], [0, 2], None),
                                  ([2, 8, 6, 7], [2, 3], "channels_last"), ([3, 33], [1], None), ([3, 33], [0], None), ([7], [0], None), ([2, 3, 4], [1, 2], None)):
            for keep in (False, True):
                n += 1
                inner = sorted(d % len(shape) for d in dims) == list(range(len(shape) - len(dims), len(shape))) and form is None
                model = None if inner else (lambda x, d=tuple(dims), k=keep: x.mean(d, keepdims=k))
                g.add("mean_%s_%d" % (dtype, n), "T1" if model else "T0",
                      "  %%y = call_method[mean](%%x0, %s, keepdim=%s)\n  return %%y" % (dims, keep), [codes(shape, n, dtype, form)],
                      lambda t, d=dims, k=keep: t.mean(d, keepdim=k), model=model)
        n += 1
        g.add("mean_all_%d" % n, "T0", "  %y = call_method[mean](%x0)\n  return %y", [codes([3, 17], n, dtype)], lambda t: t.mean())


def norms(g):
    n = 0
    f = np.float32

    def statistics(x):
        """Mean and 1/std in double of the last axis of real values."""
        return x.mean(-1, keepdims=True), x.var(-1, keepdims=True)

    for dtype in ("quint8", "qint8"):
        s, z = 0.0213, 128 if dtype == "quint8" else 5
        for channels, rank, form in ((5, 2, None), (33, 2, None), (8, 3, None), (6, 4, None), (17, 4, "channels_last"), (32, 4, "channels_last"), (3, 5, None), (4, 5, "channels_last_3d"), (64, 2, None)):
            for relu in (False, True):
                n += 1
                if rank == 2 and form is None and dtype == "qint8" and relu:
                    continue
                x = codes([2, channels] + [3, 4, 2][:rank - 2], n, dtype, form, scale=0.0371)
                w = [Input([channels], "f32", spec=("f", -2.0, 2.0), seed=n + 1), Input([channels], "f32", seed=n + 2), Input([channels], "f32", seed=n + 3),
                     Input([channels], "f32", spec=("f", 0.1, 3.0), seed=n + 4)]
                op = "batch_norm%s" % {2: "1d", 3: "1d", 4: "2d", 5: "3d"}[rank] + ("_relu" if relu else "")
                body = "".join("  %%w%d = get_attr[w%d]()\n" % (i, i) for i in range(4))
                body += "  %%y = call_function[torch.ops.quantized.%s](%%x0, %%w0, %%w1, %%w2, %%w3, 1e-05, %s, %d)\n  return %%y" % (op, number(s), z)
                g.add("%s_%s_%d" % (op, dtype, n), "T0", body, [x], lambda x, *w, op=op, s=s, z=z: getattr(Q, op)(x, *w, 1e-5, s, z), w)
        for shape, normalized in (([3, 4], [4]), ([2, 33], [33]), ([2, 3, 64], [64]), ([2, 3, 5], [3, 5]), ([2, 65], [65]), ([4, 1], [1]), ([2, 4, 3, 5], [4, 3, 5]), ([1, 7, 130], [130])):
            for affine in (True, False):
                n += 1
                x = codes(shape, n, dtype, scale=0.0371, zero_point=9)
                w = [Input(normalized, "f32", spec=("f", -2.0, 2.0), seed=n + 1), Input(normalized, "f32", seed=n + 2)] if affine else []
                body = "".join("  %%w%d = get_attr[w%d]()\n" % (i, i) for i in range(len(w)))
                body += "  %%y = call_function[torch.ops.quantized.layer_norm](%%x0, %s, %s, %s, 1e-05, %s, %d)\n  return %%y" % (
                    (normalized,) + (("%w0", "%w1") if affine else ("None", "None")) + (number(s), z))

                def model(x, *w, k=len(normalized)):
                    flat = x.reshape(x.shape[:x.ndim - k] + (-1,))
                    mean, var = statistics(flat)
                    y = ((flat - mean) / np.sqrt(var + 1e-5)).reshape(x.shape)
                    return y * w[0] + w[1] if w else y
                g.add("layer_norm_%s_%d" % (dtype, n), "T1", body, [x], lambda x, w=None, b=None, k=normalized, s=s, z=z: Q.layer_norm(x, k, w, b, 1e-5, s, z), w, model)
        for op, groups in (("group_norm", 2), ("group_norm", 1), ("group_norm", 4), ("instance_norm", 0)):
            for shape, form in (([2, 4, 5], None), ([2, 8, 3, 5], None), ([1, 4, 7, 9], None), ([2, 8, 3, 5], "channels_last"), ([1, 4, 2, 3, 3], None), ([3, 4, 8, 8], None), ([1, 64, 3, 3], "channels_last")):
                for affine in (True, False):
                    n += 1
                    c = shape[1]
                    x = codes(shape, n, dtype, form, scale=0.0371, zero_point=9)
                    w = [Input([c], "f32", spec=("f", -2.0, 2.0), seed=n + 1), Input([c], "f32", seed=n + 2)] if affine else []
                    pair = ("%w0", "%w1") if affine else ("None", "None")
                    count = "%d, " % groups if groups else ""
                    body = "".join("  %%w%d = get_attr[w%d]()\n" % (i, i) for i in range(len(w)))
                    body += "  %%y = call_function[torch.ops.quantized.%s](%%x0, %s%s, %s, 1e-05, %s, %d)\n  return %%y" % ((op, count) + pair + (number(s), z))

                    def model(x, *w, groups=groups or c):
                        flat = x.reshape(x.shape[0], groups, -1)
                        mean, var = statistics(flat)
                        y = ((flat - mean) / np.sqrt(var + 1e-5)).reshape(x.shape)
                        v = [1, -1] + [1] * (x.ndim - 2)
                        return y * w[0].reshape(v) + w[1].reshape(v) if w else y
                    front = [groups] if groups else []
                    g.add("%s_%s_%d" % (op, dtype, n), "T1", body, [x],
                          lambda x, w=None, b=None, op=op, front=front, s=s, z=z: getattr(Q, op)(x, *front, w, b, 1e-5, s, z), w, model)


def all_cases(g):
    pooling(g)
    resize(g)
    padding(g)
    reductions(g)
    norms(g)
