"""Symbolic tracing with the leaf rules of FX graph mode quantization (torch.ao.quantization.fx.tracer), kept here so
that export works when upstream has removed that stack."""
from __future__ import annotations

from typing import Any, Dict, Iterable, Optional, Tuple

import torch
import torch.fx

Scope = Tuple[str, Optional[type]]  # path and class of the innermost module being run; ("", None) is the root


def is_fused_module(module: torch.nn.Module) -> bool:
    """True for torch.ao.nn.intrinsic float containers (ConvReLU2d, ...), which derive from Sequential."""
    return any(cls.__name__ == "_FusedModule" for cls in type(module).__mro__)


class QuantizationTracer(torch.fx.Tracer):
    """Records library modules as call_module and inlines everything else; notes the scope of every node.

    A module is a leaf iff its class lives in torch.nn or torch.ao.nn and it is not a Sequential, or its path or exact
    class was asked for, or it is a fused container. `scopes[node.name]` is what upstream calls node_name_to_scope.
    """

    def __init__(self, leaf_names: Iterable[str] = (), leaf_classes: Iterable[type] = ()):
        super().__init__()
        self.leaf_names = frozenset(leaf_names)
        self.leaf_classes = frozenset(leaf_classes)
        self.scopes: Dict[str, Scope] = {}
        self._current: Scope = ("", None)

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        library = m.__module__.startswith(("torch.nn", "torch.ao.nn"))
        return (
            (library and not isinstance(m, torch.nn.Sequential))
            or module_qualified_name in self.leaf_names
            or type(m) in self.leaf_classes
            or is_fused_module(m)
        )

    def call_module(self, m, forward, args, kwargs):
        outer = self._current
        self._current = (self.path_of_module(m), type(m))
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self._current = outer

    def create_node(self, *args: Any, **kwargs: Any) -> torch.fx.Node:
        node = super().create_node(*args, **kwargs)
        self.scopes[node.name] = self._current
        return node


def trace(
    model: torch.nn.Module,
    concrete_args: Optional[Dict[str, Any]] = None,
    leaf_names: Iterable[str] = (),
    leaf_classes: Iterable[type] = (),
) -> Tuple[torch.fx.GraphModule, Dict[str, Scope]]:
    """Traces `model`; returns the graph module and the scope of every node. The model is left as it was: tensors that
    tracing turns into `_tensor_constantN` live in the graph module only."""
    before = set(vars(model))
    tracer = QuantizationTracer(leaf_names, leaf_classes)
    try:
        graph = tracer.trace(model, concrete_args)
        traced = torch.fx.GraphModule(tracer.root, graph, type(model).__name__)
    finally:
        for name in set(vars(model)) - before:
            delattr(model, name)
    return traced, tracer.scopes
