"""Mutates configuration files and asks their JSON Schemas about the results: needs the jsonschema package, writes mutations.json beside it.

A mutation is a JSON Patch (RFC 6902) of a base document; the verdict is the schema's. Everything that only qfx can know (names, paths, what a
base file holds) is left to qfx, so a document that the schema accepts may still be refused, but with one of the codes that the test lists.
"""
import copy
import json
import pathlib
import random

import jsonschema

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
SEED = 20260
PER_BASE = 70

EVERYTHING = {
    "$schema": "schema.json", "format_version": 1, "name": "everything", "comment": ["all", "keys"],
    "dtype_configs": {"w8": {"input_dtype": {"dtype": "quint8", "quant_min_lower_bound": 0, "quant_max_upper_bound": 127}, "output_dtype": "quint8",
                             "weight_dtype": {"dtype": "qint8", "scale_min_lower_bound": 0.000244140625}, "bias_dtype": "float32", "is_dynamic": False},
                      "fixed": {"input_dtype": {"dtype": "quint8", "scale_exact_match": 0.00390625, "zero_point_exact_match": 0}, "output_dtype": "quint8"}},
    "configs": [
        {"pattern": ["torch.nn.Conv2d", "torch.nn.BatchNorm2d", "torch.nn.ReLU"], "dtype_configs": ["w8"],
         "fused_module": "torch.ao.nn.intrinsic.ConvReLU2d", "fuser_method": {"children": [[1, 1], [0]], "fold_batch_norm": [1, 0]}},
        {"pattern": "torch.ao.nn.intrinsic.ConvReLU2d", "dtype_configs": ["w8"], "root_module": "torch.nn.Conv2d",
         "qat_module": "torch.ao.nn.intrinsic.qat.ConvReLU2d", "reference_quantized_module": "torch.ao.nn.quantized.reference.Conv2d"},
        {"pattern_complex_format": ["torch.nn.ReLU", ["operator.add", "MatchAllNode", "torch.nn.Conv2d"]], "dtype_configs": ["w8"],
         "root_node_getter": [1, 2], "extra_inputs_getter": [[1, 1]], "fused_module": "torch.ao.nn.intrinsic.ConvAddReLU2d",
         "fuser_method": "fuse_conv_add_relu_right"},
        {"pattern": "torch.add", "dtype_configs": ["w8", {"input_dtype": "float16", "output_dtype": "float32", "is_dynamic": True}],
         "observation_type": "OUTPUT_SHARE_OBSERVER_WITH_INPUT",
         "num_tensor_args_to_observation_type": {"0": "INPUT_OUTPUT_NOT_OBSERVED", "1": "OUTPUT_SHARE_OBSERVER_WITH_INPUT",
                                                 "2": "OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT"}},
        {"pattern": "torch.nn.functional.linear", "dtype_configs": ["w8"], "input_type_to_index": {"input": 0, "weight": 1, "bias": 2}},
        {"pattern": "sigmoid", "dtype_configs": ["fixed"]}]}
DERIVED = {"name": "derived", "extends": "x86", "dtype_configs": {"weighted_int8": {"input_dtype": "quint8", "output_dtype": "quint8"}},
           "remove": [{"glob": "*3d"}, "torch.nn.GRU", ["torch.nn.Linear", "torch.nn.BatchNorm1d"], {"pattern_complex_format": ["torch.nn.ReLU", "operator.mul"]}],
           "replace": [{"pattern": "torch.cat", "dtype_configs": ["default_quint8"]}], "add": [{"pattern": "torch.nn.GELU", "dtype_configs": ["default_quint8"]}]}

OBSERVER = {"class": "HistogramObserver", "bins": 512, "reduce_range": True, "dtype": "quint8", "qscheme": "per_tensor_affine", "eps": 1e-05, "comment": "c"}
FAKE = {"class": "FakeQuantize", "observer": {"class": "MovingAverageMinMaxObserver", "averaging_constant": 0.05}, "quant_min": 0, "quant_max": 255}
MAPPING = {"$schema": "schema.json", "format_version": 1, "comment": "all keys", "extends": "x86", "global": {"activation": OBSERVER, "weight": "default_weight_observer"},
           "object_type": {"torch.nn.Linear": None, "relu": "default_qconfig", "torch.add": {"activation": FAKE, "weight": None}},
           "module_name_regex": [["layer[12].*", "default_per_channel_qconfig"], ["a", None]], "module_name": {"fc": None, "fc.sub": {"activation": "MinMaxObserver", "weight": None}},
           "module_name_object_type_order": [["", "torch.add", 1, None], ["sub", "torch.nn.Linear", 0, "default_qconfig"]]}
