"""Records what torch.ao.quantization.backend_config says about its built-in configurations: run with torch 2.13, writes utils.json.

Classes and functions stand under the names of BackendConfig files; the long texts of entry_to_pretty_str as FNV-1a hashes (one of each backend
in full).
"""
import json
import operator
import pathlib
import re

import torch
import torch.ao.quantization.backend_config as bc
import torch.ao.quantization.backend_config.utils as utils
import torch.nn.functional as F
from torch.ao.quantization.backend_config.native import get_test_only_legacy_native_backend_config
from torch.ao.quantization.backend_config.x86 import get_x86_backend_config
from torch.ao.quantization.utils import MatchAllNode

HERE = pathlib.Path(__file__).parent
BUILTINS = {"native": bc.get_native_backend_config, "fbgemm": bc.get_fbgemm_backend_config, "x86": get_x86_backend_config,
            "qnnpack": bc.get_qnnpack_backend_config, "onednn": bc.get_onednn_backend_config, "executorch": bc.get_executorch_backend_config,
            "tensorrt": bc.get_tensorrt_backend_config, "_native_and_fp16": get_test_only_legacy_native_backend_config}


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def name_of(thing):
    """The name of a class or function in a BackendConfig file."""
    if isinstance(thing, str) or thing is None:
        return thing
    if thing is MatchAllNode:
        return "MatchAllNode"
    if isinstance(thing, type):
        return re.sub(r"\.modules\..*$|\.sparse$", "", thing.__module__) + "." + thing.__name__
    if thing is utils.remove_boolean_dispatch_from_name(thing):
        for home, prefix in ((F, "torch.nn.functional"), (torch, "torch"), (operator, "operator")):
            if getattr(home, thing.__name__, None) is thing:
                return f"{prefix}.{thing.__name__}"
        name = thing.__qualname__.removeprefix("_")  # fusers and getters
        return {"sequential_wrapper2.<locals>.fuser_method": "sequential_wrapper2"}.get(name, name)
    return utils.remove_boolean_dispatch_from_name(thing)


class Named:
    """Prints as the name of what it stands for: unquoted, but for methods inside tuples."""

    def __init__(self, thing):
        self.text = name_of(thing)
        self.quoted = isinstance(thing, str)

    def __repr__(self):
        return repr(self.text) if self.quoted else str(self.text)

    def __str__(self):
        return str(self.text)


def rename(value):
    if isinstance(value, tuple):
        return tuple(rename(item) for item in value)
    return Named(value) if callable(value) or isinstance(value, str) else value


def describe(config):
    entries = []
    for pattern, entry in config._pattern_complex_format_to_config.items():
        fields = {key: rename(value) for key, value in entry.to_dict().items()}
        entries.append([str(rename(pattern)), fnv(utils.entry_to_pretty_str(fields)), len(entry.dtype_configs), utils.entry_to_pretty_str(fields)])
    ordered = lambda values: list(dict.fromkeys(name_of(value) for value in values if value is not None))
    qat, fused = (ordered(getattr(entry, field) for entry in config.configs) for field in ("qat_module", "fused_module"))
    assert sorted(qat) == sorted(name_of(cls) for cls in utils.get_qat_module_classes(config))
    assert sorted(fused) == sorted(name_of(cls) for cls in utils.get_fused_module_classes(config))
    fusers = {}
    for pattern in utils.get_fuser_method_mapping(config):
        fusers[str(rename(pattern))] = name_of(config._pattern_complex_format_to_config[pattern].fuser_method)
    of = lambda function: {str(rename(key)): name_of(value) for key, value in function(config).items()}
    indices = utils.get_pattern_to_input_type_to_index(config)
    dtypes = utils.get_pattern_to_dtype_configs(config)
    assert [str(rename(key)) for key in dtypes] == [row[0] for row in entries] and list(indices) == list(dtypes)
    return {"name": config.name, "entries": [row[:3] for row in entries], "pretty": {row[0]: row[3] for row in entries[:: max(1, len(entries) // 3)]},
            "qat_module_classes": qat, "fused_module_classes": fused, "root_to_reference": of(utils.get_root_module_to_quantized_reference_module),
            "fusers": fusers, "module_to_qat_module": of(utils.get_module_to_qat_module),
            "root_getters": of(utils.get_fusion_pattern_to_root_node_getter), "extra_inputs_getters": of(utils.get_fusion_pattern_to_extra_inputs_getter),
            "input_type_to_index": {str(rename(key)): value for key, value in indices.items() if value}}


def main():
    data = {"torch": torch.__version__, "backends": {name: describe(make()) for name, make in BUILTINS.items()}}
    text = json.dumps(data, separators=(",", ":")).replace('],["', '],\n["').replace('},"', '},\n"')
    (HERE / "utils.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
