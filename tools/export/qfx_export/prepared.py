"""What prepare decided, as the meta lines that qfx reads again: qconfigs of nodes (graph mode) or modules (eager mode)."""
from __future__ import annotations

import functools
from typing import Any, Dict, List, Mapping, Set

import torch
import torch.fx

from .errors import ExportError
from .text import class_name, target_name
from .tracer import Scope

PREPARED_KEY = "_observed_graph_module_attrs"  # upstream's key in GraphModule.meta


def observer_text(constructor: Any, where: str) -> Any:
    """An observer constructor of a qconfig: the class's name, or a dict of its name and keywords."""
    if constructor is None:
        return None
    keywords: Dict[str, Any] = {}
    partial = getattr(constructor, "p", constructor)  # with_args and with_callable_args wrap a functools.partial
    is_partial = False
    while isinstance(partial, functools.partial):
        is_partial = True
        keywords = {**partial.keywords, **keywords}
        if partial.args:
            raise ExportError("%s: the observer %r has positional arguments; give them by keyword" % (where, partial))
        partial = getattr(partial.func, "p", partial.func)
    if not isinstance(partial, type):
        raise ExportError("%s: %r is no observer class nor made by with_args of one" % (where, constructor))
    name = partial.__name__
    if not is_partial:
        return name
    entries: Dict[str, Any] = {"class": name}
    for key, value in keywords.items():
        if key != "factory_kwargs":
            entries[key] = observer_text(value, where) if key == "observer" else value
    return entries


def qconfig_text(qconfig: Any, where: str) -> Any:
    """A qconfig as qfx stores it, None for none."""
    if qconfig is None:
        return None
    return {"activation": observer_text(qconfig.activation, where), "weight": observer_text(qconfig.weight, where)}


class _Distinct:
    """Equal qconfigs once, referred to by number."""

    def __init__(self) -> None:
        self.values: List[Any] = []

    def number(self, value: Any) -> int:
        if value not in self.values:
            self.values.append(value)
        return self.values.index(value)


def _key_text(key: Any, where: str) -> str:
    if isinstance(key, str):
        return key
    return class_name(key) if isinstance(key, type) else target_name(key, where)


def _mapping_text(mapping: Any) -> Dict[str, Any]:
    """A QConfigMapping as a dict of lists of tuples."""
    where = "the qconfig mapping"
    return {
        "": qconfig_text(mapping.global_qconfig, where),
        "object_type": [(_key_text(key, where), qconfig_text(value, where)) for key, value in mapping.object_type_qconfigs.items()],
        "module_name_regex": [(key, qconfig_text(value, where)) for key, value in mapping.module_name_regex_qconfigs.items()],
        "module_name": [(key, qconfig_text(value, where)) for key, value in mapping.module_name_qconfigs.items()],
        "module_name_object_type_order": [
            (path, _key_text(kind, where), index, qconfig_text(value, where))
            for (path, kind, index), value in mapping.module_name_object_type_order_qconfigs.items()],
    }


def prepared_meta(model: torch.fx.GraphModule) -> Dict[str, Any]:
    """{'prepared': ...} of a model that prepare_fx or prepare_qat_fx made, else {}."""
    state = model.meta.get(PREPARED_KEY) if isinstance(getattr(model, "meta", None), dict) else None
    if state is None:
        return {}
    custom = state.prepare_custom_config
    qconfigs = _Distinct()
    nodes = {name: qconfigs.number(qconfig_text(value, "node '%s'" % name))
             for name, value in sorted(state.node_name_to_qconfig.items())}
    equalized = {name: {"activation": observer_text(value.input_activation, name), "weight": observer_text(value.weight, name)}
                 for name, value in sorted((state.equalization_node_name_to_qconfig or {}).items()) if value is not None}
    meta = {
        "qconfigs": qconfigs.values,
        "node_name_to_qconfig": nodes,
        "qconfig_mapping": _mapping_text(state.qconfig_mapping),
        "is_qat": bool(state.is_qat),
        "observed_node_names": sorted(state.observed_node_names),
        "input_quantized_idxs": list(custom.input_quantized_indexes),
        "output_quantized_idxs": list(custom.output_quantized_indexes),
        "backend": "native",
    }
    if equalized:
        meta["equalization_node_name_to_qconfig"] = equalized
    return {"prepared": meta}


def recorded_scopes(model: torch.fx.GraphModule) -> Mapping[str, Scope]:
    """Scopes that an earlier trace left on the module (QuantizationTracer's attribute, what prepare saved), else none."""
    scopes = getattr(model, "_node_name_to_scope", None)
    if scopes is None and PREPARED_KEY in model.meta:
        scopes = model.meta[PREPARED_KEY].node_name_to_scope
    return scopes if isinstance(scopes, dict) else {}


def eager_meta(model: torch.nn.Module, declared: Set[str]) -> Dict[str, Any]:
    """{'eager_qconfigs': ...} where modules carry a qconfig attribute, else {}."""
    qconfigs = _Distinct()
    modules = {path: qconfigs.number(qconfig_text(module.qconfig, "module '%s'" % path))
               for path, module in model.named_modules()
               if hasattr(module, "qconfig") and (not path or path in declared)}
    if all(value is None for value in qconfigs.values):
        return {}
    return {"eager_qconfigs": {"qconfigs": qconfigs.values, "modules": modules}}
