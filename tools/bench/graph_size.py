#!/usr/bin/env python3
"""How the phases grow with the graph: residual networks of 1,000, 5,000 and 20,000 nodes through fuse, prepare, convert and lower.

usage: graph_size.py --qfx-opt=PATH [--flat] [NODES ...]     prints milliseconds of each pass, and microseconds per node of the whole
A block is conv, bn, relu, conv, bn, add, relu: 7 nodes. With --flat all modules are children of the root, otherwise each block is one.
Observers see no data (--allow-uncalibrated): only the graph's size counts. Needs nothing but Python.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile


def write_model(path, nodes, flat):
    """A chain of blocks of about `nodes` nodes on [1, 2, 1, 1]."""
    modules, calls, previous = [], [], "%x"

    def add(name, text):
        modules.append("module %s : %s" % (name, text))
        return name

    for block in range(max(1, nodes // 7)):
        def place(part):
            return ("b%d_%s" if flat else "b%d.%s") % (block, part)

        def call(part, operand):
            value = "%%b%d_%s" % (block, part)
            calls.append("  %s = call_module[%s](%s)" % (value, place(part), operand))
            return value

        if not flat:
            add("b%d" % block, "torch.nn.Module()")
        entry = previous
        for k in (1, 2):
            conv = add(place("conv%d" % k), "torch.nn.Conv2d(in_channels=2, out_channels=2, kernel_size=(1, 1), bias=False)")
            modules.append("parameter %s.weight : f32[2, 2, 1, 1] = random(seed=%d)" % (conv, 2 * block + k))
            bn = add(place("bn%d" % k), "torch.nn.BatchNorm2d(num_features=2)")
            modules += ["parameter %s.%s : f32[2] = %s" % (bn, n, v) for n, v in (("weight", "1.0"), ("bias", "0.5"))]
            modules += ["buffer %s.running_%s : f32[2] = 1.0" % (bn, n) for n in ("mean", "var")]
            previous = call("bn%d" % k, call("conv%d" % k, previous))
            if k == 1:
                add(place("relu1"), "torch.nn.ReLU()")
                previous = call("relu1", previous)
        total = "%%b%d_add" % block
        calls.append("  %s = call_function[operator.add](%s, %s)" % (total, previous, entry))
        add(place("relu2"), "torch.nn.ReLU()")
        previous = call("relu2", total)
    with open(path, "w") as file:
        file.write("qfx 1\n%s\n\ngraph(%%x : f32[1, 2, 1, 1]) {\n%s\n  return %s\n}\n" % ("\n".join(modules), "\n".join(calls), previous))


def measure(opt, nodes, flat, folder):
    """{pass: milliseconds} of one run."""
    path = os.path.join(folder, "model.qfx")
    write_model(path, nodes, flat)
    done = subprocess.run([opt, path, "-p", "fuse,prepare,convert-to-reference,lower", "--backend=x86", "--allow-uncalibrated", "--timing=json",
                           "-q", "-o", os.path.join(folder, "out.qfx")], capture_output=True, text=True)
    if done.returncode:
        sys.exit("graph_size: qfx-opt failed on %d nodes:\n%s" % (nodes, done.stderr[-2000:]))
    line = next(line for line in reversed(done.stderr.splitlines()) if line.startswith("{"))
    return {p["pass"]: (p["time_ns"] + p["verify_ns"]) / 1e6 for p in json.loads(line)["passes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", nargs="*", type=int, default=[1000, 5000, 20000])
    parser.add_argument("--qfx-opt", required=True)
    parser.add_argument("--flat", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for nodes in options.nodes:
            passes = measure(options.qfx_opt, nodes, options.flat, folder)
            total = sum(passes.values())
            print("%6d nodes  %s  total %.0f ms, %.1f us per node" % (
                nodes, "  ".join("%s %.0f" % item for item in passes.items()), total, 1e3 * total / nodes), flush=True)


if __name__ == "__main__":
    main()
