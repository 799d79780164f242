"""Models for eager mode and what is done to each: fusing, qconfigs, flow. Weights are seeded; statistics of batch norms too."""
import torch
from torch import nn
from torch.ao.nn.quantized import FloatFunctional
from torch.ao.quantization import DeQuantStub, QuantStub


class Stubbed(nn.Module):
    """quant, body, dequant."""

    fuse = []

    def __init__(self):
        super().__init__()
        self.quant = QuantStub()
        self.dequant = DeQuantStub()

    def forward(self, x):
        return self.dequant(self.body(self.quant(x)))


class ConvNet(Stubbed):
    """Convolutions with batch norm and relu, pooling, linear layers."""

    inputs = [(4, 3, 12, 12)]
    fuse = [["conv1", "bn1", "relu1"], ["conv2", "relu2"], ["fc1", "relu3"]]

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.relu1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.conv2, self.relu2 = nn.Conv2d(8, 12, 3, stride=2), nn.ReLU()
        self.fc1, self.relu3 = nn.Linear(48, 16), nn.ReLU()
        self.drop = nn.Dropout(0.3)
        self.fc2 = nn.Linear(16, 10)

    def body(self, x):
        x = self.pool(self.relu1(self.bn1(self.conv1(x))))
        x = torch.flatten(self.relu2(self.conv2(x)), 1)
        return self.fc2(self.drop(self.relu3(self.fc1(x))))


class Block(nn.Module):
    """Two convolutions around a skip connection."""

    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn1, self.relu1 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.skip = FloatFunctional()

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        return self.skip.add_relu(y, x)


class Residual(Stubbed):
    """FloatFunctional add_relu, add and cat."""

    inputs = [(4, 3, 10, 10)]
    fuse = [["stem", "stem_bn", "stem_relu"]] + [
        ["blocks.%d.%s" % (i, name) for name in group]
        for i in (0, 1) for group in (["conv1", "bn1", "relu1"], ["conv2", "bn2"])]

    def __init__(self):
        super().__init__()
        self.stem, self.stem_bn, self.stem_relu = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()
        self.blocks = nn.Sequential(Block(8), Block(8))
        self.join, self.sum = FloatFunctional(), FloatFunctional()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 5)

    def body(self, x):
        x = self.stem_relu(self.stem_bn(self.stem(x)))
        y = self.blocks(x)
        z = self.join.cat([x, self.sum.add(y, x)], 1)
        return self.fc(torch.flatten(self.pool(z), 1))


class Mobile(Stubbed):
    """Depthwise convolutions, relu6, hardswish, a squeeze-and-excite product, arithmetic with numbers."""

    inputs = [(4, 3, 12, 12)]
    fuse = [["conv", "bn"], ["dw", "dw_bn"], ["pw", "pw_bn"], ["squeeze", "squeeze_relu"]]

    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.act = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.Hardswish()
        self.dw, self.dw_bn, self.relu6 = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.ReLU6()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.squeeze, self.squeeze_relu, self.excite = nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 8, 1)
        self.gate = nn.Hardsigmoid()
        self.scale, self.shift, self.twice = FloatFunctional(), FloatFunctional(), FloatFunctional()
        self.pw, self.pw_bn = nn.Conv2d(8, 6, 1), nn.BatchNorm2d(6)

    def body(self, x):
        x = self.relu6(self.dw_bn(self.dw(self.act(self.bn(self.conv(x))))))
        gate = self.gate(self.excite(self.squeeze_relu(self.squeeze(self.pool(x)))))
        x = self.pw_bn(self.pw(self.scale.mul(x, gate)))
        return self.twice.mul_scalar(self.shift.add_scalar(x, 1.5), 2.0)


class Mlp(Stubbed):
    """Linear with batch norm, activations with qparams of their own, a float tail."""

    inputs = [(8, 20)]
    fuse = [["fc1", "bn1"], ["fc2", "relu2"]]
    no_qconfig = ["tail"]

    def __init__(self):
        super().__init__()
        self.fc1, self.bn1, self.leaky = nn.Linear(20, 24), nn.BatchNorm1d(24), nn.LeakyReLU(0.2)
        self.fc2, self.relu2 = nn.Linear(24, 16), nn.ReLU()
        self.fc3, self.elu = nn.Linear(16, 16), nn.ELU()
        self.fc4, self.sigmoid = nn.Linear(16, 12), nn.Sigmoid()
        self.tail = nn.Linear(12, 4)

    def forward(self, x):
        x = self.leaky(self.bn1(self.fc1(self.quant(x))))
        x = self.elu(self.fc3(self.relu2(self.fc2(x))))
        return self.tail(self.dequant(self.sigmoid(self.fc4(x))))


class Deconv(Stubbed):
    """Transposed convolutions; their weights are quantized per tensor."""

    inputs = [(3, 4, 6, 6)]
    qconfig = "per_tensor"
    fuse = [["enc", "relu"]]

    def __init__(self):
        super().__init__()
        self.enc, self.relu = nn.Conv2d(4, 8, 3, padding=1), nn.ReLU()
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1)
        self.tanh = nn.Tanh()
        self.out = nn.Conv2d(4, 2, 1)

    def body(self, x):
        return self.out(self.tanh(self.up(self.relu(self.enc(x)))))


class Audio(Stubbed):
    """One-dimensional convolutions, PReLU, average pooling."""

    inputs = [(3, 2, 40)]
    fuse = [["conv1", "bn1", "relu1"], ["conv2", "relu2"]]

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.relu1 = nn.Conv1d(2, 8, 5, stride=2), nn.BatchNorm1d(8), nn.ReLU()
        self.conv2, self.relu2 = nn.Conv1d(8, 8, 3, padding=2, dilation=2), nn.ReLU()
        self.conv3 = nn.Conv1d(8, 6, 3)
        self.leaky = nn.LeakyReLU(0.1)
        self.pool = nn.AvgPool1d(2)

    def body(self, x):
        x = self.relu2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        return self.pool(self.leaky(self.conv3(x)))