TO_DICT = {"": "default_qconfig", "object_type": [["reshape", "default_reuse_input_qconfig"], ["torch.nn.LayerNorm", None]], "module_name_regex": [], "module_name": [["a.b", None]],
           "module_name_object_type_order": []}

JUNK = [None, True, 3, -1, 0.5, "", "torch.nn.Liner", "Relu", "a..b", "relu", "MatchAllNode", [], {}, ["x"], [[0]], {"dtype": "quint8"}, "quint9", "int8", [1, 2, 3, 4]]


def load(name):
    return json.loads((ROOT / "docs" / name).read_text())


def walk(value, pointer=""):
    """(pointer, value) of everything inside a document."""
    yield pointer, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from walk(inner, pointer + "/" + str(key).replace("~", "~0").replace("/", "~1"))


def get(document, pointer):
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def mutate(document, rng):
    """One patch."""
    nodes = list(walk(document))
    pointer, value = rng.choice(nodes[1:])
    kind = rng.choice(["remove", "replace", "junk key", "misspell key", "misspell value", "append", "copy", "duplicate"])
    parent, _, key = pointer.rpartition("/")
    holder = get(document, parent)
    if kind == "remove":
        return [{"op": "remove", "path": pointer}]
    if kind == "junk key" and isinstance(value, dict):
        return [{"op": "add", "path": pointer + "/" + rng.choice(["comment", "junk", "dtype", "class", "pattern"]), "value": copy.deepcopy(rng.choice(JUNK))}]
    if kind == "misspell key" and isinstance(holder, dict) and key:
        return [{"op": "move", "from": pointer, "path": parent + "/" + key[:-1] + "x"}]
    if kind == "misspell value" and isinstance(value, str) and value:
        at = rng.randrange(len(value))
        return [{"op": "replace", "path": pointer, "value": value[:at] + rng.choice("xX._ 8") + value[at + 1:]}]
    if kind == "append" and isinstance(value, list):
        return [{"op": "add", "path": pointer + "/-", "value": copy.deepcopy(rng.choice(JUNK))}]
    if kind == "copy":
        return [{"op": "replace", "path": pointer, "value": copy.deepcopy(rng.choice(nodes)[1])}]
    if kind == "duplicate" and isinstance(holder, list):
        return [{"op": "add", "path": parent + "/-", "value": copy.deepcopy(value)}]
    return [{"op": "replace", "path": pointer, "value": copy.deepcopy(rng.choice(JUNK))}]


def apply(document, patch):
    """The few operations that mutate() writes."""
    document = copy.deepcopy(document)
    for step in patch:
        value = step.get("value")
        if step["op"] in ("remove", "move"):
            source = step.get("from", step["path"])
            parent, _, key = source.rpartition("/")
            holder = get(document, parent)
            value = holder.pop(int(key) if isinstance(holder, list) else key.replace("~1", "/").replace("~0", "~"))
            if step["op"] == "remove":
                continue
        parent, _, key = step["path"].rpartition("/")
        holder = get(document, parent)
        if isinstance(holder, dict):
            holder[key.replace("~1", "/").replace("~0", "~")] = value
        elif key == "-":
            holder.append(value)
        else:
            holder[int(key)] = value
    return document


def main():
    rng = random.Random(SEED)
    out = {"jsonschema": __import__("importlib.metadata").metadata.version("jsonschema"), "seed": SEED, "sets": []}
    groups = [("backend_configs", [EVERYTHING, DERIVED, load("backend_configs/npu8_conv_relu_linear.json"), load("backend_configs/x86_add_relu_only.json")]),
              ("qconfigs", [MAPPING, TO_DICT, load("qconfigs/mixed_rules.json")])]
    for folder, bases in groups:
        schema = load(folder + "/schema.json")
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for base in bases:
            assert validator.is_valid(base), list(validator.iter_errors(base))
            cases = []
            while len(cases) < PER_BASE:
                patch = mutate(base, rng)
                if patch not in [case[1] for case in cases]:
                    cases.append([validator.is_valid(apply(base, patch)), patch])
            out["sets"].append({"kind": folder, "base": base, "cases": cases})
            print(folder, sum(case[0] for case in cases), "valid of", len(cases))
    text = json.dumps(out, separators=(",", ":")).replace(',[true,[', ',\n[true,[').replace(',[false,[', ',\n[false,[')
    (HERE / "mutations.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
