"""LSTM against PyTorch, float and dynamic int8: processor time of a run, one thread each, all in one session.

    python tools/bench/compare_lstm.py --build build [--work DIR]      # needs torch and safetensors

Prints milliseconds and ratios per shape (steps, batch, features, layers); PyTorch's int8 model is quantize_dynamic's, engine x86.
"""
import argparse
import copy
import os
import resource
import subprocess
import sys
import time
import warnings

import torch
from safetensors.torch import save_file

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "export"))
import qfx_export  # noqa: E402

SHAPES = [(64, 8, 256, 2), (128, 1, 128, 1)]


class Lstm(torch.nn.Module):
    def __init__(self, features, layers):
        super().__init__()
        self.lstm = torch.nn.LSTM(features, features, layers)

    def forward(self, x):
        return self.lstm(x)[0]


def time_ours(run, model, inputs):
    def seconds(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([run, model, "--inputs=" + inputs, "--benchmark", "--repeat=%d" % repeats, "--print=none"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min((seconds(22) - seconds(2)) / 20 for _ in range(3)) * 1000


def time_torch(model, x):
    def seconds():
        start = time.process_time()
        for _ in range(20):
            model(x)
        return (time.process_time() - start) / 20

    model(x)
    return min(seconds() for _ in range(3)) * 1000


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--work", default="lstm-work")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    at = lambda name: os.path.join(options.work, name)
    tool = lambda name: os.path.join(options.build, "bin", name)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    torch.backends.quantized.engine = "x86"
    print("| steps, batch, features, layers | | qfx, ms | PyTorch, ms | PyTorch / qfx |\n|---|---|---|---|---|")
    for shape in SHAPES:
        steps, batch, features, layers = shape
        model, x = Lstm(features, layers).eval(), torch.randn(steps, batch, features)
        qfx_export.export(model, (x,), at("float.qfx"), dynamic_batch=False)
        save_file({"x": x}, at("x.safetensors"))
        subprocess.run([tool("qfx-opt"), at("float.qfx"), "--quantize=dynamic", "-o", at("int8.qfx")], check=True)
        models = {"float": model, "int8": torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {torch.nn.LSTM})}
        with torch.no_grad():
            for name, theirs in models.items():
                mine, other = time_ours(tool("qfx-run"), at(name + ".qfx"), at("x.safetensors")), time_torch(theirs, x)
                print("| %d, %d, %d, %d | %s | %.2f | %.2f | %.2f |" % (*shape, name, mine, other, other / mine))


main()
