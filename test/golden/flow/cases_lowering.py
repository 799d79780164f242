"""Every row of the lowering tables (workflow 6), default x86 mapping."""
import torch
import torch.nn.functional as F
from torch import nn

from cases_static import IMAGE, conv
from declare import case


@case(x=IMAGE)
def default_modules(self):
    """ELU, LeakyReLU, Hardswish, InstanceNorm2d, Dropout, PReLU."""
    self.conv, self.norm = conv(), nn.InstanceNorm2d(4, affine=True)
    self.acts = nn.Sequential(nn.ELU(), nn.LeakyReLU(0.2), nn.Hardswish(), nn.Dropout(), nn.PReLU())
    return lambda self, x: self.acts(self.norm(self.conv(x)))


@case(x=IMAGE)
def default_functions(self):
    """elu, leaky_relu, hardswish, dropout, instance_norm as functions."""
    self.conv = conv()

    def forward(self, x):
        y = F.hardswish(F.leaky_relu(F.elu(self.conv(x)), 0.2))
        return F.instance_norm(F.dropout(y, 0.5, False))

    return forward


@case(x=(2, 4))
def layer_norm(self):
    """LayerNorm as module and function, the latter with parameters."""
    self.fc, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)
    self.w, self.b = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))
    return lambda self, x: F.layer_norm(self.norm(self.fc(x)), (4,), self.w, self.b)


@case(x=IMAGE)
def group_norm(self):
    """group_norm: observed, not lowered; GroupNorm module."""
    self.conv, self.norm = conv(), nn.GroupNorm(2, 4)
    self.w, self.b = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))
    return lambda self, x: F.group_norm(self.norm(self.conv(x)), 2, self.w, self.b)


@case(x=(1, 3, 8))
def instance_norm_1d(self):
    """InstanceNorm1d and F.instance_norm with parameters."""
    self.conv, self.norm = nn.Conv1d(3, 4, 3), nn.InstanceNorm1d(4, affine=True)
    self.w, self.b = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))
    return lambda self, x: F.instance_norm(self.norm(self.conv(x)), weight=self.w, bias=self.b)


@case(x=(1, 3, 4, 4, 4))
def norms_3d(self):
    """BatchNorm3d, BNReLU3d, InstanceNorm3d behind a convolution with two users."""
    self.conv, self.bn, self.bn2, self.relu, self.norm = (
        nn.Conv3d(3, 4, 1), nn.BatchNorm3d(4), nn.BatchNorm3d(4), nn.ReLU(), nn.InstanceNorm3d(4, affine=True))

    def forward(self, x):
        y = self.conv(x)
        return self.norm(self.relu(self.bn2(self.bn(y) + y)))

    return forward


@case(x=(2, 4))
def fixed_modules(self):
    """Sigmoid, Tanh, Hardsigmoid, Softmax modules."""
    self.fc, self.seq = nn.Linear(4, 4), nn.Sequential(nn.Sigmoid(), nn.Tanh(), nn.Hardsigmoid(), nn.Softmax(-1))
    return lambda self, x: self.seq(self.fc(x))


@case(x=(2, 4))
def fixed_functions(self):
    """sigmoid, tanh, hardsigmoid as functions and methods."""
    self.fc = nn.Linear(4, 4)

    def forward(self, x):
        y = torch.tanh(torch.sigmoid(self.fc(x)))
        return F.hardsigmoid(F.sigmoid(F.tanh(y)))

    return forward


