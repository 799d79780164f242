"""Linear and convolutions.  Activation codes stay below 128: PyTorch's 16-bit pair sums saturate beyond on processors without VNNI (operators.md 25.3)."""
import math
import random

import torch

from golden import Input, number

Q = torch.ops.quantized


def scales(channels, seed):
    r = random.Random(seed)
    return [round(r.uniform(0.002, 0.05), 5) for _ in range(channels)]


def weight(shape, axis, per_channel, seed, zero_point=0, extreme=False, channels=None):
    spec = ("x", -128, 127, 0, -127, 1) if extreme else ("i", -128, 127)
    if per_channel:
        n = channels or shape[axis]
        return Input(shape, "qint8", scales(n, seed), [zero_point] * n, axis, spec, seed=seed)
    return Input(shape, "qint8", 0.0173, zero_point, None, spec, seed=seed)


def activation(shape, seed, engine, extreme=False, form=None, zero_point=50):
    top = 255 if engine == "qnnpack" else 127
    spec = ("x", 0, top, zero_point, 1, top - 1) if extreme else ("i", 0, top)
    return Input(shape, "quint8", 0.0213, zero_point, None, spec, seed=seed, form=form)


def out_scale(depth):
    """So that most results lie inside the code range and some beyond."""
    return float("%.5g" % (0.0213 * 0.02 * math.sqrt(depth) * 37 * 74 / 60))


def linear(g):
    n = 0

    def one(m, k, columns, per_channel=False, bias=True, relu=False, zero_point=0, engine="x86", extreme=False, lead=(), shape=None, m_scale=1.0):
        nonlocal n
        n += 1
        x = activation(shape or (list(lead) + [m, k]), n, engine, extreme)
        w = [weight([columns, k], 0, per_channel, n + 1000, zero_point, extreme)]
        if bias:
            w.append(Input([columns], "f32", spec=("f", -1.0, 1.0), seed=n + 2000))
        op = "linear_relu" if relu else "linear"
        s, z = out_scale(k) * m_scale, [0, 60, 128, 255, 7][n % 5]
        body = "\n".join("  %%w%d = get_attr[w%d]()" % (i, i) for i in range(len(w)))
        body += "\n  %%p = call_function[torch.ops.quantized.linear_prepack](%%w0, %s)" % ("%w1" if bias else "None")
        body += "\n  %%y = call_function[torch.ops.quantized.%s](%%x0, %%p, %s, %d)\n  return %%y" % (op, number(s), z)
        name = "%s_%s_%dx%dx%d%s%s%s%s_%d" % (op, engine, m, k, columns, "_pc" if per_channel else "", "" if bias else "_nobias",
                                              "_wz%d" % zero_point if zero_point else "", "_extreme" if extreme else "", n)
        g.add(name, "T0", body, [x], lambda x, w, b=None: getattr(Q, op)(x, Q.linear_prepack(w, b), s, z), w, engine=engine)

    ks = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130)
    for i, k in enumerate(ks):
        for j, columns in enumerate((1, 8, 17)):
            one((i + j) % 6 + 1, k, columns, per_channel=bool((i + j) % 2), bias=(i + 2 * j) % 3 != 0, relu=bool(j % 2), extreme=i % 4 == 1,
                engine="fbgemm" if (i + j) % 4 == 3 else "x86")
    for i, m in enumerate((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17)):
        one(m, 24, (9, 16, 33)[i % 3], per_channel=bool(i % 2), relu=bool(i % 3 == 1))
    for i, zero_point in enumerate((-7, 3, 127, -128)):
        one(3, 20 + i, 10, per_channel=bool(i % 2), zero_point=zero_point, engine="fbgemm" if i > 1 else "x86")
    for i in range(4):
        one(3, 19, 6, shape=[[2, 3, 19], [1, 1, 2, 19], [0, 3, 19], [2, 0, 19]][i], relu=bool(i % 2))
    for i, k in enumerate(ks[::2]):
        for engine in ("onednn", "qnnpack"):
            one(i % 4 + 1, k, (5, 16)[i % 2], per_channel=bool(i % 2) , bias=i % 3 != 2, relu=i % 3 == 1, engine=engine, extreme=i % 4 == 2)
    for i in range(6):  # multipliers near and above 1: the bias is not rounded in stage F, rounded in stage Q
        for engine in ("x86", "qnnpack"):
            one(4, 3 + i, 7, per_channel=bool(i % 2), engine=engine, m_scale=0.002)


