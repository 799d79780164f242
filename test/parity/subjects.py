"""The networks of the wide parity table: every torchvision family and the shapes of models it lacks, with seeded weights, batch-norm
statistics of one seeded batch, and images as small as the network permits."""
from typing import Callable, List, NamedTuple, Tuple

import torch
from torch import nn
from torch.nn import functional as F

from export_torchvision import import_torchvision, stated_data

SEED = 0


class Subject(NamedTuple):
    """One network: `build` makes it (seeded by the caller), `shape` is an input without its batch, `make` draws a batch (batch, shape,
    seed); `exported` says that torch.export's graph stands for the model."""

    build: Callable[[], nn.Module]
    shape: Tuple[int, ...]
    family: str
    make: Callable[[int, Tuple[int, ...], int], torch.Tensor]
    exported: bool = False


def images(batch, shape, seed):
    return stated_data(1, batch, shape[-1], seed)[0]


def noise(batch, shape, seed):
    return torch.randn(batch, *shape, generator=torch.Generator().manual_seed(seed))


def waves(batch, shape, seed):
    """Sums of three tones and noise, like speech in level."""
    generator = torch.Generator().manual_seed(seed)
    time = torch.arange(shape[-1]) / 8000
    tones = 100 + 1900 * torch.rand(batch, 3, 1, generator=generator)
    levels = torch.rand(batch, 3, 1, generator=generator)
    clean = (levels * torch.sin(2 * torch.pi * tones * time)).sum(1, keepdim=True)
    return clean + 0.05 * torch.randn(batch, *shape, generator=generator)


def tokens(batch, shape, seed):
    return torch.randint(0, 100, (batch, *shape), generator=torch.Generator().manual_seed(seed))


class AudioNet(nn.Module):
    """One-dimensional convolutions over a waveform, pooled over time."""

    def __init__(self):
        super().__init__()
        layers, channels = [], 1
        for width, kernel, stride in ((16, 40, 8), (32, 3, 1), (64, 3, 1)):
            layers += [nn.Conv1d(channels, width, kernel, stride), nn.BatchNorm1d(width), nn.ReLU(), nn.MaxPool1d(4)]
            channels = width
        self.features = nn.Sequential(*layers)
        self.fc = nn.Linear(channels, 10)

    def forward(self, x):
        return F.log_softmax(self.fc(self.features(x).mean(-1)), -1)


class DoubleConv(nn.Sequential):
    """Convolution, batch norm and relu, twice."""

    def __init__(self, channels, width):
        super().__init__(
            nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Three levels down, three up by transposed convolutions, with the skipped features joined. Their edge is 4: FBGEMM's packing of quantized
    ones with an edge of 2 and a multiple of 8 output channels is wrong (docs/Differences.md)."""

    def __init__(self, widths=(8, 16, 32, 64)):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.first = DoubleConv(3, widths[0])
        self.down = nn.ModuleList(DoubleConv(a, b) for a, b in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 4, stride=2, padding=1) for a, b in reversed(pairs))
        self.join = nn.ModuleList(DoubleConv(2 * a, a) for a, _ in reversed(pairs))
        self.last = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        skipped = [self.first(x)]
        for block in self.down:
            skipped.append(block(F.max_pool2d(skipped[-1], 2)))
        x = skipped.pop()
        for up, block in zip(self.up, self.join):
            x = block(torch.cat([skipped.pop(), up(x)], dim=1))
        return self.last(x)


class SuperResolution(nn.Module):
    """Sub-pixel convolution with residual blocks: three times the edge. One slope is 1, for PyTorch's quantized prelu shrinks positive values
    where the slopes' codes cannot hold 1 (docs/Differences.md, B94). Kernels are pruned to one of two neighbouring input channels: the sums
    of the trunk leave their calibrated range, and PyTorch's 16-bit sums of two products (no VNNI) would saturate in every image."""

    def __init__(self, width=16, blocks=3, factor=3):
        super().__init__()
        self.head = nn.Conv2d(3, width, 5, padding=2)
        self.body = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.PReLU(width), nn.Conv2d(width, width, 3, padding=1))
            for _ in range(blocks))
        for block in self.body:
            block[1].weight.data[0] = 1.0
        self.tail = nn.Conv2d(width, 3 * factor * factor, 3, padding=1)
        self.shuffle = nn.PixelShuffle(factor)
        for conv in self.modules():
            if isinstance(conv, nn.Conv2d) and conv.in_channels == width:
                conv.weight.data[0::2, 0::2] = 0
                conv.weight.data[1::2, 1::2] = 0

    def forward(self, x):
        x = torch.relu(self.head(x))
        for block in self.body:
            x = x + block(x)
        return self.shuffle(self.tail(x))


