"""Imports torchvision's network definitions also where its compiled operators are missing (its CUDA wheel beside the CPU torch)."""
import importlib
import sys
from types import ModuleType
from typing import List

import torch

_declared: List[torch.library.Library] = []  # a declaration lives as long as its library object


def import_module(name: str) -> ModuleType:
    """importlib.import_module; if torchvision misses operators, they are declared (not implemented) and it is tried once more."""
    try:
        return importlib.import_module(name)
    except RuntimeError as error:
        if "operator torchvision::" not in str(error) or _declared:
            raise
    for loaded in [key for key in sys.modules if key.split(".")[0] == "torchvision"]:
        del sys.modules[loaded]
    library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        try:
            library.define(operator + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        except RuntimeError:
            pass  # this torchvision brings it
    _declared.append(library)
    return importlib.import_module(name)