def geometry(g):
    """(spatial, input, in channels, out channels, groups, kernel, stride, padding, dilation)"""
    two = [((5, 6), 3, 5, 1, (1, 1), (1, 1), (0, 0), (1, 1)), ((5, 6), 3, 8, 1, (3, 3), (1, 1), (1, 1), (1, 1)),
           ((7, 5), 4, 6, 2, (3, 2), (2, 1), (1, 1), (1, 1)), ((7, 7), 8, 8, 8, (3, 3), (1, 1), (1, 1), (1, 1)),
           ((7, 7), 4, 8, 4, (3, 3), (2, 2), (1, 1), (1, 1)), ((9, 8), 2, 4, 1, (3, 3), (1, 1), (2, 2), (2, 2)),
           ((6, 6), 16, 17, 1, (1, 1), (1, 1), (0, 0), (1, 1)), ((6, 6), 6, 9, 3, (2, 2), (3, 3), (0, 0), (1, 1)),
           ((4, 4), 17, 4, 1, (3, 3), (1, 1), (1, 1), (1, 1)), ((9, 9), 32, 32, 32, (5, 5), (2, 2), (2, 2), (1, 1)),
           ((3, 3), 1, 1, 1, (3, 3), (1, 1), (1, 1), (1, 1)), ((8, 1), 3, 4, 1, (3, 1), (2, 1), (1, 0), (2, 1)),
           ((5, 5), 33, 33, 33, (3, 3), (1, 1), (1, 1), (2, 2)), ((4, 6), 8, 24, 4, (1, 3), (1, 2), (0, 2), (1, 1))]
    one = [((a[0],), *rest[:3], *[(t[0],) for t in rest[3:]]) for (a, *rest) in two]
    three = [((3, 4, 4), 3, 4, 1, (2, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1)), ((4, 5, 3), 4, 6, 2, (3, 2, 1), (2, 2, 1), (1, 0, 0), (1, 1, 1)),
             ((3, 5, 5), 8, 8, 8, (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)), ((5, 5, 4), 2, 3, 1, (2, 2, 2), (1, 2, 1), (1, 1, 1), (2, 1, 2)),
             ((2, 3, 3), 5, 9, 1, (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1))]
    return {1: one, 2: two, 3: three}


