"""The shipped network: residual, depthwise and pointwise convolutions on 16x16 grey images, ten classes."""
import torch


class Residual(torch.nn.Module):
    """Two 3x3 convolutions and a skip; a 1x1 convolution in the skip where shapes change."""

    def __init__(self, channels, out_channels, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, out_channels, 3, stride, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(out_channels)
        self.relu = torch.nn.ReLU()
        self.conv2 = torch.nn.Conv2d(out_channels, out_channels, 3, 1, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(out_channels)
        self.skip = None
        if stride != 1 or channels != out_channels:
            self.skip = torch.nn.Sequential(
                torch.nn.Conv2d(channels, out_channels, 1, stride, bias=False), torch.nn.BatchNorm2d(out_channels))

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if self.skip is None else self.skip(x)))


class Inverted(torch.nn.Module):
    """Pointwise expansion, depthwise 3x3, pointwise projection; a skip where shapes agree."""

    def __init__(self, channels, out_channels, stride, activation):
        super().__init__()
        wide = 3 * channels
        self.block = torch.nn.Sequential(
            torch.nn.Conv2d(channels, wide, 1, bias=False), torch.nn.BatchNorm2d(wide), activation(),
            torch.nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), torch.nn.BatchNorm2d(wide), activation(),
            torch.nn.Conv2d(wide, out_channels, 1, bias=False), torch.nn.BatchNorm2d(out_channels))
        self.has_skip = stride == 1 and channels == out_channels

    def forward(self, x):
        return x + self.block(x) if self.has_skip else self.block(x)


class DigitsNet(torch.nn.Module):
    """16x16 grey image -> 10 logits."""

    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Sequential(
            torch.nn.Conv2d(1, 32, 3, 1, 1, bias=False), torch.nn.BatchNorm2d(32), torch.nn.ReLU())
        self.layer1 = Residual(32, 32, 1)
        self.layer2 = Residual(32, 64, 2)
        self.layer3 = torch.nn.Sequential(Inverted(64, 64, 1, torch.nn.ReLU6), Inverted(64, 64, 1, torch.nn.Hardswish))
        self.pool = torch.nn.MaxPool2d(2)
        self.layer4 = Inverted(64, 96, 1, torch.nn.Hardswish)
        self.average = torch.nn.AdaptiveAvgPool2d(1)
        self.dropout = torch.nn.Dropout(0.2)
        self.classifier = torch.nn.Linear(96, 10)

    def forward(self, x):
        x = self.layer4(self.pool(self.layer3(self.layer2(self.layer1(self.stem(x))))))
        return self.classifier(self.dropout(torch.flatten(self.average(x), 1)))
