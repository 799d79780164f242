"""A PyTorch state dict as a safetensors file under its own keys; what is no tensor there is taken apart (passes/StateDict.h says how)."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple

import torch

from .errors import ExportError
from .quantized import is_packed, unpack
from .tensors import add_tensor, safetensors_bytes, write_together


def flatten_state_dict(state: Mapping[str, Any]) -> Tuple[Dict[str, torch.Tensor], Dict[str, str]]:
    """(tensors, metadata) of a state dict: tuples become `<key>.0`, `<key>.1`, packed objects too (with the int16 `<key>.config` of a
    convolution; a recurrent layer's are `<key>.0` to `<key>.3`), dtypes and qschemes metadata. Raises ExportError for any other value."""
    tensors: Dict[str, torch.Tensor] = {}
    metadata: Dict[str, str] = {}
    for key, value in state.items():
        if isinstance(value, torch.Tensor):
            add_tensor(tensors, metadata, key, value)
        elif isinstance(value, (torch.dtype, torch.qscheme)):
            metadata[key] = str(value)[len("torch."):]
        elif value is None and key.endswith("weight_qscheme"):
            metadata[key] = "None"
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
        elif is_cell(value):
            for index, tensor in enumerate(_cell_tensors(value)):
                add_tensor(tensors, metadata, "%s.%d" % (key, index), tensor)
        elif value is not None:
            raise ExportError("state dict entry '%s' is a %s, which has no form in a safetensors file" % (key, type(value).__name__))
    return tensors, metadata


def is_cell(value: Any) -> bool:
    """One direction of one layer of a dynamic LSTM or GRU: its two products and biases, packed together."""
    return isinstance(value, torch.ScriptObject) and "CellParamsBase" in str(value._type())


def _cell_tensors(cell: Any) -> List[torch.Tensor]:
    """[w_ih, w_hh, b_ih, b_hh]."""
    kind, _, _, _, products = cell.__getstate__()[0]
    users = ["linear_dynamic_fp16" if "fp16" in kind else "linear_dynamic"]
    parts = [unpack(product, users, "a recurrent layer").tensors for product in products]
    return [part[i][2] for i in range(2) for part in parts if i < len(part)]


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
