"""Models that symbolic tracing cannot follow: torch.export's program as a graph of ATen operators."""
from __future__ import annotations

import operator
from typing import Any, Dict, Sequence, Tuple

import torch
import torch.fx
import torch.utils._pytree as pytree

from .errors import ExportError
from .functional import make_functional


def _dynamic_shapes(value: Any, batch: Any, batch_size: int) -> Any:
    """The dynamic_shapes tree of one argument: dimension 0 of every tensor that has the batch's size."""
    if isinstance(value, torch.Tensor):
        return {0: batch} if value.dim() and value.shape[0] == batch_size else None
    if isinstance(value, (list, tuple)):
        return type(value)(_dynamic_shapes(v, batch, batch_size) for v in value)
    if isinstance(value, dict):
        return {k: _dynamic_shapes(v, batch, batch_size) for k, v in value.items()}
    return None


def _doubled(value: Any, batch_size: int) -> Any:
    """Example inputs with a batch of 2: torch.export takes a size of 1 for a constant."""
    def twice(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dim() and leaf.shape[0] == batch_size:
            return torch.cat([leaf, leaf])
        return leaf

    return pytree.tree_map(twice, value)


def export_aten(
    model: torch.nn.Module, args: Sequence[Any], kwargs: Dict[str, Any], dynamic_batch: bool, batch_size: int
) -> Tuple[torch.fx.GraphModule, bool]:
    """Runs torch.export without decompositions and returns (graph module, whether the batch is symbolic).

    Placeholders come first; parameters, buffers and lifted constants are get_attr nodes, functions ATen overloads, in-place ones made functional.
    Inputs stand flat in the order of the pytree, the output has its original nesting.
    """
    if not hasattr(torch, "export"):
        raise ExportError("trace='export' needs torch.export, which PyTorch %s lacks" % torch.__version__)
    args, kwargs = tuple(args), dict(kwargs)
    program, symbolic, reason = None, False, None
    if dynamic_batch:
        try:
            batch = torch.export.Dim("N", min=1)
            shapes = (_dynamic_shapes(args, batch, batch_size), _dynamic_shapes(kwargs, batch, batch_size))
            small = batch_size == 1
            program = torch.export.export(
                model,
                _doubled(args, batch_size) if small else args,
                _doubled(kwargs, batch_size) if small else kwargs,
                dynamic_shapes=_by_parameter(model, args, kwargs, *shapes),
            )
            symbolic = True
        except Exception as error:  # the model fixes its batch: fall back to the example's
            reason = error
    if program is None:
        try:
            program = torch.export.export(model, args, kwargs)
        except Exception as error:
            raise ExportError(
                "torch.export cannot follow the model: %s: %s" % (type(error).__name__, str(error).splitlines()[0])
            ) from (reason or error)
    return _plain_graph(program), symbolic


def _by_parameter(model, args, kwargs, arg_shapes, kwarg_shapes) -> Dict[str, Any]:
    """dynamic_shapes keyed by the parameters of forward; *args keeps a tuple of its own."""
    import inspect

    bound = inspect.signature(model.forward).bind(*args, **kwargs)
    shapes = inspect.signature(model.forward).bind(*arg_shapes, **kwarg_shapes)
    result: Dict[str, Any] = {}
    for name, value in shapes.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            result.update(value)
        else:
            result[name] = value
    return result


def _plain_graph(program: "torch.export.ExportedProgram") -> torch.fx.GraphModule:
    """ep.module() without its guards and pytree code: plain placeholders and one output of the original nesting."""
    module = program.module()
    graph = module.graph
    for node in list(graph.nodes):
        if node.op == "call_module" and "guard" in str(node.target):
            graph.erase_node(node)
    for node in reversed(list(graph.nodes)):
        unused_size = node.op == "call_function" and not node.users and node.target in (
            torch.ops.aten.sym_size.int, operator.ge, operator.le, torch.ops.aten._assert_scalar.default,
        )
        if unused_size:
            graph.erase_node(node)
    for node in reversed(list(graph.nodes)):
        if node.op == "get_attr" and not node.users:
            graph.erase_node(node)
    first = next(iter(graph.nodes))
    for node in [node for node in graph.nodes if node.op == "placeholder"]:
        if first.op != "placeholder":
            first.prepend(node)
    output = next(node for node in graph.nodes if node.op == "output")
    spec = program.call_spec.out_spec
    flat = list(output.args[0])
    if spec is not None and len(flat) == spec.num_leaves:
        output.args = (pytree.tree_unflatten(flat, spec),)
    make_functional(graph)
    graph.set_codegen(torch.fx.graph.CodeGen())
    for node in graph.nodes:
        node.type = None
    return torch.fx.GraphModule(module, graph, "ExportedProgram")
