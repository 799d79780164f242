"""Symbolic tracing with the leaf rules of FX graph mode quantization (torch.ao.quantization.fx.tracer), kept here so
that export works when upstream has removed that stack."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, Mapping, Optional, Tuple

import torch
import torch.fx

from .modules import OBSERVER_HOOKS
from .text import class_name

Scope = Tuple[str, Optional[type]]  # path and class of the innermost module being run; ("", None) is the root


def is_fused_module(module: torch.nn.Module) -> bool:
    """True for torch.ao.nn.intrinsic float containers (ConvReLU2d, ...), which derive from Sequential."""
    return any(cls.__name__ == "_FusedModule" for cls in type(module).__mro__)


_FUNCTIONALS = ("torch.ao.nn.quantized.FloatFunctional", "torch.ao.nn.quantized.QFunctional")


def _is_eager_marker(module: torch.nn.Module) -> bool:
    """QuantStub, DeQuantStub, and observers and fake-quantizers, which eager mode keeps as modules."""
    home = type(module).__module__
    return home.startswith("torch.ao.quantization.") and type(module).__name__ != "QuantWrapper"


class QuantizationTracer(torch.fx.Tracer):
    """Records library modules as call_module and inlines everything else; notes the scope of every node.

    A module is a leaf iff its class lives in torch.nn or torch.ao.nn and it is not a Sequential, or its path or exact
    class was asked for, or it is a fused container. `scopes[node.name]` is what upstream calls node_name_to_scope.
    Eager mode: stubs and observers are leaves, the observer hook of a leaf is recorded as a call of its
    activation_post_process, and a function that a FloatFunctional calls carries its path as meta `functional`.
    Parameters of the root's forward in `fixed` are no inputs: they have the values given there (concrete_args would leave assertions).
    """

    def __init__(self, leaf_names: Iterable[str] = (), leaf_classes: Iterable[type] = (), fixed: Mapping[str, Any] = {}):
        super().__init__()
        self.fixed = dict(fixed)
        self.leaf_names = frozenset(leaf_names)
        self.leaf_classes = frozenset(leaf_classes)
        self.scopes: Dict[str, Scope] = {}
        self._current: Scope = ("", None)
        self._functional: Optional[str] = None

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        library = m.__module__.startswith(("torch.nn", "torch.ao.nn"))
        return (
            (library and not isinstance(m, torch.nn.Sequential))
            or module_qualified_name in self.leaf_names
            or type(m) in self.leaf_classes
            or is_fused_module(m)
            or _is_eager_marker(m)
        )

    def call_module(self, m, forward, args, kwargs):
        outer = self._current
        path = self.path_of_module(m)
        self._current = (path, type(m))
        try:
            if not self.is_leaf_module(m, path):
                return super().call_module(m, forward, args, kwargs)
            before, after = OBSERVER_HOOKS[1], OBSERVER_HOOKS[0]
            if args and _has_hook(m._forward_pre_hooks, before):
                args = (m.activation_post_process(args[0]),) + tuple(args[1:])
            result = super().call_module(m, forward, args, kwargs)
            return m.activation_post_process(result) if _has_hook(m._forward_hooks, after) else result
        finally:
            self._current = outer

    def _proxy_placeholder(self, name, concrete_args, sig, fn_for_analysis):
        if name in self.fixed:
            return self.fixed[name]
        return super()._proxy_placeholder(name, concrete_args, sig, fn_for_analysis)

    def create_node(self, *args: Any, **kwargs: Any) -> torch.fx.Node:
        node = super().create_node(*args, **kwargs)
        self.scopes[node.name] = self._current
        if self._functional is not None and node.op == "call_function":
            node.meta["functional"] = self._functional
        return node

    @contextmanager
    def functionals(self, root: torch.nn.Module) -> Iterator[None]:
        """While open, the operations of every FloatFunctional below `root` mark the nodes that they make."""
        patched = []

        def mark(path: str, method: Any) -> Any:
            def marked(*args: Any, **kwargs: Any) -> Any:
                outer, self._functional = self._functional, path
                try:
                    return method(*args, **kwargs)
                finally:
                    self._functional = outer
            return marked

        for path, module in root.named_modules():
            if class_name(type(module)) not in _FUNCTIONALS:
                continue
            for name in ("add", "add_scalar", "mul", "mul_scalar", "cat", "add_relu", "matmul"):
                if hasattr(module, name):
                    object.__setattr__(module, name, mark(path, getattr(module, name)))
                    patched.append((module, name))
        try:
            yield
        finally:
            for module, name in patched:
                object.__delattr__(module, name)


def _has_hook(hooks: Any, name: str) -> bool:
    return any(getattr(hook, "__name__", "") == name for hook in hooks.values())


def trace(
    model: torch.nn.Module,
    concrete_args: Optional[Dict[str, Any]] = None,
    leaf_names: Iterable[str] = (),
    leaf_classes: Iterable[type] = (),
    fixed: Mapping[str, Any] = {},
) -> Tuple[torch.fx.GraphModule, Dict[str, Scope]]:
    """Traces `model`; returns the graph module and the scope of every node. The model is left as it was: tensors that
    tracing turns into `_tensor_constantN` live in the graph module only."""
    before = set(vars(model))
    tracer = QuantizationTracer(leaf_names, leaf_classes, fixed)
    try:
        with tracer.functionals(model):
            graph = tracer.trace(model, concrete_args)
        traced = torch.fx.GraphModule(tracer.root, graph, type(model).__name__)
    finally:
        for name in set(vars(model)) - before:
            delattr(model, name)
    return traced, tracer.scopes
