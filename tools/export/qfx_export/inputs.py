"""Example inputs and calibration batches: matched to placeholders, read from folders and archives, written as
`<k>.<placeholder>`."""
from __future__ import annotations

import inspect
import os
import re
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple, Union

import numpy
import torch
import torch.fx
import torch.utils._pytree as pytree

from .errors import ExportError
from .text import DTYPES_BY_NAME

Batch = Union[torch.Tensor, Sequence[Any], Mapping[str, Any]]


def as_call(batch: Batch) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """One batch as (args, kwargs) of the model's call: a tensor is the only argument, a list or tuple the arguments,
    a dict the keyword arguments."""
    if isinstance(batch, Mapping):
        return (), dict(batch)
    if isinstance(batch, (list, tuple)):
        return tuple(batch), {}
    return (batch,), {}


def left_out(model: torch.nn.Module, batch: Batch, given: Mapping[str, Any]) -> Dict[str, Any]:
    """Defaults of the parameters of forward that the batch does not give, nor `given`. Empty where the call does not fit:
    what is wrong with it is said when placeholders are matched."""
    args, kwargs = as_call(batch)
    try:
        signature = inspect.signature(model.forward)
        bound = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {}
    return {name: parameter.default for name, parameter in signature.parameters.items()
            if name not in bound and name not in given and parameter.default is not inspect.Parameter.empty}


def match_placeholders(graph: torch.fx.Graph, batch: Batch, what: str) -> Dict[str, Any]:
    """Values by placeholder name. Positions go in order, dict keys by target; exported programs have flat inputs."""
    args, kwargs = as_call(batch)
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    values: Dict[str, Any] = {}
    flat = [leaf for leaf in pytree.tree_flatten((args, kwargs))[0]]
    nested = len(flat) != len(args) + len(kwargs)
    if nested and len(flat) == len(placeholders):
        return {node.name: leaf for node, leaf in zip(placeholders, flat)}
    if len(args) > len(placeholders):
        raise ExportError("%s: %d inputs given, the model has %d: %s" % (
            what, len(args), len(placeholders), ", ".join(str(n.target) for n in placeholders)))
    for node, value in zip(placeholders, args):
        values[node.name] = value
    by_target = {str(node.target): node.name for node in placeholders}
    for key, value in kwargs.items():
        if key not in by_target:
            raise ExportError("%s: the model has no input '%s'; its inputs are %s" % (
                what, key, ", ".join(by_target) or "none"))
        values[by_target[key]] = value
    for node in placeholders:
        if node.name not in values and not node.args and not str(node.target).startswith("*"):
            raise ExportError("%s: no value for the input '%s'" % (what, node.target))
    return values


def calibration_tensors(graph: torch.fx.Graph, batches: Iterable[Batch]) -> Dict[str, torch.Tensor]:
    """The tensors `<k>.<placeholder>` of a calibration file. Errors: an empty iterable, a batch that does not match."""
    tensors: Dict[str, torch.Tensor] = {}
    count = 0
    for count, batch in enumerate(batches, 1):
        what = "calibration batch %d" % (count - 1)
        for name, value in match_placeholders(graph, batch, what).items():
            if not isinstance(value, torch.Tensor):
                raise ExportError("%s: input '%s' is a %s, expected a tensor" % (what, name, type(value).__name__))
            tensors["%d.%s" % (count - 1, name)] = value.detach().cpu().contiguous().clone()
    if not count:
        raise ExportError("the calibration data has no batch")
    return tensors


_INPUT_TEXT = re.compile(r"^(?:(?P<name>\w+)=)?(?P<dtype>\w+)\[(?P<dims>[\d,\s]*)\]$")


def parse_input(text: str) -> Tuple[str, torch.Tensor]:
    """`[name=]f32[1,3,224,224]` as (name or '', example tensor): seeded normal floats, zeros for other dtypes."""
    match = _INPUT_TEXT.match(text.strip())
    dtype = DTYPES_BY_NAME.get(match.group("dtype")) if match else None
    if dtype is None:
        raise ValueError("'%s' is not an input; expected [name=]dtype[dims], for example f32[1,3,224,224]" % text)
    dims = [int(d) for d in match.group("dims").split(",") if d.strip()]
    if dtype.is_floating_point:
        tensor = torch.randn(dims, generator=torch.Generator().manual_seed(0)).to(dtype)
    else:
        tensor = torch.zeros(dims, dtype=dtype)
    return match.group("name") or "", tensor


def read_batches(path: str) -> List[Dict[str, torch.Tensor]]:
    """Calibration batches from a `.npz` or `.safetensors` file or a folder of `.npy` files, entries named
    `<k>.<input>` (batch k) or `<input>` (the only batch); batches in the order of k."""
    if os.path.isdir(path):
        arrays = {name[:-4]: numpy.load(os.path.join(path, name)) for name in sorted(os.listdir(path))
                  if name.endswith(".npy")}
    elif path.endswith(".npz"):
        with numpy.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
    elif path.endswith(".safetensors"):
        from safetensors.torch import load_file

        arrays = load_file(path)
    else:
        raise ExportError("'%s' is no calibration data; expected a folder of .npy files, .npz or .safetensors" % path)
    batches: Dict[int, Dict[str, torch.Tensor]] = {}
    for name, array in arrays.items():
        number, _, rest = name.partition(".")
        index, key = (int(number), rest) if number.isdigit() and rest else (0, name)
        batches.setdefault(index, {})[key] = torch.as_tensor(array)
    if not batches:
        raise ExportError("'%s' holds no arrays named <k>.<input> or <input>" % path)
    return [batches[index] for index in sorted(batches)]
