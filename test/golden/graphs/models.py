"""The small models of spec/workflow.md, Appendix A, with seeded weights, and the inputs they are calibrated on."""
import torch
import torch.nn.functional as F
from torch import nn


class A1(nn.Module):
    """Linear."""

    inputs = {"x": (2, 4)}

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(x)


class A2(nn.Module):
    """Conv, batch norm, relu."""

    inputs = {"x": (2, 3, 8, 8)}

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


class A3(nn.Module):
    """Residual add and relu."""

    inputs = {"x": (2, 3, 8, 8)}

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x):
        y = self.conv1(x)
        z = self.conv2(y)
        return F.relu(z + y)


class A4(nn.Module):
    """Add of a scalar."""

    inputs = {"x": (2, 4)}

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(x) + 2.0


class A5(nn.Module):
    """Cat of two convolutions."""

    inputs = {"x": (2, 3, 8, 8)}

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.conv2 = nn.Conv2d(3, 5, 3, padding=1)

    def forward(self, x):
        return torch.cat([self.conv1(x), self.conv2(x)], dim=1)


class A6(nn.Module):
    """Max pooling and a reshape by size."""

    inputs = {"x": (2, 3, 8, 8)}

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(64, 5)

    def forward(self, x):
        x = self.pool(self.conv(x))
        x = x.reshape(x.size(0), -1)
        return self.fc(x)


class A7(nn.Module):
    """Functional linear and relu on parameters."""

    inputs = {"x": (2, 4)}

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 4))
        self.b = nn.Parameter(torch.randn(3))

    def forward(self, x):
        return F.relu(F.linear(x, self.w, self.b))


class A11(nn.Module):
    """Two inputs."""

    inputs = {"x": (2, 4), "y": (2, 5)}

    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(4, 3)
        self.l2 = nn.Linear(5, 3)

    def forward(self, x, y):
        return self.l1(x) + self.l2(y)


APPENDIX = (A1, A2, A3, A4, A5, A6, A7, A11)


def build(cls, seed):
    """(model in eval mode, two calibration batches as tuples): seeded weights, batch-norm statistics of one batch."""
    torch.manual_seed(seed)
    model = cls().train()
    batches = [tuple(torch.randn(shape) for shape in cls.inputs.values()) for _ in range(3)]
    with torch.no_grad():
        model(*batches[2])
    return model.eval(), batches[:2]
