"""Input-weight equalization: _equalization_config of prepare_fx. Channels of the inputs differ in range (see make_numbers)."""
import torch
import torch.nn.functional as F
from torch import nn

from cases_static import IMAGE, conv
from declare import case

ROWS = (4, 6)
EVERYWHERE = {"global": "default_equalization_qconfig"}
PLAIN = {"global": "default_qconfig"}


def with_buffers(self, **shapes):
    """Buffers, as upstream cannot set a scaled weight that is a parameter."""
    for name, shape in shapes.items():
        self.register_buffer(name, torch.randn(shape))


@case(x=ROWS, mapping=PLAIN, equalization=EVERYWHERE)
def equalize_linear(self):
    """One linear layer under MinMaxObserver."""
    self.fc = nn.Linear(6, 3)
    return lambda self, x: self.fc(x)


@case(x=ROWS, equalization=EVERYWHERE)
def equalize_linear_histogram(self):
    """One linear layer under HistogramObserver."""
    self.fc = nn.Linear(6, 3)
    return lambda self, x: self.fc(x)


@case(x=IMAGE, mapping=PLAIN, equalization=EVERYWHERE)
def equalize_conv_relu(self):
    """A convolution fused with its relu, and one behind it."""
    self.conv1, self.relu, self.conv2 = conv(), nn.ReLU(), conv(4, 5)
    return lambda self, x: self.conv2(self.relu(self.conv1(x)))


@case(x=ROWS, mapping=PLAIN, equalization=EVERYWHERE)
def equalize_linear_linear(self):
    """Two connected layers: the first one's rows take the second one's scale."""
    self.fc1, self.fc2 = nn.Linear(6, 5), nn.Linear(5, 3, bias=False)
    return lambda self, x: self.fc2(self.fc1(x))


@case(x=ROWS, mapping=PLAIN, equalization=EVERYWHERE)
def equalize_linear_relu_linear(self):
    """Two layers with a relu between them, three with the one behind."""
    self.fc1, self.relu, self.fc2, self.fc3 = nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4), nn.Linear(4, 2)
    return lambda self, x: self.fc3(self.fc2(self.relu(self.fc1(x))))


@case(x=ROWS, mapping=PLAIN, equalization=EVERYWHERE)
def equalize_functional(self):
    """F.linear, F.relu, F.linear with weights and biases from get_attr."""
    with_buffers(self, w1=(5, 6), bias1=(5,), w2=(3, 5))  # upstream knows a bias by "bias" in its name
    return lambda self, x: F.linear(F.relu(F.linear(x, self.w1, self.bias1)), self.w2)


@case(x=IMAGE, mapping=PLAIN, equalization=EVERYWHERE)
def equalize_functional_conv(self):
    """F.conv2d behind a module."""
    self.conv = conv()
    with_buffers(self, w=(5, 4, 3, 3), b=(5,))
    return lambda self, x: F.conv2d(self.conv(x), self.w, self.b, (1, 1), (1, 1), (1, 1), 1)


@case(x=IMAGE, mapping=PLAIN, equalization=EVERYWHERE)
def equalize_branches(self):
    """Two convolutions of one input are not equalized, the one behind them is."""
    self.conv1, self.conv2, self.conv3 = conv(), conv(), conv(4, 5)
    return lambda self, x: self.conv3(self.conv1(x) + self.conv2(x))


@case(x=ROWS, mapping=PLAIN, equalization={"module_name": {"fc1": "default_equalization_qconfig"}})
def equalize_one_module(self):
    """One module by name."""
    self.fc1, self.fc2 = nn.Linear(6, 5), nn.Linear(5, 3)
    return lambda self, x: self.fc2(self.fc1(x))


@case(x=IMAGE, equalization={"global": "default_equalization_qconfig", "object_type": {"torch.nn.Linear": None},
                             "module_name_regex": [["conv2.*", None]]})
def equalize_rules(self):
    """A global entry with exceptions by type and by regex."""
    self.conv1, self.conv2, self.conv3, self.fc = conv(), conv(4), conv(4), nn.Linear(256, 3)
    return lambda self, x: self.fc(torch.flatten(self.conv2(F.max_pool2d(self.conv3(self.conv1(x)), 1)), 1))


@case(x=ROWS, mapping=PLAIN, equalization={"module_name_object_type_order": [
    ["", "torch.nn.functional.linear", 0, {"input_activation": {"class": "_InputEqualizationObserver", "dtype": "qint8"},
                                           "weight": "_WeightEqualizationObserver"}]]})
def equalize_order(self):
    """The first of two calls of a function, with observers written out."""
    with_buffers(self, w1=(5, 6), w2=(3, 5))
    return lambda self, x: F.linear(F.linear(x, self.w1), self.w2)


@case(x=IMAGE, mapping=PLAIN, equalization=EVERYWHERE)
def equalize_pool(self):
    """A pooling that shares its observer stands between two convolutions."""
    self.conv1, self.pool, self.conv2 = conv(), nn.MaxPool2d(2), conv(4)
    return lambda self, x: self.conv2(self.pool(self.conv1(x)))


@case(x=ROWS, mapping={"global": "default_dynamic_qconfig"}, equalization=EVERYWHERE)
def equalize_dynamic(self):
    """Dynamic quantization of equalized layers."""
    self.fc1, self.fc2 = nn.Linear(6, 5), nn.Linear(5, 3)
    return lambda self, x: self.fc2(self.fc1(x))


@case(x=IMAGE, mapping=PLAIN, equalization=EVERYWHERE)
def equalize_bn(self):
    """A batch norm folded into an equalized convolution."""
    self.conv1, self.bn, self.relu, self.conv2 = conv(), nn.BatchNorm2d(4), nn.ReLU(), conv(4, 5)
    return lambda self, x: self.conv2(self.relu(self.bn(self.conv1(x))))
