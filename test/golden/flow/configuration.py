"""qfx's JSON configuration as PyTorch objects."""
import operator

import torch
import torch.ao.quantization as tq
import torch.ao.quantization.fake_quantize
import torch.ao.quantization.observer
import torch.ao.quantization.qconfig
import torch.ao.quantization.qconfig_mapping
from torch.ao.quantization import QConfigMapping, get_default_qat_qconfig_mapping, get_default_qconfig_mapping

_OBSERVERS = (torch.ao.quantization.observer, torch.ao.quantization.fake_quantize)


def object_of(name):
    """`torch.nn.Linear`, `operator.add`, a method name; a class of the cases' own models by its qualified name."""
    if "." not in name:
        return name
    if name.startswith("operator."):
        return getattr(operator, name.partition(".")[2])
    if name == "torch.nn.functional.linear":
        return torch._C._nn.linear
    if name.startswith("torch."):
        value = torch
        for part in name.split(".")[1:]:
            value = getattr(value, part)
        return value
    import blocks
    return getattr(blocks, name.rpartition(".")[2])


def observer_of(value):
    if value is None:
        return None
    if isinstance(value, str):
        for home in _OBSERVERS:
            if hasattr(home, value):
                return getattr(home, value)
        raise ValueError(value)
    keywords = dict(value)
    cls = observer_of(keywords.pop("class"))
    for key in ("dtype", "qscheme"):
        if key in keywords:
            keywords[key] = getattr(torch, keywords[key])
    if "observer" in keywords:
        keywords["observer"] = observer_of(keywords["observer"])
    return cls.with_args(**keywords)


def qconfig_of(value):
    if value is None:
        return None
    if isinstance(value, str):
        return getattr(torch.ao.quantization.qconfig, value)
    return tq.QConfig(activation=observer_of(value["activation"]), weight=observer_of(value["weight"]))


def fill(mapping, value, qconfig_of):
    """The entries of the JSON into `mapping`, each qconfig read by `qconfig_of`."""
    if "global" in value:
        mapping.set_global(qconfig_of(value["global"]))
    for key, qconfig in value.get("object_type", {}).items():
        mapping.set_object_type(object_of(key), qconfig_of(qconfig))
    for regex, qconfig in value.get("module_name_regex", []):
        mapping.set_module_name_regex(regex, qconfig_of(qconfig))
    for path, qconfig in value.get("module_name", {}).items():
        mapping.set_module_name(path, qconfig_of(qconfig))
    for path, key, index, qconfig in value.get("module_name_object_type_order", []):
        mapping.set_module_name_object_type_order(path, object_of(key), index, qconfig_of(qconfig))
    return mapping


def mapping_of(value, backend, is_qat):
    """The QConfigMapping that the JSON stands for; None: the default of the backend."""
    if value is None:
        value = {"extends": backend + ("_qat" if is_qat else "")}
    base = value.get("extends")
    if base is None:
        mapping = QConfigMapping()
    elif base == "symmetric_qnnpack":
        mapping = torch.ao.quantization.qconfig_mapping._get_symmetric_qnnpack_qconfig_mapping()
    elif base.endswith("_qat"):
        mapping = get_default_qat_qconfig_mapping(base[:-4])
    else:
        mapping = get_default_qconfig_mapping(base)
    return fill(mapping, value, qconfig_of)
