"""Makes the golden tests test/passes/flow/<case>.test: what PyTorch's quantize_fx makes of each model of cases_*.py.

usage: make.py [CASE...]
Each test holds the model as .qfx text with seeded weights, the configuration, and `str(graph)` after fuse_fx,
prepare_fx (or prepare_qat_fx), convert_to_reference_fx and convert_fx. The models are not calibrated: graph texts do not
depend on the numbers, and both sides then use scale 1 and zero point 0. Functional weights are observed by convert.
"""
import copy
import functools
import importlib
import json
import math
import os
import re
import sys
import warnings

import torch
from torch.ao.quantization.quantize_fx import (convert_fx, convert_to_reference_fx, fuse_fx, prepare_fx,
                                               prepare_qat_fx)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
OUT = os.path.join(ROOT, "test", "passes", "flow")
sys.path[:0] = [HERE, os.path.join(ROOT, "tools", "export")]
warnings.filterwarnings("ignore")

from configuration import mapping_of  # noqa: E402
from declare import CASES  # noqa: E402
from qfx_export.tracer import trace  # noqa: E402
from qfx_export.writer import ModelWriter  # noqa: E402
import torch_custom  # noqa: E402
import torch_equalization  # noqa: E402

FAMILIES = ("cases_static", "cases_mapping", "cases_lowering", "cases_dynamic", "cases_onednn", "cases_custom",
            "cases_qat", "cases_audit", "cases_equalize", "cases_exported")
PHASES = ("fused", "prepared", "reference", "converted")


def initializer(path, tensor, seed):
    """A seeded .qfx initializer; variances are positive."""
    name = path.rpartition(".")[2]
    if not tensor.is_floating_point():
        return "0"
    if name == "running_var" or (name == "weight" and tensor.dim() == 1):
        return "random(seed=%d, low=0.5, high=1.5)" % seed
    high = round(2.0 / math.sqrt(max(1, tensor[0].numel())), 4) if tensor.dim() > 1 else 0.1
    return "random(seed=%d, low=%r, high=%r)" % (seed, -high, high)


def model_text(case, model, leaf_names=(), leaf_classes=()):
    """The traced model as .qfx with inline seeded weights."""
    graph_module, scopes = trace(model, leaf_names=leaf_names, leaf_classes=leaf_classes)
    written = ModelWriter(
        graph_module, scopes, case.inputs, None, model, leaf_names, leaf_classes).write("none")
    declared = set(re.findall(r"^(?:parameter|buffer) ([\w.]+) :", written.text, re.MULTILINE))
    lines, inits = [], {}
    for seed, (path, value) in enumerate(written.tensors.items(), 1):
        inits[path] = initializer(path, value, seed)
    for line in written.text.splitlines():
        match = re.match(r"(?:parameter|buffer) ([\w.]+) : ", line)
        if line.startswith("weights "):
            continue
        lines.append("%s = %s" % (line, inits[match.group(1)]) if match else line)
    graph = next(i for i, line in enumerate(lines) if line.startswith("graph"))
    parameters = {path for path, _ in model.named_parameters(remove_duplicate=False)}
    lines[graph - 1 : graph - 1] = [
        "%s %s : %s[%s] = %s" % (
            "parameter" if path in parameters else "buffer", path,
            "i64" if value.dtype == torch.int64 else "f32", ", ".join(map(str, value.shape)), inits[path])
        for path, value in written.tensors.items() if path not in declared]
    return "\n".join(lines)


def config_of(name):
    """PyTorch's built-in BackendConfig of that name."""
    home = importlib.import_module("torch.ao.quantization.backend_config." + name)
    return getattr(home, "get_%s_backend_config" % name)()


