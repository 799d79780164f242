"""qint32 through operators that read codes as they are: max pooling, nearest resizing, PReLU."""
import torch
import torch.nn.functional as F

from golden import Input, number

NF = "torch.nn.functional."
Q = torch.ops.quantized


def codes(shape, seed, low=-2000000000, high=2000000000):
    return Input(shape, "qint32", 0.0004, 11, spec=("i", low, high), seed=seed)


def all_cases(g):
    n = 0
    for dims, shape in ((1, [2, 3, 9]), (2, [2, 3, 7, 6]), (2, [1, 33, 5, 5]), (3, [1, 2, 4, 5, 6]), (2, [0, 3, 4, 4])):
        for args in ((2, 2, 0, 1, False), (3, 2, 1, 1, False), (2, 1, 1, 2, False), (3, 2, 1, 1, True)):
            n += 1
            g.add("wide_max_pool%dd_%d" % (dims, n), "T0", "  %%y = call_function[%smax_pool%dd](%%x0, %d, %d, %d, %d, %s)\n  return %%y" % ((NF, dims) + args),
                  [codes(shape, n)], lambda t, f=getattr(F, "max_pool%dd" % dims), a=args: f(t, *a))
    for shape in ([2, 3, 4, 5], [1, 2, 3, 4, 5]):
        for mode in ("nearest", "nearest-exact"):
            for factor in (2.0, 1.7, 0.6):
                n += 1
                g.add("wide_%s_%d" % (mode.replace("-", "_"), n), "T0",
                      "  %%y = call_function[%sinterpolate](%%x0, scale_factor=%s, mode=\"%s\")\n  return %%y" % (NF, number(factor), mode),
                      [codes(shape, n)], lambda t, m=mode, s=factor: F.interpolate(t, scale_factor=s, mode=m))
    for shape, slopes in (([256], 1), ([3, 5], 5), ([2, 6, 3, 5], 6), ([2, 6, 3, 5], 1), ([2, 33, 4], 33), ([0, 4], 4)):
        n += 1
        x = Input(shape, "qint32", 0.01, 7, spec=("i", -6000, 6000), seed=n)
        w = Input([slopes], "qint32", 0.0131, -30, spec=("i", -100, 90), seed=n + 77)
        g.add("wide_prelu_%d" % n, "T0", "  %w0 = get_attr[w0]()\n  %y = call_function[torch.ops.quantized.prelu](%x0, %w0, 0.0571, -9)\n  return %y",
              [x], lambda x, w: Q.prelu(x, w, 0.0571, -9), [w])
