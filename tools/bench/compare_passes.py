#!/usr/bin/env python3
"""Time of all passes without calibration in one run: qfx (load, fuse, prepare, convert, lower, save) against prepare_fx + convert_fx.

usage: compare_passes.py --qfx-opt=PATH [--threads=1] [--rounds=5] [NETWORK ...]
Needs torch with torchvision's definitions. qfx's figure is the total of `qfx-opt --timing`: reading the backend's configuration and the
float model from their files, all passes, the verifier after each, writing the quantized model; the whole process from start to exit is
shown beside it. PyTorch's figure is the two calls alone, on a model that is in memory. Both take the same calibrated statistics. Each round
times one after the other; a figure is the least over all rounds, a ratio is PyTorch / qfx (above 1: qfx is faster).
"""
import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tools", "export"), os.path.join(ROOT, "test", "parity")]


def time_qfx(opt, model, statistics, threads, folder):
    """Milliseconds from loading to saving, and of the process around them."""
    output = os.path.join(folder, "int8.qfx")
    started = time.perf_counter()
    done = subprocess.run([opt, model, "--backend=x86", "--fuse", "--prepare", "--load-observers=from=" + statistics, "--convert-to-reference",
                           "--lower", "--threads=%d" % threads, "--timing=json", "-q", "-o", output], check=True, capture_output=True, text=True)
    elapsed = (time.perf_counter() - started) * 1e3
    os.remove(output)
    os.remove(output.replace(".qfx", ".safetensors"))
    return json.loads(done.stderr)["total_ns"] / 1e6, elapsed


def time_torch(model, batch):
    """Milliseconds of prepare_fx and convert_fx; the calibrating run between them is not counted."""
    import torch
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    model = copy.deepcopy(model)
    started = time.perf_counter()
    prepared = prepare_fx(model, get_default_qconfig_mapping("x86"), (batch,))
    elapsed = time.perf_counter() - started
    with torch.no_grad():
        prepared(batch[:1])
    started = time.perf_counter()
    convert_fx(prepared)
    return (elapsed + time.perf_counter() - started) * 1e3


def compare(name, arguments, folder):
    import torch
    from upstream import load_subject

    import qfx_export

    torch.backends.quantized.engine = "x86"
    torch.set_num_threads(arguments.threads)
    model, calibration, _ = load_subject(name)
    path, calibrated = os.path.join(folder, name + ".qfx"), os.path.join(folder, name + ".calibrated")
    qfx_export.export(model, (calibration[0],), path, calibration=[(calibration[0][:1],)])
    subprocess.run([arguments.qfx_opt, path, "--backend=x86", "--fuse", "--prepare", "--calibrate=" + os.path.join(folder, name + ".calib.safetensors"),
                    "-q", "-o", calibrated + ".qfx"], check=True)
    qfx, upstream = [], []
    for _ in range(arguments.rounds):
        upstream.append(time_torch(model, calibration[0]))
        qfx += [time_qfx(arguments.qfx_opt, path, calibrated + ".safetensors", arguments.threads, folder) for _ in range(3)]
    total, process = min(times[0] for times in qfx), min(times[1] for times in qfx)
    print("%-14s threads %d  qfx %.0f ms (load, fuse, prepare, convert, lower, save; process %.0f ms)   prepare_fx + convert_fx %.0f ms   %.1fx faster" %
          (name, arguments.threads, total, process, min(upstream), min(upstream) / total), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=["resnet50"])
    parser.add_argument("--qfx-opt", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.networks:
            compare(name, arguments, folder)


if __name__ == "__main__":
    main()
