"""Compares qfx with PyTorch's recordings (record.py): graph texts, quantization parameters, integers of every quantized
operator, outputs. Writes a table and exits with 3 where something differs that should not."""
import argparse
import json
import os
import re
import subprocess
import sys
from typing import NamedTuple, Optional

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file

import replay
import texts

HERE = os.path.dirname(os.path.abspath(__file__))
PHASES = ("float", "fused", "prepared", "reference", "converted")
FLOAT_TOLERANCE = 1e-4  # of the largest output
SCALE_TOLERANCE = 5e-7  # six digits
STEP_SHARE = 0.99
ONE_STEP_SHARE = 1e-3  # of an operator's codes, level T1: a tie within 1e-4 of a step happens to 2e-4 of random values


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


def check_texts(network, folder, tools, allowed):
    """{phase: list of differing lines}, and reasons of allowed ones; leaves reference.qfx and int8.qfx in the folder."""
    model, calibration = (os.path.join(folder, n) for n in ("model.qfx", "model.calib.safetensors"))
    reference, int8 = (os.path.join(folder, n) for n in ("reference.qfx", "int8.qfx"))
    tools.opt(model, "--fuse", "--prepare", "--backend=x86", "--calibrate=" + calibration, "--convert-to-reference",
              "-o", reference)
    tools.opt(model, "--quantize=static", "--backend=x86", "--calibrate=" + calibration, "-o", int8)
    found = {
        "float": tools.opt(model, "--emit=fx"),
        "fused": tools.opt(model, "--fuse", "--backend=x86", "--emit=fx"),
        "prepared": tools.opt(model, "--fuse", "--prepare", "--backend=x86", "--emit=fx"),
        "reference": tools.opt(reference, "--emit=fx"),
        "converted": tools.opt(int8, "--emit=fx"),
    }
    differences, reasons = {}, []
    for phase in PHASES:
        failures, allowed_here = texts.compare(network, phase, read(folder, phase + ".txt"), found[phase], allowed)
        differences[phase] = failures
        reasons += [r for r in allowed_here if r not in reasons]
    return differences, reasons


def stored_values(folder):
    """{path: flat array} of reference.qfx: the weights file, and numbers that stand inline."""
    values = {}
    for match in re.finditer(r"^(?:buffer|parameter) ([\w.]+) : \w+\[[^\]]*\](?:\{[^}]*\})? = (.+)$",
                             read(folder, "reference.qfx"), re.MULTILINE):
        numbers = re.findall(r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)", match.group(2))
        if not match.group(2).startswith("random"):
            values[match.group(1)] = numpy.array([float(n) for n in numbers])
    path = os.path.join(folder, "reference.safetensors")
    if os.path.exists(path):
        with safe_open(path, "numpy") as file:
            for key in file.keys():
                if key.endswith(("scale", "zero_point")) or re.search(r"_(scale|zero_point)_\d+$", key):
                    values[key] = file.get_tensor(key).reshape(-1).astype(numpy.float64)
    return values


def check_qparams(folder):
    """(scales compared, scales that differ in six digits, zero points that differ, names of the missing)."""
    expected = json.loads(read(folder, "qparams.json"))
    targets = dict(re.findall(r"%(\w+) : \[num_users=\d+\] = get_attr\[target=([\w.]+)\]", read(folder, "reference.txt")))
    arguments = re.findall(r"%(\w+) : \[num_users=\d+\] = call_function\[target=torch.quantize_per_tensor\]"
                           r"\(args = \(%\w+, %(\w+), %(\w+),", read(folder, "reference.txt"))
    pairs = [(targets[s], targets[z], expected["activations"][node]) for node, s, z in arguments]
    pairs += [(p + ".weight_scale", p + ".weight_zero_point", v) for p, v in expected["weights"].items()]
    values, count, bad_scales, bad_zero_points, missing = stored_values(folder), 0, 0, 0, []
    for scale_name, zero_point_name, value in pairs:
        if scale_name not in values or zero_point_name not in values:
            missing.append(scale_name)
            continue
        scale, zero_point = numpy.atleast_1d(value["scale"]), numpy.atleast_1d(value["zero_point"])
        found_scale, found_zero_point = values[scale_name], values[zero_point_name]
        count += scale.size
        if found_scale.size != scale.size or found_zero_point.size != zero_point.size:
            missing.append(scale_name)
            continue
        bad_scales += int((abs(found_scale - scale) > SCALE_TOLERANCE * abs(scale)).sum())
        bad_zero_points += int((found_zero_point != zero_point).sum())
    return count, bad_scales, bad_zero_points, missing


