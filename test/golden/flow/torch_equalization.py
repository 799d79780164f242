"""Upstream's input-weight equalization: configurations, and what is mended of it for numbers."""
import copy

import numpy as np
import torch
from torch.ao.quantization import QConfigMapping
from torch.ao.quantization.fx import _equalize

from configuration import fill


def observer_of(value):
    if isinstance(value, str):
        return getattr(_equalize, value)
    keywords = dict(value)
    cls = getattr(_equalize, keywords.pop("class"))
    return cls.with_args(**{k: getattr(torch, v) if k in ("dtype", "qscheme") else v for k, v in keywords.items()})


def qconfig_of(value):
    if value is None or isinstance(value, str):
        return value and getattr(_equalize, value)
    return _equalize.EqualizationQConfig(observer_of(value["input_activation"]), observer_of(value["weight"]))


def equalization_of(value):
    """The QConfigMapping that the JSON of an equalization config stands for; None for None."""
    return None if value is None else fill(QConfigMapping(), value, qconfig_of)


class _ExactRoots:
    """torch with correctly rounded square roots: MKL's are a last bit off now and then, which moves codes at ties."""

    def __getattr__(self, name):
        return getattr(torch, name)

    @staticmethod
    def sqrt(tensor):
        return torch.from_numpy(np.sqrt(tensor.numpy()))


_remove_node = _equalize.remove_node


def _remove_and_scale(model, node, previous):
    modules = dict(model.named_modules(remove_duplicate=False))
    if isinstance(modules.get(str(node.target)), _equalize._InputEqualizationObserver):
        _equalize.scale_input_observer(node, modules)
    _remove_node(model, node, previous)


_scale_input_observer = _equalize.scale_input_observer


def _scale_own_observer(node, modules):
    """QFX (docs/Differences.md): an observer that other values share is copied before it is scaled."""
    name = str(node.args[0].target)
    if any(other is modules[name] for path, other in modules.items() if path != name):
        modules[name] = copy.deepcopy(modules[name])
    _scale_input_observer(node, modules)


def mend():
    """Exact square roots; and QFX (docs/Differences.md): upstream forgets to scale the range of the observer between two connected layers, whose values it scales; its own
    function for that, scale_input_observer, is called there too (where a mul is inserted it has been called: the second call changes nothing)."""
    _equalize.remove_node = _remove_and_scale
    _equalize.scale_input_observer = _scale_own_observer
    _equalize.torch = _ExactRoots()
