"""Records what torch.ao.quantization.utils says about qconfigs and what QConfigMapping.to_dict gives: run with torch 2.13, writes the .json files
beside it."""
import json
import pathlib
import warnings

import torch
import torch.ao.quantization as tq
from torch.ao.quantization import qconfig as qc
from torch.ao.quantization import utils
from torch.ao.quantization.observer import PlaceholderObserver
from torch.ao.quantization.qconfig_mapping import _get_symmetric_qnnpack_qat_qconfig_mapping, _get_symmetric_qnnpack_qconfig_mapping

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent
PREDICATES = ["get_qconfig_dtypes", "activation_is_dynamically_quantized", "activation_is_statically_quantized", "activation_is_int8_quantized",
              "activation_is_int32_quantized", "weight_is_quantized", "weight_is_statically_quantized", "op_is_int8_dynamically_quantized", "get_quant_type"]
DTYPES = ["quint8", "qint8", "qint32", "quint4x2", "float32", "float16", "bfloat16", "float64", "uint8", "int8", "int16", "int32"]


def ask(qconfig):
    """The answers in the order of PREDICATES; null where PyTorch raises."""
    answers = []
    for name in PREDICATES:
        try:
            value = getattr(utils, name)(qconfig)
            if isinstance(value, tuple):
                value = [str(item).removeprefix("torch.") if isinstance(item, torch.dtype) else item for item in value]
            answers.append(getattr(value, "name", value))
        except Exception:
            answers.append(None)
    for name in ("_activation_is_memoryless", "_is_reuse_input_qconfig"):
        try:
            answers.append(getattr(qc, name)(qconfig))
        except Exception:
            answers.append(None)
    return answers


def make_predicates():
    aliases = {name: ask(value) for name, value in vars(qc).items() if isinstance(value, qc.QConfig)}
    grid = []
    for activation in DTYPES:
        for weight in DTYPES:
            for dynamic in (False, True):
                make = qc.QConfig(PlaceholderObserver.with_args(dtype=getattr(torch, activation), is_dynamic=dynamic),
                                  PlaceholderObserver.with_args(dtype=getattr(torch, weight)))
                grid.append([activation, weight, dynamic, ask(make)])
    return {"predicates": PREDICATES + ["activation_is_memoryless", "is_reuse_input_qconfig"], "aliases": aliases, "grid": grid}


def name_of(key):
    if not isinstance(key, type):
        return key if isinstance(key, str) else ("torch." if getattr(torch, key.__name__, None) is key and not hasattr(torch.nn.functional, key.__name__)
                                                 or key.__name__ in ("sigmoid", "tanh") else "torch.nn.functional.") + key.__name__
    return "torch.nn." + key.__name__


def make_to_dict():
    mappings = {}
    for backend in ("x86", "fbgemm", "qnnpack", "onednn"):
        mappings[backend] = tq.get_default_qconfig_mapping(backend)
        for version in (0, 1):
            mappings[f"{backend}_qat_{version}"] = tq.get_default_qat_qconfig_mapping(backend, version)
    mappings["symmetric_qnnpack"] = _get_symmetric_qnnpack_qconfig_mapping()
    mappings["symmetric_qnnpack_qat"] = _get_symmetric_qnnpack_qat_qconfig_mapping()
    custom = tq.QConfigMapping().set_global(tq.float16_static_qconfig).set_object_type("reshape", None).set_object_type(torch.nn.Linear, tq.default_qconfig)
    custom.set_module_name_regex("a.*[0-9]", tq.default_debug_qconfig).set_module_name("sub.fc", None).set_module_name("sub", tq.default_qat_qconfig)
    custom.set_object_type("reshape", tq.default_reuse_input_qconfig).set_module_name_object_type_order("sub", torch.nn.Linear, 3, tq.default_weight_only_qconfig)
    mappings["custom"] = custom
    texts, index = [], {}

    def text_of(value):
        """Long texts stand once, in `qconfigs`."""
        text = repr(value)
        if text not in index:
            index[text] = len(texts)
            texts.append(text)
        return index[text]

    out = {}
    for name, mapping in mappings.items():
        rows = mapping.to_dict()
        again = tq.QConfigMapping.from_dict(rows)
        assert repr(again) == repr(mapping)
        out[name] = {key: text_of(value) if key == "" else [[name_of(part) if callable(part) else part for part in row[:-1]] + [text_of(row[-1])] for row in value]
                     for key, value in rows.items()}
    return {"qconfigs": texts, "mappings": out}


def main():
    for name, make in (("predicates", make_predicates), ("to_dict", make_to_dict)):
        text = json.dumps({"torch": torch.__version__, **make()}, separators=(",", ":")).replace('],["', '],\n["').replace('},"', '},\n"')
        (HERE / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