def codes_of(floats, like):
    """Codes of dequantized values: exact, since (code - zero_point) * scale rounds to the nearest float."""
    return numpy.rint(floats.astype(numpy.float64) / like.scale) + like.zero_point


def check_operators(folder, tools):
    """(operators replayed, names whose integers differ, operators of level T1 with some codes one step off): every
    quantized operator on PyTorch's input codes."""
    recorded = read_tensors(os.path.join(folder, "intermediates.safetensors"))
    text, inputs, names = replay.build(read(folder, "int8.qfx"), recorded)
    paths = [os.path.join(folder, n) for n in ("replay.qfx", "replay_inputs.safetensors", "replay_outputs.safetensors")]
    with open(paths[0], "w") as file:
        file.write(text)
    save_file({k: numpy.ascontiguousarray(v) for k, v in inputs.items()}, paths[1])
    tools.run(paths[0], "--inputs=" + paths[1], "--outputs=" + paths[2])
    found = read_tensors(paths[2])
    by_name = {name: value for key, value in found.items() for name in names
               if key == name or key.endswith("." + name)}
    one_step, different, off_by_one = replay.allows_one_step(read(folder, "int8.qfx")), [], []
    for name in names:
        if name not in by_name:
            different.append(name)
            continue
        distance = abs(codes_of(by_name[name].codes, recorded[name]) - recorded[name].codes)
        if not distance.any():
            continue
        rare = name in one_step and distance.max() <= 1 and (distance > 0).mean() <= ONE_STEP_SHARE
        (off_by_one if rare else different).append(name)
    return len(names), different, off_by_one


def check_run(folder, tools):
    """(quantized values in the whole run, names that differ) on the first input."""
    dump = os.path.join(folder, "dump.safetensors")
    tools.run(os.path.join(folder, "int8.qfx"), "--inputs=" + os.path.join(folder, "first.safetensors"),
              "--dump-intermediates=" + dump)
    recorded = read_tensors(os.path.join(folder, "intermediates.safetensors"))
    found, different, count = read_tensors(dump), [], 0
    for name, value in recorded.items():
        if value.scale is None:
            continue
        count += 1
        ours = found.get(name) or found.get("0." + name)
        same = ours is not None and ours.codes.shape == value.codes.shape and numpy.array_equal(
            ours.codes.astype(numpy.int64), value.codes.astype(numpy.int64))
        if not same:
            different.append(name)
    return count, different


def outputs(folder, tools, model):
    """Outputs of all batches in their order, joined along the batch."""
    path = os.path.join(folder, "outputs.safetensors")
    tools.run(os.path.join(folder, model), "--inputs=" + os.path.join(folder, "inputs.safetensors"),
              "--outputs=" + path)
    found = read_tensors(path)
    return numpy.concatenate([found[key].codes for key in sorted(found, key=lambda k: int(k.split(".")[0]))])


def expected_outputs(folder, kind):
    found = read_tensors(os.path.join(folder, kind + "_outputs.safetensors"))
    return numpy.concatenate([found["%d.output" % k].codes for k in range(len(found))])


def check_outputs(folder, tools):
    """(share of int8 output values within one output step of PyTorch's, relative error of the float outputs)."""
    recorded = read_tensors(os.path.join(folder, "intermediates.safetensors"))
    step = [value.scale for value in recorded.values() if value.scale is not None][-1]
    difference = abs(outputs(folder, tools, "int8.qfx") - expected_outputs(folder, "int8"))
    expected = expected_outputs(folder, "float")
    error = abs(outputs(folder, tools, "model.qfx") - expected).max() / abs(expected).max()
    return float((difference <= step * 1.0001).mean()), float(error)


