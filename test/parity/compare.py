"""Compares qfx with PyTorch's recordings (record.py): graph texts, quantization parameters, integers of every quantized
operator, outputs. Writes a table and exits with 3 where something differs that should not."""
import argparse
import json
import os
import re
import sys
from typing import Dict, List, NamedTuple, Optional

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file

import calibration
import exact
import replay
import report
import texts
import ties
from recordings import Tools, read, read_tensors

HERE = os.path.dirname(os.path.abspath(__file__))
PHASES = ("float", "fused", "prepared", "reference", "converted")
FLOAT_TOLERANCE = 1e-4  # of the largest output
SCALE_TOLERANCE = 5e-7  # six digits
STEP_SHARE = 0.99


def run_roads(folder, tools, own):
    """Makes the models that the checks look at, in `folder`: prepared; reference and int8 from PyTorch's observer statistics, so that
    parameters, integers and outputs are compared without the rounding of two float implementations between them. With `own` also calibrated
    (qfx's own calibration), own_reference and own_int8 from that."""
    at = lambda name: os.path.join(folder, name)
    tools.opt(at("model.qfx"), "--fuse", "--prepare", "--backend=x86", "-o", at("prepared.qfx"))
    stated = [at("prepared.qfx"), "--load-observers=from=" + at("observers.safetensors")]
    if not read_tensors(at("observers.safetensors")):  # nothing was observed
        stated = [at("prepared.qfx")]
    roads = [(stated, "")]
    if own:
        tools.opt(at("prepared.qfx"), "--calibrate=" + at("model.calib.safetensors"), "-o", at("calibrated.qfx"))
        roads.append(([at("calibrated.qfx")], "own_"))
    for source, prefix in roads:
        tools.opt(*source, "--convert-to-reference", "-o", at(prefix + "reference.qfx"))
        tools.opt(*source, "--convert", "-o", at(prefix + "int8.qfx"))


def check_texts(network, folder, tools, allowed, own):
    """{phase: list of differing lines}, and reasons of allowed ones, on the whole road; with `own`, with qfx's own calibration."""
    run_roads(folder, tools, own)
    model = os.path.join(folder, "model.qfx")
    found = {"float": tools.opt(model, "--emit=fx"), "fused": tools.opt(model, "--fuse", "--backend=x86", "--emit=fx")}
    prefix = "own_" if own else ""
    for phase, name in (("prepared", "prepared"), ("reference", prefix + "reference"), ("converted", prefix + "int8")):
        found[phase] = tools.opt(os.path.join(folder, name + ".qfx"), "--emit=fx")
    differences, reasons = {}, []
    for phase in PHASES:
        failures, allowed_here = texts.compare(network, phase, read(folder, phase + ".txt"), found[phase], allowed)
        differences[phase] = failures
        reasons += [r for r in allowed_here if r not in reasons]
    return differences, reasons


def stored_values(folder, model):
    """{path: flat array} of a reference model: the weights file, and numbers that stand inline."""
    values = {}
    for match in re.finditer(r"^(?:buffer|parameter) (\S+) : \w+\[[^\]]*\](?:\{[^}]*\})? = (.+)$",
                             read(folder, model + ".qfx"), re.MULTILINE):
        numbers = re.findall(r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)", match.group(2))
        if not match.group(2).startswith("random"):
            values[match.group(1).strip('"')] = numpy.array([float(n) for n in numbers])
    path = os.path.join(folder, model + ".safetensors")
    if os.path.exists(path):
        with safe_open(path, "numpy") as file:
            for key in file.keys():
                if key.endswith(("scale", "zero_point")) or re.search(r"_(scale|zero_point)_\d+$", key):
                    values[key] = file.get_tensor(key).reshape(-1).astype(numpy.float64)
    return values


def activation_names(folder):
    """[(quantize node, observed node, scale's path, zero point's path)] of PyTorch's reference graph; ours has the same text."""
    text = read(folder, "reference.txt")
    targets = dict(re.findall(r"%(\w+) : \[num_users=\d+\] = get_attr\[target=([^\]]+)\]", text))
    return [(node, source, targets[scale], targets[zero_point]) for node, source, scale, zero_point in re.findall(
        r"%(\w+) : \[num_users=\d+\] = call_function\[target=torch.quantize_per_tensor\]"
        r"\(args = \(%(\w+), %(\w+), %(\w+),", text)]


