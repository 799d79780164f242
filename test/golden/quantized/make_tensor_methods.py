"""Writes tensor_methods.json: what PyTorch's methods do with quantized tensors, per tensor and per channel (operators.md 12)."""
import json
import os
import warnings

import torch

from golden import HERE, Input

SELVES = {
    "u8": Input([2, 3, 4], "quint8", 0.05, 7, spec=("n", 3, 37, 101), seed=1),
    "s8": Input([2, 3, 4], "qint8", 0.1, -3, spec=("n", 3, 37, 101), seed=2),
    "s32": Input([2, 3, 4], "qint32", 0.25, 5, spec=("n", 3, 37, 1001), seed=3),
    "pc0": Input([3, 4, 2], "qint8", [0.1, 0.25, 0.5], [0, 1, -2], 0, seed=4),
    "pc1": Input([2, 3, 4], "quint8", [0.1, 0.25, 0.5], [0, 10, 20], 1, seed=5),
    "fq": Input([3, 4], "quint8", [0.5, 0.25, 0.125], [1.5, 3.25, 0.75], 0, seed=6),
}


def spell(value):
    if isinstance(value, torch.Tensor):
        out = {"shape": list(value.shape), "dtype": str(value.dtype).replace("torch.", "")}
        if value.is_quantized:
            if value.qscheme() == torch.per_tensor_affine:
                out["scales"], out["zero_points"] = [value.q_scale()], [value.q_zero_point()]
            else:
                out["scales"] = value.q_per_channel_scales().tolist()
                out["zero_points"], out["axis"] = value.q_per_channel_zero_points().tolist(), value.q_per_channel_axis()
            value = value.int_repr()
        out["data"] = value.flatten().tolist()
        return out
    return {"value": str(value) if isinstance(value, torch.qscheme) else value}


def main():
    warnings.simplefilter("ignore")
    calls = []

    def add(method, args, function, others=(), skip=()):
        for name, source in SELVES.items():
            if name in skip:
                continue
            self = source.tensor()
            case = {"method": method, "self": {"type": source.text(), **source.spec}, "name": name, "args": args,
                    "others": [{"type": o.text(), **o.spec} for o in others]}
            try:
                result = function(self, *[o.tensor() for o in others])
                results = list(result) if isinstance(result, tuple) else [result]
                case["results"] = [spell(r) for r in results]
            except (RuntimeError, IndexError) as refusal:
                case["refused"] = str(refusal).splitlines()[0][:120]
            calls.append(case)

    # PyTorch keeps a wrong axis there (operators.md 25.4): tested by the rule, not by its result.
    add("view", [6, 4], lambda t: t.view(6, 4), skip=("pc0", "pc1", "fq"))
    add("view", [3, -1], lambda t: t.view(3, -1), skip=("pc1",))
    add("view", [5, 5], lambda t: t.view(5, 5))
    add("flatten", [1, -1], lambda t: t.flatten(1, -1), skip=("pc1",))
    add("flatten", [0, -1], lambda t: t.flatten(), skip=("pc0", "pc1", "fq"))
    add("as_strided", [[2, 2], [4, 1], 1], lambda t: t.as_strided((2, 2), (4, 1), 1))
    add("expand", [5, 2, 3, 4], lambda t: t.expand(5, 2, 3, 4), skip=("fq",))
    add("select", [0, 1], lambda t: t.select(0, 1), skip=("pc1", "fq"))
    add("select", [1, 2], lambda t: t.select(1, 2), skip=("pc0", "fq"))
    add("select", [0, 9], lambda t: t.select(0, 9))
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        add(op, [0.25], lambda t, op=op: getattr(t, op)(0.25))
        add(op, [], lambda t, o, op=op: getattr(t, op)(o), [Input([4], "quint8", 0.1, 10, seed=9)])
        add(op, [], lambda t, o, op=op: getattr(t, op)(o), [Input([4], "f32", spec=("f", -5.0, 5.0), seed=10)])
    add("copy_", [], lambda t, o: t.clone().copy_(o) if t.qscheme() != torch.per_channel_affine_float_qparams else t.copy_(o),
        [Input([2, 3, 4], "f32", spec=("f", -9.0, 9.0), seed=11)], skip=("pc0", "fq"))
    add("copy_", [], lambda t, o: t.copy_(o), [Input([2, 3, 4], "quint8", 0.3, 9, seed=12)], skip=("pc0", "fq"))
    add("copy_", [], lambda t, o: t.copy_(o), [Input([2, 3, 4], "i64", spec=("i", 0, 9), seed=13)], skip=("pc0", "fq"))
    add("clone", [], lambda t: t.clone())
    add("dequantize", [], lambda t: t.dequantize())
    add("equal", [], lambda t: t.equal(t.clone()), skip=("fq",))
    add("equal", [], lambda t, o: t.equal(o), [SELVES["u8"]])
    add("int_repr", [], lambda t: t.int_repr())
    for op in ("max", "min"):
        add(op, [], lambda t, op=op: getattr(t, op)())
        add(op, [1, True], lambda t, op=op: getattr(t, op)(1, True))
        add(op, [-1, False], lambda t, op=op: getattr(t, op)(-1, False))
    add("mean", [], lambda t: t.mean(), skip=("s32",))
    add("mean", [[2], True], lambda t: t.mean([2], True), skip=("s32", "fq"))
    for op in ("q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis", "qscheme"):
        add(op, [], lambda t, op=op: getattr(t, op)())
    add("resize_", [4, 3], lambda t: t.clone().resize_(4, 3), skip=("fq",))
    add("sort", [-1, False], lambda t: t.sort(-1, False))
    add("sort", [1, True], lambda t: t.sort(1, True))
    add("topk", [2, -1, True], lambda t: t.topk(2, -1, True))
    add("topk", [1, 1, False], lambda t: t.topk(1, 1, False))
    add("topk", [9, -1, True], lambda t: t.topk(9, -1, True))
    with open(os.path.join(HERE, "tensor_methods.json"), "w") as file:
        file.write('{"torch": "%s", "cases": [\n' % torch.__version__)
        file.write(",\n".join(json.dumps(call, separators=(",", ":")) for call in calls))
        file.write("\n]}\n")
    print(len(calls), "calls,", sum("refused" in c for c in calls), "refused")
    for c in calls:
        if "refused" in c:
            print(c["method"], c["name"], c["args"], c["refused"][:90])


if __name__ == "__main__":
    main()
