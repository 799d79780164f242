"""Models that symbolic tracing cannot follow: torch.export's program as a graph of ATen operators."""
from __future__ import annotations

import inspect
import operator
import warnings
from typing import Any, Dict, Mapping, Sequence, Tuple

import torch
import torch.fx
import torch.utils._pytree as pytree

from .errors import ExportError
from .functional import make_functional


def _dynamic_shapes(value: Any, batch: Any, batch_size: int, more: Dict[int, Any]) -> Any:
    """The dynamic_shapes tree of one argument: dimension 0 of every tensor that has the batch's size, and `more` dimensions."""
    if isinstance(value, torch.Tensor):
        dims = {0: batch} if batch is not None and value.dim() and value.shape[0] == batch_size else {}
        dims.update(more)
        return dims or None
    if isinstance(value, (list, tuple)):
        return type(value)(_dynamic_shapes(v, batch, batch_size, more) for v in value)
    if isinstance(value, dict):
        return {k: _dynamic_shapes(v, batch, batch_size, more) for k, v in value.items()}
    return None


def _doubled(value: Any, batch_size: int) -> Any:
    """Example inputs with a batch of 2: torch.export takes a size of 1 for a constant."""
    def twice(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dim() and leaf.shape[0] == batch_size:
            return torch.cat([leaf, leaf])
        return leaf

    return pytree.tree_map(twice, value)


def export_aten(
    model: torch.nn.Module, args: Sequence[Any], kwargs: Dict[str, Any], dynamic_batch: bool, batch_size: int,
    dynamic_dims: Mapping[str, Mapping[int, str]] = {},
) -> Tuple[torch.fx.GraphModule, bool]:
    """Runs torch.export without decompositions and returns (graph module, whether the batch is symbolic). `dynamic_dims` names further
    symbolic sizes by parameter of forward and dimension.

    Placeholders come first; parameters, buffers and lifted constants are get_attr nodes, functions ATen overloads, in-place ones made functional:
    each by its twin where nobody can see the difference (functional.py), else by torch.export's own functionalization of the whole graph
    (slice_scatter, select_scatter, index_put). What a model writes to its own inputs or buffers is left out, with a warning.
    Inputs stand flat in the order of the pytree, the output has its original nesting.
    """
    if not hasattr(torch, "export"):
        raise ExportError("trace='export' needs torch.export, which PyTorch %s lacks" % torch.__version__)
    args, kwargs = tuple(args), dict(kwargs)
    program, symbolic, reason = None, False, None
    if dynamic_batch or dynamic_dims:
        try:
            batch = torch.export.Dim("N", min=1) if dynamic_batch else None
            # DYNAMIC lets torch.export find the range (a table of positions bounds a sequence) and refuses a fixed size.
            symbols = {name: torch.export.Dim.DYNAMIC for dims in dynamic_dims.values() for name in dims.values()}
            bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments
            unknown = set(dynamic_dims) - set(bound)
            if unknown:
                raise ExportError("dynamic_dims names '%s'; the model's inputs are %s" % ("', '".join(sorted(unknown)), ", ".join(bound)))
            more = {name: {d: symbols[s] for d, s in dynamic_dims.get(name, {}).items()} for name in bound}
            by_position = [more[name] for name in list(bound)[:len(args)]]
            shapes = (tuple(_dynamic_shapes(v, batch, batch_size, m) for v, m in zip(args, by_position)),
                      {k: _dynamic_shapes(v, batch, batch_size, more.get(k, {})) for k, v in kwargs.items()})
            small = dynamic_batch and batch_size == 1
            program = torch.export.export(
                model,
                _doubled(args, batch_size) if small else args,
                _doubled(kwargs, batch_size) if small else kwargs,
                dynamic_shapes=_by_parameter(model, args, kwargs, *shapes),
            )
            symbolic = dynamic_batch
        except ExportError:
            raise
        except Exception as error:  # the model fixes its batch: fall back to the example's
            if dynamic_dims:
                raise ExportError("torch.export cannot keep %s symbolic: %s: %s" % (
                    ", ".join(sorted(symbols)), type(error).__name__, str(error).splitlines()[0])) from error
            reason = error
    if program is None:
        try:
            program = torch.export.export(model, args, kwargs)
        except Exception as error:
            raise ExportError(
                "torch.export cannot follow the model: %s: %s" % (type(error).__name__, str(error).splitlines()[0])
            ) from (reason or error)
    graph_module = _plain_graph(program)
    if any(_is_in_place(node) and node.args[0].op != "get_attr" for node in graph_module.graph.nodes):
        graph_module = _plain_graph(program.run_decompositions({}))
        _drop_outside_writes(graph_module.graph)
        _replace_masked_writes(graph_module.graph)
        graph_module.recompile()
    return graph_module, symbolic


def _by_parameter(model, args, kwargs, arg_shapes, kwarg_shapes) -> Dict[str, Any]:
    """dynamic_shapes keyed by the parameters of forward; *args keeps a tuple of its own."""
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


def _is_in_place(node: torch.fx.Node) -> bool:
    """Does the node write to memory that others may read?"""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def _drop_outside_writes(graph: torch.fx.Graph) -> None:
    """A functional graph ends with copies of new values into the inputs and buffers that the model writes to; a .qfx graph has values only."""
    written = []
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is torch.ops.aten.copy_.default and node.args[0].op in ("placeholder", "get_attr"):
            node.replace_all_uses_with(node.args[1])
            written.append(str(node.args[0].target))
            graph.erase_node(node)
    if written:
        warnings.warn("the model writes to '%s'; the file's graph gives its outputs and leaves that as it was" % "', '".join(written),
                      stacklevel=4)


def _replace_masked_writes(graph: torch.fx.Graph) -> None:
    """x[mask] = number: index_put with one mask of x's shape is a choice between two tensors, whatever the mask holds."""
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not torch.ops.aten.index_put.default or len(node.args) > 3 or node.kwargs:
            continue
        x, indices, value = node.args
        types = [n.meta.get("val") if isinstance(n, torch.fx.Node) else None for n in (x, indices[0], value)]
        if len(indices) != 1 or any(type_ is None for type_ in types) or types[1].dtype != torch.bool:
            continue
        if types[1].dim() == types[0].dim() and not types[2].dim():
            with graph.inserting_before(node):
                choice = graph.call_function(torch.ops.aten.where.self, (indices[0], value, x))
            choice.meta["val"] = node.meta.get("val")
            node.replace_all_uses_with(choice)
            graph.erase_node(node)


def _plain_graph(program: "torch.export.ExportedProgram") -> torch.fx.GraphModule:
    """ep.module() without its guards and pytree code: plain placeholders and one output of the original nesting."""
    module = program.module()
    graph = module.graph
    for node in list(graph.nodes):
        if node.op == "call_module" and "guard" in str(node.target):
            graph.erase_node(node)
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and node.target is torch.ops.aten._assert_tensor_metadata.default:
            graph.erase_node(node)  # a note of the exporter: inference knows the types
    for node in graph.nodes:
        if node.op == "call_function" and node.target is torch.ops.aten._unsafe_view.default:
            node.target = torch.ops.aten.view.default  # functionalization's reshape of a fresh copy
        for name in ("layout", "pin_memory"):  # one layout, plain memory
            if node.op == "call_function" and node.kwargs.get(name) in (torch.strided, False, None):
                node.kwargs = {key: value for key, value in node.kwargs.items() if key != name}
    graph.eliminate_dead_code(lambda node: node.is_impure() or _is_in_place(node))
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
