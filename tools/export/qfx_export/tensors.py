"""Tensors on disk: a safetensors file written whole or not at all, quantized tensors as codes with their parameters."""
from __future__ import annotations

import os
import tempfile
from typing import Dict, List, Mapping, Tuple

import torch
from safetensors.torch import save as serialize

from .text import DTYPE_NAMES

_CODE_QSCHEMES = {
    torch.per_tensor_affine: "per_tensor_affine",
    torch.per_tensor_symmetric: "per_tensor_symmetric",
    torch.per_channel_affine: "per_channel_affine",
    torch.per_channel_symmetric: "per_channel_symmetric",
    torch.per_channel_affine_float_qparams: "per_channel_affine_float_qparams",
}


def add_tensor(entries: Dict[str, torch.Tensor], metadata: Dict[str, str], key: str, tensor: torch.Tensor) -> None:
    """Puts `tensor` under `key`; a quantized one as codes plus `<key>:scales`, `<key>:zero_points` and a metadata line
    `<dtype> <qscheme> [axis=N]` (docs/IR.md, "Where things come from")."""
    tensor = tensor.detach().cpu()
    if not tensor.is_quantized:
        entries[key] = tensor.contiguous().clone()
        return
    scheme = tensor.qscheme()
    description = "%s %s" % (DTYPE_NAMES[tensor.dtype], _CODE_QSCHEMES[scheme])
    if scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        entries[key + ":scales"] = torch.tensor([tensor.q_scale()], dtype=torch.float64)
        entries[key + ":zero_points"] = torch.tensor([tensor.q_zero_point()], dtype=torch.int64)
    else:
        zero_points = tensor.q_per_channel_zero_points()
        is_float = scheme == torch.per_channel_affine_float_qparams
        entries[key + ":scales"] = tensor.q_per_channel_scales().to(torch.float64).contiguous().clone()
        entries[key + ":zero_points"] = zero_points.to(torch.float32 if is_float else torch.int64).contiguous().clone()
        description += " axis=%d" % tensor.q_per_channel_axis()
    if tensor.dtype in (torch.quint4x2, torch.quint2x4):  # packed bytes in a row
        description += " shape=" + "x".join(str(size) for size in tensor.shape)
    entries[key] = tensor.int_repr().contiguous().clone()
    metadata[key] = description


def write_together(files: Mapping[str, bytes]) -> None:
    """Writes several files so that a failure leaves all of them as they were: each goes to a temporary neighbour first
    and the renames come last."""
    umask = os.umask(0)
    os.umask(umask)
    temporaries: List[Tuple[str, str]] = []
    try:
        for path, data in files.items():
            if os.path.isdir(path):
                raise IsADirectoryError("'%s' is a folder" % path)
            handle, temporary = tempfile.mkstemp(prefix=".qfx-export-", dir=os.path.dirname(os.path.abspath(path)))
            temporaries.append((temporary, path))
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, 0o666 & ~umask)
        while temporaries:
            os.replace(*temporaries[0])
            temporaries.pop(0)
    finally:
        for temporary, _ in temporaries:
            os.unlink(temporary)


def safetensors_bytes(entries: Dict[str, torch.Tensor], metadata: Dict[str, str]) -> bytes:
    """The bytes of a safetensors file, the same for the same tensors."""
    return serialize(dict(sorted(entries.items())), metadata or None)
