"""A graph module as .qfx text and the tensors that text refers to."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple

import torch
import torch.fx

from .errors import ExportError
from .known import require_known
from .modules import is_library_leaf, module_arguments
from .prepared import eager_meta, prepared_meta, recorded_scopes
from .quantized import QUANTIZATION_CLASSES, is_packed, unpack
from .tensors import add_tensor
from .text import class_name, format_arg, format_path, format_tensor_type, target_name
from .tracer import Scope, trace


class Written(NamedTuple):
    """What a model becomes: the text, the tensors of the weights file and that file's metadata."""

    text: str
    tensors: Dict[str, torch.Tensor]
    metadata: Dict[str, str]


class ModelWriter:
    """Writes one graph module. `values` are example inputs by placeholder name, `batch_size` the size that dimension 0
    of an input must have to be printed as the symbol N (None: every size is fixed), `source` the model that was traced:
    a graph module has forgotten the classes of its inner levels. Modules of the user's classes that `leaf_names` and
    `leaf_classes` kept as calls get a graph of their own, written by a writer with the `outer` one's lists. `dynamic_dims` names
    further symbolic sizes by input."""

    def __init__(self, model: torch.fx.GraphModule, scopes: Mapping[str, Scope], values: Mapping[str, Any],
                 batch_size: Optional[int], source: torch.nn.Module, leaf_names: Iterable[str] = (),
                 leaf_classes: Iterable[type] = (), outer: Optional[ModelWriter] = None, prefix: str = "",
                 dynamic_dims: Mapping[str, Mapping[int, str]] = {}):
        self.model = model
        self.source = source
        self.scopes = scopes
        self.values = values
        self.batch_size = batch_size
        self.leaf_names = tuple(leaf_names)
        self.leaf_classes = tuple(leaf_classes)
        self.prefix = prefix
        self.dynamic_dims = dynamic_dims
        self.tensors: Dict[str, torch.Tensor] = outer.tensors if outer else {}
        self.metadata: Dict[str, str] = outer.metadata if outer else {}
        self.tensor_paths: Dict[Any, str] = outer.tensor_paths if outer else {}
        self.kept: List[torch.Tensor] = outer.kept if outer else []  # unpacked tensors: identities are addresses
        self.module_paths: Dict[int, str] = outer.module_paths if outer else {}
        self.declared: Set[str] = outer.declared if outer else set()
        self.module_lines: List[str] = outer.module_lines if outer else []
        self.tensor_lines: List[str] = outer.tensor_lines if outer else []
        self.graph_lines: List[str] = outer.graph_lines if outer else []
        self.meta_lines: List[str] = outer.meta_lines if outer else []

    def write(self, weights_file: str) -> Written:
        """The whole file; `weights_file` is the name that its `weights` line gives."""
        self._members()
        graph = self.graph_lines + self._graph("graph")
        lines = ["qfx 1"]
        if self.tensors:
            lines.append('weights "%s"' % weights_file)
        lines += self.module_lines + self.tensor_lines
        for name, value in (prepared_meta(self.model) or eager_meta(self.source, self.declared)).items():
            lines.append("meta %s = %s" % (name, format_arg(value, "meta '%s'" % name)))
        lines += self.meta_lines
        output = next(node for node in self.model.graph.nodes if node.op == "output")
        if output.type is not None:
            lines.append('meta output_type = "%s"' % _type_text(output))
        lines += [""] + graph
        return Written("\n".join(lines) + "\n", self.tensors, self.metadata)

    def _members(self) -> None:
        """Declares what the graph calls and reads."""
        for node in self.model.graph.nodes:
            if node.op == "call_module":
                self._called_module(str(node.target), node)
            if "functional" in node.meta:
                self._containers(node.meta["functional"] + ".")
        for node in self.model.graph.nodes:
            if node.op == "get_attr":
                self._attribute(str(node.target), node)

    def _full(self, path: str) -> str:
        return "%s.%s" % (self.prefix, path) if self.prefix else path

    # -- modules and tensors ------------------------------------------------------------------------------------------

    def _called_module(self, path: str, node: torch.fx.Node) -> None:
        if self._full(path) in self.declared:
            return
        try:
            module = self.model.get_submodule(path)
        except AttributeError as error:
            raise ExportError("node '%s' calls the module '%s', which does not exist" % (node.name, path)) from error
        self._containers(path)
        if isinstance(module, torch.fx.GraphModule):
            self._graph_module(self._full(path), module)
        elif self._is_traced_leaf(path, module):
            self._traced_module(self._full(path), module)
        else:
            self._library_module(self._full(path), module)

    def _is_traced_leaf(self, path: str, module: torch.nn.Module) -> bool:
        return (path in self.leaf_names or type(module) in self.leaf_classes) and not is_library_leaf(module)

    def _graph_module(self, path: str, module: torch.fx.GraphModule) -> None:
        """A standalone module that prepare or convert made: its graph as it is, and what prepare decided about it."""
        if id(module) in self.module_paths:
            self.declared.add(path)
            self.module_lines.append("module %s = %s" % (path, self.module_paths[id(module)]))
            return
        self.module_paths[id(module)] = path
        self._declare_module(path, module, [])
        inner = ModelWriter(module, recorded_scopes(module), {}, None, module, outer=self, prefix=path)
        inner._members()
        self.graph_lines += inner._graph("graph %s" % path) + [""]
        for name, value in prepared_meta(module).items():
            self.meta_lines.append('meta "%s:%s" = %s' % (path, name, format_arg(value, "meta '%s'" % name)))

    def _traced_module(self, path: str, module: torch.nn.Module) -> None:
        """A module that is called as a whole and has a graph of its own."""
        if id(module) in self.module_paths:
            self.declared.add(path)
            self.module_lines.append("module %s = %s" % (format_path(path), format_path(self.module_paths[id(module)])))
            return
        self.module_paths[id(module)] = path
        self._declare_module(path, module, [])
        start = (path[len(self.prefix) + 1 :] if self.prefix else path) + "."
        names = [name[len(start) :] for name in self.leaf_names if name.startswith(start)]
        graph_module, scopes = trace(module, None, names, self.leaf_classes)
        inner = ModelWriter(
            graph_module, scopes, {}, None, module, names, self.leaf_classes, outer=self, prefix=path)
        inner._members()
        self.graph_lines += inner._graph("graph %s" % format_path(path)) + [""]

    def _containers(self, path: str) -> None:
        """Declares the levels above `path` that are not library leaves: eager mode and scopes know their classes."""
        parts = path.split(".")[:-1]
        for end in range(1, len(parts) + 1):
            prefix = ".".join(parts[:end])
            try:
                container = self.source.get_submodule(prefix)
            except AttributeError:  # a level that tracing made
                continue
            full = self._full(prefix)
            if full in self.declared or is_library_leaf(container) or type(container) is torch.nn.Module:
                continue
            self._container(full, container)

    def _container(self, path: str, module: torch.nn.Module) -> None:
        """A level without a row of its own; a QFunctional has the parameters of its results."""
        self._declare_module(path, module, [])
        if type(module).__name__ == "QFunctional":
            self._tensor("buffer", path + ".scale", torch.tensor(module.scale), declare=True)
            self._tensor("buffer", path + ".zero_point", torch.tensor(module.zero_point), declare=True)

    def _library_module(self, path: str, module: torch.nn.Module) -> None:
        if id(module) in self.module_paths:
            self.declared.add(path)
            self.module_lines.append("module %s = %s" % (format_path(path), format_path(self.module_paths[id(module)])))
            return
        self.module_paths[id(module)] = path
        arguments = module_arguments(module, path)
        require_known("module", class_name(type(module)), "module '%s'" % path)
        self._declare_module(path, module, arguments)
        row = QUANTIZATION_CLASSES.get(class_name(type(module)))
        if row and row.tensors:
            for kind, key, tensor in row.tensors(module):
                self._tensor(kind, "%s.%s" % (path, key), tensor)
        else:
            for key, tensor in list(module._parameters.items()) + list(module._buffers.items()):
                if tensor is not None and key not in module._non_persistent_buffers_set and not (row and key in row.hidden):
                    self._tensor("parameter" if key in module._parameters else "buffer", "%s.%s" % (path, key), tensor)
        for name, child in module._modules.items():
            if child is not None and not (row and not row.children):
                self._library_child("%s.%s" % (path, name), child)

    def _library_child(self, path: str, child: torch.nn.Module) -> None:
        if is_library_leaf(child):
            self._library_module(path, child)
            return
        self._container(path, child)
        for name, grandchild in child._modules.items():
            if grandchild is not None:
                self._library_child("%s.%s" % (path, name), grandchild)

    def _declare_module(self, path: str, module: torch.nn.Module, arguments: List[Tuple[str, Any]]) -> None:
        self.declared.add(path)
        where = "module '%s'" % path
        text = ", ".join("%s=%s" % (name, format_arg(value, where)) for name, value in arguments)
        training = " training" if module.training else ""
        name = "torch.fx.GraphModule" if isinstance(module, torch.fx.GraphModule) else class_name(type(module))
        self.module_lines.append("module %s : %s(%s)%s" % (format_path(path), format_path(name), text, training))

    def _tensor(self, kind: str, path: str, tensor: torch.Tensor, declare: bool = False) -> None:
        """Notes a tensor for the weights file; a second path to the same data becomes an alias line."""
        if path in self.declared:
            return
        self.declared.add(path)
        if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
            raise ExportError("'%s' has no shape yet; run the model once before the export" % path)
        if tensor.device.type == "meta":
            raise ExportError("'%s' is on the meta device: it has no data; load the weights before the export" % path)
        self.kept.append(tensor)
        first = self.tensor_paths.setdefault(_identity(tensor), path)
        if first != path:
            self.tensor_lines.append("%s %s = %s" % (kind, format_path(path), format_path(first)))
            return
        type_text = format_tensor_type(tensor)
        if declare:
            self.tensor_lines.append("%s %s : %s" % (kind, format_path(path), type_text))
        add_tensor(self.tensors, self.metadata, path, tensor)

    def _attribute(self, path: str, node: torch.fx.Node) -> None:
        owner, _, name = path.rpartition(".")
        try:
            module = self.model.get_submodule(owner)
            value = getattr(module, name)
        except AttributeError as error:
            raise ExportError("node '%s' reads '%s', which does not exist" % (node.name, path)) from error
        if is_packed(value):
            self._packed(self._full(path), value, node)
            return
        if not isinstance(value, torch.Tensor):
            raise ExportError("node '%s' reads '%s', a %s; only tensors can be written" % (
                node.name, path, type(value).__name__))
        if owner:
            self._containers(path)
        is_parameter = isinstance(value, torch.nn.Parameter)
        self._tensor("parameter" if is_parameter else "buffer", self._full(path), value, declare=True)

    def _packed(self, path: str, value: Any, node: torch.fx.Node) -> None:
        """Packed weights are written unpacked, as a module of their own."""
        if path in self.declared:
            return
        self.declared.add(path)
        packed = unpack(value, [str(user.target) for user in node.users], "node '%s'" % node.name)
        text = ", ".join("%s=%s" % (name, format_arg(argument, path)) for name, argument in packed.arguments)
        self.module_lines.append("module %s : %s(%s)" % (format_path(path), packed.class_name, text))
        for kind, name, tensor in packed.tensors:
            self._tensor(kind, "%s.%s" % (path, name), tensor)

    # -- the graph ----------------------------------------------------------------------------------------------------

    def _graph(self, word: str) -> List[str]:
        header, body = [], []
        leading = True
        result = None
        for node in self.model.graph.nodes:
            if node.op == "output":
                result = format_arg(node.args[0], "the output")
                continue
            leading = leading and node.op == "placeholder"
            if leading and self._fits_header(node):
                header.append("%%%s%s" % (node.name, self._input_type(node)))
            else:
                leading = False
                body.append("  " + self._statement(node))
        return ["%s(%s) {" % (word, ", ".join(header))] + body + ["  return " + str(result), "}"]

    @staticmethod
    def _fits_header(node: torch.fx.Node) -> bool:
        return node.name == node.target and not node.args and node.type is None

    def _input_type(self, node: torch.fx.Node) -> str:
        value = self.values.get(node.name)
        if not isinstance(value, torch.Tensor):
            return ""
        symbolic = self.batch_size is not None and value.dim() and value.shape[0] == self.batch_size
        symbols = {0: "N"} if symbolic else {}
        symbols.update(self.dynamic_dims.get(str(node.target), {}))
        return " : " + format_tensor_type(value, symbols)

    def _statement(self, node: torch.fx.Node) -> str:
        where = "node '%s'" % node.name
        target, suffix = str(node.target), ""
        if node.op == "call_function":
            target = target_name(node.target, where)
            require_known("function", target, where)
        elif node.op == "call_method":
            require_known("method", target, where)
        if node.op == "placeholder":
            if target.startswith("*"):
                raise ExportError("the input '%s' takes any number of arguments; give forward a fixed list of "
                                  "parameters" % target)
            suffix = self._input_type(node)
        arguments = [format_arg(value, where) for value in node.args]
        arguments += ["%s=%s" % (key, format_arg(value, where)) for key, value in node.kwargs.items()]
        meta = ['"type": "%s"' % _type_text(node)] if node.type is not None else []
        if "functional" in node.meta:
            meta.append('"functional": "%s"' % node.meta["functional"])
        if meta:
            suffix += " meta {%s}" % ", ".join(meta)
        scope = self._scope(node)
        if scope:
            head, found, tail = suffix.partition(" meta ")
            suffix = head + scope + found + tail
        return "%%%s = %s[%s](%s)%s" % (node.name, node.op, format_path(target), ", ".join(arguments), suffix)

    def _scope(self, node: torch.fx.Node) -> str:
        """The scope clause where it is not the default: the module itself for call_module, else the root."""
        if self.scopes and node.name not in self.scopes and node.op != "placeholder":
            return " scope(None)"  # what prepare and convert made
        path, cls = self.scopes.get(node.name, ("", None))
        if node.op == "call_module":
            default = not path or path == node.target
        else:
            default = not path and cls is None
        return "" if default else ' scope("%s", "%s")' % (path, class_name(cls) if cls else "")


def _type_text(node: torch.fx.Node) -> str:
    """FX's text of a node's type annotation, fit for a .qfx string."""
    return torch.fx.graph._type_repr(node.type).replace("\\", "\\\\").replace('"', '\\"')


def _identity(tensor: torch.Tensor) -> Any:
    """A key that is equal for the same elements of the same storage (tied weights), else unique."""
    if tensor.is_quantized or not tensor.numel():
        return id(tensor)
    return (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))
