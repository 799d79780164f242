"""Writes test/golden/writes: setitem, copy_, numbers of tensors (item, tolist), codes made from integers, as chains of calls.

    python test/golden/make_writes.py

cases.txt   qfx models, one behind the other, parted by `// ----- name`
values.safetensors   inputs `name/in/x0`, results `name/out/out` or `name/out/0` (test/unit/backends/runtime/FloatOpsTest.cpp)

A case is Python: lines `name = operator.f(...)`, `name = torch.f(...)` or `name = x.method(...)`, run by PyTorch and written as nodes.  Numbers
that leave a graph are tensors of rank 0 (f64, i64, bool).  Version and seed stand in values.safetensors.
"""
import builtins
import json
import operator
import os
import re

import torch
from safetensors.torch import save_file

from make_float_ops import type_text

SEED = 20261202
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "writes")
generator = torch.Generator().manual_seed(SEED)
models, values = [], {}
LINE = re.compile(r"(\w+) = ([\w.]+)\((.*)\)$")


def f(*sizes, low=-2.0, high=2.0):
    return ((torch.rand(sizes, generator=generator) * (high - low) + low) * 1024).round() / 1024


def i(*sizes, low=-5, high=6, dtype=torch.int64):
    return torch.randint(low, high, sizes, generator=generator).to(dtype)


def b(*sizes):
    return torch.randint(0, 2, sizes, generator=generator).bool()


def as_tensor(value):
    if isinstance(value, torch.Tensor):
        return value.contiguous().clone()
    return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)


def case(name, tensors, lines, result, held={}):
    """Runs the lines on copies of x0, x1, ... = tensors and of `held`, which the model holds; `result` names what is returned, several by commas."""
    env = {"x%d" % n: tensor.clone() for n, tensor in enumerate(tensors)}
    inputs = ", ".join("%%x%d : %s" % (n, type_text(tensor)) for n, tensor in enumerate(tensors))
    env.update(held)
    known, nodes = set(env), ["  %%%s = get_attr[%s]()\n" % (one, one) for one in held]
    buffers = "".join("buffer %s : %s = %s\n" % (one, type_text(tensor), json.dumps(tensor.tolist())) for one, tensor in held.items())
    for line in lines:
        target, function, args = LINE.match(line).groups()
        env[target] = eval(function + "(" + args + ")", {"torch": torch, "operator": operator, "builtins": builtins, **env})
        owner, last = function.rsplit(".", 1)
        kind = "method" if owner in known else "function"
        if kind == "method":
            args = owner + (", " + args if args else "")
        args = re.sub(r"(?<![.\w])([a-z]\w*)\b(?!=)", lambda m: "%" * (m.group(1) in known) + m.group(1), args)
        args = re.sub(r"slice\(([^()]*)\)", lambda m: repr(eval(m.group(0))), args).replace("Ellipsis", "...")
        nodes.append("  %%%s = call_%s[%s](%s)\n" % (target, kind, last if kind == "method" else function, args))
        known.add(target)
    names = result.split(", ")
    returned = "%" + result if len(names) == 1 else "(%s)" % ", ".join("%" + one for one in names)
    name = "%03d_%s" % (len(models), name)
    models.append("// ----- %s\nqfx 1\n%s\ngraph(%s) {\n%s  return %s\n}\n" % (name, buffers, inputs, "".join(nodes), returned))
    for n, tensor in enumerate(tensors):
        values["%s/in/x%d" % (name, n)] = as_tensor(tensor)
    for n, one in enumerate(names):
        values["%s/out/%s" % (name, "out" if len(names) == 1 else n)] = as_tensor(env[one])