def check_qparams(folder):
    """(scales compared, scales that differ in six digits, zero points that differ, names of the missing), activations
    and weights, from PyTorch's statistics."""
    expected, values = json.loads(read(folder, "qparams.json")), stored_values(folder, "reference")
    derived = derived_parameters(folder)
    pairs = [(s, z, expected["activations"][node]) for node, _, s, z in activation_names(folder) if s not in derived]
    constants = {v["weight"]: (path, v["zero_point_path"]) for path, v in expected.get("constants", {}).items()}
    pairs += [(*constants.get(p, (p + ".weight_scale", p + ".weight_zero_point")), v) for p, v in expected["weights"].items()]
    count, bad_scales, bad_zero_points, missing = 0, 0, 0, []
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


def same_parameters(found, expected):
    return abs(found[0] - expected["scale"]) <= SCALE_TOLERANCE * expected["scale"] and found[1] == expected["zero_point"]


def check_calibration(folder, tools):
    """(activation parameters, those equal to PyTorch's after qfx's own calibration, those that PyTorch keeps in its
    control calibration or None, observers, observers that differ from PyTorch's on the same activations)."""
    values, names = stored_values(folder, "own_reference"), activation_names(folder)
    expected = json.loads(read(folder, "qparams.json"))["activations"]
    own = {node: (float(values[s][0]), int(values[z][0])) for node, _, s, z in names}
    equal, kept = sum(same_parameters(own[node], expected[node]) for node, _, _, _ in names), None
    if os.path.exists(os.path.join(folder, "control.json")):
        control = json.loads(read(folder, "control.json"))["activations"]
        kept = sum(same_parameters((control[node]["scale"], control[node]["zero_point"]), expected[node])
                   for node, _, _, _ in names)
    observers, different = calibration.check(folder, tools, {source: own[node] for node, source, _, _ in names})
    return len(names), equal, kept, observers, different


def codes_of(floats, like):
    """Codes of dequantized values: exact, since (code - zero_point) * scale rounds to the nearest float."""
    return numpy.rint(floats.astype(numpy.float64) / like.scale) + like.zero_point


def saturated_counts(folder):
    """{module: codes that are not exact in PyTorch} on the first image, where saturation explains all of them."""
    first = json.loads(read(folder, "saturation.json"))[0] or {}
    return {module: different for module, (different, explained) in first.items() if different == explained}


def check_operators(folder, tools):
    """(operators replayed, names whose integers differ, operators of level T1 with some codes one step off, operators whose differing codes
    are those in which PyTorch saturates): every quantized operator on PyTorch's input codes."""
    recorded = read_tensors(os.path.join(folder, "intermediates.safetensors"))
    text, inputs, names = replay.build(read(folder, "int8.qfx"), recorded)
    if not names:
        return 0, [], [], []
    paths = [os.path.join(folder, n) for n in ("replay.qfx", "replay_inputs.safetensors", "replay_outputs.safetensors")]
    with open(paths[0], "w") as file:
        file.write(text)
    save_file({k: numpy.ascontiguousarray(v) for k, v in inputs.items()}, paths[1])
    tools.run(paths[0], "--inputs=" + paths[1], "--outputs=" + paths[2])
    found = read_tensors(paths[2])
    by_name = {name: value for key, value in found.items() for name in names
               if key == name or key.endswith("." + name)}
    statements = {s.name: s for s in replay.parse_statements(read(folder, "int8.qfx"))[1]}
    targets, saturated = replay.get_targets(read(folder, "int8.qfx")), saturated_counts(folder)
    different, off_by_one, saturating = [], [], []
    for name in names:
        if name not in by_name:
            different.append(name)
            continue
        distance = abs(codes_of(by_name[name].codes, recorded[name]) - recorded[name].codes)
        if not distance.any():
            continue
        if statements[name].target in saturated and (distance > 0).sum() == saturated[statements[name].target]:
            saturating.append(name)
            continue
        tied = distance.max() <= 1 and exact.differs_at_ties(statements[name], targets[name], recorded, distance > 0)
        (off_by_one if tied else different).append(name)
    return len(names), different, off_by_one, saturating


