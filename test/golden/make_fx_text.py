"""Writes test/golden/fx_text: small FX graphs as .qfx beside what torch 2.13 prints for them.

    python test/golden/make_fx_text.py            (needs torch 2.13 and tabulate 0.9)

Each case is built with torch.fx calls and written twice: `<case>.qfx` by the plain rules of docs/IR.md, and `<case>.fx`, `<case>.code`,
`<case>.tabular` by torch itself.  print_tabular's target column is the one thing replaced (upstream shows addresses there):
it holds the qualified name, as spec/workflow.md 1.3 asks.
"""
import json
import math
import operator
import os

import torch
import torch.fx
from tabulate import tabulate

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fx_text")


def qfx_argument(value):
    if isinstance(value, torch.fx.Node):
        return "%" + value.name
    if value is Ellipsis:
        return "..."
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, torch.device):
        return 'device("%s")' % value
    if isinstance(value, slice):
        return "slice(%s, %s, %s)" % tuple(qfx_argument(v) for v in (value.start, value.stop, value.step))
    if isinstance(value, tuple):
        inner = ", ".join(qfx_argument(v) for v in value)
        return "(%s,)" % inner if len(value) == 1 else "(%s)" % inner
    if isinstance(value, list):
        return "[%s]" % ", ".join(qfx_argument(v) for v in value)
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (json.dumps(k), qfx_argument(v)) for k, v in value.items())
    return str(value)


def qfx_text(graph, declarations):
    lines = ["qfx 1"] + declarations + ["", "graph() {"]
    for node in graph.nodes:
        meta = ' meta {"type": %s}' % json.dumps(torch.fx.graph._type_repr(node.type)) if node.type is not None else ""
        if node.op == "output":
            lines.append("  return " + qfx_argument(node.args[0]) + meta)
            continue
        target = node.target if isinstance(node.target, str) else node._pretty_print_target(node.target)
        if not all(part.replace("_", "a").isalnum() and part.isascii() for part in target.split(".")):
            target = json.dumps(target)
        arguments = [qfx_argument(a) for a in node.args] + ["%s=%s" % (k, qfx_argument(v)) for k, v in node.kwargs.items()]
        lines.append("  %%%s = %s[%s](%s)%s" % (node.name, node.op, target, ", ".join(arguments), meta))
    return "\n".join(lines + ["}", ""])


def tabular_text(graph):
    rows = [[n.op, n.name, n._pretty_print_target(n.target), n.args, n.kwargs] for n in graph.nodes]
    return tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"])


def write_case(name, build, declarations=()):
    graph = torch.fx.Graph()
    build(graph)
    graph.lint()
    texts = {"qfx": qfx_text(graph, list(declarations)), "fx": str(graph), "code": graph.python_code("self").src,
             "tabular": tabular_text(graph)}
    for suffix, text in texts.items():
        with open(os.path.join(HERE, "%s.%s" % (name, suffix)), "w", encoding="utf-8") as file:
            file.write(text)


def simple(g):
    x = g.placeholder("x")
    y = g.placeholder("y", default_value=2.5)
    add = g.call_function(torch.add, (x, y), {"alpha": 1})
    relu = g.call_method("relu", (add,))
    g.output(relu)


def operators(g):
    x = g.placeholder("x")
    y = g.placeholder("y")
    a = g.call_function(operator.add, (x, y))
    s = g.call_function(operator.sub, (a, 1))
    m = g.call_function(operator.mul, (s, 2.0))
    t = g.call_function(operator.truediv, (m, y))
    shape = g.call_function(getattr, (t, "shape"))
    size0 = g.call_function(operator.getitem, (shape, 0))
    half = g.call_function(operator.floordiv, (size0, 2))
    mm = g.call_function(operator.matmul, (t, y))
    part = g.call_function(operator.getitem, (mm, (slice(None, half, None), Ellipsis, slice(1, None, 2))))
    neg = g.call_function(operator.neg, (part,))
    g.output((neg, half))