def set_items():
    x, k, image = f(4, 5, 6), i(4, 5, 6), f(2, 3, 4, 5)

    def put(name, base, index, value, *more):
        text = "x1" if isinstance(value, torch.Tensor) else repr(value)
        tensors = [base] + ([value] if isinstance(value, torch.Tensor) else []) + list(more)
        case(name, tensors, ["setitem = operator.setitem(x0, %s, %s)" % (index, text), "y = torch.add(x0, 1)"], "y")

    for index, part in (("1", f(5, 6)), ("-1", f(6)), ("slice(1, 3)", f(2, 5, 6)), ("slice(None, None, 2)", f(5, 1)), ("Ellipsis", f(4, 5, 6)),
                        ("None", f(4, 5, 6)), ("(0, 2)", f(6)), ("(slice(None), 3)", f(4, 6)), ("(Ellipsis, 2)", f(4, 5)),
                        ("(slice(1, None), None, slice(0, 4, 3), -2)", f(3, 1, 2)), ("(1, 2, 3)", f()), ("(slice(4, 2), 0)", f(6)),
                        ("(slice(-3, -1), Ellipsis, slice(None, 2))", f(1, 1, 2, 5, 2))):
        put("basic", x, index, part)
        put("basic_number", x, index, 0.1)
        put("basic_int", k, index, 7)
    put("float_into_int", k, "1", f(5, 6))
    put("int_into_float", x, "(slice(None), 0)", i(4, 6))
    put("number_into_int", k, "1", -1.7)
    put("into_bool", b(3, 4), "(slice(None), 1)", 2)
    put("bool_into_float", x, "0", b(5, 6))
    put("into_bytes", i(3, 4, low=0, dtype=torch.uint8), "1", -1)
    put("ints_into_bytes", i(3, 4, low=0, dtype=torch.uint8), "slice(0, 2)", i(4, low=250, high=600))
    put("half", f(3, 4).half(), "1", f(4))
    put("image", image, "(slice(None), 1)", f(2, 4, 5))
    put("image_number", image, "(Ellipsis, slice(1, 3))", -1.0)
    put("scalar", f(), "Ellipsis", 3.5)
    put("scalar_tuple", f(), "()", f())
    put("leading_ones", x, "2", f(1, 1, 5, 6))
    for index, value, more in (("x2", f(2, 5, 6), [torch.tensor([3, 0])]), ("x2", f(1, 6), [torch.tensor([[3, 0], [1, -2]])]),
                               ("(slice(None), x2)", f(4, 3, 6), [torch.tensor([4, 0, -1])]), ("(x2, x3)", f(2, 6), [torch.tensor([1, 3]), torch.tensor([0, 4])]),
                               ("(x2, slice(1, 3), x3)", f(2, 2), [torch.tensor([1, 3]), torch.tensor([0, 5])]),
                               ("(1, Ellipsis, x2)", f(5, 2), [torch.tensor([0, 5])]), ("(None, x2)", f(1, 1, 5, 6), [torch.tensor([2])]),
                               ("([1, 2], slice(None), 0)", f(2, 5), []), ("[0, 3]", f(5, 6), [])):
        put("index", x, index, value, *more)
    case("index_number", [x, torch.tensor([3, 0])], ["setitem = operator.setitem(x0, (x1, slice(1, None), 2), 0.7)"], "x0")
    case("index_int", [k, torch.tensor([3, 0])], ["setitem = operator.setitem(x0, x1, 2.9)"], "x0")
    case("index_half", [f(3, 4).half(), torch.tensor([2, 0])], ["setitem = operator.setitem(x0, x1, 0.3)"], "x0")
    row, cell = b(4), b(5, 6)
    for base in (x, k, x.half(), b(4, 5, 6), i(4, 5, 6, dtype=torch.int8)):
        case("mask_number", [base, row], ["setitem = operator.setitem(x0, x1, 1)"], "x0")
        case("mask_number", [base, cell], ["setitem = operator.setitem(x0, (slice(1, 3), x1), 0)"], "x0")
    case("mask_all", [x, b(4, 5, 6)], ["setitem = operator.setitem(x0, x1, -0.5)", "y = torch.exp(x0)"], "y")
    case("mask_image", [image, b(2, 3, 4, 5)], ["setitem = operator.setitem(x0, x1, -0.5)"], "x0")
    case("mask_row", [x, row, f(5, 6)], ["setitem = operator.setitem(x0, x1, x2)"], "x0")
    case("mask_row_one", [x, row, f(1, 1, 6)], ["setitem = operator.setitem(x0, x1, x2)"], "x0")
    case("mask_middle", [x, b(5), f(4, 1, 6)], ["setitem = operator.setitem(x0, (slice(None), x1), x2)"], "x0")
    case("mask_cells", [x, b(4, 5), f(1, 6)], ["setitem = operator.setitem(x0, (Ellipsis, x1, slice(None)), x2)"], "x0")
    case("mask_scalar", [x, row, i()], ["setitem = operator.setitem(x0, x1, x2)"], "x0")
    case("mask_computed", [x], ["m = operator.lt(x0, 0)", "setitem = operator.setitem(x0, m, 0.0)"], "x0")
    # who reads what
    case("own_part", [x], ["part = operator.getitem(x0, slice(0, 2))", "setitem = operator.setitem(x0, slice(2, None), part)"], "x0")
    case("read_before", [x], ["y = torch.exp(x0)", "setitem = operator.setitem(x0, 1, 0.0)", "z = torch.add(x0, y)"], "z")
    case("twice", [x], ["z = torch.exp(x0)", "setitem = operator.setitem(z, 1, 0.0)", "setitem_1 = operator.setitem(z, (slice(None), 2), 5.0)"], "z")
    case("alias", [x], ["y = x0.float()", "setitem = operator.setitem(y, 1, 0.0)"], "x0")
    case("no_alias", [x], ["y = x0.double()", "z = y.float()", "setitem = operator.setitem(z, 1, 0.0)", "w = torch.add(x0, z)"], "w")
    case("clone", [x], ["y = x0.clone()", "setitem = operator.setitem(y, 1, 0.0)"], "x0, y")
    case("gathered", [x, torch.tensor([0, 2])], ["y = operator.getitem(x0, x1)", "setitem = operator.setitem(x0, 0, 0.0)"], "x0, y")
    case("contiguous", [f(3, 4)], ["y = x0.contiguous()", "setitem = operator.setitem(y, 0, 0.0)"], "x0")
    case("through_view", [x], ["z = torch.exp(x0)", "y = z.view(20, 6)", "setitem = operator.setitem(y, 3, 0.0)"], "y")


