"""What qfx has operators for: the spellings of `qfx-opt --list-ops` in targets.txt, one `function|method|module NAME` a line."""
from __future__ import annotations

import os
from functools import lru_cache
from typing import FrozenSet, Tuple

from .errors import UnknownTargetError


@lru_cache(maxsize=None)
def _targets() -> FrozenSet[Tuple[str, str]]:
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets.txt")) as file:
        return frozenset(tuple(line.split(" ", 1)) for line in file.read().splitlines())


def is_known(kind: str, name: str) -> bool:
    """Does qfx read a call of this function, method or module class?"""
    if kind == "function" and name.startswith("torch.ops.aten."):
        name = name[len("torch.ops."):]
    elif kind == "function" and name.startswith("torch.ops.quantized.") and name.endswith(".default"):
        name = name[: -len(".default")]
    return (kind, name) in _targets()


def require_known(kind: str, name: str, where: str) -> None:
    """Raises UnknownTargetError for a call that qfx has no operator for: no tool would read the file."""
    if is_known(kind, name):
        return
    words = {"function": "calls the function", "method": "calls the tensor method", "module": "has the class"}[kind]
    way = "give the model another form of it" if name.startswith("aten.") else (
        "replace it by what qfx has (qfx-opt --list-ops), or use trace='export', which takes it apart")
    raise UnknownTargetError("%s %s '%s', for which qfx has no operator; %s" % (where, words, name, way))
