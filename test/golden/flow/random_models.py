"""Random networks through every phase of torch.ao.quantization's FX mode and of qfx: the texts must be equal.

usage: random_models.py QFX_OPT [--first N] [--count N] [--custom]
A seed decides the network (nested blocks, shared modules, functional layers), the backend, PTQ or QAT and the qconfig mapping; with
--custom standalone and untraced blocks, quantized inputs and a mapping for convert as well. Seeds that PyTorch refuses are counted.
Differences that docs/Differences.md explains are not told from others: a sharing of B01, an operator that floats and codes are read from.
Exit code 3 if any differ.
"""
import argparse
import collections
import contextlib
import difflib
import io
import json
import os
import random
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

import blocks
import make
import torch_custom
from declare import Case

PIPELINES = {"fused": "fuse", "prepared": "fuse%s,prepare%s", "reference": "fuse%s,prepare%s,convert-to-reference",
             "converted": "fuse%s,prepare%s,convert-to-reference,lower"}
# Name -> (modules it needs, what it computes of module m, operands p and q).  Values are [2, 4, 2, 2].
STEPS = {
    "conv": (lambda: nn.Conv2d(4, 4, 1), lambda m, p, q: m(p)),
    "conv_bn": (lambda: nn.Sequential(nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4)), lambda m, p, q: m(p)),
    "conv_bn_relu": (lambda: nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.ReLU()), lambda m, p, q: m(p)),
    "conv_relu": (lambda: nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU()), lambda m, p, q: m(p)),
    "conv_relu_function": (lambda: nn.Conv2d(4, 4, 1), lambda m, p, q: F.relu(m(p))),
    "conv_torch_relu": (lambda: nn.Conv2d(4, 4, 1), lambda m, p, q: torch.relu(m(p))),
    "transposed": (lambda: nn.ConvTranspose2d(4, 4, 1), lambda m, p, q: m(p)),
    "transposed_bn": (lambda: nn.Sequential(nn.ConvTranspose2d(4, 4, 1), nn.BatchNorm2d(4)), lambda m, p, q: m(p)),
    "bn": (lambda: nn.BatchNorm2d(4), lambda m, p, q: m(p)),
    "bn_relu": (lambda: nn.BatchNorm2d(4), lambda m, p, q: F.relu(m(p))),
    "linear": (lambda: nn.Linear(2, 2), lambda m, p, q: m(p)),
    "linear_relu": (lambda: nn.Sequential(nn.Linear(2, 2), nn.ReLU()), lambda m, p, q: m(p)),
    "linear_leaky": (lambda: nn.Sequential(nn.Linear(2, 2), nn.LeakyReLU()), lambda m, p, q: m(p)),
    "linear_tanh": (lambda: nn.Sequential(nn.Linear(2, 2), nn.Tanh()), lambda m, p, q: m(p)),
    "relu": (nn.ReLU, lambda m, p, q: m(p)),
    "relu_function": (None, lambda m, p, q: F.relu(p)),
    "relu_method": (None, lambda m, p, q: p.relu()),
    "torch_relu": (None, lambda m, p, q: torch.relu(p)),
    "add": (None, lambda m, p, q: p + q),
    "torch_add": (None, lambda m, p, q: torch.add(p, q)),
    "add_relu": (nn.ReLU, lambda m, p, q: m(p + q)),
    "mul": (None, lambda m, p, q: p * q),
    "mul_relu": (None, lambda m, p, q: F.relu(p * q)),
    "sub": (None, lambda m, p, q: p - q),
    "matmul": (None, lambda m, p, q: torch.matmul(p, q)),
    "div": (None, lambda m, p, q: p / 2.0),
    "cat": (None, lambda m, p, q: torch.cat([p, q], 1)[:, 0:4]),
    "cat_conv": (lambda: nn.Conv2d(8, 4, 1), lambda m, p, q: m(torch.cat([p, q], 1))),
    "stack": (None, lambda m, p, q: torch.stack([p, q], 0).mean(0)),
    "chunk": (None, lambda m, p, q: torch.cat(p.chunk(2, 1), 1)),
    "max_pool": (lambda: nn.MaxPool2d(1), lambda m, p, q: m(p)),
    "avg_pool": (None, lambda m, p, q: F.adaptive_avg_pool2d(p, 2)),
    "sigmoid": (nn.Sigmoid, lambda m, p, q: m(p)),
    "sigmoid_method": (None, lambda m, p, q: p.sigmoid()),
    "tanh": (nn.Tanh, lambda m, p, q: m(p)),
    "hardsigmoid": (None, lambda m, p, q: F.hardsigmoid(p)),
    "softmax": (lambda: nn.Softmax(1), lambda m, p, q: m(p)),
    "hardswish": (nn.Hardswish, lambda m, p, q: m(p)),
    "hardtanh": (nn.Hardtanh, lambda m, p, q: m(p)),
    "dropout": (nn.Dropout, lambda m, p, q: m(p)),
    "layer_norm": (lambda: nn.LayerNorm(2), lambda m, p, q: m(p)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), lambda m, p, q: m(p)),
    "instance_norm": (lambda: nn.InstanceNorm2d(4, affine=True), lambda m, p, q: m(p)),
    "elu": (nn.ELU, lambda m, p, q: m(p)),
    "leaky_relu": (None, lambda m, p, q: F.leaky_relu(p, 0.2)),
    "prelu": (nn.PReLU, lambda m, p, q: m(p)),
    "exp": (None, lambda m, p, q: torch.exp(p)),
    "gelu": (None, lambda m, p, q: F.gelu(p)),
    "clamp": (None, lambda m, p, q: torch.clamp(p, 0, 6)),
    "flatten": (None, lambda m, p, q: torch.flatten(p, 1).reshape(p.size(0), 4, 2, 2)),
    "view": (None, lambda m, p, q: p.view(p.shape[0], -1).view(-1, 4, 2, 2)),
    "permute": (None, lambda m, p, q: p.permute(0, 1, 3, 2)),
    "transpose": (None, lambda m, p, q: torch.transpose(p, 2, 3)),
    "contiguous": (None, lambda m, p, q: p.contiguous()),
    "mean": (None, lambda m, p, q: p.mean((2, 3), keepdim=True).expand(p.shape)),
    "interpolate": (None, lambda m, p, q: F.interpolate(p, size=(2, 2))),
    "squeeze": (None, lambda m, p, q: p.unsqueeze(0).squeeze(0)),
    "masked_fill": (None, lambda m, p, q: p.masked_fill(q > 0, 0.5)),
    "identity": (nn.Identity, lambda m, p, q: m(p)),
    "pad": (None, lambda m, p, q: F.pad(p, (1, 0))[:, :, :, 1:]),
}
TYPES = ["torch.nn.Conv2d", "torch.nn.ReLU", "torch.nn.functional.relu", "operator.add", "torch.cat", "torch.nn.BatchNorm2d", "torch.nn.MaxPool2d",
         "torch.nn.Linear", "torch.nn.functional.linear", "reshape", "torch.flatten", "torch.nn.Sigmoid", "permute", "blocks.RandomBlock",
         "torch.add", "operator.mul"]


