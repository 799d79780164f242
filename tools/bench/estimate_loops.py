#!/usr/bin/env python3
"""What llvm-mca's model of a processor says of the innermost VNNI loops, on machines that cannot run them.

usage: estimate_loops.py [BUILD=build] [--llvm=/usr/lib/llvm-14/bin]
Takes the loop with the most vpdpbusd from each compiled GEMM and prints vpdpbusd per cycle and the share of the two per cycle that all
modelled processors can start.  A model, no measurement: data is taken to be in the first cache, and nothing around the loop is counted.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

KERNELS = (("GemmAvx512Vnni", "icelake-server"), ("GemmAvx512Vnni", "sapphirerapids"), ("GemmAvxVnni", "alderlake"))
ITERATIONS = 200
PEAK = 2.0  # vpdpbusd that start in a cycle


def find_loop(disassembly):
    """The instructions of the straight loop with the most vpdpbusd."""
    best = []
    for function in disassembly.split("\n\n"):
        lines = re.findall(r"^\s*([0-9a-f]+):\s+(.*)$", function, re.MULTILINE)
        places = {address: i for i, (address, _) in enumerate(lines)}
        for end, (_, text) in enumerate(lines):
            jump = re.match(r"j\w+\s+(?:0x)?([0-9a-f]+)", text)
            begin = places.get(jump.group(1)) if jump else None
            if begin is None or begin >= end:
                continue
            loop = [re.sub(r"[#<].*", "", line) for _, line in lines[begin:end]]
            if not any(line.startswith("j") for line in loop) and count_dots(loop) > count_dots(best):
                best = loop
    return best


def count_dots(loop):
    return sum("vpdpbusd" in line for line in loop)


def estimate(kernel, processor, arguments):
    objects = glob.glob(os.path.join(arguments.build, "kernels", "**", kernel + ".cpp.o"), recursive=True)
    if not objects:
        sys.exit("estimate_loops.py: no %s.cpp.o below %s: build for x86-64 first" % (kernel, arguments.build))
    def run(tool, *args):
        return subprocess.run([os.path.join(arguments.llvm, tool), *args], check=True, capture_output=True, text=True).stdout

    loop = find_loop(run("llvm-objdump", "-d", "--no-show-raw-insn", objects[0]))
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write("\n".join(loop) + "\n")
        file.flush()
        report = run("llvm-mca", "-mcpu=" + processor, "-iterations=%d" % ITERATIONS, file.name)
    rate = count_dots(loop) * ITERATIONS / int(re.search(r"Total Cycles:\s+(\d+)", report).group(1))
    print("%-15s %-15s %d vpdpbusd among %d instructions   %.2f per cycle   %.2f of peak" %
          (kernel, processor, count_dots(loop), len(loop) + 1, rate, rate / PEAK))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--llvm", default="/usr/lib/llvm-14/bin")
    arguments = parser.parse_args()
    for kernel, processor in KERNELS:
        estimate(kernel, processor, arguments)


if __name__ == "__main__":
    main()
