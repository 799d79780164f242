"""Checks qfx against the golden graphs of this folder; needs the Python standard library only.

usage: check.py QFX_OPT QFX_RUN [MODEL...]
Per model: the text of every committed phase line by line (test/parity/allowed.txt lists what may differ), scales to six
digits, zero points exactly, and the integers of every quantized value in a run, bit for bit. Where PyTorch's observer
statistics are committed (observers.safetensors), numbers start from them instead of qfx's own calibration: see make.py.
"""
import array
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "parity"))
import texts  # noqa: E402

PHASES = ("float", "fused", "prepared", "reference", "converted")
TYPES = {"F32": "f", "F64": "d", "I64": "q", "I32": "i", "I8": "b", "U8": "B"}
SCALE_TOLERANCE = 5e-7


class Tensor:
    """Raw bytes of one safetensors entry, with its type and shape."""

    def __init__(self, dtype, shape, data):
        self.dtype, self.shape, self.data = dtype, shape, data

    def values(self):
        return array.array(TYPES[self.dtype], self.data).tolist()


def read_safetensors(path):
    """({name: Tensor}, metadata)."""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    base = 8 + size
    return {
        name: Tensor(e["dtype"], e["shape"], data[base + e["data_offsets"][0] : base + e["data_offsets"][1]])
        for name, e in header.items()
    }, metadata


def write_safetensors(path, tensors):
    """{name: Tensor} into a file, back to back."""
    header, data = {}, []
    end = 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [end, end + len(tensor.data)]}
        end += len(tensor.data)
        data.append(tensor.data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))