class RandomBlock(nn.Module):
    """A few steps; each works on earlier values, mostly on the last."""

    def __init__(self, rng, depth=0):
        super().__init__()
        self.shared = nn.Conv2d(4, 4, 1)
        self.steps, values = [], 1
        for i in range(rng.randint(2, 4 if depth else 10)):
            name = rng.choice(list(STEPS) + ["conv", "conv_bn_relu", "add_relu", "shared", "shared", "function"] + ["block"] * (0 if depth > 1 else 5))
            first = values - 1 if rng.random() < 0.6 else rng.randrange(values)
            self.steps.append((name, first, rng.randrange(values)))
            values += 1
            if name == "block":
                setattr(self, "block%d" % i, RandomBlock(rng, depth + 1))
            elif name == "function":
                setattr(self, "w%d" % i, nn.Parameter(torch.randn(2, 2)))
            elif name in STEPS and STEPS[name][0]:
                setattr(self, "step%d" % i, STEPS[name][0]())

    def forward(self, x):
        values = [x]
        for i, (name, a, b) in enumerate(self.steps):
            p, q = values[a], values[b]
            if name == "shared":
                values.append(self.shared(p))
            elif name == "block":
                values.append(getattr(self, "block%d" % i)(p))
            elif name == "function":
                y = F.linear(p, getattr(self, "w%d" % i))
                values.append(F.relu(y) if i % 2 else y)
            else:
                values.append(STEPS[name][1](getattr(self, "step%d" % i, None), p, q))
        return values[-1]


RandomBlock.__module__, blocks.RandomBlock = "blocks", RandomBlock


