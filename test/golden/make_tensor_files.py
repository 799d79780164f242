"""Writes test/golden/tensor_files: the same small tensors as the safetensors library, PyTorch and NumPy store them.

    python test/golden/make_tensor_files.py       (torch 2.13, safetensors, numpy)

`values.txt` lists each tensor as `name dtype shape elements...`, f8 as its bytes, for the test to compare with.
"""
import os

import numpy
import torch
from safetensors.torch import save_file

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensor_files")

TENSORS = {
    "f32": torch.tensor([[0.1, -2.5, 3e38], [1e-40, float("inf"), 0.0]]),
    "f16": torch.tensor([0.1, 65504.0, 6e-8], dtype=torch.float16),
    "bf16": torch.tensor([0.1, 3e38, -1.0], dtype=torch.bfloat16),
    "f64": torch.tensor([0.1, 1e300], dtype=torch.float64),
    "i8": torch.tensor([-128, 127], dtype=torch.int8),
    "u8": torch.tensor([0, 255, 7], dtype=torch.uint8),
    "i16": torch.tensor([-32768, 32767], dtype=torch.int16),
    "u16": torch.tensor([0, 65535], dtype=torch.uint16),
    "i32": torch.tensor([-2147483648, 2147483647], dtype=torch.int32),
    "i64": torch.tensor([[-9223372036854775808], [4611686018427387904]], dtype=torch.int64),
    "bool": torch.tensor([True, False, True]),
    "f8e5m2": torch.tensor([1.0, -57344.0], dtype=torch.float8_e5m2),
    "f8e4m3fn": torch.tensor([1.0, 448.0, -0.0625], dtype=torch.float8_e4m3fn),
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
}


def elements(tensor):
    if tensor.dtype in (torch.float8_e5m2, torch.float8_e4m3fn):
        tensor = tensor.view(torch.uint8)
    if tensor.dtype == torch.bool:
        tensor = tensor.to(torch.uint8)
    flat = tensor.to(torch.float64) if tensor.dtype.is_floating_point else tensor
    return [repr(v) for v in flat.reshape(-1).tolist()]


def main():
    os.makedirs(HERE, exist_ok=True)
    save_file(TENSORS, os.path.join(HERE, "all.safetensors"), metadata={"made_by": "safetensors"})
    with open(os.path.join(HERE, "values.txt"), "w") as file:
        for name, tensor in TENSORS.items():
            shape = "x".join(str(size) for size in tensor.shape) or "-"
            file.write(" ".join([name, str(tensor.dtype).split(".")[1], shape] + elements(tensor)) + "\n")
    for name in ("f32", "f16", "f64", "i8", "u8", "i16", "u16", "i32", "i64", "bool", "scalar", "empty"):
        numpy.save(os.path.join(HERE, name + ".npy"), TENSORS[name].numpy())
    numpy.save(os.path.join(HERE, "fortran_refused.npy"), numpy.asfortranarray(TENSORS["f32"].numpy()))
    numpy.save(os.path.join(HERE, "big_endian_refused.npy"), TENSORS["f32"].numpy().astype(">f4"))


main()
