"""Calibrates, converts and runs the flow cases and compares with PyTorch's numbers (numbers/, made by make_numbers.py).

usage: check_numbers.py QFX_OPT QFX_RUN [CASE...]
Needs the Python standard library only. Codes and zero points must be equal, scales to six digits. A float result that was
dequantized must be the same code times such a scale; one of float arithmetic is compared to 1e-4 of its largest magnitude.
The reference model is compared in the same way: its float arithmetic may round a code otherwise than PyTorch's, so each value may be
two steps off (one, and what a layer behind it makes of that).  DIFFERENT lists the cases whose lowered model is not PyTorch's, and why;
in SATURATED and TIES the model is the same, and each of PyTorch's codes that differs is derived from its cause.
"""
import os
import re
import subprocess
import sys
import tempfile

import pair_sums

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "graphs"))
from check import read_safetensors, write_safetensors  # noqa: E402

FLOW = os.path.join(HERE, "..", "..", "passes", "flow")
DIFFERENT = {
    "default-modules": "B94: PyTorch shrinks the positive values of a PReLU whose slope codes cannot hold 1",
    "add-scalar": "B03: the parameters of x + c are derived",
    "mul-scalar-relu": "B03",
    "onednn-conv-add-number": "B03",
    "conv-twice": "B02: every call has its own output parameters",
    "lstm-custom-states": "B02",
    "shared-conv-two-inputs": "B02",
    "attention": "PyTorch takes the scores into 0..1, the softmax's range, before the softmax: 7 dB against the float model, qfx's 29",
}
REFERENCE_TOO = ("attention",)  # of those, the ones whose reference model is not PyTorch's either
# PyTorch's 8-bit activations saturate on processors without VNNI (docs/Differences.md): its codes are those of saturating pair sums.
SATURATED = ("onednn-add-conv-relu", "onednn-conv-add", "onednn-residual", "onednn-two-convs")
# The codes of these nodes are means of the first window of their operand; the layers behind hand them on.  PyTorch rounds an exact half to another
# side in the last channels of a channels-last pool (docs/Differences.md).
TIES = {"pools-3d": ("avg_pool3d", 2)}  # node, edge of the window
SCALE_TOLERANCE, FLOAT_TOLERANCE = 5e-7, 1e-4


