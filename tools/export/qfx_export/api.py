"""The export function: trace, write text and tensors, all or nothing."""
from __future__ import annotations

import copy
import os
import warnings
from typing import Any, Dict, Iterable, Mapping, NamedTuple, Optional, Tuple

import torch
import torch.fx

from .aten import export_aten
from .errors import ExportError, UnknownTargetError
from .inputs import Batch, as_call, calibration_tensors, left_out, match_placeholders
from .prepared import recorded_scopes
from .tensors import safetensors_bytes, write_together
from .tracer import Scope, trace as trace_fx
from .writer import ModelWriter, Written


class ExportResult(NamedTuple):
    """What was written: paths (None where there was nothing to write) and the graph module that they describe."""

    model_path: str
    weights_path: Optional[str]
    calibration_path: Optional[str]
    graph_module: torch.fx.GraphModule


def export(
    model: torch.nn.Module,
    example_inputs: Batch,
    path: str,
    calibration: Optional[Iterable[Batch]] = None,
    *,
    dynamic_batch: bool = True,
    dynamic_dims: Optional[Mapping[str, Mapping[int, str]]] = None,
    trace: str = "auto",
    concrete_args: Optional[Dict[str, Any]] = None,
    leaf_names: Iterable[str] = (),
    leaf_classes: Iterable[type] = (),
) -> ExportResult:
    """Writes `model` as `<path>.qfx` (or `path` when it ends in .qfx), `<stem>.safetensors` beside it and, with
    `calibration`, `<stem>.calib.safetensors` whose tensors are named `<k>.<placeholder>`.

    model           nn.Module, traced with the leaf rules of FX graph mode quantization; a GraphModule is taken as it
                    is. Left unchanged; usually in eval mode (training flags are written). Models that torch.ao has
                    prepared (calibrated or not), trained with fake-quantizers, or converted, in graph or eager mode, go
                    as they are: observers with their statistics, qconfigs, packed weights unpacked.
    example_inputs  a tensor, a tuple of arguments or a dict of keyword arguments; gives the inputs' types. A parameter of forward
                    that they leave out has its default in the graph, it is no input.
    calibration     batches of the same forms.
    dynamic_batch   prints dimension 0 of the inputs as N, if the model runs with another batch too (a warning when it
                    does not, and fixed sizes).
    dynamic_dims    further symbolic sizes by input and dimension, {"input_ids": {1: "S"}}; with torch.export the graph keeps
                    them symbolic.
    trace           'fx', 'export' (torch.export's graph, its ATen calls as fx spells them, where it has an exact twin) or 'auto': fx,
                    and export where fx cannot follow or meets a function or module that qfx has no operator for.
    concrete_args, leaf_names, leaf_classes   as in torch.fx.Tracer and as further leaves (fx only); a leaf of the
                    user's own class is written with a graph of its own (standalone and untraced modules).
    Raises ExportError, naming the place and a way out; files that were there stay as they were then.
    """
    if trace not in ("auto", "fx", "export"):
        raise ValueError("trace is one of 'auto', 'fx', 'export', got %r" % (trace,))
    if not isinstance(model, torch.nn.Module):
        raise ExportError("expected an nn.Module, got a %s" % type(model).__name__)
    stem = path[: -len(".qfx")] if path.endswith(".qfx") else path
    weights_path, calibration_path = stem + ".safetensors", stem + ".calib.safetensors"

    def written_by(how: str) -> Tuple[torch.fx.GraphModule, Written]:
        graph_module, scopes, symbolic = _graph_of(
            model, example_inputs, how, dynamic_batch, concrete_args, leaf_names, leaf_classes, dynamic_dims or {})
        values = match_placeholders(graph_module.graph, example_inputs, "example_inputs")
        batch_size = _batch_size(example_inputs)
        if dynamic_batch and symbolic is None:
            symbolic = _runs_with_another_batch(graph_module, values, batch_size)
        writer = ModelWriter(graph_module, scopes, values, batch_size if dynamic_batch and symbolic else None, model,
                             leaf_names, leaf_classes, dynamic_dims=dynamic_dims or {})
        return graph_module, writer.write(os.path.basename(weights_path))

    try:
        graph_module, written = written_by(trace)
    except UnknownTargetError as error:
        if trace != "auto":
            raise
        warnings.warn("%s; the model is written as torch.export sees it" % error, stacklevel=2)
        try:
            graph_module, written = written_by("export")
        except ExportError as second:
            raise ExportError("%s; and as torch.export sees the model: %s" % (error, second)) from second
    files: Dict[str, bytes] = {}
    if written.tensors:
        files[weights_path] = safetensors_bytes(written.tensors, written.metadata)
    if calibration is not None:
        files[calibration_path] = safetensors_bytes(calibration_tensors(graph_module.graph, calibration), {})
    files[stem + ".qfx"] = written.text.encode()
    write_together(files)
    return ExportResult(
        stem + ".qfx", weights_path if written.tensors else None,
        calibration_path if calibration is not None else None, graph_module)


