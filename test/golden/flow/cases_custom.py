"""Custom configs: standalone modules, custom module classes, quantized inputs and outputs, convert-time mappings."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Block, Dense, Inner, Outer
from cases_static import IMAGE, conv
from declare import case

INNER = {"input_quantized_idxs": [0], "output_quantized_idxs": [0]}


def around_inner(self):
    self.conv, self.standalone = conv(3, 3), Inner()
    return lambda self, x: self.standalone(self.conv(x))


@case(x=IMAGE, custom={"prepare": {"standalone_module_name": [{"name": "standalone", "prepare_custom_config": INNER}]}})
def standalone_quantized(self):
    """Appendix A12: a standalone module with quantized input and output."""
    return around_inner(self)


@case(x=IMAGE, custom={"prepare": {"standalone_module_name": [{"name": "standalone"}]}})
def standalone_float(self):
    """A standalone module with the default interface: float in, float out."""
    return around_inner(self)


@case(x=IMAGE, custom={"prepare": {"standalone_module_class": [{"class": "blocks.Inner", "qconfig_mapping": {"global": "default_qconfig"}, "prepare_custom_config": INNER}]}})
def standalone_class(self):
    """Standalone modules by class, with a qconfig mapping of their own, twice in a row."""
    self.conv, self.a, self.b = conv(3, 3), Inner(), Inner()
    return lambda self, x: self.b(F.relu(self.a(self.conv(x))))


@case(x=IMAGE, custom={"prepare": {"standalone_module_name": [{"name": "outer", "prepare_custom_config": {
    "input_quantized_idxs": [0], "output_quantized_idxs": [0],
    "non_traceable_module_name": ["inner"],
    "standalone_module_name": [{"name": "inner", "prepare_custom_config": INNER}]}}]}})
def standalone_in_standalone(self):
    """A standalone module inside a standalone module (upstream's inner trace goes into it unless it is untraced too)."""
    self.conv, self.outer, self.last = conv(3, 3), Outer(), conv(3, 2)
    return lambda self, x: self.last(self.outer(self.conv(x)))


@case(x=IMAGE, mapping={"global": None}, custom={"prepare": {"standalone_module_name": [{"name": "standalone", "qconfig_mapping": {"extends": "x86"}}]}})
def standalone_only(self):
    """Only the standalone module is quantized."""
    return around_inner(self)


@case(x=IMAGE, custom={"prepare": {"input_quantized_idxs": [0]}})
def input_quantized(self):
    """The input arrives quantized; one user reads it in float."""
    self.conv = conv(3, 3)
    return lambda self, x: (self.conv(x), torch.exp(x))


@case(x=IMAGE, custom={"prepare": {"input_quantized_idxs": [0], "output_quantized_idxs": [0]}})
def input_output_quantized(self):
    """Input and output quantized."""
    self.conv = conv(3, 3)
    return lambda self, x: F.relu(self.conv(x))


@case(x=IMAGE, y=IMAGE, custom={"prepare": {"input_quantized_idxs": [1], "output_quantized_idxs": [0, 2]}})
def outputs_quantized(self):
    """The second input; the first and third of three outputs, one of them a list."""
    self.a, self.b = conv(3, 3), conv(3, 3)

    def forward(self, x, y):
        p, q = self.a(x), self.b(y)
        return [p, q], p + q, (p, q)[1]

    return forward


@case(x=IMAGE, custom={"prepare": {"input_quantized_idxs": [0]}})
def pool_of_quantized_input(self):
    """A sharing operator directly on a quantized input has an observer of its own."""
    self.pool, self.conv = nn.MaxPool2d(2), conv()
    return lambda self, x: self.conv(self.pool(x))


@case(x=IMAGE, custom={"prepare": {"non_traceable_module_name": ["block"]}})
def non_traceable_name(self):
    """A block that is not traced stays one float call."""
    self.conv, self.block = conv(), Block()
    return lambda self, x: self.block(self.conv(x))


@case(x=IMAGE, custom={"prepare": {"non_traceable_module_class": ["blocks.Dense"]}})
def non_traceable_class(self):
    """The same by class."""
    self.conv, self.dense = conv(), Dense(8)
    return lambda self, x: self.dense(self.conv(x))


@case(x=(2, 4), custom={"convert": {"qconfig_mapping": {"module_name": {"b": None}}}})
def convert_override(self):
    """A layer switched off at convert by name."""
    self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: self.c(self.b(self.a(x)))


@case(x=IMAGE, custom={"convert": {"qconfig_mapping": {"object_type": {"operator.add": None, "torch.nn.Linear": None}}}})
def convert_override_type(self):
    """Additions and linear layers switched off at convert by type."""
    self.a, self.b, self.fc = conv(), conv(), nn.Linear(8, 2)
    return lambda self, x: self.fc(F.relu(self.a(x) + self.b(x)))


LSTM = {"prepare": {"float_to_observed_custom_module_class": {"static": {"torch.nn.LSTM": "torch.ao.nn.quantizable.LSTM"}}},
        "convert": {"observed_to_quantized_custom_module_class": {"static": {"torch.ao.nn.quantizable.LSTM": "torch.ao.nn.quantized.LSTM"}}}}


@case(x=(5, 2, 4), h0=(1, 2, 6), c0=(1, 2, 6), mapping={"global": "default_qconfig"}, custom=LSTM)
def lstm_custom(self):
    """Appendix A10: an LSTM as custom module."""
    self.lstm, self.fc = nn.LSTM(4, 6), nn.Linear(6, 3)

    def forward(self, x, h0, c0):
        out = self.lstm(x, (h0, c0))
        return self.fc(out[0])

    return forward


@case(x=(5, 2, 4), h0=(1, 2, 6), c0=(1, 2, 6), mapping={"global": "default_qconfig"}, custom=LSTM)
def lstm_custom_states(self):
    """The same, all three results used."""
    self.lstm, self.fc = nn.LSTM(4, 6), nn.Linear(6, 3)

    def forward(self, x, h0, c0):
        out, (h, c) = self.lstm(x, (h0, c0))
        return self.fc(out), self.fc(h), c

    return forward


@case(x=(5, 2, 4), h0=(1, 2, 6), c0=(1, 2, 6), mapping={"global": "default_qconfig"}, custom=LSTM)
def lstm_custom_whole(self):
    """The tuple that the LSTM returns leaves the model as it is."""
    self.lstm = nn.LSTM(4, 6)
    return lambda self, x, h0, c0: self.lstm(x, (h0, c0))


@case(x=(5, 2, 4), h0=(4, 2, 6), c0=(4, 2, 6), mapping={"global": "default_qconfig"}, custom=LSTM)
def lstm_custom_deep(self):
    """Two layers, both directions; a linear layer before, one behind."""
    self.first, self.lstm, self.fc = nn.Linear(4, 4), nn.LSTM(4, 6, num_layers=2, bidirectional=True), nn.Linear(12, 3)

    def forward(self, x, h0, c0):
        out, _ = self.lstm(F.relu(self.first(x)), (h0, c0))
        return self.fc(out)

    return forward
