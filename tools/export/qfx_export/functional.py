"""In-place ATen operators of an exported graph turned into their functional twins where nobody can see the difference."""
from __future__ import annotations

from typing import Dict, List, Optional, Set

import torch
import torch.fx

# Operators without alias annotations that may return their input's memory.
_MAY_ALIAS = {"reshape", "flatten", "contiguous", "dropout", "to", "type_as", "expand_as", "view_as", "getitem",
              "alpha_dropout", "feature_dropout", "unflatten", "chunk", "split", "unbind", "tensor_split", "float",
              "pad", "constant_pad_nd", "clamp", "lift_fresh_copy"}


def _may_alias(node: torch.fx.Node) -> bool:
    """True if the node's value may share memory with an input of it."""
    if node.op != "call_function":
        return False
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return getattr(node.target, "__name__", "") in _MAY_ALIAS
    if any(result.alias_info is not None for result in schema.returns):
        return True
    return schema.name.split("::")[-1].rstrip("_") in _MAY_ALIAS


def _twin(node: torch.fx.Node) -> Optional[torch._ops.OpOverload]:
    """The functional overload of an in-place one, `relu_.default` -> `relu.default`, or None."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return None
    schema = node.target._schema
    namespace, _, name = schema.name.partition("::")
    if not name.endswith("_") or not schema.arguments or schema.arguments[0].alias_info is None:
        return None
    packet = getattr(getattr(torch.ops, namespace), name[:-1], None)
    twin = getattr(packet, node.target._overloadname, None)
    if twin is None or [a.name for a in twin._schema.arguments] != [a.name for a in schema.arguments]:
        return None
    return twin


class _Groups:
    """Nodes that may share memory (union-find)."""

    def __init__(self, graph: torch.fx.Graph):
        self.parent: Dict[torch.fx.Node, torch.fx.Node] = {node: node for node in graph.nodes}
        for node in graph.nodes:
            if _may_alias(node):
                for operand in node.all_input_nodes:
                    self.parent[self.root(node)] = self.root(operand)
        self.members: Dict[torch.fx.Node, List[torch.fx.Node]] = {}
        for node in graph.nodes:
            self.members.setdefault(self.root(node), []).append(node)

    def root(self, node: torch.fx.Node) -> torch.fx.Node:
        while self.parent[node] is not node:
            node = self.parent[node]
        return node


def make_functional(graph: torch.fx.Graph) -> None:
    """Rewrites `y = op_(x)` to `y = op(x)`, later uses of x reading y. Kept in place: a write to memory that an input,
    parameter or buffer owns, and one that another value which is read later may share."""
    order = {node: index for index, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        twin = _twin(node)
        if twin is None or not isinstance(node.args[0], torch.fx.Node):
            continue
        target = node.args[0]
        groups = _Groups(graph)
        shared: Set[torch.fx.Node] = {
            other for other in groups.members[groups.root(target)] if order[other] < order[node] and other is not target}
        owned_outside = any(other.op in ("placeholder", "get_attr") for other in shared | {target})
        read_later = any(order[user] > order[node] for other in shared for user in other.users)
        if owned_outside or read_later:
            continue
        for user in list(target.users):
            if order[user] > order[node]:
                user.replace_input_with(target, node)
        node.target = twin
