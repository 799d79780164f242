#!/usr/bin/env python3
"""Observers of qfx and of torch.ao.quantization in one run, as ratios (above 1: qfx is faster).

usage: compare_observers.py --qfx-bench=PATH [--qfx-opt=PATH --network=resnet50 --images=32] [--rounds=3]
Each round times qfx and PyTorch one after the other on one thread; a figure is the least over all rounds. Targets: histogram update and
parameters on ten batches of a million values at least 5, per channel at least 5, minimum and maximum at least 0.8 of a plain read.
With --qfx-opt: calibration of a network over `images` images against PyTorch's prepared model (target 2).
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def least(call, seconds=1.0):
    call()
    times, started = [], time.perf_counter()
    while not times or time.perf_counter() - started < seconds:
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return min(times) * 1e3


def qfx_times(bench):
    out = subprocess.run([bench, "observers"], check=True, capture_output=True, text=True).stdout
    return {name: float(time) for name, time in re.findall(r"^(\S+) .* ([\d.]+) ms min", out, re.M)}


def torch_times():
    import torch
    from torch.ao.quantization import observer

    torch.manual_seed(0)
    batches = [torch.randn(1_000_000) for _ in range(10)]
    weight = torch.randn(512, 512, 3, 3)

    def histogram():
        seen = observer.HistogramObserver()
        for batch in batches:
            seen(batch)
        seen.calculate_qparams()

    min_max, per_channel = observer.MinMaxObserver(), observer.PerChannelMinMaxObserver()
    return {"histogram-10x1M": least(histogram), "minmax-1M": least(lambda: min_max(batches[0])), "per-channel-512x512x3x3": least(lambda: per_channel(weight))}


def compare_calibration(opt, name, images, rounds):
    import torch
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import prepare_fx

    sys.path[:0] = [os.path.join(ROOT, "tools", "export"), os.path.join(ROOT, "test", "parity")]
    import qfx_export
    from upstream import load_subject

    model, calibration, _ = load_subject(name)
    pixels = torch.cat(list(calibration))
    pixels = pixels.repeat((images + len(pixels) - 1) // len(pixels), 1, 1, 1)[:images]
    batches = [pixels[i:i + 1] for i in range(images)]
    with tempfile.TemporaryDirectory() as folder:
        path, prepared_path = os.path.join(folder, "m.qfx"), os.path.join(folder, "prepared.qfx")
        qfx_export.export(model, (batches[0],), path, calibration=[(batch,) for batch in batches])
        subprocess.run([opt, path, "--fuse", "--prepare", "--backend=x86", "-q", "-o", prepared_path], check=True)
        ours, theirs = [], []
        for _ in range(rounds):
            done = subprocess.run([opt, prepared_path, "--calibrate=" + os.path.join(folder, "m.calib.safetensors"), "--timing=json", "-q", "-o",
                                   os.path.join(folder, "calibrated.qfx")], check=True, capture_output=True, text=True)
            timing = json.loads(done.stderr.strip().splitlines()[-1])
            ours.append(sum(p["time_ns"] for p in timing["passes"] if p["pass"] == "calibrate") / 1e6)
            prepared = prepare_fx(model, get_default_qconfig_mapping("x86"), (batches[0],))
            before = time.perf_counter()
            with torch.no_grad():
                for batch in batches:
                    prepared(batch)
            theirs.append((time.perf_counter() - before) * 1e3)
    print("calibrate %s, %d images: qfx %.0f ms, torch %.0f ms, ratio %.2f" % (name, images, min(ours), min(theirs), min(theirs) / min(ours)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qfx-bench", required=True)
    parser.add_argument("--qfx-opt")
    parser.add_argument("--network", default="resnet50")
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    ours, theirs = {}, {}
    for _ in range(arguments.rounds):
        for into, times in ((ours, qfx_times(arguments.qfx_bench)), (theirs, torch_times())):
            for key, value in times.items():
                into[key] = min(value, into.get(key, value))
    for key, value in theirs.items():
        print("%-24s qfx %.3f ms, torch %.3f ms, ratio %.2f" % (key, ours[key], value, value / ours[key]))
    print("%-24s %.3f ms, min-max reaches %.2f of it" % ("read-1M", ours["read-1M"], ours["read-1M"] / ours["minmax-1M"]))
    if arguments.qfx_opt:
        compare_calibration(arguments.qfx_opt, arguments.network, arguments.images, arguments.rounds)


if __name__ == "__main__":
    main()
