"""Linear layers with float results, what packed weights give back, embedding rows packed by given ranges."""
import torch

from golden import Input
from weighted import Q, weight


def dynamic_linear(g):
    """Float in and out, the same bits: FBGEMM rounds product and bias once, qnnpack twice.  Codes below 128, so that no pair sum saturates."""
    n = 0
    for lead, k, outputs in (([5], 1, 1), ([3], 7, 9), ([2, 3], 37, 19), ([4], 64, 33), ([9], 130, 70), ([1], 384, 17), ([0], 5, 3)):
        for variant in range(4):
            n += 1
            engine, relu, reduce, bias = ("x86", "fbgemm", "x86", "qnnpack")[variant], n % 3 == 0, variant < 3, variant != 2
            w = [weight([outputs, k], 0, variant < 2, n + 8000)] + ([Input([outputs], "f32", seed=n + 8100)] if bias else [])
            body = "\n".join("  %%w%d = get_attr[w%d]()" % (i, i) for i in range(len(w)))
            body += "\n  %%p = call_function[torch.ops.quantized.linear_prepack](%%w0, %s)" % ("%w1" if bias else "None")
            op = "linear_relu_dynamic" if relu else "linear_dynamic"
            dynamic = body + "\n  %%y = call_function[torch.ops.quantized.%s](%%x0, %%p, %s)\n  return %%y" % (op, reduce)
            x = [Input(lead + [k], "f32", spec=("f", -1.5, 2.5), seed=n + 8200)]
            g.add("linear_dynamic_%s_%d" % (engine, n), "T0", dynamic, x,
                  lambda x, w, b=None, op=op, reduce=reduce: getattr(Q, op)(x, Q.linear_prepack(w, b), reduce), w, engine=engine)
            if engine == "qnnpack":
                continue
            op = "linear_with_input_q_dq_qweight_dq_" + ("relu_" if relu else "") + "output_fp32"
            given = body + "\n  %%y = call_function[torch.ops.quantized.%s](%%x0, 0.04, %d, %%p)\n  return %%y" % (op, 38 + n % 20)
            g.add("qdq_linear_%d" % n, "T0", given, x,
                  lambda x, w, b=None, op=op, n=n: getattr(Q, op)(x, 0.04, 38 + n % 20, Q.linear_prepack(w, b)), w, engine=engine)
            if k * outputs < 1000:
                g.add("linear_unpack_%d" % n, "T0", body + "\n  %u = call_function[torch.ops.quantized.linear_unpack](%p)\n"
                      "  %v = call_function[operator.getitem](%u, 0)\n  %d = call_method[int_repr](%v)\n  return %d", x,
                      lambda x, w, b=None: Q.linear_unpack(Q.linear_prepack(w, b))[0].int_repr(), w, engine=engine)
            half = [Input([outputs, k], "f32", seed=n + 8300)] + w[1:]
            body = "\n".join("  %%w%d = get_attr[w%d]()" % (i, i) for i in range(len(w)))
            g.add("linear_fp16_unpacked_%d" % n, "T2", body + "\n  %%y = call_function[torch.ops.quantized.linear_dynamic_fp16_unpacked_weight]"
                  "(%%x0, %%w0, %s)\n  return %%y" % ("%w1" if bias else "None"), x,
                  lambda x, w, b=None: Q.linear_dynamic_fp16_unpacked_weight(x, w, b), half, engine=engine)


def given_ranges(g):
    """Rows of an embedding packed by ranges that are given: wider and narrower than the rows' own."""
    for name, columns in (("byte", 9), ("byte", 4), ("4bit", 8), ("2bit", 12)):
        for low, high in ((-1.5, 2.5), (-2.0, 3.25)):
            rows = [Input([6, columns], "f32", spec=("f", -1.5, 2.5), seed=columns + 8400),
                    Input([6, 2], "f32", spec=("f", low, high), seed=8500)]
            op = "embedding_bag_%s_prepack_with_rowwise_min_max" % name
            g.add("%s_%d_%d" % (op, columns, low == -2.0), "T0",
                  "  %%s = call_function[torch.sort](%%x1, 1)\n  %%r = call_function[operator.getitem](%%s, 0)\n"
                  "  %%y = call_function[torch.ops.quantized.%s](%%x0, %%r)\n  return %%y" % op, rows,
                  lambda x, r, op=op: getattr(Q, op)(x, torch.sort(r, 1)[0]))


def embedding_unpack(g):
    """The table comes back as it was packed."""
    body = "".join("  %%w%d = get_attr[w%d]()\n" % (i, i) for i in range(3))
    body += "  %q = call_function[torch.quantize_per_channel](%w0, %w1, %w2, 0, torch.quint8)\n  %p = call_function[torch.ops.quantized.embedding_bag_prepack](%q)\n"
    body += "  %u = call_function[torch.ops.quantized.embedding_bag_unpack](%p)\n  %y = call_method[dequantize](%u)\n  return %y"
    table = [Input([5, 7], "f32", spec=("f", -1.5, 2.5), seed=8600), Input([5], "f32", spec=("f", 0.01, 0.02), seed=8601),
             Input([5], "f32", spec=("f", 70.0, 120.0), seed=8602)]

    def run(x, w, scales, zero_points):
        packed = Q.embedding_bag_prepack(torch.quantize_per_channel(w, scales, zero_points, 0, torch.quint8))
        return Q.embedding_bag_unpack(packed).dequantize()
    g.add("embedding_unpack", "T0", body, [Input([1], "f32", seed=8603)], run, table)


def two_numbers(g):
    """conv1d takes lists of two: the second number is for the one axis."""
    w = [weight([4, 3, 3], 0, True, 8700)]
    body = "  %w0 = get_attr[w0]()\n  %p = call_function[torch.ops.quantized.conv1d_prepack](%w0, None, [1, 2], [0, 1], [1, 1], 1)\n"
    body += "  %y = call_function[torch.ops.quantized.conv1d](%x0, %p, 0.07, 9)\n  return %y"
    g.add("conv1d_two_numbers", "T0", body, [Input([2, 3, 11], "quint8", 0.05, 60, spec=("i", 0, 127), seed=8701)],
          lambda x, w: Q.conv1d(x, Q.conv1d_prepack(w, None, [1, 2], [0, 1], [1, 1], 1), 0.07, 9), w)


def all_cases(g):
    two_numbers(g)
    embedding_unpack(g)
    dynamic_linear(g)
    given_ranges(g)