def copies():
    x, k = f(3, 4), i(3, 4)
    for base, src in ((x, f(3, 4)), (x, f(4)), (x, f()), (x, k), (k, x), (k, b(3, 4)), (b(3, 4), x), (x.half(), x), (x, x.half()), (k, i(3, 1, dtype=torch.int32)),
                      (f(2, 3, 4, 5), f(3, 1, 5))):
        case("copy", [base, src], ["y = x0.copy_(x1)", "z = torch.add(x0, y)"], "z")
        case("aten_copy", [base, src], ["y = torch.ops.aten.copy_.default(x0, x1)"], "x0")
        case("aten_copy", [base, src], ["y = torch.ops.aten.copy.default(x0, x1)"], "x0, y")
    case("copy_number", [x], ["y = x0.copy_(2.5)"], "x0")
    case("copy_part", [x, f(4)], ["y = x0.select(0, 1)", "z = y.copy_(x1)", "w = torch.exp(y)"], "w")


def quantized():
    x, codes = f(3, 4), ["q = torch.quantize_per_tensor(x0, 0.03, 70, torch.quint8)"]
    channels = {"s": torch.tensor([0.02, 0.03, 0.05], dtype=torch.float64), "z": torch.tensor([10, 70, 100])}
    start = ["q = torch.quantize_per_channel(x0, s, z, 0, torch.quint8)"]
    for index, src in (("1", f(4)), ("Ellipsis", f(3, 4)), ("slice(1, 3)", f(2, 4))):
        case("channel_set", [x, src], start + ["setitem = operator.setitem(q, %s, x1)" % index, "y = q.dequantize()"], "y", channels)
    case("channel_number", [x], start + ["setitem = operator.setitem(q, 2, 1.0)", "y = q.int_repr()"], "y", channels)
    case("channel_copy", [x, f(3, 4)], start + ["c = q.copy_(x1)", "y = q.int_repr()"], "y", channels)
    case("channel_copy_codes", [x, f(3, 4)], start + ["p = torch.quantize_per_channel(x1, s, z, 0, torch.quint8)", "c = q.copy_(p)", "y = q.dequantize()"], "y", channels)
    case("channel_item", [f(3, 1)], start + ["p = operator.getitem(q, 2)", "d = p.dequantize()", "n = d.item()"], "n", channels)
    for dtype, zero in (("quint8", 70), ("qint8", -3), ("qint32", 5)):
        start = ["q = torch.quantize_per_tensor(x0, 0.03, %d, torch.%s)" % (zero, dtype)]
        for index in ("1", "slice(1, 3)", "Ellipsis"):
            case("code_number", [x], start + ["setitem = operator.setitem(q, %s, 0.4)" % index, "y = q.int_repr()"], "y")
            case("code_row", [x, f()], start + ["setitem = operator.setitem(q, %s, x1)" % index, "y = q.dequantize()"], "y")
        if dtype != "qint32":
            case("code_mask", [x, b(3)], start + ["setitem = operator.setitem(q, x1, 0.4)", "y = q.int_repr()"], "y")
            case("code_mask", [x, b(3, 4)], start + ["setitem = operator.setitem(q, x1, 0.4)", "y = q.int_repr()"], "y")
            case("code_index", [x, torch.tensor([2, 0]), f(2, 4)], start + ["setitem = operator.setitem(q, x1, x2)", "y = q.int_repr()"], "y")
    other = ["p = torch.quantize_per_tensor(x1, 0.05, 30, torch.quint8)"]
    case("code_copy_float", [x, f(3, 4)], codes + ["y = q.copy_(x1)", "z = q.int_repr()"], "z")
    case("code_copy_codes", [x, f(3, 4)], codes + other + ["y = q.copy_(p)", "z = q.int_repr()", "w = q.dequantize()"], "z, w")
    case("code_copy_row", [x, f(4)], codes + other + ["y = q.copy_(p)", "w = q.dequantize()"], "w")
    case("code_set_all", [x, f(3, 4)], codes + other + ["setitem = operator.setitem(q, slice(None), p)", "w = q.dequantize()"], "w")
    case("code_set_part", [x, f(4)], codes + ["p = torch.quantize_per_tensor(x1, 0.03, 70, torch.quint8)", "setitem = operator.setitem(q, 1, p)",
                                            "w = q.dequantize()"], "w")
    case("code_item", [f(1) + 3], codes + ["d = q.dequantize()", "n = d.item()"], "n")
    case("choose", [x], ["c = torch._choose_qparams_per_tensor(x0)", "s = operator.getitem(c, 0)", "z = operator.getitem(c, 1)"], "s, z")
    case("choose_reduced", [x], ["c = torch._choose_qparams_per_tensor(x0, True)", "s = operator.getitem(c, 0)", "z = operator.getitem(c, 1)"], "s, z")
    case("choose_ints", [i(3, 4)], ["c = torch._choose_qparams_per_tensor(x0, reduce_range=False)", "s = operator.getitem(c, 0)"], "s")
    case("choose_half", [x.half()], ["c = torch.ops.aten._choose_qparams_per_tensor.default(x0)", "s = operator.getitem(c, 0)"], "s")
    case("choose_quantize", [x], ["c = torch._choose_qparams_per_tensor(x0)", "s = operator.getitem(c, 0)", "z = operator.getitem(c, 1)",
                                 "q = torch.quantize_per_tensor(x0, s, z, torch.quint8)", "y = q.dequantize()", "i = q.int_repr()"], "y, i")
    for dtype, plain in (("quint8", torch.uint8), ("qint8", torch.int8), ("qint32", torch.int32)):
        k = i(3, 4, low=0, high=100, dtype=plain)
        for prefix, end in (("torch.", ""), ("torch.ops.aten.", ".default")):
            case("make", [k], ["q = %s_make_per_tensor_quantized_tensor%s(x0, 0.25, 3)" % (prefix, end), "y = q.dequantize()"], "y")
        case("make_view", [k], ["q = torch._make_per_tensor_quantized_tensor(x0, scale=0.25, zero_point=3)", "r = q.transpose(0, 1)", "y = r.int_repr()"], "y")
        case("empty", [], ["q = torch._empty_affine_quantized([3, 4], scale=0.5, zero_point=3, dtype=torch.%s)" % dtype,
                           "setitem = operator.setitem(q, slice(None), 1.0)", "y = q.dequantize()"], "y")
        for prefix, end in (("torch.", ""), ("torch.ops.aten.", ".default")):
            case("make_channels", [k], ["q = %s_make_per_channel_quantized_tensor%s(x0, s, z, 0)" % (prefix, end), "y = q.dequantize()"], "y", channels)
            case("empty_channels", [], ["q = %s_empty_per_channel_affine_quantized%s([3, 4], scales=s, zero_points=z, axis=0, dtype=torch.%s)" % (prefix, end, dtype),
                                        "setitem = operator.setitem(q, slice(None), 1.0)", "y = q.dequantize()"], "y", channels)
    k = i(2, 3, low=0, dtype=torch.uint8)
    case("make_columns", [k], ["q = torch._make_per_channel_quantized_tensor(x0, scale=s, zero_point=z, axis=1)", "y = q.dequantize()"], "y", channels)
    case("make_float_zero", [k], ["q = torch._make_per_channel_quantized_tensor(x0, s, z, 1)", "y = q.dequantize()"], "y",
         {"s": torch.tensor([0.02, 0.03, 0.05]), "z": torch.tensor([10.5, 70.0, 1.25])})
    case("make_numbers", [i(3, 4, low=0, dtype=torch.uint8), f()], ["q = torch._make_per_tensor_quantized_tensor(x0, 0.5, 1)", "y = q.int_repr()"], "y")


