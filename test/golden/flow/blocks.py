"""Classes of the cases' own models that are not PyTorch's: inlined blocks and standalone modules."""
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """conv, relu, and an addition around them."""

    def __init__(self, channels=4):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.conv(x)) + x


class Dense(nn.Module):
    """linear and a functional relu."""

    def __init__(self, features=4):
        super().__init__()
        self.fc = nn.Linear(features, features)

    def forward(self, x):
        return F.relu(self.fc(x))


class Inner(nn.Module):
    """One convolution; used as a standalone module."""

    def __init__(self, channels=3):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        return self.conv(x)


class Outer(nn.Module):
    """A convolution and a standalone module; itself standalone."""

    def __init__(self, channels=3):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 1)
        self.inner = Inner(channels)

    def forward(self, x):
        return self.inner(self.first(x))


class Pair(nn.Module):
    """A linear layer and an addition of a second input; used as a standalone module."""

    def __init__(self, features=4):
        super().__init__()
        self.fc = nn.Linear(features, features)

    def forward(self, a, b):
        return self.fc(a) + b


class Functional(nn.Module):
    """A functional linear layer with relu, and a linear layer behind it."""

    def __init__(self, features=4):
        super().__init__()
        self.w = nn.Parameter(torch.randn(features, features))
        self.fc = nn.Linear(features, features)

    def forward(self, x):
        return self.fc(F.relu(F.linear(x, self.w)))