def check_run(folder, tools):
    """(quantized values in the whole run, names that differ, names that differ in ties only) on the first input."""
    dump = os.path.join(folder, "dump.safetensors")
    tools.run(os.path.join(folder, "int8.qfx"), "--inputs=" + os.path.join(folder, "first.safetensors"),
              "--dump-intermediates=" + dump)
    recorded = read_tensors(os.path.join(folder, "intermediates.safetensors"))
    statements = {s.name: s for s in replay.parse_statements(read(folder, "int8.qfx"))[1]}
    targets = replay.get_targets(read(folder, "int8.qfx"))
    found, different, tied, count = read_tensors(dump), [], [], 0
    for name, value in recorded.items():
        if value.scale is None:
            continue
        count += 1
        ours = found.get(name) or found.get("0." + name)
        if ours is None or ours.codes.shape != value.codes.shape:
            different.append(name)
            continue
        distance = abs(ours.codes.astype(numpy.int64) - value.codes.astype(numpy.int64))
        if not distance.any():
            continue
        at_ties = name in statements and distance.max() <= 1 and exact.differs_at_ties(statements[name], targets[name], recorded, distance > 0)
        (tied if at_ties else different).append(name)
    return count, different, tied


def derived_parameters(folder):
    """Paths of the scales of results of `tensor op number`: qfx derives them from the input's (docs/Differences.md, B03), PyTorch shares them."""
    text = read(folder, "prepared.qfx")
    derived = set(re.findall(r"^module (\S+) : qfx\.DerivedObserver", text, re.MULTILINE))
    sources = {source for target, source in re.findall(r"^  %\w+ = call_module\[([^\]]+)\]\(%(\w+)\)", text, re.MULTILINE) if target in derived}
    return {scale for _, source, scale, _ in activation_names(folder) if source in sources}


def on_grid(folder):
    """Writes the inputs as PyTorch's quantize_per_tensor sees them: FBGEMM's vector code rounds exact half steps otherwise
    than qfx (docs/Differences.md), and a random network makes several output steps of three such input codes."""
    import torch

    expected = json.loads(read(folder, "qparams.json"))["activations"]
    with safe_open(os.path.join(folder, "inputs.safetensors"), "pt") as file:
        values = {key: file.get_tensor(key) for key in file.keys()}
    nodes = {source: node for node, source, _, _ in activation_names(folder)}
    for key, value in values.items():
        node = nodes.get(key.partition(".")[2])
        if node:
            value = torch.quantize_per_tensor(value, expected[node]["scale"], expected[node]["zero_point"], torch.quint8).dequantize()
        values[key] = value.numpy()
    save_file(values, os.path.join(folder, "grid_inputs.safetensors"))
    return "grid_inputs.safetensors"


def outputs(folder, tools, model, inputs="inputs.safetensors"):
    """Outputs of all batches in their order, joined along the batch."""
    path = os.path.join(folder, "outputs.safetensors")
    tools.run(os.path.join(folder, model), "--inputs=" + os.path.join(folder, inputs),
              "--outputs=" + path)
    found = read_tensors(path)
    return numpy.concatenate([found[key].codes for key in sorted(found, key=lambda k: int(k.split(".")[0]))])


def recorded_outputs(folder, kind):
    """What record.py wrote as `<kind>_outputs`, joined like `outputs`; None when it was left out."""
    path = os.path.join(folder, kind + "_outputs.safetensors")
    if not os.path.exists(path):
        return None
    found = read_tensors(path)
    return numpy.concatenate([found["%d.output" % k].codes for k in range(len(found))])


def exact_images(folder):
    """For each image of the outputs whether PyTorch's own integer sums were exact (record.py, saturation.py). Raises when
    a code that is not exact was not explained by saturation: then it is a difference nobody understands."""
    entries = json.loads(read(folder, "saturation.json"))
    for image, entry in enumerate(entries):
        for module, (different, explained) in (entry or {}).items():
            if different != explained:
                raise RuntimeError("image %d: %d codes of '%s' are not exact in PyTorch, saturation explains %d" % (
                    image, different, module, explained))
    return numpy.array([entry is None for entry in entries])