def _graph_of(model, example_inputs, how, dynamic_batch, concrete_args, leaf_names, leaf_classes, dynamic_dims):
    """(graph module, scopes, whether the batch is symbolic or None where that is still to be tried)."""
    if isinstance(model, torch.fx.GraphModule) and how != "export":
        return model, recorded_scopes(model), None
    failure = None
    if how in ("auto", "fx"):
        try:
            fixed = {name: value for name, value in (concrete_args or {}).items()
                     if value is None or isinstance(value, (bool, int, float, str))}
            rest = {name: value for name, value in (concrete_args or {}).items() if name not in fixed}
            fixed.update(left_out(model, example_inputs, concrete_args or {}))
            graph_module, scopes = trace_fx(model, rest or None, leaf_names, leaf_classes, fixed)
            return graph_module, scopes, None
        except Exception as error:
            if isinstance(error, ExportError):
                raise
            failure = "torch.fx cannot trace the model: %s: %s" % (type(error).__name__, _first_line(error))
            if how == "fx":
                raise ExportError(failure + "; trace='export' may follow it") from error
    args, kwargs = as_call(example_inputs)
    try:
        graph_module, symbolic = export_aten(
            model, args, kwargs, dynamic_batch, _batch_size(example_inputs), dynamic_dims)
    except ExportError as error:
        raise ExportError("%s; %s" % (failure, error) if failure else str(error)) from error
    from .respell import respell  # its table names overloads that a PyTorch without torch.export may lack

    return respell(graph_module), {}, symbolic


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else "no message"


def _tensors(batch: Batch) -> Tuple[torch.Tensor, ...]:
    leaves = torch.utils._pytree.tree_flatten(as_call(batch))[0]
    return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.dim())


def _batch_size(example_inputs: Batch) -> int:
    """Dimension 0 of the first tensor input; 1 without one."""
    tensors = _tensors(example_inputs)
    return int(tensors[0].shape[0]) if tensors else 1


def _runs_with_another_batch(model: torch.fx.GraphModule, values: Mapping[str, Any], batch_size: int) -> bool:
    """Tries the graph with one more sample. The trial runs on a copy when a module trains: it would move statistics."""
    training = any(module.training for module in model.modules())

    def failure(extra: int) -> Optional[str]:
        trial = copy.deepcopy(model) if training else model
        inputs = []
        for node in model.graph.nodes:
            if node.op != "placeholder":
                continue
            value = values.get(node.name, node.args[0] if node.args else None)
            if isinstance(value, torch.Tensor) and value.dim() and value.shape[0] == batch_size and batch_size:
                value = torch.cat([value] + [value[:1]] * extra)
            inputs.append(value)
        try:
            with torch.no_grad():
                torch.fx.Interpreter(trial).run(*inputs)
            return None
        except Exception as error:
            return _first_line(error)

    larger = failure(1)
    if larger is None:
        return True
    same = failure(0)
    if same is None:
        message = "the model does not run with a batch of %d (%s); its batch stays fixed at %d" % (
            batch_size + 1, larger, batch_size)
    else:
        message = "the model does not run on the example inputs (%s); their sizes are written as they are" % same
    warnings.warn(message, stacklevel=3)
    return False