def custom_of(rng, net):
    """A custom config about the blocks of a network."""
    prepare, config = {}, {}
    for name in ("net." + n for n, _ in net.named_children() if n.startswith("block")):
        kind = rng.random()
        if kind < 0.5:
            inner = {key: [0] for key in ("input_quantized_idxs", "output_quantized_idxs") if rng.random() < 0.5}
            prepare.setdefault("standalone_module_name", []).append({"name": name, "prepare_custom_config": inner})
        elif kind < 0.7:
            prepare.setdefault("non_traceable_module_name", []).append(name)
    for key in ("input_quantized_idxs", "output_quantized_idxs"):
        if rng.random() < 0.2:
            prepare[key] = [0]
    steps = ["net." + n for n, _ in net.named_children() if n.startswith("step")]
    if steps and rng.random() < 0.4:
        config["convert"] = {"qconfig_mapping": {"module_name": {rng.choice(steps): None}}}
    return dict(config, prepare=prepare)


def case_of(seed, with_custom):
    rng = random.Random(seed)
    is_qat = rng.random() < 0.3
    backend = rng.choice(["x86", "x86", "x86", "fbgemm", "qnnpack", "onednn", "native"])
    plain = "default_qat_qconfig" if is_qat else "default_qconfig"
    defaults = {"extends": ("x86" if backend == "native" else backend) + ("_qat" if is_qat else "")}
    mapping = {"global": plain} if rng.random() < 0.4 else defaults
    if rng.random() < 0.5:
        mapping["object_type"] = {name: None for name in rng.sample(TYPES, rng.randint(1, 3))}
    net = RandomBlock(random.Random(seed + 7))
    names = ["net." + n for n, _ in net.named_modules() if n and "shared" not in n]
    if names and rng.random() < 0.4:
        qconfigs = [None, plain] if is_qat else [None, plain, "default_per_channel_qconfig", "default_dynamic_qconfig", "float16_static_qconfig"]
        mapping["module_name"] = {n: rng.choice(qconfigs) for n in rng.sample(names, min(2, len(names)))}

    def make_model(self):
        self.net = RandomBlock(random.Random(seed + 7))
        return lambda self, x: self.net(x)

    return Case("random-%d" % seed, make_model, {"x": torch.zeros(2, 4, 2, 2)}, "random", backend=backend, mapping=mapping,
                custom=custom_of(rng, net) if with_custom else None, mode="qat" if is_qat else "ptq", train=is_qat)


def differences(case, qfx_opt):
    """Lines of the phases that differ."""
    with contextlib.redirect_stdout(io.StringIO()):
        phases = make.Phases(case).texts
        model = make.model_text(case, case.build(), *torch_custom.leaves(case))
    lines, mode = [], "{mode=qat}" if case.mode == "qat" else ""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--backend=" + case.backend, "--allow-uncalibrated", "--allow-unmatched", "--emit=fx"]
        for name, content, flag in (("m.qfx", model, None), ("q.json", json.dumps(case.mapping), "--qconfig="),
                                    ("c.json", json.dumps(case.custom or {}), "--custom-config=")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(content)
            if flag:
                flags.append(flag + os.path.join(folder, name))
        for key, want in phases.items():
            phase, _, inner = key.partition(":")
            pipeline = PIPELINES[phase].replace("%s", mode)
            command = [qfx_opt, os.path.join(folder, "m.qfx"), "-p", pipeline, *flags]
            if inner:
                command.append("--emit-inner=" + make.inner_path(case, inner))
            result = subprocess.run(command, capture_output=True, text=True)
            got = result.stdout.rstrip("\n") if result.returncode == 0 else result.stderr
            lines += difflib.unified_diff(want.split("\n"), got.split("\n"), "torch, " + key, "qfx, " + key, lineterm="", n=0)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qfx_opt")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--custom", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    counts = collections.Counter()
    for seed in range(options.first, options.first + options.count):
        case = case_of(seed, options.custom)
        try:
            lines = differences(case, options.qfx_opt)
        except Exception as error:  # what PyTorch refuses
            counts["refused by PyTorch"] += 1
            print("seed %d: %s: %s" % (seed, type(error).__name__, str(error).split("\n")[0][:120]), flush=True)
            continue
        counts["different" if lines else "equal"] += 1
        if lines:
            print("seed %d: %s, %s, %s, %s" % (seed, case.backend, case.mode, case.mapping, case.custom))
            print("\n".join(lines[:30]), flush=True)
    print(", ".join("%d %s" % (count, what) for what, count in sorted(counts.items())))
    return 3 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