def tied_images(folder, tools, images):
    """Of these images those that leave PyTorch's codes at proven ties only (ties.py), {image: names of the origins}; none where record.py
    kept no images. Raises when an image leaves them elsewhere: then it is a difference nobody understands."""
    _, statements = replay.parse_statements(read(folder, "int8.qfx"))
    targets = replay.get_targets(read(folder, "int8.qfx"))
    with safe_open(os.path.join(folder, on_grid(folder)), "numpy") as file:
        keys = sorted(file.keys(), key=lambda k: int(k.split(".")[0]))
        rows = [(key.partition(".")[2], row[None]) for key in keys for row in file.get_tensor(key)]
    found = {}
    for image in images:
        recorded = os.path.join(folder, "image%d.safetensors" % image)
        if not os.path.exists(recorded):
            continue
        name, row = rows[image]
        save_file({name: numpy.ascontiguousarray(row)}, os.path.join(folder, "image.safetensors"))
        tools.run(os.path.join(folder, "int8.qfx"), "--inputs=" + os.path.join(folder, "image.safetensors"),
                  "--dump-intermediates=" + os.path.join(folder, "dump.safetensors"))
        ours = {k[2:] if k.startswith("0.") else k: v for k, v in read_tensors(os.path.join(folder, "dump.safetensors")).items()}
        weights = read_tensors(os.path.join(folder, "int8.safetensors"))  # of layer norms
        proven, others = ties.explain(statements, targets, {**weights, **read_tensors(recorded)}, ours)
        if others:
            raise RuntimeError("image %d: codes of '%s' differ, not at ties" % (image, "', '".join(others[:4])))
        if proven:
            found[image] = proven
    return found


class Outputs(NamedTuple):
    """Shares of int8 output values within one output step of PyTorch's, and the relative error of the float outputs."""

    stated: float  # PyTorch's statistics
    exact: float  # the same, images in which PyTorch saturates and tied ones left out
    saturated: int  # images in which PyTorch saturates
    tied: Dict[int, List[str]]  # tied images and where they leave PyTorch's codes
    own: float  # qfx's own calibration
    control: Optional[float]  # PyTorch against itself, calibrated with other float rounding
    float_error: float
    none_exact: bool  # PyTorch saturates in every image, or each is tied
    float_rounding: float  # twice what PyTorch's float model differs from the same model in double


def output_step(folder, values):
    """The scale of the quantized value nearest to the output; where nothing is quantized, what float outputs may differ by."""
    recorded = read_tensors(os.path.join(folder, "intermediates.safetensors"))
    _, statements = replay.parse_statements(read(folder, "int8.qfx"))
    steps = [recorded[s.name].scale for s in statements if s.name in recorded and recorded[s.name].scale is not None]
    return steps[-1] if steps else FLOAT_TOLERANCE * float(abs(values).max())


def check_outputs(folder, tools, own):
    int8, expected, control = (recorded_outputs(folder, kind) for kind in ("int8", "float", "control"))
    step = output_step(folder, int8)

    def share(values):
        return float((abs(values - int8) <= step * 1.0001).mean())

    error = abs(outputs(folder, tools, "model.qfx") - expected).max() / abs(expected).max()
    stated, judged = outputs(folder, tools, "int8.qfx", on_grid(folder)), exact_images(folder)
    within = abs(stated - int8) <= step * 1.0001
    saturated = int((~judged).sum())
    tied = tied_images(folder, tools, [i for i in numpy.flatnonzero(judged) if not within[i].all()])
    judged[list(tied)] = False
    return Outputs(share(stated), float(within[judged].mean()) if judged.any() else 1.0, saturated, tied,
                   share(outputs(folder, tools, "own_int8.qfx")) if own else float("nan"),
                   None if control is None else share(control), float(error), not judged.any(),
                   2 * json.loads(read(folder, "about.json")).get("float_error", 0))


