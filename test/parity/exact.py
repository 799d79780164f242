"""The results of quantized operators of level T1 before rounding, in double precision, from the codes that went in.

spec/operators.md 1.1: a code may differ by one only where the unrounded value lies within 1e-4 of a tie.
"""
import math
import re

import numpy

TIE = 1e-4  # of a step

_erf = numpy.vectorize(math.erf, otypes=[float])
UNARY = {
    "hardswish": lambda x: x * numpy.clip(x + 3, 0, 6) / 6,
    "hardsigmoid": lambda x: numpy.clip(x + 3, 0, 6) / 6,
    "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "tanh": numpy.tanh,
    "gelu": lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2))),
}


def real(value):
    """The numbers that codes stand for."""
    return (value.codes.astype(numpy.float64) - value.zero_point) * value.scale


def _bilinear(statement, value, shape):
    import torch

    if 'mode="bilinear"' not in statement.args or "align_corners=True" in statement.args:
        return None
    return torch.nn.functional.interpolate(torch.from_numpy(value), size=tuple(shape[2:]), mode="bilinear", align_corners=False).numpy()


def _joined(parts, shape):
    """The parts behind each other along the one dimension that gives `shape`."""
    for dim in range(len(shape)):
        sizes = [part.shape[:dim] + part.shape[dim + 1 :] for part in parts]
        if len(set(sizes)) == 1 and sizes[0] == tuple(shape[:dim] + shape[dim + 1 :]) and sum(p.shape[dim] for p in parts) == shape[dim]:
            return numpy.concatenate(parts, dim)
    return None


def _layer_norm(statement, value, recorded):
    """Over the last dimension; None where its parameters are not known. A module's stand in `recorded` under `<path>.weight` and `.bias`."""
    text = statement.args + ", " + statement.declared
    eps = re.search(r"\beps=([\d.e+-]+)", text)
    names = {"weight": statement.target + ".weight", "bias": statement.target + ".bias"}
    if not statement.declared:
        names = dict(re.findall(r"\b(weight|bias)=%(\w+)", text))
    parameters = [recorded.get(names.get(key)) for key in ("weight", "bias")]
    if not eps or parameters[0] is None or parameters[0].codes.ndim != 1 or parameters[1] is None:
        return None
    centred = value - value.mean(-1, keepdims=True)
    normed = centred / numpy.sqrt((centred ** 2).mean(-1, keepdims=True) + float(eps.group(1)))
    weight, bias = (p.codes.astype(numpy.float64) for p in parameters)
    return normed * weight + bias


def unrounded(statement, target, recorded, shape):
    """The value of each code in output steps above the zero point; None if the operator is not known here.

    `target` is what the statement calls: a function, a method or the class of a module; `recorded` maps node names to Quantized values.
    """
    uses = statement.uses()
    out = recorded.get(statement.name)
    sources = [recorded[u] for u in uses if recorded.get(u) is not None and recorded[u].scale is not None]
    if not sources or out is None or not out.scale:
        return None
    kind = re.sub(r"\W", "", target.rsplit(".", 1)[-1]).lower()
    first = real(sources[0])
    if kind in ("add", "add_relu", "add_", "iadd") and len(sources) == 2 and len(uses) == 2:
        value = first + real(sources[1])
        value = numpy.maximum(value, 0) if kind == "add_relu" else value
    elif kind in ("cat", "concat") and len(sources) == len(uses):
        value = _joined([real(s) for s in sources], tuple(shape))
    elif kind in UNARY and len(uses) == 1:
        value = UNARY[kind](first)
    elif kind == "mean" and (match := re.match(r"%\w+, (\[?[-\d, ]+\]?)", statement.args)):
        value = first.mean(tuple(int(d) for d in re.findall(r"-?\d+", match.group(1))))
    elif kind == "interpolate":
        value = _bilinear(statement, first, shape)
    elif kind in ("layer_norm", "layernorm"):
        value = _layer_norm(statement, first, recorded)
    elif first.ndim == 5 and tuple(shape[2:]) == (1, 1, 1) and "pool" in kind:
        value = first.mean((2, 3, 4))
    else:
        return None
    return None if value is None or value.size != numpy.prod(shape) else value.reshape(shape) / out.scale


def differs_at_ties(statement, target, recorded, differs):
    """Do codes differ only where the unrounded value lies within 1e-4 of half a step?"""
    value = unrounded(statement, target, recorded, differs.shape)
    return value is not None and bool((abs(value - numpy.floor(value) - 0.5)[differs] <= TIE).all())
