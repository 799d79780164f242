#!/usr/bin/env python3
"""Speed of qfx and of torch.ao.quantization in one run, as ratios: int8 and float networks (the passes: compare_passes.py).

usage: compare_torch.py --qfx-opt=PATH --qfx-run=PATH [--threads=1] [--rounds=3] [NETWORK ...]
Needs torch with torchvision's definitions. Each round times qfx and PyTorch one after the other at batch 1; a figure is the least over
all rounds, a ratio is qfx / PyTorch (below 1: qfx is faster). Ratios survive a noisy machine, absolute times do not.
"""
import argparse
import copy
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tools", "export"), os.path.join(ROOT, "test", "parity")]
NETWORKS = ("resnet50", "resnet18", "mobilenet_v2")


def time_call(call, seconds=1.0, least=5):
    """Least time of `call` in milliseconds, after one warm-up."""
    call()
    times, started = [], time.perf_counter()
    while len(times) < least or time.perf_counter() - started < seconds:
        before = time.perf_counter()
        call()
        times.append((time.perf_counter() - before) * 1e3)
    return min(times)


class Qfx:
    def __init__(self, opt, run, threads):
        self.opt, self.run, self.threads = opt, run, threads

    def quantize(self, model, calibration, output):
        subprocess.run([self.opt, model, "--quantize=static", "--backend=x86", "--calibrate=" + calibration, "-q", "-o", output], check=True)

    def time(self, model):
        """(least milliseconds of one run, instruction set, peak memory in MB, weights + arena in MB)."""
        done = subprocess.run([self.run, model, "--benchmark", "--print=none", "--threads=%d" % self.threads], check=True,
                              capture_output=True, text=True)
        found = re.search(r"([\d.]+) ms min .* isa (\w+)\s+arena ([\d.]+) MB\s+packed weights ([\d.]+) MB\s+peak memory ([\d.]+) MB", done.stdout)
        least, isa, arena, weights, peak = found.groups()
        return float(least), isa, float(peak), float(arena) + float(weights)


def compare(name, qfx, rounds, folder):
    import torch
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx
    from upstream import load_subject

    import qfx_export

    torch.backends.quantized.engine = "x86"
    torch.set_num_threads(qfx.threads)
    model, calibration, _ = load_subject(name)
    calibration = calibration[:2]
    path, int8 = os.path.join(folder, name + ".qfx"), os.path.join(folder, name + ".int8.qfx")
    qfx_export.export(model, (calibration[0],), path, calibration=[(batch,) for batch in calibration])
    qfx.quantize(path, os.path.join(folder, name + ".calib.safetensors"), int8)

    prepared = prepare_fx(copy.deepcopy(model), get_default_qconfig_mapping("x86"), (calibration[0],))
    with torch.no_grad():
        for batch in calibration:
            prepared(batch)
    converted = convert_fx(prepared)

    image = calibration[0][:1]
    least = {"qfx int8": [], "qfx float": [], "torch int8": [], "torch float": []}
    with torch.no_grad():
        for _ in range(rounds):
            int8_time, isa, peak, planned = qfx.time(int8)
            least["qfx int8"].append(int8_time)
            least["torch int8"].append(time_call(lambda: converted(image)))
            least["qfx float"].append(qfx.time(path)[0])
            least["torch float"].append(time_call(lambda: model(image)))
    best = {key: min(values) for key, values in least.items()}
    print("%-14s isa %s  int8 %.2f ms, torch %.2f ms, ratio %.2f   float %.2f ms, torch %.2f ms, ratio %.2f   int8 is %.2fx our float   "
          "peak memory %.1f MB, weights + arena %.1f MB" % (
              name, isa, best["qfx int8"], best["torch int8"], best["qfx int8"] / best["torch int8"], best["qfx float"], best["torch float"],
              best["qfx float"] / best["torch float"], best["qfx float"] / best["qfx int8"], peak, planned),
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--qfx-opt", required=True)
    parser.add_argument("--qfx-run", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    qfx = Qfx(arguments.qfx_opt, arguments.qfx_run, arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.networks:
            compare(name, qfx, arguments.rounds, folder)


if __name__ == "__main__":
    main()