class Attention(nn.Module):
    """Multi-head attention out of plain operators."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        shape = x.shape
        qkv = self.qkv(x).view(shape[0], shape[1], 3, self.heads, self.depth).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / self.depth ** 0.5, -1)
        return self.out(torch.matmul(weights, v).transpose(1, 2).reshape(shape[0], shape[1], -1))


class EncoderLayer(nn.Module):
    """Attention and a feed-forward part, each normalised and added."""

    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(width, heads), nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down, self.drop = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Dropout(0.1)

    def forward(self, x):
        x = self.norm1(x + self.drop(self.attention(x)))
        return self.norm2(x + self.drop(self.down(F.gelu(self.up(x)))))


class TextEncoder(nn.Module):
    """Token and position embeddings, two encoder layers, a pooled class; 15 tokens, for the mean of 16 codes is half a step in one of 16 cases."""

    def __init__(self, layer, width=32, length=15):
        super().__init__()
        self.words, self.places = nn.Embedding(100, width), nn.Parameter(0.1 * torch.randn(1, length, width))
        self.layers = nn.Sequential(*(layer() for _ in range(2)))
        self.head = nn.Linear(width, 8)

    def forward(self, x):
        return self.head(self.layers(self.words(x) + self.places).mean(1))


def plain_encoder():
    return TextEncoder(lambda: EncoderLayer(32, 4))


def library_encoder():
    return TextEncoder(lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu"))


def classifier(name, **options):
    """A constructor of torchvision.models without weights."""
    return lambda: getattr(import_torchvision().models, name)(weights=None, **options)


def segmenter(name):
    return lambda: getattr(import_torchvision().models.segmentation, name)(weights=None, weights_backbone=None)


def of_class(path, **options):
    """A class below torchvision.models with sizes of its own, where the named networks are large."""
    def build():
        found = import_torchvision().models
        for name in path.split("."):
            found = getattr(found, name)
        return found(**options)
    return build


def _image(build, edge, family):
    return Subject(build, (3, edge, edge), family, images)


SUBJECTS = {
    "alexnet": _image(classifier("alexnet"), 64, "AlexNet"),
    "vgg11": _image(classifier("vgg11"), 32, "VGG"),
    "resnet18": _image(classifier("resnet18"), 64, "ResNet"),
    "resnext50_32x4d": _image(classifier("resnext50_32x4d"), 64, "ResNeXt"),
    "wide_resnet50_2": _image(classifier("wide_resnet50_2"), 64, "Wide ResNet"),
    "densenet121": _image(classifier("densenet121"), 64, "DenseNet"),
    "inception_v3": _image(classifier("inception_v3", aux_logits=False, init_weights=False), 96, "Inception"),
    "googlenet": _image(classifier("googlenet", aux_logits=False, init_weights=False), 64, "GoogLeNet"),
    "mobilenet_v2": _image(classifier("mobilenet_v2"), 64, "MobileNetV2"),
    "mobilenet_v3_small": _image(classifier("mobilenet_v3_small"), 64, "MobileNetV3"),
    "mnasnet0_5": _image(classifier("mnasnet0_5"), 64, "MNASNet"),
    "shufflenet_v2_x0_5": _image(classifier("shufflenet_v2_x0_5"), 64, "ShuffleNetV2"),
    "squeezenet1_1": _image(classifier("squeezenet1_1"), 64, "SqueezeNet"),
    "efficientnet_b0": _image(classifier("efficientnet_b0"), 64, "EfficientNet"),
    "efficientnet_v2_s": _image(classifier("efficientnet_v2_s"), 64, "EfficientNetV2"),
    "regnet_y_400mf": _image(classifier("regnet_y_400mf"), 64, "RegNetY"),
    "regnet_x_400mf": _image(classifier("regnet_x_400mf"), 64, "RegNetX"),
    "convnext": _image(classifier("convnext_tiny", layer_scale=0.5), 64, "ConvNeXt, layers scaled by 0.5 as after training"),
    "vit": _image(of_class("VisionTransformer", image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=128), 32,
                  "ViT, two layers of width 64"),
    "swin_t": _image(classifier("swin_t"), 64, "Swin"),
    "swin_v2_t": _image(classifier("swin_v2_t"), 64, "Swin V2"),
    "maxvit": _image(of_class("MaxVit", input_size=(64, 64), stem_channels=16, partition_size=2, block_channels=[16, 32],
                              block_layers=[1, 1], head_dim=8, stochastic_depth_prob=0.2), 64, "MaxViT, widths 16 and 32"),
    "fcn_resnet50": _image(segmenter("fcn_resnet50"), 32, "FCN"),
    "deeplabv3": _image(segmenter("deeplabv3_mobilenet_v3_large"), 32, "DeepLabV3 on MobileNetV3"),
    "lraspp": _image(segmenter("lraspp_mobilenet_v3_large"), 32, "LR-ASPP on MobileNetV3"),
    "r3d": Subject(of_class("video.r3d_18"), (3, 4, 32, 32), "video ResNet", noise),
    "audio": Subject(AudioNet, (1, 4000), "CNN over a waveform", waves),
    "unet": _image(UNet, 32, "U-Net with transposed convolutions"),
    "super_resolution": _image(SuperResolution, 24, "pixel shuffle"),
    "encoder": Subject(plain_encoder, (15,), "transformer encoder, torch.fx", tokens),
    "encoder_library": Subject(library_encoder, (15,), "nn.TransformerEncoderLayer, torch.fx", tokens),
    "encoder_exported": Subject(plain_encoder, (15,), "transformer encoder, torch.export", tokens, True),
    "swin_exported": Subject(of_class("swin_transformer.SwinTransformer", patch_size=[4, 4], embed_dim=24, depths=[2, 2], num_heads=[2, 4],
                                      window_size=[4, 4], num_classes=10), (3, 32, 32), "Swin of widths 24 and 48, torch.export", images, True),
}


def seeded(subject, statistics_batch=4):
    """The network in eval mode: weights as the constructor draws them after torch.manual_seed(SEED) (a head of zeros is drawn too),
    batch-norm statistics of one batch."""
    torch.manual_seed(SEED)
    model = subject.build().train()
    for module in model.modules():
        if isinstance(module, nn.Linear) and not module.weight.any():
            nn.init.normal_(module.weight, std=0.1)  # ViT's head starts at zero
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd) or type(module).__name__ == "StochasticDepth":
            module.eval()
    with torch.no_grad():
        model(subject.make(statistics_batch, subject.shape, SEED + 1))
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
    return model.eval()


def load(name) -> Tuple[nn.Module, List[torch.Tensor], List[torch.Tensor]]:
    """(model, calibration batches, evaluation batches): two batches of 2, and 2 of 2."""
    subject = SUBJECTS[name]
    model = seeded(subject)
    calibration, inputs = ([subject.make(2, subject.shape, SEED + first + k) for k in range(2)] for first in (2, 4))
    if subject.exported:
        from qfx_export.aten import export_aten
        from qfx_export.respell import respell

        model = respell(export_aten(model, (inputs[0],), {}, True, 2)[0])
        model = torch.fx.GraphModule(model, torch.fx.Tracer().trace(model))  # prepare_fx's own trace computes what buffers alone decide
    return model, calibration, inputs
