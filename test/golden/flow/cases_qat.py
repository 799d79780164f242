"""prepare_qat_fx and convert after it."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Block
from cases_static import IMAGE, conv
from declare import case


@case(x=IMAGE, mode="qat", train=True)
def qat_conv_bn_relu(self):
    """conv + bn + relu, conv + bn, conv + relu, conv."""
    self.a, self.bn1, self.relu = conv(), nn.BatchNorm2d(4), nn.ReLU()
    self.b, self.bn2, self.c, self.d = conv(4), nn.BatchNorm2d(4), conv(4), conv(4)
    return lambda self, x: self.d(F.relu(self.c(self.bn2(self.b(self.relu(self.bn1(self.a(x))))))))


@case(x=(2, 4), mode="qat", train=True)
def qat_linear(self):
    """linear, linear + relu, linear + bn."""
    self.a, self.b, self.c, self.bn = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4), nn.BatchNorm1d(4)
    return lambda self, x: self.bn(self.c(F.relu(self.b(self.a(x)))))


@case(x=IMAGE, mode="qat", train=True)
def qat_residual(self):
    """A residual block with batch norms."""
    self.stem, self.block, self.bn = conv(), Block(), nn.BatchNorm2d(4)
    return lambda self, x: F.relu(self.bn(self.block(self.stem(x))) + 1.0)


@case(x=(2, 4), mode="qat", train=True)
def qat_functional(self):
    """Functional linear: the weight gets a fake-quantizer in the graph."""
    self.w, self.b = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4))
    return lambda self, x: F.relu(F.linear(x, self.w, self.b))


@case(x=(2, 4), mode="qat", train=True, mapping={"extends": "x86_qat", "module_name": {"b": None}})
def qat_one_float(self):
    """One layer without qconfig stays float."""
    self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: self.c(self.b(self.a(x)))


@case(x=IMAGE, mode="qat", train=True, mapping={"global": None, "object_type": {"torch.nn.Conv2d": "default_qat_qconfig", "torch.nn.BatchNorm2d": "default_qat_qconfig", "torch.nn.ReLU": "default_qat_qconfig"}})
def qat_by_type(self):
    """Qconfigs by type: fused and QAT classes inherit them."""
    self.a, self.bn, self.relu, self.b = conv(), nn.BatchNorm2d(4), nn.ReLU(), conv(4)
    return lambda self, x: torch.flatten(self.b(self.relu(self.bn(self.a(x)))), 1)


@case(x=IMAGE, mode="qat")
def qat_eval_model(self):
    """prepare_qat_fx on a model in eval mode yields QAT modules as well."""
    self.a, self.bn, self.relu = conv(), nn.BatchNorm2d(4), nn.ReLU()
    return lambda self, x: self.relu(self.bn(self.a(x)))


@case(x=(2, 4), mode="qat", train=True)
def qat_fixed(self):
    """sigmoid, hardsigmoid, tanh: fixed-qparams fake-quantizers; layer norm, softmax."""
    self.fc, self.s, self.norm, self.soft = nn.Linear(4, 4), nn.Sigmoid(), nn.LayerNorm(4), nn.Softmax(-1)
    return lambda self, x: self.soft(torch.tanh(F.hardsigmoid(self.norm(self.s(self.fc(x))))))


@case(x=(1, 3, 8), mode="qat", train=True)
def qat_conv1d(self):
    """1-D: conv + bn + relu, conv + relu, conv."""
    self.a, self.bn, self.relu, self.b, self.c = (
        nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 4, 1), nn.Conv1d(4, 2, 1))
    return lambda self, x: self.c(F.relu(self.b(self.relu(self.bn(self.a(x))))))


@case(x=(1, 3, 4, 4, 4), mode="qat", train=True)
def qat_conv3d(self):
    """3-D: conv + bn + relu, conv + bn, conv."""
    self.a, self.bn, self.relu, self.b, self.bn2, self.c = (
        nn.Conv3d(3, 4, 1), nn.BatchNorm3d(4), nn.ReLU(), nn.Conv3d(4, 4, 1), nn.BatchNorm3d(4), nn.Conv3d(4, 2, 1))
    return lambda self, x: self.c(self.bn2(self.b(self.relu(self.bn(self.a(x))))))


@case(x=(2, 4), mode="qat", train=True, mapping={"global": "default_dynamic_qat_qconfig"})
def qat_dynamic(self):
    """Dynamic QAT of a linear layer."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x: self.fc(x)


@case(i=torch.tensor([0, 1, 2, 3]), offsets=torch.tensor([0, 2]), mode="qat", train=True, mapping={"global": "default_embedding_qat_qconfig"})
def qat_embedding(self):
    """Embedding and EmbeddingBag under QAT."""
    self.emb, self.bag = nn.Embedding(10, 4), nn.EmbeddingBag(10, 4, mode="sum")
    return lambda self, i, offsets: (self.emb(i), self.bag(i, offsets))


@case(x=IMAGE, mode="qat", train=True)
def qat_shared_module(self):
    """One convolution called twice under QAT, cat of the results."""
    self.a = conv(3, 3)

    def forward(self, x):
        y = self.a(x)
        return torch.cat([y, self.a(y)], 1)

    return forward


@case(x=IMAGE, mode="qat", train=True, backend="qnnpack")
def qat_qnnpack(self):
    """QAT on qnnpack."""
    self.a, self.bn, self.relu, self.pool, self.fc = (
        conv(), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Linear(4, 2))
    return lambda self, x: self.fc(torch.flatten(self.pool(self.relu(self.bn(self.a(x)))), 1))