class Model:
    """One golden folder and the qfx tools, working in a folder of its own."""

    def __init__(self, name, opt, run, work):
        self.name, self.opt, self.run_tool, self.work = name, opt, run, work
        self.folder = os.path.join(HERE, name)
        shipped = os.path.join(HERE, "..", "..", "models", "digits")
        own = os.path.exists(os.path.join(self.folder, "model.qfx"))
        self.model = os.path.join(self.folder, "model.qfx") if own else os.path.join(shipped, "digits.qfx")
        candidates = [os.path.join(self.folder, "calib.safetensors"), os.path.join(HERE, "calib_32.safetensors")]
        if not own:
            candidates = [os.path.join(shipped, "calib.safetensors")]
        self.calibration = next(path for path in candidates if os.path.exists(path))
        self.problems = []

    def path(self, name):
        return os.path.join(self.work, self.name + "." + name)

    def golden(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return None
        with open(path) as file:
            return file.read()

    def call(self, *arguments):
        done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError("'%s' exits with %d: %s" % (" ".join(arguments), done.returncode, done.stderr[:1500]))
        return done.stdout

    def check(self):
        """All that this folder has goldens for; fills `problems`."""
        for what, action in (
            ("conversion", self.convert), ("texts", self.check_texts), ("statistics", self.take_statistics),
            ("parameters", self.check_qparams), ("integers", self.check_integers),
        ):
            try:
                action()
            except Exception as error:
                self.problems.append("%s: %s: %s" % (what, type(error).__name__, error))
        return not self.problems

    def convert(self):
        """The reference and the lowered model with qfx's own calibration."""
        calibrate = "--calibrate=" + self.calibration
        self.call(self.opt, self.model, "--fuse", "--prepare", "--backend=x86", calibrate, "--convert-to-reference",
                  "-o", self.path("reference.qfx"))
        self.call(self.opt, self.model, "--quantize=static", "--backend=x86", calibrate, "-o", self.path("int8.qfx"))

    def take_statistics(self):
        """Makes both models anew from PyTorch's observer statistics, if this folder has them."""
        recorded = os.path.join(self.folder, "observers.safetensors")
        if not os.path.exists(recorded):
            return
        prepared, weights = self.path("prepared.qfx"), self.path("prepared.safetensors")
        self.call(self.opt, self.model, "--fuse", "--prepare", "--backend=x86", "-o", prepared)
        tensors, statistics = read_safetensors(weights)[0], read_safetensors(recorded)[0]
        for name, tensor in statistics.items():
            found = tensors[name]
            if (found.dtype, len(found.data)) != (tensor.dtype, len(tensor.data)):
                raise ValueError("'%s' is %s%s, expected %s%s" % (
                    name, found.dtype, found.shape, tensor.dtype, tensor.shape))
            tensors[name] = Tensor(found.dtype, found.shape, tensor.data)
        write_safetensors(weights, tensors)
        self.call(self.opt, prepared, "--convert-to-reference", "-o", self.path("reference.qfx"))
        self.call(self.opt, prepared, "--convert", "-o", self.path("int8.qfx"))

    def check_texts(self):
        commands = {
            "float": [self.model], "fused": [self.model, "--fuse", "--backend=x86"],
            "prepared": [self.model, "--fuse", "--prepare", "--backend=x86"],
            "reference": [self.path("reference.qfx")], "converted": [self.path("int8.qfx")],
        }
        allowed = texts.Allowed()
        for phase in PHASES:
            expected = self.golden(phase + ".txt")
            if expected is None:
                continue
            found = self.call(self.opt, *commands[phase], "--emit=fx")
            lines, _ = texts.compare(self.name, phase, expected.partition("\n")[2], found, allowed)
            if lines:
                self.problems.append("%s text:\n    %s" % (phase, "\n    ".join(lines[:10])))

    def stored_values(self):
        """{path: numbers} of the reference model: inline ones and those of its weights file."""
        with open(self.path("reference.qfx")) as file:
            text = file.read()
        values = {}
        for path, numbers in re.findall(
                r"^(?:buffer|parameter) ([\w.]+) : \w+\[[^\]]*\](?:\{[^}]*\})? = (.+)$", text, re.MULTILINE):
            if not numbers.startswith("random"):
                found = re.findall(r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)", numbers)
                values[path] = [float(n) for n in found]
        weights = self.path("reference.safetensors")
        if os.path.exists(weights):
            for key, tensor in read_safetensors(weights)[0].items():
                if re.search(r"(scale|zero_point)(_\d+)?$", key):
                    values[key] = tensor.values()
        return values

    def check_qparams(self):
        text = self.golden("qparams.json")
        if text is None:
            return
        expected, reference, values = json.loads(text), self.golden("reference.txt"), self.stored_values()
        targets = dict(re.findall(r"%(\w+) : \[num_users=\d+\] = get_attr\[target=([\w.]+)\]", reference))
        wanted = {}
        for node, operand, scale, zero_point in re.findall(
                r"%(\w+) : \[num_users=\d+\] = call_function\[target=torch\.quantize_per_\w+\]"
                r"\(args = \(%(\w+), %(\w+), %(\w+),", reference):
            value = expected["activations"].get(node) or expected["weights"].pop(targets.get(operand, ""), None)
            if value:
                wanted[targets[scale]], wanted[targets[zero_point]] = value["scale"], value["zero_point"]
        for path, value in expected["weights"].items():
            wanted[path + ".weight_scale"], wanted[path + ".weight_zero_point"] = value["scale"], value["zero_point"]
        for path, value in wanted.items():
            value = value if isinstance(value, list) else [value]
            found = values.get(path)
            tolerance = 0 if "zero_point" in path else SCALE_TOLERANCE
            if found is None or len(found) != len(value) or any(
                    abs(f - v) > tolerance * abs(v) for f, v in zip(found, value)):
                self.problems.append("parameters: '%s' is %s, expected %s" % (path, str(found)[:120], str(value)[:120]))

    def first_inputs(self):
        """The inputs that the recorded integers belong to: first.safetensors or calibration batch 0."""
        first = os.path.join(self.folder, "first.safetensors")
        if os.path.exists(first):
            return first
        tensors, _ = read_safetensors(self.calibration)
        write_safetensors(self.path("first.safetensors"),
                          {name[2:]: tensor for name, tensor in tensors.items() if name.startswith("0.")})
        return self.path("first.safetensors")

    def check_integers(self):
        wanted = {}
        recorded = os.path.join(self.folder, "intermediates.safetensors")
        digests = self.golden("digests.json")
        if os.path.exists(recorded):
            tensors, metadata = read_safetensors(recorded)
            for name in metadata:
                wanted[name] = (tensors[name].shape, zlib.crc32(tensors[name].data),
                                tensors[name + ":scales"].values()[0], tensors[name + ":zero_points"].values()[0])
        elif digests is not None:
            for name, value in json.loads(digests)["nodes"].items():
                if value["scale"] is not None:
                    wanted[name] = (value["shape"], value["crc32"], value["scale"], value["zero_point"])
        if not wanted:
            return
        dump = self.path("dump.safetensors")
        self.call(self.run_tool, self.path("int8.qfx"), "--inputs=" + self.first_inputs(),
                  "--dump-intermediates=" + dump)
        found, _ = read_safetensors(dump)
        for name, (shape, crc, scale, zero_point) in wanted.items():
            key = name if name in found else "0." + name
            if key not in found:
                self.problems.append("integers: '%s' was not dumped" % name)
                continue
            ours = (found[key].shape, zlib.crc32(found[key].data))
            found_scale = found[key + ":scales"].values()[0]
            found_zero_point = found[key + ":zero_points"].values()[0]
            if ours != (shape, crc):
                self.problems.append("integers: '%s' differs" % name)
            if abs(found_scale - scale) > SCALE_TOLERANCE * scale or found_zero_point != zero_point:
                self.problems.append("integers: '%s' has scale %r and zero point %r, expected %r and %r" % (
                    name, found_scale, found_zero_point, scale, zero_point))


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    opt, run = sys.argv[1:3]
    names = sys.argv[3:] or sorted(
        n for n in os.listdir(HERE) if os.path.exists(os.path.join(HERE, n, "converted.txt")))
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            model = Model(name, opt, run, work)
            if model.check():
                print("%s: equal" % name)
            else:
                failed += 1
                print("%s:\n  %s" % (name, "\n  ".join(model.problems[:20])))
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
