"""Writes mappings.txt: what the functions of torch.ao.quantization.quantization_mappings return, one pair or class a line.

`<function> <class> <class>` for mappings, `<function> <class>` for lists (sorted: upstream's are sets).
"""
import os
import sys

import torch
from torch.ao.quantization import quantization_mappings as mappings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tools", "export"))
from qfx_export.text import class_name, target_name  # noqa: E402

MAPPINGS = ("get_default_static_quant_module_mappings", "get_default_static_quant_reference_module_mappings",
            "get_embedding_static_quant_module_mappings", "get_default_static_sparse_quant_module_mappings",
            "get_default_dynamic_quant_module_mappings", "get_default_dynamic_sparse_quant_module_mappings",
            "get_default_qat_module_mappings", "get_embedding_qat_module_mappings")
LISTS = ("get_default_qconfig_propagation_list", "get_default_compare_output_module_list", "no_observer_set")


def name_of(value):
    if isinstance(value, type):
        return class_name(value).replace(".linear.Linear", ".Linear")
    if isinstance(value, torch._ops.OpOverloadPacket):
        return "torch.ops.%s" % str(value)
    return target_name(value, "mapping")


def main():
    with open(os.path.join(HERE, "mappings.txt"), "w") as file:
        file.write("# torch %s\n" % torch.__version__)
        for function in MAPPINGS:
            for key, value in getattr(mappings, function)().items():
                file.write("%s %s %s\n" % (function, name_of(key), name_of(value)))
        for key, value in mappings.get_default_float_to_quantized_operator_mappings().items():
            file.write("get_default_float_to_quantized_operator_mappings %s %s\n" % (name_of(key), name_of(value)))
        for function in LISTS:
            for name in sorted({name_of(value) for value in getattr(mappings, function)()}):
                file.write("%s %s\n" % (function, name))


if __name__ == "__main__":
    main()
