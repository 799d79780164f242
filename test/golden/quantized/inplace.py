"""Operators that write into their operand, and who reads it afterwards: floats and codes."""
import math
import operator

import torch
import torch.nn.functional as F

from golden import Input

NF = "torch.nn.functional."


def chunks(x):
    a, b = x.chunk(2)
    a.neg_()
    return torch.cat([b, a])


def twice(x):
    y = x.add_(1.5)
    y.mul_(2.0)
    return x


def both(x, write):
    return write(x), x


def cases():
    """(name, lines, function of one tensor)"""
    yield "relu", "  %a = call_method[relu_](%x0)\n  %y = call_function[torch.add](%x0, %a)\n  return %y", lambda x: torch.add(*reversed(both(x, torch.relu_)))
    yield "flag", "  %%a = call_function[%srelu](%%x0, inplace=True)\n  return %%x0" % NF, lambda x: both(x, lambda v: F.relu(v, inplace=True))[1]
    yield "before", ("  %%s = call_function[torch.mul](%%x0, 3.0)\n  %%a = call_function[%sleaky_relu](%%x0, 0.25, True)\n"
                     "  %%y = call_function[torch.sub](%%s, %%x0)\n  return %%y" % NF), lambda x: x * 3.0 - F.leaky_relu(x, 0.25, True)
    yield "twice", "  %a = call_method[add_](%x0, 1.5)\n  %b = call_method[mul_](%a, 2.0)\n  return %x0", twice
    yield "operator", "  %a = call_function[operator.iadd](%x0, 1.5)\n  return %x0", lambda x: both(x, lambda v: operator.iadd(v, 1.5))[1]
    yield "numbers", ("  %n = call_method[size](%x0, 0)\n  %m = call_function[operator.iadd](%n, 1)\n  %y = call_function[torch.mul](%x0, %n)\n"
                      "  %z = call_function[torch.add](%y, %m)\n  return %z"), lambda x: x * x.size(0) + (x.size(0) + 1)
    yield "pieces", ("  %c = call_function[torch.chunk](%x0, 2)\n  %a = call_function[operator.getitem](%c, 0)\n  %b = call_function[operator.getitem](%c, 1)\n"
                     "  %n = call_method[neg_](%a)\n  %y = call_function[torch.cat]([%b, %a])\n  return %y"), chunks
    yield "detached", "  %d = call_method[detach](%x0)\n  %z = call_method[zero_](%d)\n  return %x0", lambda x: both(x, lambda v: v.detach().zero_())[1]
    yield "copied", "  %c = call_method[clone](%x0)\n  %z = call_method[fill_](%c, 7.0)\n  %y = call_function[torch.add](%x0, %c)\n  return %y", (
        lambda x: x + x.clone().fill_(7.0))
    for op in ("exp", "sqrt", "floor", "square", "reciprocal", "sin"):
        yield op, "  %%a = call_method[%s_](%%x0)\n  return %%x0" % op, lambda x, op=op: both(x, lambda v: getattr(v, op + "_")())[1]
    yield "clamp", "  %a = call_method[clamp_min_](%x0, 0.25)\n  %b = call_method[clamp_max_](%x0, 0.75)\n  return %x0", (
        lambda x: both(x, lambda v: v.clamp_min_(0.25).clamp_max_(0.75))[1])


def all_cases(g):
    for n, (name, body, function) in enumerate(cases()):
        exact = name not in ("exp", "sin", "sqrt", "reciprocal")
        g.add("writes_" + name, "T0" if exact else "T2", body, [Input([4, 5], "f32", spec=("f", 0.1 if name == "sqrt" else -2.0, 2.0), seed=n + 9000)],
              lambda x, f=function: f(x).clone())
    for n, (name, call, function) in enumerate((("relu", "call_method[relu_](%x0)", torch.relu_),
                                                ("hardtanh", "call_function[%shardtanh_](%%x0, -1.0, 1.5)" % NF, lambda x: F.hardtanh_(x, -1.0, 1.5)))):
        for dtype in ("quint8", "qint8"):
            x = Input([4, 5], dtype, 0.05, 3, seed=n + 9100)
            g.add("writes_%s_%s" % (name, dtype), "T0", "  %%a = %s\n  return %%x0" % call, [x], lambda x, f=function: both(x, f)[1])
    g.add("attribute_T", "T0", "  %t = call_function[builtins.getattr](%x0, \"T\")\n  return %t", [Input([4, 5], "f32", seed=9200)], lambda x: x.T.clone())
    g.add("attribute_mT", "T0", "  %t = call_function[builtins.getattr](%x0, \"mT\")\n  return %t", [Input([2, 4, 5], "quint8", 0.05, 3, seed=9201)], lambda x: x.mT)
    for decimals in (2, -1):
        g.add("round_%d" % decimals, "T0", "  %%y = call_function[torch.round](%%x0, decimals=%d)\n  return %%y" % decimals,
              [Input([4, 33], "f32", spec=("f", -30.0, 30.0), seed=9203)], lambda x, d=decimals: torch.round(x, decimals=d))
    g.add("host_numbers", "T0", "  %n = call_method[size](%x0, 1)\n  %r = call_function[math.sqrt](%n)\n  %i = call_function[math.ceil](%r)\n  %f = call_function[builtins.float](%i)\n"
          "  %y = call_function[torch.div](%x0, %r)\n  %z = call_function[torch.add](%y, %f)\n  return %z", [Input([4, 33], "f32", seed=9204)],
          lambda x: x / math.sqrt(x.size(1)) + float(math.ceil(math.sqrt(x.size(1)))))
    g.add("own_parameters", "T0", "  %s = call_method[q_scale](%x0)\n  %z = call_method[q_zero_point](%x0)\n  %f = call_method[dequantize](%x0)\n"
          "  %r = call_function[torch.relu](%f)\n  %y = call_function[torch.quantize_per_tensor](%r, %s, %z, torch.quint8)\n  return %y",
          [Input([4, 5], "quint8", 0.05, 30, seed=9202)], lambda x: torch.quantize_per_tensor(torch.relu(x.dequantize()), x.q_scale(), x.q_zero_point(), torch.quint8))
