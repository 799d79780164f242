# Random networks through torch.ao.quantization.prepare_fx and through qfx-opt: the prepared graphs must be equal text.
#   python test/passes/random_graphs.py --qfx-opt=build/release/bin/qfx-opt --backend=x86 --first=0 --count=50
# Needs torch; the differences that QFX rules ask for (operands by keyword, backend_config 7.1) are not generated.
import argparse
import copy
import difflib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "export"))
import qfx_export  # noqa: E402
from torch.ao.quantization import backend_config, get_default_qconfig_mapping  # noqa: E402
from torch.ao.quantization.backend_config.x86 import get_x86_backend_config  # noqa: E402
from torch.ao.quantization.qconfig_mapping import _get_symmetric_qnnpack_qconfig_mapping  # noqa: E402
from torch.ao.quantization.quantize_fx import prepare_fx  # noqa: E402

warnings.filterwarnings("ignore")
BACKENDS = {
    "native": backend_config.get_native_backend_config,
    "fbgemm": backend_config.get_fbgemm_backend_config,
    "x86": get_x86_backend_config,
    "qnnpack": backend_config.get_qnnpack_backend_config,
    "onednn": backend_config.get_onednn_backend_config,
    "executorch": backend_config.get_executorch_backend_config,
}

# Name -> (modules it needs, what it computes of module m, operand p and operand q).  Values are [2, 4, 2, 2].
STEPS = {
    "conv": (lambda: nn.Conv2d(4, 4, 1), lambda m, p, q: m(p)),
    "conv_bn": (lambda: nn.Sequential(nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4)), lambda m, p, q: m(p)),
    "conv_bn_relu": (lambda: nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.ReLU()), lambda m, p, q: m(p)),
    "conv_frelu": (lambda: nn.Conv2d(4, 4, 1), lambda m, p, q: F.relu(m(p))),
    "bn": (lambda: nn.BatchNorm2d(4), lambda m, p, q: m(p)),
    "bn_frelu": (lambda: nn.BatchNorm2d(4), lambda m, p, q: F.relu(m(p))),
    "relu": (nn.ReLU, lambda m, p, q: m(p)),
    "relu_function": (None, lambda m, p, q: F.relu(p)),
    "relu_method": (None, lambda m, p, q: p.relu()),
    "torch_relu": (None, lambda m, p, q: torch.relu(p)),
    "add": (None, lambda m, p, q: p + q),
    "torch_add": (None, lambda m, p, q: torch.add(p, q)),
    "add_relu": (nn.ReLU, lambda m, p, q: m(p + q)),
    "add_frelu": (None, lambda m, p, q: F.relu(torch.add(p, q))),
    "mul": (None, lambda m, p, q: p * q),
    "sub": (None, lambda m, p, q: p - q),
    "add_scalar": (None, lambda m, p, q: p + 2),
    "mul_scalar": (None, lambda m, p, q: 0.5 * p),
    "rsub_scalar": (None, lambda m, p, q: 1 - p),
    "cat": (None, lambda m, p, q: torch.cat([p, q], 1)[:, 0:4]),
    "stack": (None, lambda m, p, q: torch.stack([p, q], 0).mean(0)),
    "chunk_cat": (None, lambda m, p, q: torch.cat(p.chunk(2, 1), 1)),
    "max_pool": (lambda: nn.MaxPool2d(1), lambda m, p, q: m(p)),
    "max_pool_function": (None, lambda m, p, q: F.max_pool2d(p, 1)),
    "avg_pool": (lambda: nn.AdaptiveAvgPool2d((2, 2)), lambda m, p, q: m(p)),
    "sigmoid": (nn.Sigmoid, lambda m, p, q: m(p)),
    "sigmoid_function": (None, lambda m, p, q: torch.sigmoid(p)),
    "sigmoid_method": (None, lambda m, p, q: p.sigmoid()),
    "hardswish": (nn.Hardswish, lambda m, p, q: m(p)),
    "hardtanh": (nn.Hardtanh, lambda m, p, q: m(p)),
    "dropout": (nn.Dropout, lambda m, p, q: m(p)),
    "layer_norm": (lambda: nn.LayerNorm(2), lambda m, p, q: m(p)),
    "elu": (nn.ELU, lambda m, p, q: m(p)),
    "leaky_relu": (nn.LeakyReLU, lambda m, p, q: m(p)),
    "exp": (None, lambda m, p, q: torch.exp(p)),
    "clamp": (None, lambda m, p, q: torch.clamp(p, 0, 6)),
    "flatten": (None, lambda m, p, q: torch.flatten(p, 1).reshape(p.size(0), 4, 2, 2)),
    "size": (None, lambda m, p, q: p.reshape(p.size(0), p.size(1), 2, 2)),
    "shape_view": (None, lambda m, p, q: p.view(p.shape[0], -1).view(-1, 4, 2, 2)),
    "permute": (None, lambda m, p, q: p.permute(0, 1, 3, 2)),
    "transpose": (None, lambda m, p, q: p.transpose(2, 3)),
    "contiguous": (None, lambda m, p, q: p.contiguous()),
    "mean": (None, lambda m, p, q: p.mean((2, 3), keepdim=True).expand(p.shape)),
    "linear": (lambda: nn.Linear(2, 2), lambda m, p, q: m(p)),
}