class Norms(Stubbed):
    """Normalizations that stay modules, and batch norm with relu."""

    inputs = [(3, 4, 8, 8)]
    fuse = [["bn", "relu"]]

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1)
        self.group = nn.GroupNorm(2, 8)
        self.pool = nn.AvgPool2d(2)
        self.bn, self.relu = nn.BatchNorm2d(8), nn.ReLU()
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.instance = nn.InstanceNorm2d(8, affine=True)
        self.layer = nn.LayerNorm([8, 4, 4])
        self.bn2 = nn.BatchNorm2d(8)

    def body(self, x):
        x = self.relu(self.bn(self.pool(self.group(self.conv(x)))))
        return self.bn2(self.layer(self.instance(self.conv2(x))))


class Video(Stubbed):
    """Three-dimensional convolutions and batch norm with relu."""

    inputs = [(2, 2, 5, 8, 8)]
    fuse = [["conv1", "bn1", "relu1"], ["bn2", "relu2"]]

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.relu1 = nn.Conv3d(2, 4, 3, padding=1), nn.BatchNorm3d(4), nn.ReLU()
        self.bn2, self.relu2 = nn.BatchNorm3d(4), nn.ReLU()
        self.conv2 = nn.Conv3d(4, 4, (1, 3, 3), stride=(1, 2, 2))
        self.pool = nn.AdaptiveAvgPool3d(1)

    def body(self, x):
        x = self.relu2(self.bn2(self.relu1(self.bn1(self.conv1(x)))))
        return self.pool(self.conv2(x))


class Wrapped(nn.Module):
    """No stubs: add_quant_dequant wraps each leaf that has a qconfig."""

    inputs = [(4, 3, 8, 8)]
    fuse = []
    no_qconfig = ["pool", "fc2"]
    wrap = True

    def __init__(self):
        super().__init__()
        self.conv, self.relu = nn.Conv2d(3, 6, 3), nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.fc1 = nn.Linear(24, 12)
        self.fc2 = nn.Linear(12, 5)

    def forward(self, x):
        return self.fc2(self.fc1(torch.flatten(self.pool(self.relu(self.conv(x))), 1)))


class Attention(Stubbed):
    """Matrix products of two activations."""

    inputs = [(2, 6, 8)]

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.scores, self.scaled, self.mix, self.skip = (FloatFunctional() for _ in range(4))
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 8)

    def body(self, x):
        scores = self.scaled.mul_scalar(self.scores.matmul(self.q(x), self.k(x).transpose(1, 2)), 0.25)
        return self.out(self.norm(self.skip.add(self.mix.matmul(scores, self.v(x)), x)))


class Qat(ConvNet):
    """The same network after quantization-aware preparation: fake-quantizers that have seen data, batch norms kept until convert."""

    qat = True
    fuse = [["conv1", "bn1", "relu1"], ["conv2", "relu2"], ["fc1", "relu3"]]


class Words(nn.Module):
    """An embedding of which only the weight is quantized, and a quantized head."""

    integers = 30
    inputs = [(5, 7)]
    qconfig_of = {"emb": "float_qparams_weight_only_qconfig"}

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 12)
        self.quant, self.dequant = QuantStub(), DeQuantStub()
        self.fc = nn.Linear(12, 6)

    def forward(self, x):
        return self.dequant(self.fc(self.quant(self.emb(x))))


class Lstm(Stubbed):
    """An LSTM taken apart by prepare: quantizable, then quantized."""

    inputs = [(5, 3, 6)]

    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(6, 8), nn.Linear(8, 4)

    def body(self, x):
        return self.fc(self.lstm(x)[0])


MODELS = [ConvNet, Residual, Mobile, Mlp, Deconv, Audio, Norms, Video, Wrapped, Attention, Qat, Words, Lstm]


class Dynamic(nn.Module):
    """quantize_dynamic: linear layers with integer weights, float between."""

    inputs = [(6, 20)]

    def __init__(self):
        super().__init__()
        self.fc1, self.relu, self.fc2 = nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8)

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


class Recurrent(nn.Module):
    """quantize_dynamic of recurrent layers and cells."""

    inputs = [(5, 2, 6)]

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(16, 8)
        self.cell = nn.LSTMCell(8, 8)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        x = self.gru(self.lstm(x)[0])[0]
        return self.fc(self.cell(x[0])[0])


def build(cls, seed):
    """A model with weights of its seed, in eval mode; statistics and affine parameters of normalizations are not the trivial ones."""
    torch.manual_seed(seed)
    model = cls()
    for module in model.modules():
        if getattr(module, "running_mean", None) is not None:
            module.running_mean.uniform_(-0.3, 0.3)
            module.running_var.uniform_(0.5, 2.0)
        if type(module).__name__.endswith(("Norm", "Norm1d", "Norm2d", "Norm3d")) and module.weight is not None:
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.3, 0.3)
    return model.eval()


def batches(cls, count, seed):
    """`count` batches of inputs: normal numbers, or indexes."""
    generator = torch.Generator().manual_seed(seed)
    if hasattr(cls, "integers"):
        return [tuple(torch.randint(cls.integers, shape, generator=generator) for shape in cls.inputs) for _ in range(count)]
    return [tuple(torch.randn(shape, generator=generator) for shape in cls.inputs) for _ in range(count)]
