"""What recordings hold and how the tools are called on them."""
import os
import subprocess
from typing import NamedTuple, Optional

import numpy
from safetensors import safe_open


class Quantized(NamedTuple):
    """A tensor from a safetensors file; scale is None for one that is not quantized."""

    codes: numpy.ndarray
    scale: Optional[float]
    zero_point: int
    dtype: str


def read_tensors(path):
    """{name: Quantized}; per-tensor parameters under `<key>:scales` and `<key>:zero_points` (docs/IR.md)."""
    with safe_open(path, "numpy") as file:
        metadata = file.metadata() or {}
        arrays = {key: file.get_tensor(key) for key in file.keys()}
    values = {}
    for key, array in arrays.items():
        if key.endswith((":scales", ":zero_points")):
            continue
        if key in metadata and key + ":scales" in arrays:
            values[key] = Quantized(array, float(arrays[key + ":scales"].reshape(-1)[0]),
                                    int(arrays[key + ":zero_points"].reshape(-1)[0]), metadata[key].split()[0])
        else:
            values[key] = Quantized(array, None, 0, "")
    return values


class Tools:
    """qfx-opt and qfx-run as functions; a failure raises with what the tool said."""

    def __init__(self, opt, run):
        self.paths = {"opt": opt, "run": run}

    def call(self, tool, *arguments):
        done = subprocess.run([self.paths[tool], *arguments], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError("qfx-%s %s exits with %d: %s" % (
                tool, " ".join(arguments), done.returncode, done.stderr.strip()[:2000]))
        return done.stdout

    def opt(self, *arguments):
        return self.call("opt", *arguments)

    def run(self, *arguments):
        return self.call("run", *arguments)


def read(folder, name):
    with open(os.path.join(folder, name)) as file:
        return file.read()