def conv(g):
    n = 0
    for dims, rows in geometry(g).items():
        for row, (size, cin, cout, groups, kernel, stride, padding, dilation) in enumerate(rows):
            for variant in range(7 if dims == 2 else 5):
                n += 1
                engine = ("x86", "x86", "fbgemm", "qnnpack", "x86", "onednn", "x86")[variant]
                if engine == "onednn" and dims == 3:
                    engine = "fbgemm"  # operators.md 25.2: some 3-d configurations of onednn are wrong
                batch = (2, 1, 3, 1, 0, 1, 1)[variant]
                per_channel, bias, relu = bool((n + variant) % 2), variant % 3 != 1, variant % 2 == 1
                form = {2: "channels_last", 3: "channels_last_3d"}.get(dims) if variant % 3 == 2 else None
                x = activation([batch, cin] + list(size), n, engine, extreme=variant == 6, form=form, zero_point=(50, 0, 127)[n % 3])
                w = [weight([cout, cin // groups] + list(kernel), 0, per_channel, n + 3000, extreme=variant == 6,
                            zero_point=5 if variant == 2 and n % 4 == 0 and engine == "fbgemm" else 0)]
                if bias:
                    w.append(Input([cout], "f32", seed=n + 4000))
                op = "conv%dd%s" % (dims, "_relu" if relu else "")
                s, z = out_scale(math.prod(kernel) * cin // groups), (0, 100, 128, 31)[n % 4]
                args = [list(stride), list(padding), list(dilation), groups]
                body = "\n".join("  %%w%d = get_attr[w%d]()" % (i, i) for i in range(len(w)))
                body += "\n  %%p = call_function[torch.ops.quantized.conv%dd_prepack](%%w0, %s, %s, %s, %s, %d)" % (
                    dims, "%w1" if bias else "None", *args)
                body += "\n  %%y = call_function[torch.ops.quantized.%s](%%x0, %%p, %s, %d)\n  return %%y" % (op, number(s), z)

                def run(x, w, b=None, op=op, args=args, dims=dims, s=s, z=z):
                    return getattr(Q, op)(x, getattr(Q, "conv%dd_prepack" % dims)(w, b, *args), s, z)
                g.add("%s_%s_g%d_%d" % (op, engine, row, n), "T0", body, [x], run, w, engine=engine)


def conv_transpose(g):
    two = [((3, 4), 3, 5, 1, (2, 2), (2, 2), (0, 0), (0, 0), (1, 1)), ((3, 4), 4, 6, 1, (3, 3), (1, 1), (1, 1), (0, 0), (1, 1)),
           ((4, 3), 4, 4, 2, (3, 2), (2, 1), (1, 0), (1, 0), (1, 1)), ((3, 3), 8, 8, 8, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1)),
           ((4, 4), 2, 3, 1, (3, 3), (3, 2), (0, 2), (2, 1), (2, 2)), ((2, 5), 6, 9, 3, (1, 4), (1, 3), (0, 1), (0, 2), (1, 1)),
           ((3, 3), 16, 17, 1, (1, 1), (1, 1), (0, 0), (0, 0), (1, 1)), ((5, 5), 1, 1, 1, (4, 4), (2, 2), (3, 3), (0, 0), (1, 1)),
           ((3, 3), 5, 2, 1, (2, 2), (3, 3), (0, 0), (1, 1), (1, 1))]
    rows = {1: [((a[0],), *r[:3], *[(t[0],) for t in r[3:]]) for (a, *r) in two], 2: two,
            3: [((2, 3, 3), 3, 4, 1, (2, 2, 2), (2, 2, 2), (0, 0, 0), (0, 0, 0), (1, 1, 1)),
                ((3, 2, 2), 4, 4, 2, (3, 2, 1), (1, 2, 1), (1, 0, 0), (0, 1, 0), (1, 1, 1)),
                ((2, 2, 3), 2, 3, 1, (1, 3, 2), (1, 1, 2), (0, 1, 1), (0, 0, 1), (1, 2, 1))]}
    n = 0
    for dims, geometries in rows.items():
        for row, (size, cin, cout, groups, kernel, stride, padding, extra, dilation) in enumerate(geometries):
            for variant in range(4):
                n += 1
                engine = ("x86", "fbgemm", "qnnpack" if dims < 3 else "x86", "x86")[variant]
                batch, bias = (1, 2, 1, 0)[variant], variant != 1
                form = {2: "channels_last", 3: "channels_last_3d"}.get(dims) if variant == 1 else None
                x = activation([batch, cin] + list(size), n + 500, engine, form=form)
                w = [weight([cin, cout // groups] + list(kernel), 1, False, n + 5000)]
                if bias:
                    w.append(Input([cout], "f32", seed=n + 6000))
                s, z = out_scale(max(1, math.prod(kernel) * cin // groups // math.prod(stride))), (0, 100, 128, 31)[n % 4]
                args = [list(stride), list(padding), list(extra), list(dilation), groups]
                body = "\n".join("  %%w%d = get_attr[w%d]()" % (i, i) for i in range(len(w)))
                body += "\n  %%p = call_function[torch.ops.quantized.conv_transpose%dd_prepack](%%w0, %s, %s, %s, %s, %s, %d)" % (
                    dims, "%w1" if bias else "None", *args)
                body += "\n  %%y = call_function[torch.ops.quantized.conv_transpose%dd](%%x0, %%p, %s, %d)\n  return %%y" % (dims, number(s), z)

                def run(x, w, b=None, args=args, dims=dims, s=s, z=z):
                    return getattr(Q, "conv_transpose%dd" % dims)(x, getattr(Q, "conv_transpose%dd_prepack" % dims)(w, b, *args), s, z)
                g.add("conv_transpose%dd_%s_g%d_%d" % (dims, engine, row, n), "T0", body, [x], run, w, engine=engine)


def onednn_forms(g):
    n = 0
    for row, (size, cin, cout, groups, kernel, stride, padding, dilation) in enumerate(geometry(g)[2][:9]):
        for relu in (False, True):
            n += 1
            x = activation([2, cin] + list(size), n + 700, "onednn")
            out = [(l + 2 * p - d * (k - 1) - 1) // t + 1 for l, p, d, k, t in zip(size, padding, dilation, kernel, stride)]
            other = Input([2, cout] + out, "quint8", 0.031, 40, seed=n + 750)
            w = [weight([cout, cin // groups] + list(kernel), 0, bool(n % 2), n + 760), Input([cout], "f32", seed=n + 770)]
            op = "conv2d_add" + ("_relu" if relu else "")
            s, z = out_scale(math.prod(kernel) * cin // groups), (0, 100, 128, 31)[n % 4]
            args = [list(stride), list(padding), list(dilation), groups]
            body = "  %%w0 = get_attr[w0]()\n  %%w1 = get_attr[w1]()\n  %%p = call_function[torch.ops.quantized.conv2d_prepack](%%w0, %%w1, %s, %s, %s, %d)" % tuple(args)
            body += "\n  %%y = call_function[torch.ops.quantized.%s](%%x0, %%x1, %%p, %s, %d)\n  return %%y" % (op, number(s), z)

            def model(x, other, w, b, args=args, relu=relu):
                y = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(b), *args[:3], args[3])
                y = y + torch.from_numpy(other)
                return (torch.relu(y) if relu else y).numpy()
            g.add("%s_%d" % (op, n), "T1", body, [x, other],
                  lambda x, o, w, b, op=op, args=args, s=s, z=z: getattr(Q, op)(x, o, Q.conv2d_prepack(w, b, *args), s, z), w, model, engine="onednn")
    for i, k in enumerate((1, 5, 16, 33, 64)):
        for op in ("linear_leaky_relu", "linear_tanh"):
            n += 1
            x = activation([3, k], n + 800, "onednn")
            w = [weight([9, k], 0, bool(n % 2), n + 860), Input([9], "f32", seed=n + 870)]
            s, z = (out_scale(k), 60) if op != "linear_tanh" else (1 / 128, 128)
            slope = (0.01, 0.25)[i % 2]
            extra = [slope] if op == "linear_leaky_relu" else []
            body = "  %w0 = get_attr[w0]()\n  %w1 = get_attr[w1]()\n  %p = call_function[torch.ops.quantized.linear_prepack](%w0, %w1)"
            body += "\n  %%y = call_function[torch.ops.quantized.%s](%%x0, %%p, %s, %d%s)\n  return %%y" % (
                op, number(s), z, "".join(", " + number(e) for e in extra))

            def model(x, w, b, op=op, slope=slope):
                y = torch.from_numpy(x @ w.T + b)
                return (torch.tanh(y) if op == "linear_tanh" else torch.where(y > 0, y, y * slope)).numpy()
            g.add("%s_%d" % (op, n), "T1", body, [x], lambda x, w, b, op=op, s=s, z=z, extra=extra: getattr(Q, op)(
                x, Q.linear_prepack(w, b), s, z, *extra), w, model, engine="onednn")


def functional(g):
    """torch.ao.nn.quantized.functional.{linear, conv1d, conv2d, conv3d}: weights as quantized tensors."""
    import torch.ao.nn.quantized.functional as qF
    w = [weight([7, 13], 0, True, 91), Input([7], "f32", seed=92)]
    lead = "  %w0 = get_attr[w0]()\n  %w1 = get_attr[w1]()\n"
    g.add("qF_linear", "T0", lead + "  %y = call_function[torch.ao.nn.quantized.functional.linear](%x0, %w0, %w1, scale=0.07, zero_point=9)\n  return %y",
          [activation([4, 13], 90, "x86")], lambda x, w, b: qF.linear(x, w, b, 0.07, 9), w)
    g.add("qF_linear_own", "T0", "  %w0 = get_attr[w0]()\n  %y = call_function[torch.ao.nn.quantized.functional.linear](%x0, %w0)\n  return %y",
          [activation([4, 13], 93, "x86")], lambda x, w: qF.linear(x, w), w[:1])
    for dims, rows in geometry(g).items():
        size, cin, cout, groups, kernel, stride, padding, dilation = rows[1 if dims < 3 else 0]
        w = [weight([cout, cin // groups] + list(kernel), 0, True, 94 + dims), Input([cout], "f32", seed=99)]
        args = (list(stride), list(padding), list(dilation), groups)
        text = "  %%y = call_function[torch.ao.nn.quantized.functional.conv%dd](%%x0, %%w0, %%w1, %s, %s, %s, %d, scale=0.09, zero_point=77)\n  return %%y"
        g.add("qF_conv%dd" % dims, "T0", lead + text % ((dims,) + args), [activation([2, cin] + list(size), 95, "x86")],
              lambda x, w, b, dims=dims, args=args: getattr(qF, "conv%dd" % dims)(x, w, b, *args, scale=0.09, zero_point=77), w)


def dynamic_conv(g):
    """Float in and out; reduce_range keeps the codes below 128."""
    n = 0
    for dims, rows in geometry(g).items():
        for size, cin, cout, groups, kernel, stride, padding, dilation in rows[1:4]:
            for transposed in (False, True):
                n += 1
                if transposed and groups == cin and dims == 3:
                    continue
                shape = [cin, cout // groups] if transposed else [cout, cin // groups]
                w = [weight(shape + list(kernel), 0, bool(n % 2) and not transposed, n + 7000), Input([cout], "f32", seed=n + 7100)]
                kind = "conv_transpose%dd" % dims if transposed else "conv%dd" % dims
                args = [list(stride), list(padding)] + ([[0] * dims] if transposed else []) + [list(dilation), groups]
                body = "  %%w0 = get_attr[w0]()\n  %%w1 = get_attr[w1]()\n  %%p = call_function[torch.ops.quantized.%s_prepack](%%w0, %%w1, %s)" % (
                    kind, ", ".join(map(str, args)))
                body += "\n  %%y = call_function[torch.ops.quantized.%s_dynamic](%%x0, %%p, True)\n  return %%y" % kind
                g.add("%s_dynamic_%d" % (kind, n), "T2", body, [Input([2, cin] + list(size), "f32", spec=("f", -1.5, 2.5), seed=n + 7200)],
                      lambda x, w, b, kind=kind, args=args: getattr(Q, kind + "_dynamic")(x, getattr(Q, kind + "_prepack")(w, b, *args), True), w)


def all_cases(g):
    linear(g)
    conv(g)
    conv_transpose(g)
    onednn_forms(g)
    functional(g)
    dynamic_conv(g)