class Row:
    """One network's line of the table; every check runs, and one that cannot says why. `own` asks for qfx's own calibration too."""

    def __init__(self, network, folder, tools, allowed, own=True):
        self.network, self.problems, self.cells, self.reasons, self.own = network, [], [], [], []
        self._graphs(folder, tools, allowed, own)
        self._numbers(folder, tools, own)

    def _graphs(self, folder, tools, allowed, own):
        """Texts and parameters."""
        network = self.network
        differences, self.reasons = self._try("texts", check_texts, network, folder, tools, allowed, own) or ({}, [])
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

    def _numbers(self, folder, tools, own):
        """Integers and outputs."""
        network = self.network
        total, different, off_by_one, saturating = self._try("operators", check_operators, folder, tools) or (0, [], [], [])
        notes = ["%d %s" % (len(names), what) for names, what in (
            (off_by_one, "with single ties"), (saturating, "where PyTorch saturates")) if names]
        self.cells.append("%d of %d%s" % (total - len(different), total, " (%s)" % ", ".join(notes) if notes else ""))
        if different:
            self.problems.append("operators differ: %s" % (", ".join(different[:12])))
        total, different, tied = self._try("run", check_run, folder, tools) or (0, [], [])
        derives = bool(self._try("derived scales", derived_parameters, folder))
        if derives:
            self.reasons.append("%s: the result of a tensor and a number has a scale of its own (docs/Differences.md, B03); values behind it "
                                "and outputs are not judged" % network)
        excused = bool(off_by_one or saturating or tied or derives)  # what follows such a code differs too
        self.cells.append("%d of %d%s" % (total - len(different) - len(tied), total, " (behind such codes)" if excused and (different or tied) else ""))
        if different and not excused:
            self.problems.append("values of the run differ: %s" % ", ".join(different[:12]))
        self._outputs(self._try("outputs", check_outputs, folder, tools, own), derives)
        if own:
            self._calibration(self._try("calibration", check_calibration, folder, tools))

    @classmethod
    def unrun(cls, network, folder, tools, allowed, error):
        """The row of a network whose converted model PyTorch cannot run: texts, parameters and float outputs; ours has to run."""
        row = cls.__new__(cls)
        row.network, row.problems, row.cells, row.reasons, row.own = network, [], [], [], []
        row._graphs(folder, tools, allowed, own=False)
        row.cells += ["-"] * 4
        row._float(folder, tools)
        values = row._try("int8", outputs, folder, tools, "int8.qfx")
        if values is not None and not numpy.isfinite(values).all():
            row.problems.append("the int8 outputs are not finite")
        row.reasons.append("%s: PyTorch's converted model does not run (%s); qfx's does" % (network, error.split(". ")[0]))
        return row

    def _float(self, folder, tools):
        """The cell of the float outputs alone."""
        def measure():
            expected = recorded_outputs(folder, "float")
            return float(abs(outputs(folder, tools, "model.qfx") - expected).max() / abs(expected).max())

        error = self._try("float", measure)
        error = float("nan") if error is None else error
        self.cells.append("%.1e" % error)
        if not error <= FLOAT_TOLERANCE:
            self.problems.append("the float outputs differ by %.1e" % error)

    @classmethod
    def failed(cls, network, problem):
        """The row of a network that could not be recorded."""
        row = cls.__new__(cls)
        row.network, row.problems, row.cells, row.reasons, row.own = network, [problem], ["?"] * (len(report.COLUMNS) - 1), [], []
        return row

    def _outputs(self, found, derives=False):
        found = found or Outputs(float("nan"), float("nan"), 0, {}, float("nan"), None, float("nan"), False, 0)
        self.cells += ["-" if found.none_exact else "%.2f %%" % (100 * found.exact), "%d, %d (%.2f %%)" % (found.saturated, len(found.tied), 100 * found.stated), "%.1e" % found.float_error]
        self.reasons += ["%s: image %d leaves PyTorch's codes at ties, of '%s'" % (self.network, image, "', '".join(names)) for image, names in found.tied.items()]
        self.own_outputs = ["%.1f %%" % (100 * found.own), "-" if found.control is None else "%.1f %%" % (100 * found.control)]
        if not (found.exact >= STEP_SHARE or derives):
            self.problems.append("%.2f %% of the int8 outputs lie within one step" % (100 * found.exact))
        if not found.float_error <= max(FLOAT_TOLERANCE, found.float_rounding):
            self.problems.append("the float outputs differ by %.1e" % found.float_error)

    def _calibration(self, found):
        total, equal, kept, observers, different = found or (0, 0, None, 0, [])
        self.own = ["%d of %d" % (equal, total), "-" if kept is None else "%d of %d" % (kept, total),
                    "%d of %d" % (observers - len(different), observers)] + self.own_outputs
        if different or not observers:
            self.problems.append("observers differ from PyTorch's on the same activations: %s"
                                 % (", ".join(different[:12]) or "none was run"))

    def _try(self, what, check, *arguments):
        try:
            return check(*arguments)
        except Exception as error:
            self.problems.append("%s: %s: %s" % (what, type(error).__name__, error))
            return None


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
    about = json.loads(read(os.path.join(options.folder, networks[0]), "about.json"))
    tools, allowed, rows = Tools(options.qfx_opt, options.qfx_run), texts.Allowed(), []
    for network in networks:
        rows.append(Row(network, os.path.join(options.folder, network), tools, allowed))
        print("%-20s %s" % (network, "equal" if not rows[-1].problems else "; ".join(rows[-1].problems)))
        with open(options.output, "w") as file:  # after each, for the last ones take minutes
            file.write(report.results(rows, about, calibration.isa_of(options.qfx_opt)))
    print("wrote %s" % options.output)
    return 3 if any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
