"""One row of a class table: a constructor argument, its default, and how a module shows its value."""
from __future__ import annotations

from typing import Any, Callable, List, NamedTuple

import torch

REQUIRED = object()


class Argument(NamedTuple):
    """One constructor argument: PyTorch's name, default (or REQUIRED), and how a module shows its value."""

    name: str
    default: Any
    read: Callable[[torch.nn.Module], Any]


def plain(value: Any) -> Any:
    """torch.Size and one-element wrappers as plain tuples."""
    return tuple(value) if isinstance(value, (torch.Size, list)) else value


def required(*names: str) -> List[Argument]:
    return [Argument(name, REQUIRED, lambda m, name=name: plain(getattr(m, name))) for name in names]


def optional(**defaults: Any) -> List[Argument]:
    return [
        Argument(name, default, lambda m, name=name, default=default: plain(getattr(m, name, default)))
        for name, default in defaults.items()
    ]


def presence(name: str, parameter: str, default: bool = True) -> List[Argument]:
    """A flag that shows as a parameter being there (`bias`)."""
    return [Argument(name, default, lambda m: getattr(m, parameter, None) is not None)]


def computed(name: str, default: Any, read: Callable[[torch.nn.Module], Any]) -> List[Argument]:
    return [Argument(name, default, read)]