def modules(g):
    x = g.placeholder("input")
    conv = g.call_module("layer1.0.conv1", (x,))
    relu = g.call_module("layer1.0.relu", (conv,))
    again = g.call_module("layer1.0.relu", (relu,))
    w = g.get_attr("layer1.weights.w")
    odd = g.call_module("blocks.3x3", (again,))
    out = g.call_function(torch.nn.functional.linear, (odd, w), {"bias": None})
    g.output({"out": out, "rest": [relu, None, True, "text's"]})


MODULE_LINES = [
    "module layer1.0.conv1 : torch.nn.Conv2d(in_channels=3, out_channels=4, kernel_size=(1, 1), bias=False)",
    "module layer1.0.relu : torch.nn.ReLU()",
    "module blocks.3x3 : torch.nn.Identity()",
    "parameter layer1.0.conv1.weight : f32[4, 3, 1, 1] = 0.5",
    "buffer layer1.weights.w : f32[2, 4] = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]",
]


def arguments(g):
    x = g.placeholder("x")
    # Values of every kind; `torch.sum` and `torch.mean` would take them as they stand only here, in text.
    to = g.call_method("to", (x, torch.float64))
    to2 = g.call_method("to", (to,), {"dtype": torch.float16, "memory_format": torch.channels_last})
    cat = g.call_function(torch.cat, ([x, to2],), {"dim": -1})
    tup = g.call_function(torch.cat, ((x, cat),), {"dim": 1})
    one = g.call_function(torch.cat, ((tup,),))
    perm = g.call_method("permute", (one, (0, 2, 1)))
    view = g.call_method("view", (perm, -1, 2))
    mean = g.call_function(torch.mean, (view, [1]), {"keepdim": True})
    clamp = g.call_function(torch.clamp, (mean,), {"min": -math.inf, "max": 1e-05})
    clamp2 = g.call_function(torch.clamp, (clamp, 1e16, 123456789.125))
    scaled = g.call_function(torch.mul, (clamp2, 1e-320))
    g.output([scaled, (one,), (), [], {}])


def typed(g):
    x = g.placeholder("x", type_expr=torch.Tensor)
    n = g.placeholder("n", type_expr=int, default_value=3)
    relu = g.call_function(torch.relu, (x,), type_expr=torch.Tensor)
    out = g.call_method("mul", (relu, n), type_expr=torch.Tensor)
    g.output(out, type_expr=torch.Tensor)


def names(g):
    x = g.placeholder("tensor")
    y = g.placeholder("sum")
    a = g.call_function(torch.add, (x, y))
    b = g.call_function(torch.add, (a, y))
    c = g.call_function(torch.add, (b, y), name="add_7")
    d = g.call_function(torch.add, (c, y))
    unused = g.call_function(torch.relu, (d,))
    assert unused.name == "relu"
    e = g.call_method("relu", (d,))
    f = g.call_method("sum", (e,))
    h = g.call_function(torch.cat, ([f, e, f],))
    g.output((h, x))


def devices(g):
    x = g.placeholder("x")
    a = g.call_method("to", (x, torch.device("cpu")))
    b = g.call_method("to", (a, torch.device("cuda:1")))
    c = g.call_method("to", (b, "cpu"))
    g.output([c, torch.device("cuda:1")])


def placeholders_late(g):
    x = g.placeholder("x")
    a = g.call_function(torch.relu, (x,))
    y = g.placeholder("y")
    b = g.call_function(torch.add, (a, y))
    g.output(b)


def nothing(g):
    g.placeholder("x")
    g.output(None)


def main():
    assert torch.__version__.startswith("2.13"), torch.__version__
    os.makedirs(HERE, exist_ok=True)
    write_case("simple", simple)
    write_case("operators", operators)
    write_case("modules", modules, MODULE_LINES)
    write_case("arguments", arguments)
    write_case("typed", typed)
    write_case("names", names)
    write_case("devices", devices)
    write_case("placeholders_late", placeholders_late)
    write_case("nothing", nothing)


main()
