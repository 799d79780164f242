"""The fusions of the onednn backend (backend_config 12)."""
import torch
from torch import nn

from cases_static import IMAGE, conv
from declare import case


@case(x=IMAGE, backend="onednn")
def onednn_conv_add(self):
    """conv + add, the other addend an input."""
    self.conv = conv(3, 3)
    return lambda self, x: torch.add(self.conv(x), x)


@case(x=IMAGE, backend="onednn")
def onednn_add_conv_relu(self):
    """add with the convolution on the right, batch norm, relu module."""
    self.conv, self.bn, self.relu = conv(3, 3), nn.BatchNorm2d(3), nn.ReLU()
    return lambda self, x: self.relu(x + self.bn(self.conv(x)))


@case(x=IMAGE, backend="onednn")
def onednn_two_convs(self):
    """conv + conv: the left one becomes the root."""
    self.a, self.b, self.relu = conv(), conv(), nn.ReLU()
    return lambda self, x: self.relu(self.a(x) + self.b(x))


@case(x=IMAGE, backend="onednn")
def onednn_residual(self):
    """A residual block: conv, conv + add + relu."""
    self.a, self.bn1, self.b, self.bn2, self.relu = conv(3, 3), nn.BatchNorm2d(3), conv(3, 3), nn.BatchNorm2d(3), nn.ReLU()

    def forward(self, x):
        y = self.relu(self.bn1(self.a(x)))
        y = self.bn2(self.b(y))
        y += x
        return self.relu(y)

    return forward


@case(x=(2, 4), backend="onednn")
def onednn_linear_leaky_relu(self):
    """linear + LeakyReLU, linear + BatchNorm1d + LeakyReLU."""
    self.a, self.act = nn.Linear(4, 4), nn.LeakyReLU(0.2)
    self.b, self.bn, self.act2 = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.LeakyReLU()
    return lambda self, x: self.act2(self.bn(self.b(self.act(self.a(x)))))


@case(x=(2, 4), backend="onednn", mapping={"global": "default_qconfig"})
def onednn_linear_tanh(self):
    """linear + Tanh; under the default mapping the members' qconfigs differ, an error."""
    self.a, self.act = nn.Linear(4, 4), nn.Tanh()
    return lambda self, x: self.act(self.a(x))


@case(x=(2, 4), backend="onednn", mapping={"global": "default_dynamic_qconfig"})
def onednn_dynamic_post_op(self):
    """Dynamic linear + LeakyReLU on onednn."""
    self.a, self.act = nn.Linear(4, 4), nn.LeakyReLU(0.2)
    return lambda self, x: self.act(self.a(x))


@case(x=IMAGE, backend="onednn", oracle="x86")
def onednn_conv_add_number(self):
    """conv + 3: a number is no second addend (PyTorch raises with onednn's BackendConfig; x86's has no such pattern)."""
    self.conv = conv(3, 3)
    return lambda self, x: self.conv(x) + 3
