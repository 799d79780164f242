"""Models that torch.fx cannot trace: torch.export's graph in the spelling of torch.fx (tools/export/qfx_export/respell.py)."""
import torch
import torch.nn.functional as F
from torch import nn

from cases_static import IMAGE, conv
from declare import case


@case(x=IMAGE, exported=True)
def exported_net(self):
    """A branch on a size: convolutions, a residual, cat, pools, view, mean and a linear layer of torch.export's graph."""
    self.stem, self.grouped, self.pool = conv(3, 8), nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.MaxPool2d(2)
    self.squash, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 5)

    def forward(self, x):
        y = torch.relu(self.stem(x))
        if x.shape[-1] > 4:
            y = self.pool(y)
        y = torch.cat([F.relu_(self.grouped(y) + y), y], 1)
        y = y.view(x.shape[0], 16, -1).mean(-1) + self.squash(y).flatten(1)
        return torch.sigmoid(self.fc(y))

    return forward


@case(x=IMAGE, exported=True)
def exported_activations(self):
    """The other activations behind a convolution each, and a normalization with buffers."""
    self.convs, self.norm = nn.ModuleList(conv(3 if k == 0 else 4) for k in range(4)), nn.BatchNorm2d(4)

    def forward(self, x):
        for layer, function in zip(self.convs, (F.hardswish, F.relu6, F.leaky_relu, F.elu)):
            x = function(layer(x)) if x.shape[-1] > 4 else x
        return self.norm(torch.tanh(x) * F.hardsigmoid(x)).clamp(-1, 1)

    return forward


@case(x=(2, 5, 8), exported=True)
def exported_attention(self):
    """Attention of matmuls: layer norm, heads by view and transpose, a number as a factor."""
    self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        n, s = x.shape[0], x.shape[1]
        q, k, v = [t.view(n, s, 2, 4).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1)]
        if s > 1:
            q = q * 0.5
        weights = torch.softmax(q @ k.transpose(-2, -1), -1)
        return x + self.out((weights @ v).transpose(1, 2).reshape(n, s, 8))

    return forward
