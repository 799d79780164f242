"""Custom configs of a case as PyTorch objects."""
import copy

from torch.ao.quantization import get_default_qconfig_mapping  # noqa: F401
from torch.ao.quantization.fx.custom_config import ConvertCustomConfig, FuseCustomConfig, PrepareCustomConfig

from configuration import mapping_of, object_of


def _prepare(json_config, case, is_qat):
    import make

    config = PrepareCustomConfig()
    if json_config is None:
        return config
    config.set_input_quantized_indexes(json_config.get("input_quantized_idxs", []))
    config.set_output_quantized_indexes(json_config.get("output_quantized_idxs", []))
    config.set_preserved_attributes(json_config.get("preserved_attributes", []))
    config.set_non_traceable_module_names(json_config.get("non_traceable_module_name", []))
    config.set_non_traceable_module_classes([object_of(n) for n in json_config.get("non_traceable_module_class", [])])
    for kind, classes in json_config.get("float_to_observed_custom_module_class", {}).items():
        assert kind == "static"
        for source, target in classes.items():
            config.set_float_to_observed_mapping(object_of(source), object_of(target))
    for entry in json_config.get("standalone_module_name", []):
        config.set_standalone_module_name(entry["name"], *_standalone(entry, case, is_qat))
    for entry in json_config.get("standalone_module_class", []):
        config.set_standalone_module_class(object_of(entry["class"]), *_standalone(entry, case, is_qat))
    return config


def _standalone(entry, case, is_qat):
    import make

    mapping = mapping_of(entry["qconfig_mapping"], case.backend, is_qat) if entry.get("qconfig_mapping") else None
    inner = _prepare(entry["prepare_custom_config"], case, is_qat) if entry.get("prepare_custom_config") else None
    backend = make.config_of(entry["backend_config"]) if entry.get("backend_config") else None
    return mapping, (), inner, backend


class Custom:
    """fuse, prepare and convert configs, and the mapping given to convert."""

    def __init__(self, case, is_qat):
        config = case.custom or {}
        self.case, self.is_qat = case, is_qat
        self.fuses = "prepare" not in config or not any(
            k.startswith(("standalone", "non_traceable", "float_to")) for k in config["prepare"])
        self.fuse = FuseCustomConfig().set_preserved_attributes(config.get("fuse", {}).get("preserved_attributes", []))
        self.prepare = _prepare(config.get("prepare"), case, is_qat)
        self.convert = ConvertCustomConfig()
        convert = config.get("convert", {})
        self.convert.set_preserved_attributes(convert.get("preserved_attributes", []))
        for kind, classes in convert.get("observed_to_quantized_custom_module_class", {}).items():
            for source, target in classes.items():
                from torch.ao.quantization.quant_type import _quant_type_from_str
                self.convert.set_observed_to_quantized_mapping(
                    object_of(source), object_of(target), _quant_type_from_str(kind))
        self.override = convert.get("qconfig_mapping")

    def convert_mapping(self, prepared):
        """The mapping that convert is given: prepare's, with `override` set on top."""
        if self.override is None:
            return None
        from configuration import qconfig_of

        mapping = copy.deepcopy(prepared.meta["_observed_graph_module_attrs"].qconfig_mapping)
        for path, qconfig in self.override.get("module_name", {}).items():
            mapping.set_module_name(path, qconfig_of(qconfig))
        for key, qconfig in self.override.get("object_type", {}).items():
            mapping.set_object_type(object_of(key), qconfig_of(qconfig))
        return mapping


def leaves(case):
    """(names, classes) that the exporter must leave as module calls for this case; inner names are full paths."""
    prepare = (case.custom or {}).get("prepare", {})
    names = list(prepare.get("non_traceable_module_name", []))
    classes = [object_of(n) for n in prepare.get("non_traceable_module_class", [])]
    todo = [("", prepare)]
    while todo:
        path, config = todo.pop()
        for entry in config.get("standalone_module_name", []):
            names.append(path + entry["name"])
            todo.append((names[-1] + ".", entry.get("prepare_custom_config") or {}))
        classes += [object_of(entry["class"]) for entry in config.get("standalone_module_class", [])]
    return names, classes