def numbers():
    x, k = f(3, 4), i(3, 4)
    case("item", [f()], ["n = x0.item()"], "n")
    case("item_one", [f(1, 1)], ["n = x0.item()", "y = torch.ops.aten.item.default(x0)"], "n, y")
    case("item_half", [f(1).half()], ["n = x0.item()"], "n")
    case("item_int", [i(1)], ["n = x0.item()"], "n")
    case("item_byte", [i(1, low=0, dtype=torch.uint8)], ["n = x0.item()"], "n")
    case("item_bool", [b(1)], ["n = x0.item()"], "n")
    scalar = ["m = torch.amax(x0)", "n = m.item()"]
    for name, line in (("mul", "torch.mul(x1, n)"), ("add", "operator.add(n, x1)"), ("sub", "operator.sub(n, x1)"), ("div", "operator.truediv(x1, n)"),
                       ("lt", "operator.lt(x1, n)"), ("clamp", "torch.clamp(x1, max=n)"), ("pow", "operator.pow(x1, n)"), ("masked", "x1.masked_fill(x2, n)"),
                       ("where", "torch.where(x2, x1, n)"), ("set", "operator.setitem(x1, 0, n)"), ("copy", "x1.copy_(n)"), ("maximum", "torch.remainder(x1, n)")):
        base = x.abs() + 0.5
        case("number_" + name, [f(3, 4).abs() + 0.25, base, b(3, 4)], scalar + ["y = " + line], "x1" if name in ("set", "copy") else "y")
    case("number_int_tensor", [f(3).abs() + 1, k], scalar + ["y = torch.mul(x1, n)"], "y")
    case("number_half", [f(3), x.half()], scalar + ["y = torch.mul(x1, n)"], "y")
    case("number_into_int", [f(3), k], scalar + ["setitem = operator.setitem(x1, 1, n)"], "x1")
    case("int_number", [i(3), k, x], scalar + ["y = torch.add(x1, n)", "z = operator.mul(n, x2)"], "y, z")
    case("chain", [f(3, 4), f(3), x], ["m = torch.amax(x0)", "n = m.item()", "m_1 = torch.amin(x1)", "n_1 = m_1.item()", "a = operator.add(n, n_1)",
                                       "p = operator.mul(a, 1.1)", "q = operator.truediv(p, n)", "r = operator.sub(1, q)", "s = operator.neg(r)",
                                       "t = operator.pow(n, 3)", "u = operator.floordiv(n, 0.1)", "v = operator.mod(n_1, 0.3)", "w = operator.gt(n, n_1)",
                                       "y = torch.mul(x2, s)"], "a, p, q, r, s, t, u, v, w, y")
    case("chain_int", [torch.tensor([-7]), torch.tensor([3])], ["n = x0.item()", "k = x1.item()", "a = operator.floordiv(n, k)", "d = operator.mod(n, k)",
                                                                "e = operator.truediv(n, k)", "g = operator.pow(n, 3)", "h = operator.add(n, True)",
                                                                "j = operator.neg(n)", "l = operator.mul(k, 0.5)", "o = operator.eq(n, -7)", "p = operator.pow(k, -2)"],
         "a, d, e, g, h, j, l, o, p")
    case("held_item", [x], ["n = c.item()", "y = x0.view(n, 2)", "d = e.item()", "z = torch.mul(y, d)"], "z", {"c": torch.tensor(6), "e": torch.tensor([0.7])})
    case("held_list", [x], ["n = c.tolist()", "y = torch.reshape(x0, n)"], "y", {"c": torch.tensor([2, 3, 2])})
    case("tolist", [f(2, 3)], ["n = x0.tolist()", "r = operator.getitem(n, 1)", "y = operator.getitem(r, -1)"], "y")
    case("tolist_used", [f(2, 3), x], ["n = x0.tolist()", "r = operator.getitem(n, 0)", "s = operator.getitem(r, 2)", "y = torch.mul(x1, s)"], "y")
    case("tolist_scalar", [i()], ["n = x0.tolist()"], "n")
    case("h", [x], ['y = builtins.getattr(x0, "H")'], "y")
    case("mh", [f(2, 3, 4)], ['y = builtins.getattr(x0, "mH")'], "y")


def main():
    for part in (set_items, copies, quantized, numbers):
        part()
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "cases.txt"), "w") as file:
        file.write("".join(models))
    save_file(values, os.path.join(OUT, "values.safetensors"), metadata={"torch": torch.__version__, "seed": str(SEED)})
    print(len(models), "cases")


if __name__ == "__main__":
    main()