class RandomNet(nn.Module):
    def __init__(self, seed):
        super().__init__()
        rng = random.Random(seed)
        self.shared = nn.Conv2d(4, 4, 1)
        self.steps, values = [], 1
        for i in range(rng.randint(3, 14)):
            name = rng.choice(list(STEPS) + ["conv", "conv_bn", "shared", "shared", "conv_function"])
            first = values - 1 if rng.random() < 0.6 else rng.randrange(values)
            self.steps.append((name, first, rng.randrange(values)))
            values += 1
            if name in STEPS and STEPS[name][0]:
                setattr(self, f"step{i}", STEPS[name][0]())
            if name == "conv_function":
                setattr(self, f"step{i}", nn.Parameter(torch.randn(4, 4, 1, 1)))
        self.outputs = [rng.randrange(values) for _ in range(rng.randint(0, 2))] + [values - 1]

    def forward(self, x):
        values = [x]
        for i, (name, a, b) in enumerate(self.steps):
            p, q = values[a], values[b]
            if name == "shared":
                values.append(self.shared(p))
            elif name == "conv_function":
                values.append(F.conv2d(p, getattr(self, f"step{i}")))
            else:
                values.append(STEPS[name][1](getattr(self, f"step{i}", None), p, q))
        return tuple(values[k] for k in self.outputs)


def prepare_with_qfx(args, net, example, folder):
    path = folder / "net.qfx"
    qfx_export.export(copy.deepcopy(net), example, str(path))
    mapping = folder / "mapping.json"
    mapping.write_text(json.dumps({"extends": "symmetric_qnnpack" if args.backend == "executorch" else "x86"}))
    command = [args.qfx_opt, str(path), "-p", "fuse,prepare", f"--backend={args.backend}", f"--qconfig={mapping}", "--emit=fx"]
    run = subprocess.run(command, capture_output=True, text=True)
    return run.stdout.rstrip("\n") if run.returncode == 0 else run.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--qfx-opt", required=True)
    parser.add_argument("--backend", default="x86", choices=sorted(BACKENDS))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    args = parser.parse_args()
    example = (torch.randn(2, 4, 2, 2),)
    different = 0
    for seed in range(args.first, args.first + args.count):
        torch.manual_seed(seed)
        net = RandomNet(seed).eval()
        mapping = _get_symmetric_qnnpack_qconfig_mapping() if args.backend == "executorch" else get_default_qconfig_mapping("x86")
        want = str(prepare_fx(copy.deepcopy(net), mapping, example, backend_config=BACKENDS[args.backend]()).graph)
        with tempfile.TemporaryDirectory() as folder:
            got = prepare_with_qfx(args, net, example, pathlib.Path(folder))
        if got != want:
            different += 1
            print(f"seed {seed}: {[step[0] for step in net.steps]}")
            print("\n".join(difflib.unified_diff(want.split("\n"), got.split("\n"), "torch", "qfx", lineterm="", n=1)))
    print(f"{args.count} graphs on {args.backend}, {different} differ")
    return 3 if different else 0


if __name__ == "__main__":
    sys.exit(main())