class Row:
    """One network's line of the table; every check runs, and one that cannot says why."""

    def __init__(self, network, folder, tools, allowed):
        self.network, self.problems, self.cells, self.reasons = network, [], [], []
        differences, self.reasons = self._try("texts", check_texts, network, folder, tools, allowed) or ({}, [])
        for phase in PHASES:
            lines = differences.get(phase)
            self.cells.append("?" if lines is None else "equal" if not lines else "%d lines" % len(lines))
            if lines:
                self.problems.append("%s text:\n%s" % (phase, "\n".join("    " + line for line in lines[:12])))
        count, scales, zero_points, missing = self._try("parameters", check_qparams, folder) or (0, 0, 0, [])
        self.cells.append("%d of %d" % (count - scales - zero_points, count))
        if scales or zero_points or missing:
            self.problems.append("%d scales and %d zero points differ, missing: %s" % (
                scales, zero_points, ", ".join(missing[:8]) or "none"))
        total, different, off_by_one = self._try("operators", check_operators, folder, tools) or (0, [], [])
        self.cells.append("%d of %d%s" % (
            total - len(different), total, " (%d with single ties)" % len(off_by_one) if off_by_one else ""))
        if different or not total:
            self.problems.append("operators differ: %s" % (", ".join(different[:12]) or "none was run"))
        total, different = self._try("run", check_run, folder, tools) or (0, [])
        self.cells.append("%d of %d" % (total - len(different), total))
        share, error = self._try("outputs", check_outputs, folder, tools) or (float("nan"), float("nan"))
        self.cells += ["%.2f %%" % (100 * share), "%.1e" % error]
        if not share >= STEP_SHARE:
            self.problems.append("%.2f %% of the int8 outputs lie within one step" % (100 * share))
        if not error <= FLOAT_TOLERANCE:
            self.problems.append("the float outputs differ by %.1e" % error)

    def _try(self, what, check, *arguments):
        try:
            return check(*arguments)
        except Exception as error:
            self.problems.append("%s: %s: %s" % (what, type(error).__name__, error))
            return None


def table(rows, folder):
    about = json.loads(read(os.path.join(folder, rows[0].network), "about.json"))
    lines = [
        "# Parity with torch.ao.quantization", "",
        "Written by `test/parity/run.sh`: PyTorch %s, engine %s, default qconfig mapping, x86 BackendConfig, seed %d; CPU %s."
        % (about["torch"], about["engine"], about["seed"], about["cpu"]), "",
        "* **texts**: `--emit=fx` of the phase against `str(graph)`, line by line.",
        "* **parameters**: scales to six digits and zero points exactly, activations and weights.",
        "* **operators**: quantized operators whose output integers, on PyTorch's input integers, equal PyTorch's bit for bit;"
        " those of level T1 (spec/operators.md 1.1) may have single codes one step off at ties.",
        "* **values in a run**: quantized values of a whole run on one input that equal PyTorch's bit for bit.",
        "* **outputs**: int8 output values over 16 inputs within one output step (99 % asked for); float outputs' largest"
        " error over the largest output (1e-4 asked for).", "",
        "| network | float text | fused text | prepared text | reference text | converted text | parameters | operators |"
        " values in a run | int8 outputs | float error |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += ["| %s | %s |" % (row.network, " | ".join(row.cells)) for row in rows]
    reasons = sorted({reason for row in rows for reason in row.reasons})
    lines += [""] + (["Allowed differences (allowed.txt):", ""] + ["* " + r for r in reasons] if reasons else
                     ["No allowed difference was needed."])
    failing = [row for row in rows if row.problems]
    if failing:
        lines += ["", "## What differs"]
        for row in failing:
            lines += ["", "**%s**" % row.network, ""] + ["* " + problem for problem in row.problems]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="what record.py wrote: one subfolder per network")
    parser.add_argument("networks", nargs="*", help="default: all that were recorded")
    parser.add_argument("--qfx-opt", default="qfx-opt")
    parser.add_argument("--qfx-run", default="qfx-run")
    parser.add_argument("-o", "--output", default=os.path.join(HERE, "RESULTS.md"))
    options = parser.parse_args()
    networks = options.networks or sorted(
        n for n in os.listdir(options.folder) if os.path.exists(os.path.join(options.folder, n, "about.json")))
    if not networks:
        print("compare: error: '%s' holds no recordings" % options.folder, file=sys.stderr)
        return 1
    tools, allowed, rows = Tools(options.qfx_opt, options.qfx_run), texts.Allowed(), []
    for network in networks:
        rows.append(Row(network, os.path.join(options.folder, network), tools, allowed))
        print("%-20s %s" % (network, "equal" if not rows[-1].problems else "; ".join(rows[-1].problems)))
    with open(options.output, "w") as file:
        file.write(table(rows, options.folder))
    print("wrote %s" % options.output)
    return 3 if any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
