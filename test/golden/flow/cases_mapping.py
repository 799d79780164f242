"""Static quantization under other mappings and backends: by name, type, regex and order."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Block, Dense
from cases_static import IMAGE, conv
from declare import case


def three_blocks(self):
    self.stem, self.a, self.b, self.fc = conv(), Block(), Block(), nn.Linear(256, 4)
    return lambda self, x: self.fc(torch.flatten(self.b(self.a(self.stem(x))), 1))


@case(x=IMAGE, mapping={"extends": "x86", "module_name": {"a": None, "fc": None}})
def name_off(self):
    """A block and a layer switched off by name."""
    return three_blocks(self)


@case(x=IMAGE, mapping={"global": None, "module_name": {"a.conv": "default_qconfig", "b": "default_qconfig"}})
def name_on(self):
    """Only one layer and one block are quantized."""
    return three_blocks(self)


@case(x=IMAGE, mapping={"extends": "x86", "module_name_regex": [["b.*", None], ["a.conv", "default_per_channel_qconfig"]]})
def regex_off(self):
    """A block switched off by regex, another with a qconfig of its own."""
    return three_blocks(self)


@case(x=IMAGE, mapping={"extends": "x86", "object_type": {"torch.nn.Linear": None, "operator.add": None}})
def type_off(self):
    """Linear layers and additions switched off by type."""
    return three_blocks(self)


@case(x=IMAGE, mapping={"global": None, "object_type": {"torch.nn.Conv2d": "default_qconfig", "torch.nn.ReLU": "default_qconfig"}})
def type_on(self):
    """Only conv and relu, which fuse, by type."""
    return three_blocks(self)


@case(x=IMAGE, mapping={"global": "default_qconfig", "object_type": {"blocks.Block": None}})
def scope_type_off(self):
    """A user-defined class switches off the functions directly inside it, not its layers."""
    return three_blocks(self)


@case(x=(2, 4), mapping={"global": "default_qconfig", "module_name_object_type_order": [["", "operator.add", 1, None], ["", "torch.nn.functional.linear", 0, None]]}, fails={"converted": "a KeyError: the weight is needed by a folded and by a float call"})
def order_off(self):
    """The second addition and the first functional linear switched off by order."""
    self.w = nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        y = F.linear(x, self.w)
        y = F.linear(y, self.w) + x
        return y + F.linear(y, self.w)

    return forward


@case(x=(2, 4), mapping={"global": "default_qconfig", "module_name": {"b": None}})
def none_in_middle(self):
    """A float layer between two quantized ones."""
    self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: self.c(self.b(self.a(x)))


@case(x=(2, 4), mapping={"global": "default_qconfig", "object_type": {"torch.nn.functional.relu": None}})
def relu_off(self):
    """Functional linear and relu with the relu switched off: the whole pattern stays float."""
    self.w = nn.Parameter(torch.randn(4, 4))
    return lambda self, x: F.relu(F.linear(x, self.w))


@case(x=(2, 4), mapping={"global": "default_qconfig", "object_type": {"torch.nn.functional.linear": None}})
def linear_off(self):
    """Functional linear and relu with the linear switched off: the relu's output is observed."""
    self.w = nn.Parameter(torch.randn(4, 4))
    return lambda self, x: F.relu(F.linear(x, self.w))


@case(x=(2, 4), y=(2, 4), mapping={"global": "default_qconfig", "object_type": {"operator.add": None}})
def add_off_in_chain(self):
    """relu(a + b) with the addition switched off."""
    self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x, y: F.relu(self.a(x) + self.b(y))


@case(x=(2, 4), mapping={"global": "default_qconfig", "module_name": {"fc2": {"activation": {"class": "MinMaxObserver", "dtype": "qint8"}, "weight": "default_weight_observer"}}})
def dtype_unsupported(self):
    """qint8 activations: the x86 backend has no such dtype config."""
    self.fc1, self.fc2 = nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: self.fc2(self.fc1(x))


@case(x=(2, 4), mapping={"global": {"activation": "default_observer", "weight": {"class": "MinMaxObserver", "dtype": "quint8"}}})
def weight_dtype_unsupported(self):
    """quint8 weights: modules are observed and stay float, functions are not observed."""
    self.fc, self.w = nn.Linear(4, 4), nn.Parameter(torch.randn(4, 4))
    return lambda self, x: F.linear(self.fc(x), self.w)


@case(x=(2, 4), mapping={"global": "default_qconfig"})
def fixed_under_global(self):
    """Sigmoid and tanh under a plain global qconfig stay float."""
    self.fc, self.s = nn.Linear(4, 4), nn.Sigmoid()
    return lambda self, x: torch.tanh(self.s(self.fc(x)))


@case(x=(2, 4), mapping={"global": "default_qconfig", "module_name": {"b": "default_per_channel_qconfig"}})
def two_qconfigs(self):
    """Two consumers of one value with different observers: the first one's is reused."""
    self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: (self.a(x), self.b(x))


@case(x=(2, 4), mapping={"global": "default_qconfig", "module_name": {"b": {"activation": "default_histogram_observer", "weight": "default_weight_observer"}}})
def two_observer_classes(self):
    """Two consumers of one value with observers of different classes: two observers on one input."""
    self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: (self.a(x), self.b(x))


@case(x=IMAGE, backend="qnnpack")
def qnnpack_block(self):
    """The qnnpack backend and engine."""
    return three_blocks(self)


@case(x=IMAGE, backend="fbgemm")
def fbgemm_block(self):
    """The fbgemm backend and engine."""
    return three_blocks(self)


@case(x=IMAGE, backend="native", mapping={"extends": "x86"})
def native_block(self):
    """The native backend with the x86 mapping."""
    return three_blocks(self)


@case(x=IMAGE, backend="executorch", engine="qnnpack", mapping={"extends": "symmetric_qnnpack"})
def executorch_block(self):
    """The executorch backend with the symmetric mapping."""
    return three_blocks(self)


@case(x=IMAGE, backend="tensorrt", engine="x86", mapping={"global": {"activation": {"class": "MinMaxObserver", "dtype": "qint8"}, "weight": "default_weight_observer"}})
def tensorrt_block(self):
    """The tensorrt backend: qint8 activations, a reference graph that lowering leaves partly alone."""
    return three_blocks(self)


@case(x=(2, 4), mapping={"global": "default_qconfig", "object_type": {"reshape": "default_reuse_input_qconfig"}})
def reuse_input(self):
    """A reshape under the reuse-input qconfig, behind a quantized and behind a float operator."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x: (self.fc(x).reshape(8), torch.exp(x).reshape(8))


@case(x=(2, 4), mapping={"global": None})
def nothing(self):
    """A mapping that quantizes nothing."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x: F.relu(self.fc(x))
