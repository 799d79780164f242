"""qfx's own calibration against PyTorch's observers.

Float kernels of two implementations round differently, and a histogram search may turn such a last bit into another
bin: PyTorch itself moves when only its convolution library changes (control.json). So a scale that differs from
PyTorch's is looked into here: PyTorch's observers are given the activations that qfx computed, and must come to qfx's
statistics and parameters bit for bit.
"""
import os
import re
import subprocess

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file

OBSERVER = re.compile(
    r"^module (\S+) : torch\.ao\.quantization\.observer\.HistogramObserver\(reduce_range=True\)$", re.MULTILINE)
ALIAS = re.compile(r"^module (\S+) = (\S+)$", re.MULTILINE)
CALL = re.compile(r"^  %(\w+) = call_module\[([^\]]+)\]\(%(\w+)\)", re.MULTILINE)


def observed_nodes(text):
    """[(observer path, node that calls it, node it looks at)] of a prepared model's .qfx text, in graph order."""
    alias, observers = dict(ALIAS.findall(text)), set(OBSERVER.findall(text))
    calls = [(alias.get(target, target), node, source) for node, target, source in CALL.findall(text)]
    return [call for call in calls if call[0] in observers]


def batches(path):
    """The calibration file's batches, each {placeholder: array}, in their order."""
    found = {}
    with safe_open(path, "numpy") as file:
        for key in file.keys():
            number, _, name = key.partition(".")
            found.setdefault(int(number), {})[name] = file.get_tensor(key)
    return [found[k] for k in sorted(found)]


def observe(folder, tools, calls):
    """{observer path: PyTorch's HistogramObserver} that saw what qfx's observers see in `prepared.qfx`."""
    from torch.ao.quantization.observer import HistogramObserver

    observers = {path: HistogramObserver(reduce_range=True) for path, _, _ in calls}
    one, dump = (os.path.join(folder, n) for n in ("batch.safetensors", "activations.safetensors"))
    for batch in batches(os.path.join(folder, "model.calib.safetensors")):
        save_file({name: numpy.ascontiguousarray(array) for name, array in batch.items()}, one)
        tools.run(os.path.join(folder, "prepared.qfx"), "--inputs=" + one, "--dump-intermediates=" + dump)
        with safe_open(dump, "pt") as file:
            keys = set(file.keys())
            for path, node, _ in calls:
                observers[path](file.get_tensor(node if node in keys else "0." + node))
    for path in (one, dump):
        os.remove(path)
    return observers


def check(folder, tools, scales):
    """Names of observers whose statistics or parameters are not PyTorch's on the same activations, and their number.

    `scales` maps an observed node to qfx's (scale, zero point); observers without an own quantize node are absent.
    """
    with open(os.path.join(folder, "prepared.qfx")) as file:
        calls = observed_nodes(file.read())
    upstream, different = observe(folder, tools, calls), []
    with safe_open(os.path.join(folder, "calibrated.safetensors"), "numpy") as file:
        for path, observer in upstream.items():
            same = all(numpy.array_equal(file.get_tensor("%s.%s" % (path, key)).reshape(-1),
                                         getattr(observer, key).numpy().reshape(-1))
                       for key in ("histogram", "min_val", "max_val"))
            scale, zero_point = (value.item() for value in observer.calculate_qparams())
            for other, _, source in calls:
                if other == path and source in scales:
                    same = same and scales[source] == (scale, zero_point)
            if not same:
                different.append(path)
    return len(upstream), different


def isa_of(opt):
    """The instruction set that qfx uses on this machine, as `qfx-opt --list-isas` marks it."""
    lines = subprocess.run([opt, "--list-isas"], capture_output=True, text=True).stdout.splitlines()
    return next((line.split()[0] for line in lines if "used" in line), lines[-1].strip() if lines else "?")