class Case:
    def __init__(self, name, opt, run, work):
        self.name, self.opt, self.run_tool, self.work = name, opt, run, work
        self.golden = read_safetensors(os.path.join(HERE, "numbers", name + ".safetensors"))[0]
        with open(os.path.join(FLOW, name + ".test")) as file:
            text = file.read()
        parts = re.split(r"^//--- (.*)\n", text, flags=re.MULTILINE)
        for path, body in zip(parts[1::2], parts[2::2]):
            with open(self.path(path), "w") as file:
                file.write(body)
        run_line = [line for line in parts[0].splitlines() if "convert-to-reference,lower'" in line][0]
        self.flags = [flag.replace("%t", work) for flag in run_line.split("lower' ")[1].split(" --allow-uncalibrated")[0].split()]
        self.prepare = re.search(r"-p 'fuse,(prepare(?:\{[^}]*\})?)", run_line).group(1).replace("%t", work)
        self.write("calib.safetensors", {k: v for k, v in self.golden.items() if k[0].isdigit()})
        self.write("in.safetensors", {k[3:]: v for k, v in self.golden.items() if k.startswith("in.")})

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, name, tensors):
        write_safetensors(self.path(name), tensors)

    def compute(self, pipeline, output):
        """What the model converted by `pipeline` returns."""
        subprocess.run([self.opt, self.path("m.qfx"), "-p", "fuse,%s,calibrate,%s" % (self.prepare, pipeline), *self.flags, "-q",
                        "--calibrate=" + self.path("calib.safetensors"), "-o", self.path(output + ".qfx")],
                       check=True, capture_output=True, text=True)
        subprocess.run([self.run_tool, self.path(output + ".qfx"), "--inputs=" + self.path("in.safetensors"),
                        "--outputs=" + self.path(output + ".out"), "--dump-intermediates=" + self.path(output + ".nodes")],
                       check=True, capture_output=True, text=True)
        return read_safetensors(self.path(output + ".out"))[0]

    def check(self):
        """Differences, as texts."""
        try:
            lowered = self.compute("convert-to-reference,lower", "lowered")
            has_reference = any(k.startswith("ref.") for k in self.golden)
            reference = self.compute("convert-to-reference", "reference") if has_reference else None
        except subprocess.CalledProcessError as error:
            return [error.stderr.strip().replace("\n", "; ")[:300]]
        problems = self.explain() if self.name in SATURATED + tuple(TIES) else []
        problems += self.compare("out.", lowered, None if self.name in DIFFERENT or self.name in SATURATED + tuple(TIES) else 0)
        if reference:
            problems += self.compare("ref.", reference, None if self.name in REFERENCE_TOO else 2)
        return problems + self.compare_state()

    def compare_state(self):
        """Scales to six digits and zero points of the reference model, where they are recorded."""
        wanted = {k[len("state."):]: v for k, v in self.golden.items() if k.startswith("state.")}
        if not wanted or self.name in DIFFERENT:
            return []
        own, problems = read_safetensors(self.path("reference.safetensors"))[0], []
        for key, tensor in wanted.items():
            if key not in own:
                problems.append("no %s" % key)
                continue
            pairs = list(zip(own[key].values(), tensor.values()))
            if len(pairs) != len(tensor.values()) or any(abs(a - b) > SCALE_TOLERANCE * abs(b) for a, b in pairs):
                problems.append("%s: %s, PyTorch %s" % (key, own[key].values()[:4], tensor.values()[:4]))
        return problems

    def explain(self):
        """Why PyTorch's codes of the only result are what they are; a code without its cause is a problem."""
        with open(self.path("lowered.qfx")) as file:
            text = file.read()
        returned = re.search(r"return %(\w+)", text).group(1)
        codes = re.search(r"%%%s = call_method\[dequantize\]\(%%(\w+)\)" % returned, text).group(1)
        nodes = read_safetensors(self.path("lowered.nodes"))[0]
        zero_point, step = nodes[codes + ":zero_points"].values()[0], self.golden["step.out"].values()[0]
        scale = nodes[codes + ":scales"].values()[0]
        if abs(scale - step) > SCALE_TOLERANCE * step:
            return ["scale %r, PyTorch %r" % (scale, step)]
        wanted = [round(value / step) + zero_point for value in self.golden["out.out"].values()]
        if self.name in SATURATED:
            return pair_sums.explain(self.path("lowered.qfx"), self.path("lowered.safetensors"), nodes, codes, wanted)
        return self.explain_ties(nodes, text, wanted)

    def explain_ties(self, nodes, text, wanted):
        node, edge = TIES[self.name]
        source = nodes[re.search(r"%%%s = call_\w+\[[\w.]+\]\(%%(\w+)" % node, text).group(1)]
        depth, height, width = source.shape[2:]
        count, values, problems = edge ** 3, source.values(), []
        for channel, (own, theirs) in enumerate(zip(nodes[node].values(), wanted)):
            total = sum(values[((channel * depth + z) * height + y) * width + x] for z in range(edge) for y in range(edge) for x in range(edge))
            if any(abs(2 * total - 2 * count * code) > count for code in (own, theirs)):
                problems.append("channel %d: qfx %d, PyTorch %d, the mean is %g" % (channel, own, theirs, total / count))
        return problems

    def compare(self, prefix, got, steps_allowed):
        problems = []
        wanted = {k[len(prefix):]: v for k, v in self.golden.items() if k.startswith(prefix) and ":" not in k}
        names = [k for k in got if ":" not in k]
        if sorted(names) != sorted(wanted):
            return ["%sresults are %s, PyTorch's %s" % (prefix, sorted(names), sorted(wanted))]
        for name, tensor in wanted.items():
            own = got[name]
            if steps_allowed is None and list(own.shape) == list(tensor.shape):
                continue  # it ran
            if list(own.shape) != list(tensor.shape):
                problems.append("%s%s: shape %s, PyTorch %s" % (prefix, name, own.shape, tensor.shape))
                continue
            scale = self.golden.get(prefix + name + ":scale")
            if scale:
                problems += self.compare_codes(prefix + name, got, name, tensor, steps_allowed)
                continue
            step = self.golden.get("step." + name)
            problems += self.compare_floats(prefix + name, own.values(), tensor.values(), step.values()[0] if step else 0, steps_allowed)
        return problems

    def compare_codes(self, label, got, name, tensor, steps_allowed):
        problems = []
        wanted_scale = self.golden[label + ":scale"].values()[0]
        own_scale = got[name + ":scales"].values()[0]
        if abs(own_scale - wanted_scale) > SCALE_TOLERANCE * wanted_scale:
            problems.append("%s: scale %r, PyTorch %r" % (label, own_scale, wanted_scale))
        if got[name + ":zero_points"].values()[0] != self.golden[label + ":zero_point"].values()[0]:
            problems.append("%s: other zero point" % label)
        worst = max((abs(a - b) for a, b in zip(got[name].values(), tensor.values())), default=0)
        if worst > steps_allowed:
            problems.append("%s: codes differ by up to %d" % (label, worst))
        return problems

    @staticmethod
    def compare_floats(label, own, wanted, step, steps_allowed):
        largest = max((abs(v) for v in wanted), default=0)
        tolerance = FLOAT_TOLERANCE * largest + 1e-7
        if step:
            tolerance = step * (steps_allowed + 1e-3)
        worst = max((abs(a - b) for a, b in zip(own, wanted)), default=0)
        if worst <= tolerance:
            return []
        unit = "%.2f steps" % (worst / step) if step else "%.2e of %.2e" % (worst, largest)
        count = sum(abs(a - b) > tolerance for a, b in zip(own, wanted))
        return ["%s: %d of %d differ, by up to %s" % (label, count, len(wanted), unit)]


def main():
    opt, run = sys.argv[1:3]
    names = sys.argv[3:] or sorted(f[: -len(".safetensors")] for f in os.listdir(os.path.join(HERE, "numbers")))
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as work:
            problems = Case(name, opt, run, work).check()
        failed += bool(problems)
        for problem in problems:
            print("%s: %s" % (name, problem))
    excused = sum(name in DIFFERENT for name in names)
    derived = sum(name in SATURATED + tuple(TIES) for name in names)
    print("%d of %d cases pass; %d are models that differ for a stated reason, in %d PyTorch's other codes are derived from their cause"
          % (len(names) - failed, len(names), excused, derived))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
