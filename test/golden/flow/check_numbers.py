"""Calibrates, converts and runs the flow cases and compares with PyTorch's numbers (numbers/, made by make_numbers.py).

usage: check_numbers.py QFX_OPT QFX_RUN [CASE...]
Needs the Python standard library only. Codes and zero points must be equal, scales to six digits. A float result that was
dequantized must be the same code times such a scale; one of float arithmetic is compared to 1e-4 of its largest magnitude.
The reference model is compared in the same way: its float arithmetic may round a code otherwise than PyTorch's, so each value may be
two steps off (one, and what a layer behind it makes of that).  DIFFERENT lists the cases whose lowered model is not PyTorch's, and why.
"""
import os
import re
import subprocess
import sys
import tempfile

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
    "onednn-add-conv-relu": "PyTorch's 8-bit activations saturate without VNNI (docs/Differences.md)",
    "onednn-conv-add": "saturation",
    "onednn-residual": "saturation",
    "onednn-two-convs": "saturation",
    "pools-3d": "a tie in a mean of eight codes (operators 8.5)",
    "resizes": "means of four codes: ties",
}
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
        self.write("calib.safetensors", {k: v for k, v in self.golden.items() if k[0].isdigit()})
        self.write("in.safetensors", {k[3:]: v for k, v in self.golden.items() if k.startswith("in.")})

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, name, tensors):
        write_safetensors(self.path(name), tensors)

    def compute(self, pipeline, output):
        """What the model converted by `pipeline` returns."""
        subprocess.run([self.opt, self.path("m.qfx"), "-p", "fuse,prepare,calibrate," + pipeline, *self.flags, "-q",
                        "--calibrate=" + self.path("calib.safetensors"), "-o", self.path(output + ".qfx")],
                       check=True, capture_output=True, text=True)
        subprocess.run([self.run_tool, self.path(output + ".qfx"), "--inputs=" + self.path("in.safetensors"),
                        "--outputs=" + self.path(output + ".safetensors")], check=True, capture_output=True, text=True)
        return read_safetensors(self.path(output + ".safetensors"))[0]

    def check(self):
        """Differences, as texts."""
        try:
            lowered = self.compute("convert-to-reference,lower", "lowered")
            has_reference = any(k.startswith("ref.") for k in self.golden)
            reference = self.compute("convert-to-reference", "reference") if has_reference else None
        except subprocess.CalledProcessError as error:
            return [error.stderr.strip().replace("\n", "; ")[:300]]
        problems = self.compare("out.", lowered, None if self.name in DIFFERENT else 0)
        return problems + (self.compare("ref.", reference, None if self.name == "resizes" else 2) if reference else [])

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
    print("%d of %d cases pass, %d of them not PyTorch's numbers for a stated reason" % (len(names) - failed, len(names), excused))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