class Phases:
    """PyTorch's graph texts of a case; an inner standalone module's text under `<phase>:<path>`."""

    def __init__(self, case):
        torch.backends.quantized.engine = case.engine
        config = config_of(case.oracle)
        is_qat = case.mode == "qat"
        mapping = mapping_of(case.mapping, case.backend, is_qat)
        custom = torch_custom.Custom(case, is_qat)
        model, inputs = case.build(), tuple(case.inputs.values())
        self.texts = {}
        if not is_qat and custom.fuses:
            self.add("fused", fuse_fx(copy.deepcopy(model), custom.fuse, backend_config=config))
        make = prepare_qat_fx if is_qat else functools.partial(
            prepare_fx, _equalization_config=torch_equalization.equalization_of(case.equalization))
        prepared = make(copy.deepcopy(model), mapping, inputs, custom.prepare, backend_config=config)
        self.add("prepared", prepared)
        for phase, convert in (("reference", convert_to_reference_fx), ("converted", convert_fx)):
            if phase not in case.fails:
                self.add(phase, convert(copy.deepcopy(prepared), custom.convert, backend_config=config,
                                        qconfig_mapping=custom.convert_mapping(prepared)))

    def add(self, phase, model):
        self.texts[phase] = str(model.graph)
        for path, module in model.named_modules():
            if path and isinstance(module, torch.fx.GraphModule):
                self.texts["%s:%s" % (phase, path)] = str(module.graph)


def inner_path(case, path):
    """`outer.inner` as --emit-inner wants it: a slash where a module's own graph begins."""
    names = sorted(torch_custom.leaves(case)[0], key=len)
    for name in names:
        if path.startswith(name + "."):
            return name + "/" + path[len(name) + 1 :]
    return path


def amended(case, phase, text):
    for regex, replacement, _ in case.amend.get(phase, ()):
        text, count = re.subn(regex, replacement, text, flags=re.MULTILINE)
        assert count, "%s: amendment %r of %s meets nothing" % (case.name, regex, phase)
    return text


def test_text(case):
    phases = Phases(case).texts
    model = model_text(case, case.build(), *torch_custom.leaves(case))
    mode = "{mode=qat}" if case.mode == "qat" else ""
    flags = "--backend=%s" % case.backend
    if case.engine != case.backend:
        flags += " --engine=%s" % case.engine
    files = [("m.qfx", model)]
    if case.mapping is not None:
        files.append(("q.json", json.dumps(case.mapping, indent=1)))
        flags += " --qconfig=%t/q.json"
    if case.custom is not None:
        files.append(("c.json", json.dumps(case.custom, indent=1)))
        flags += " --custom-config=%t/c.json"
    prepare = "prepare" + mode
    if case.equalization is not None:
        files.append(("e.json", json.dumps(case.equalization, indent=1)))
        prepare = "prepare{equalization=%t/e.json}"
    if case.options:
        flags += " " + case.options
    pipelines = {
        "fused": "fuse", "prepared": "fuse%s,%s" % (mode, prepare),
        "reference": "fuse%s,%s,convert-to-reference" % (mode, prepare),
        "converted": "fuse%s,%s,convert-to-reference,lower" % (mode, prepare)}
    runs = ["RUN: rm -rf %t && split-file %s %t"]
    for key, text in phases.items():
        phase, _, inner = key.partition(":")
        files.append((key.replace(":", ".") + ".txt", amended(case, key, text)))
        runs.append("RUN: qfx-opt %%t/m.qfx -p '%s' %s --allow-uncalibrated --emit=fx%s 2>/dev/null | diff -u %%t/%s.txt -" % (
            pipelines[phase], flags, " --emit-inner=" + inner_path(case, inner) if inner else "", key.replace(":", ".")))
    about = ["%s" % case.doc.splitlines()[0],
             "Made by test/golden/flow/make.py with PyTorch %s; do not edit." % torch.__version__]
    about += ["PyTorch raises in %s: %s" % item for item in case.fails.items()]
    for phase in case.amend:
        for _, _, reason in case.amend[phase]:
            about.append("QFX, %s: %s" % (phase, reason))
    body = "".join("//--- %s\n%s\n" % (name, text) for name, text in files)
    return "\n".join(about + runs) + "\n" + body


def main():
    torch.set_num_threads(1)
    for family in FAMILIES:
        if os.path.exists(os.path.join(HERE, family + ".py")):
            __import__(family)
    wanted = sys.argv[1:] or list(CASES)
    os.makedirs(OUT, exist_ok=True)
    failed = []
    for name in wanted:
        try:
            text = test_text(CASES[name])
        except Exception as error:
            if "-v" in os.environ.get("MAKE_FLAGS", ""):
                raise
            failed.append("%s: %s: %s" % (name, type(error).__name__, error))
            continue
        with open(os.path.join(OUT, name + ".test"), "w") as file:
            file.write(text)
    print("%d cases" % (len(wanted) - len(failed)))
    if failed:
        print("\n".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