@case(x=(2, 4))
def fixed_methods(self):
    """sigmoid_ and tanh_ in place."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x: self.fc(x).sigmoid_().tanh_()


@case(x=IMAGE)
def pools_2d(self):
    """Every 2-D pool as module and function."""
    self.conv = conv()
    self.pools = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.AvgPool2d(3, 1, 1), nn.AdaptiveAvgPool2d(6))

    def forward(self, x):
        y = self.pools(self.conv(x))
        y = F.adaptive_avg_pool2d(F.avg_pool2d(F.max_pool2d(y, 2, 1), 2, 1), (2, 2))
        return F.adaptive_avg_pool2d(y, 1)

    return forward


@case(x=(1, 3, 16))
def pools_1d(self):
    """Every 1-D pool as module and function."""
    self.conv = nn.Conv1d(3, 4, 3)
    self.pools = nn.Sequential(nn.MaxPool1d(3, 1, 1), nn.AvgPool1d(3, 1, 1), nn.AdaptiveAvgPool1d(8))
    return lambda self, x: F.adaptive_avg_pool1d(F.avg_pool1d(F.max_pool1d(self.pools(self.conv(x)), 2), 2), 1)


@case(x=(1, 3, 8, 8, 8))
def pools_3d(self):
    """Every 3-D pool as module and function."""
    self.conv = nn.Conv3d(3, 4, 3)
    self.pools = nn.Sequential(nn.MaxPool3d(3, 1, 1), nn.AvgPool3d(3, 1, 1), nn.AdaptiveAvgPool3d(4))
    return lambda self, x: F.adaptive_avg_pool3d(F.avg_pool3d(F.max_pool3d(self.pools(self.conv(x)), 2, 1), 2), 1)


@case(x=IMAGE)
def clamps(self):
    """clamp, hardtanh, relu6, ReLU6, Hardtanh: functions, methods, modules."""
    self.conv, self.acts = conv(), nn.Sequential(nn.Hardtanh(), nn.ReLU6())

    def forward(self, x):
        y = self.acts(self.conv(x))
        y = F.relu6(F.hardtanh(torch.clamp(y, -0.5, 0.5)))
        return y.clamp(min=0.1).relu().relu_()

    return forward


@case(x=IMAGE)
def means(self):
    """mean as function and method, over axes, keepdim."""
    self.conv = conv()
    return lambda self, x: torch.mean(self.conv(x).mean([3], keepdim=True), (2, 3))


@case(x=IMAGE)
def resizes(self):
    """interpolate in several modes, Upsample module."""
    self.conv, self.up = conv(), nn.Upsample(scale_factor=2)

    def forward(self, x):
        y = F.interpolate(self.conv(x), size=(4, 4), mode="bilinear", align_corners=False)
        return self.up(F.interpolate(y, scale_factor=2.0))

    return forward


@case(x=IMAGE)
def shape_methods(self):
    """permute, transpose, contiguous, unsqueeze, squeeze, repeat, view, reshape, detach, resize_."""
    self.conv = conv(3, 3)

    def forward(self, x):
        y = self.conv(x).permute(0, 2, 3, 1).contiguous().transpose(1, 2)
        y = y.unsqueeze(0).squeeze(0).repeat(1, 1, 1, 2).view(1, -1)
        return y.reshape(2, -1).detach().repeat_interleave(2, 0)

    return forward


@case(x=IMAGE)
def shape_functions(self):
    """transpose, unsqueeze, squeeze, stack, narrow, repeat_interleave, flatten, pixel_unshuffle."""
    self.conv = conv()

    def forward(self, x):
        y = F.pixel_unshuffle(F.pixel_shuffle(self.conv(x), 2), 2)
        y = torch.squeeze(torch.unsqueeze(torch.transpose(y, 2, 3), 0), 0)
        y = torch.narrow(torch.repeat_interleave(y, 2, 1), 1, 0, 4)
        return torch.flatten(torch.stack((y, y)), 1)

    return forward


@case(x=IMAGE)
def identity_shuffle(self):
    """Identity, PixelShuffle, PixelUnshuffle and ChannelShuffle modules."""
    self.conv = conv(3, 4)
    self.seq = nn.Sequential(nn.Identity(), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2))
    return lambda self, x: self.seq(self.conv(x))


@case(x=(2, 4), y=(2, 4))
def binary_forms(self):
    """torch.add, torch.mul, operator forms, each with relu as function, torch.relu and module."""
    self.a, self.b, self.relu = nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU()

    def forward(self, x, y):
        a, b = self.a(x), self.b(y)
        p = F.relu(torch.add(a, b))
        q = torch.relu(torch.mul(p, b))
        return self.relu(q * p), torch.relu(a + q)

    return forward


@case(x=(2, 3, 4), y=(2, 4, 5))
def matmuls(self):
    """torch.matmul, the @ operator and torch.bmm."""
    return lambda self, x, y: (torch.matmul(x, y), x @ y, torch.bmm(x, y))


@case(x=IMAGE)
def functional_transposed(self):
    """conv_transpose2d as function with all arguments; the default mapping has a per-tensor weight for it."""
    self.w, self.b = nn.Parameter(torch.randn(3, 4, 2, 2)), nn.Parameter(torch.randn(4))
    return lambda self, x: F.conv_transpose2d(x, self.w, self.b, (2, 2), (0, 0), (0, 0), 1, (1, 1))


@case(x=(1, 3, 8))
def functional_transposed_1d(self):
    """conv_transpose1d as function with integer arguments."""
    self.w, self.b = nn.Parameter(torch.randn(3, 4, 2)), nn.Parameter(torch.randn(4))
    return lambda self, x: F.conv_transpose1d(x, self.w, self.b, 2, 0, 0, 1, 1)


@case(x=(1, 3, 4, 4, 4))
def functional_3d(self):
    """conv3d and conv_transpose3d as functions."""
    self.w, self.b = nn.Parameter(torch.randn(4, 3, 1, 1, 1)), nn.Parameter(torch.randn(4))
    self.w2 = nn.Parameter(torch.randn(4, 2, 1, 1, 1))

    def forward(self, x):
        y = F.relu(F.conv3d(x, self.w, self.b, (1, 1, 1), (0, 0, 0), (1, 1, 1), 1))
        return F.conv_transpose3d(y, self.w2, None, (1, 1, 1), (0, 0, 0), (0, 0, 0), 1, (1, 1, 1))

    return forward


@case(x=(1, 3, 8))
def transposed_modules(self):
    """ConvTranspose1d with batch norm."""
    self.up, self.bn = nn.ConvTranspose1d(3, 4, 2, 2), nn.BatchNorm1d(4)
    return lambda self, x: self.bn(self.up(x))


@case(x=(1, 3, 4, 4, 4))
def transposed_3d(self):
    """ConvTranspose3d."""
    self.up = nn.ConvTranspose3d(3, 4, 2, 2)
    return lambda self, x: F.relu(self.up(x))


@case(x=(2, 4))
def linear_then_function_relu(self):
    """nn.Linear with F.relu, torch.relu and the method."""
    self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: self.c(torch.relu(self.b(F.relu(self.a(x))))).relu()


@case(i=torch.tensor([[0, 1], [2, 3]]), mapping={"extends": "x86", "object_type": {"torch.nn.Embedding": "float_qparams_weight_only_qconfig"}})
def embedding(self):
    """Appendix A9: an embedding with float-qparams weights in front of a linear layer."""
    self.emb, self.fc = nn.Embedding(10, 4), nn.Linear(4, 3)
    return lambda self, i: self.fc(self.emb(i))


@case(i=torch.tensor([[0, 1], [2, 3]]))
def embedding_static(self):
    """An embedding under an ordinary static qconfig stays float."""
    self.emb, self.fc = nn.Embedding(10, 4), nn.Linear(4, 3)
    return lambda self, i: self.fc(self.emb(i))


@case(x=(2, 3, 4))
def called_twice_without_weight(self):
    """A dropout called twice, and a layer norm whose result's shape is read: both stay quantized."""
    self.a, self.b, self.drop, self.norm = nn.Linear(4, 4), nn.Linear(4, 4), nn.Dropout(0.1), nn.LayerNorm(4)

    def forward(self, x):
        y = self.norm(x + self.drop(self.a(x)))
        return self.drop(self.b(y)).reshape(y.shape[0], -1)

    return forward
