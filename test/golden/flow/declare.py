"""Declaring a case: a small model, its configuration, and what PyTorch is asked to make of it."""
import torch
from torch import nn

from qfx_export.aten import export_aten
from qfx_export.respell import respell

CASES = {}


class Case:
    """One model and one configuration. `inputs` are example tensors by parameter name. `mapping` is a QConfigMapping
    in qfx's JSON form (None: the backend's default). `custom` is a custom config in qfx's JSON form. `mode` is ptq or
    qat. `amend` maps a phase to [(regex, replacement, reason)]: where a QFX rule of the specification asks for another
    text than PyTorch's. `fails` maps a phase in which PyTorch raises to the reason; the test leaves it out. `oracle` is the backend whose
    BackendConfig PyTorch gets, where it raises with the case's own. `options` are further flags of qfx-opt.
    `equalization` is an equalization config in qfx's JSON form. `exported`: torch.export's graph of the model, respelled, stands for it."""

    def __init__(self, name, make, inputs, doc, backend="x86", engine=None, mapping=None, custom=None, mode="ptq",
                 amend=None, options="", train=False, fails=None, oracle=None, equalization=None, exported=False):
        self.name, self.make, self.inputs, self.doc = name, make, inputs, doc
        self.backend, self.engine = backend, engine or (backend if backend != "native" else "x86")
        self.mapping, self.custom, self.mode = mapping, custom, mode
        self.oracle, self.equalization, self.exported = oracle or backend, equalization, exported
        self.amend, self.options, self.train, self.fails = amend or {}, options, train, fails or {}

    def build(self, seed=0):
        """The model, its weights seeded."""
        torch.manual_seed(seed)
        cls = type("Net", (nn.Module,), {"__module__": "flow"})
        model = cls()
        cls.forward = self.make(model)
        model.train(self.train)
        return respell(export_aten(model, tuple(self.inputs.values()), {}, False, 1)[0]) if self.exported else model


def tensor(value):
    """A shape stands for a float tensor of that shape."""
    return value if isinstance(value, torch.Tensor) else torch.zeros(value)


def case(mapping=None, custom=None, **keywords):
    """Registers `def NAME(self): members...; return forward`. Keywords of `Case`, the rest are example inputs."""
    own = {k: keywords.pop(k) for k in ("backend", "engine", "mode", "amend", "options", "train", "fails", "oracle", "equalization", "exported")
           if k in keywords}
    inputs = {name: tensor(value) for name, value in keywords.items()}

    def register(make):
        name = make.__name__.strip("_").replace("_", "-")
        assert name not in CASES, name
        CASES[name] = Case(name, make, inputs, (make.__doc__ or name).strip(), mapping=mapping, custom=custom, **own)
        return make

    return register
