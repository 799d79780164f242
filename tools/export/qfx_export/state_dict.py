"""A PyTorch state dict as a safetensors file under its own keys; what is no tensor there is taken apart (passes/StateDict.h says how)."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Tuple

import torch

from .errors import ExportError
from .quantized import is_packed, unpack
from .tensors import add_tensor, safetensors_bytes, write_together


def flatten_state_dict(state: Mapping[str, Any]) -> Tuple[Dict[str, torch.Tensor], Dict[str, str]]:
    """(tensors, metadata) of a state dict: tuples become `<key>.0`, `<key>.1`, packed objects too (with the int16 `<key>.config` of a
    convolution), dtypes metadata. Raises ExportError for any other value."""
    tensors: Dict[str, torch.Tensor] = {}
    metadata: Dict[str, str] = {}
    for key, value in state.items():
        if isinstance(value, torch.Tensor):
            add_tensor(tensors, metadata, key, value)
        elif isinstance(value, torch.dtype):
            metadata[key] = str(value)[len("torch."):]
        elif isinstance(value, tuple):
            for index, element in enumerate(value):
                if element is not None:
                    add_tensor(tensors, metadata, "%s.%d" % (key, index), element)
        elif is_packed(value):
            packed = unpack(value, [], "state dict entry '%s'" % key)
            for index, (_, _, tensor) in enumerate(packed.tensors):
                add_tensor(tensors, metadata, "%s.%d" % (key, index), tensor)
            if packed.arguments:
                add_tensor(tensors, metadata, key + ".config", _config(value))
        elif value is not None:
            raise ExportError("state dict entry '%s' is a %s, which has no form in a safetensors file" % (key, type(value).__name__))
    return tensors, metadata


def _config(packed: Any) -> torch.Tensor:
    """operators 5.4: [spatial dimensions, stride, padding, dilation, output padding, groups, flags]."""
    stride = list(packed.stride())
    numbers = [len(stride)] + stride
    for values in (packed.padding(), packed.dilation(), packed.output_padding()):
        numbers += list(values)
    return torch.tensor(numbers + [packed.groups(), 1 if packed.transpose() else 0], dtype=torch.int16)


def save_state_dict(model: torch.nn.Module, path: str) -> None:
    """Writes `model.state_dict()` as the safetensors file `path`, whole or not at all."""
    tensors, metadata = flatten_state_dict(model.state_dict())
    write_together({path: safetensors_bytes(tensors, metadata)})
