"""Spelling of arguments, dtypes, classes and call targets in .qfx text."""
from __future__ import annotations

import json
import math
import re
import sys
from typing import Any, Callable

import torch
import torch.fx

from .errors import ExportError, UnknownTargetError

DTYPE_NAMES = {
    torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64",
    torch.int8: "i8", torch.uint8: "u8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
    torch.bool: "bool", torch.quint8: "quint8", torch.qint8: "qint8", torch.qint32: "qint32",
    torch.quint4x2: "quint4x2", torch.quint2x4: "quint2x4",
}
for _torch_name, _name in (("uint16", "u16"), ("float8_e5m2", "f8e5m2"), ("float8_e4m3fn", "f8e4m3fn")):
    if hasattr(torch, _torch_name):
        DTYPE_NAMES[getattr(torch, _torch_name)] = _name
DTYPES_BY_NAME = {name: dtype for dtype, name in DTYPE_NAMES.items()}


def format_float(value: float) -> str:
    """Shortest text that reads back to the same double."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(float(value))


_BARE_PATH = re.compile(r"\w+(\.\w+)*", re.ASCII)


def format_path(path: str) -> str:
    """A path, class or target as .qfx text: quoted unless it is of letters, digits and '_' between dots."""
    return path if _BARE_PATH.fullmatch(path) else json.dumps(path, ensure_ascii=False)


def format_arg(value: Any, where: str) -> str:
    """An FX Argument as .qfx text. `where` names the node or module for the error about a value that has no text."""
    if isinstance(value, torch.fx.Node):
        return "%" + value.name
    if value is None or value is True or value is False:
        return str(value)
    if value is Ellipsis:
        return "..."
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return format_float(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (torch.dtype, torch.memory_format, torch.qscheme)):
        return str(value)
    if isinstance(value, torch.device):
        return "device(%s)" % json.dumps(str(value))
    if isinstance(value, slice):
        return "slice(%s)" % ", ".join(format_arg(v, where) for v in (value.start, value.stop, value.step))
    if isinstance(value, tuple):  # torch.Size and named tuples too
        items = [format_arg(v, where) for v in value]
        return "(%s,)" % items[0] if len(items) == 1 else "(%s)" % ", ".join(items)
    if isinstance(value, list):
        return "[%s]" % ", ".join(format_arg(v, where) for v in value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise ExportError("%s: a dict with the key %r; keys of .qfx dicts are strings" % (where, key))
        return "{%s}" % ", ".join("%s: %s" % (json.dumps(k), format_arg(v, where)) for k, v in value.items())
    raise ExportError(
        "%s: the argument %r of type '%s' has no .qfx text; expected nodes, numbers, strings, None, dtypes, memory "
        "formats, devices, slices, and lists, tuples and dicts of them" % (where, value, type(value).__name__)
    )


def format_tensor_type(tensor: torch.Tensor, symbols=None) -> str:
    """`f32[N, 3, 8]`; `symbols` maps dimension index to a symbolic name."""
    if tensor.dtype not in DTYPE_NAMES:
        raise ExportError(
            "a tensor of dtype '%s' cannot be written; convert it to one of %s"
            % (tensor.dtype, ", ".join(str(d) for d in DTYPE_NAMES))
        )
    symbols = symbols or {}
    dims = ", ".join(str(symbols.get(i, int(size))) for i, size in enumerate(tensor.shape))
    return "%s[%s]" % (DTYPE_NAMES[tensor.dtype], dims)


# Where the library shows its classes, most public first: `torch.nn.modules.conv.Conv2d` is printed `torch.nn.Conv2d`.
_PUBLIC_NAMESPACES = (
    "torch.nn", "torch.ao.nn.intrinsic", "torch.ao.nn.intrinsic.qat", "torch.ao.nn.intrinsic.quantized",
    "torch.ao.nn.intrinsic.quantized.dynamic", "torch.ao.nn.qat", "torch.ao.nn.qat.dynamic", "torch.ao.nn.quantized",
    "torch.ao.nn.quantized.dynamic", "torch.ao.nn.quantized.reference", "torch.ao.nn.quantizable",
)


def class_name(cls: type) -> str:
    """Public dotted name of a module class; for a user's class its module and qualified name."""
    if cls.__module__.startswith("torch."):
        for namespace in _PUBLIC_NAMESPACES:
            if getattr(sys.modules.get(namespace), cls.__name__, None) is cls:
                return "%s.%s" % (namespace, cls.__name__)
    qualified = cls.__qualname__.replace("<locals>.", "")
    return "%s.%s" % (cls.__module__, qualified)


_LIBRARY = ("torch.", "operator.", "builtins.", "math.", "torchvision.")


def target_name(target: Callable, where: str) -> str:
    """A function target as `str(graph)` shows it; ATen overloads as `aten.<op>.<overload>`."""
    if isinstance(target, torch._ops.OpOverload):
        namespace, _, name = target.name().partition("::")
        overload = target._overloadname
        base = name[: -len(overload) - 1] if name.endswith("." + overload) else name
        return "%s.%s.%s" % (namespace, base, overload)
    home, plain = getattr(target, "__module__", None), getattr(target, "__name__", None)
    try:
        if plain and home in ("builtins", "_operator"):
            name = "%s.%s" % (home.lstrip("_"), plain)
        else:
            name = torch.fx.node._get_qualified_name(target)
    except Exception as error:
        raise ExportError("%s calls %r, which has no qualified name (%s)" % (where, target, error)) from error
    if not name.startswith(_LIBRARY):
        raise UnknownTargetError(
            "%s calls the function '%s', which is not of PyTorch's library; qfx runs library operators only. Use "
            "trace='export', which sees through it, or do not torch.fx.wrap it" % (where, name)
        )
    return name
