"""Static quantization with the default x86 mapping: shapes of graphs."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import Block, Dense
from declare import case

IMAGE = (1, 3, 8, 8)


def conv(inputs=3, outputs=4, **keywords):
    return nn.Conv2d(inputs, outputs, 3, padding=1, **keywords)


@case(x=IMAGE)
def residual_add(self):
    """Residual addition without relu."""
    self.conv1, self.conv2 = conv(), conv(4)

    def forward(self, x):
        y = self.conv1(x)
        return self.conv2(y) + y

    return forward


@case(x=IMAGE)
def residual_add_relu_module(self):
    """Residual addition followed by a ReLU module, torch.add."""
    self.conv1, self.conv2, self.relu = conv(), conv(4), nn.ReLU()

    def forward(self, x):
        y = self.conv1(x)
        return self.relu(torch.add(self.conv2(y), y))

    return forward


@case(x=IMAGE)
def residual_block_bn(self):
    """A ResNet basic block: batch norms folded, shared ReLU module, downsample branch."""
    self.conv1, self.bn1, self.relu = conv(bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
    self.conv2, self.bn2 = conv(4, bias=False), nn.BatchNorm2d(4)
    self.down = nn.Sequential(nn.Conv2d(3, 4, 1, bias=False), nn.BatchNorm2d(4))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += self.down(x)
        return self.relu(y)

    return forward


@case(x=IMAGE)
def add_same_twice(self):
    """The same value as both addends."""
    self.conv = conv()

    def forward(self, x):
        y = self.conv(x)
        return y + y

    return forward


@case(x=IMAGE)
def add_input_to_itself(self):
    """Graph input added to itself and multiplied by a convolution."""
    self.conv = conv(3, 3)
    return lambda self, x: (x + x) * self.conv(x)


@case(x=IMAGE)
def add_other_user(self):
    """relu(s) + s: the addition has a second user."""
    self.conv1, self.conv2 = conv(), conv()

    def forward(self, x):
        s = self.conv1(x) + self.conv2(x)
        return F.relu(s) + s, s

    return forward


@case(x=IMAGE)
def cat_mixed(self):
    """Cat of a convolution, a pooled convolution and the input."""
    self.conv1, self.conv2, self.pool = conv(), conv(), nn.MaxPool2d(3, 1, 1)
    return lambda self, x: torch.cat([self.conv1(x), self.pool(self.conv2(x)), x], 1)


@case(x=IMAGE)
def cat_of_cat(self):
    """Cat of a cat and a convolution, a convolution after it."""
    self.conv1, self.conv2, self.conv3, self.conv4 = conv(), conv(), conv(), conv(12, 2)

    def forward(self, x):
        y = torch.cat((self.conv1(x), self.conv2(x)), dim=1)
        return self.conv4(torch.cat([y, self.conv3(x)], dim=1))

    return forward


@case(x=IMAGE)
def cat_same_twice(self):
    """Cat of a value with itself."""
    self.conv = conv()

    def forward(self, x):
        y = self.conv(x)
        return torch.cat([y, y], 1)

    return forward


@case(x=IMAGE)
def bn_after_cat(self):
    """Batch norm and relu after a cat: BNReLU2d."""
    self.conv1, self.conv2, self.bn, self.relu = conv(), conv(), nn.BatchNorm2d(8), nn.ReLU()
    return lambda self, x: self.relu(self.bn(torch.cat([self.conv1(x), self.conv2(x)], 1)))


@case(x=IMAGE)
def bn_alone(self):
    """Batch norm between convolutions with two users."""
    self.conv, self.bn, self.conv2 = conv(), nn.BatchNorm2d(4), conv(4)

    def forward(self, x):
        y = self.conv(x)
        return self.conv2(self.bn(y)) + y

    return forward


@case(x=IMAGE)
def dense_net(self):
    """bn-relu-conv layers that read a growing list of features."""
    self.stem = conv(3, 4)
    self.bn1, self.relu1, self.conv1 = nn.BatchNorm2d(4), nn.ReLU(), conv(4, 4)
    self.bn2, self.relu2, self.conv2 = nn.BatchNorm2d(8), nn.ReLU(), conv(8, 4)

    def forward(self, x):
        a = self.stem(x)
        b = self.conv1(self.relu1(self.bn1(torch.cat([a], 1))))
        c = self.conv2(self.relu2(self.bn2(torch.cat([a, b], 1))))
        return torch.cat([a, b, c], 1)

    return forward


@case(x=IMAGE)
def chunk_shuffle(self):
    """chunk, a branch, cat and a channel shuffle by view and transpose."""
    self.conv1, self.conv2 = conv(), conv(2, 2)

    def forward(self, x):
        a, b = self.conv1(x).chunk(2, dim=1)
        y = torch.cat((a, self.conv2(b)), dim=1)
        n, c, h, w = y.size()
        y = y.view(n, 2, c // 2, h, w)
        y = torch.transpose(y, 1, 2).contiguous()
        return y.view(n, -1, h, w)

    return forward


@case(x=IMAGE)
def split_getitem(self):
    """torch.split and pieces used unevenly; one is dropped."""
    self.conv1, self.conv2 = conv(3, 6), conv(2, 2)

    def forward(self, x):
        a, b, c = torch.split(self.conv1(x), 2, dim=1)
        return self.conv2(a) + b

    return forward


@case(x=IMAGE)
def slicing(self):
    """Slices by getitem with ranges and an ellipsis."""
    self.conv1, self.conv2 = conv(), conv(2, 2)
    return lambda self, x: self.conv2(self.conv1(x)[:, :2])[..., 1:, 0]


@case(x=(2, 4))
def add_scalar(self):
    """x + c, c + x, x * c: the result shares the input's observer."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x: (2.0 + self.fc(x)) * 3 + 0.5


@case(x=(2, 4))
def sub_scalar(self):
    """c - x and x - c: subtraction is in no pattern."""
    self.fc, self.fc2 = nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: self.fc2(1.0 - self.fc(x)) - 1.0


@case(x=(2, 4))
def mul_scalar_relu(self):
    """(x * c) followed by relu, x + c followed by relu."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x: F.relu(F.relu(self.fc(x) * 2.0) + 1)


@case(x=IMAGE)
def reshape_size(self):
    """reshape(x.size(0), -1) in front of a linear layer."""
    self.conv, self.pool, self.fc = conv(), nn.AdaptiveAvgPool2d(2), nn.Linear(16, 3)

    def forward(self, x):
        x = self.pool(self.conv(x))
        return self.fc(x.reshape(x.size(0), -1))

    return forward


@case(x=IMAGE)
def view_shape(self):
    """view(x.shape[0], -1), then flatten and squeeze elsewhere."""
    self.conv, self.fc = conv(), nn.Linear(256, 3)

    def forward(self, x):
        x = self.conv(x)
        return self.fc(x.view(x.shape[0], -1)), torch.flatten(x, 2), x.squeeze(0)

    return forward


@case(x=IMAGE)
def shape_spellings(self):
    """Dimension reads in other spellings: dim(), numel(), shape unpacked."""
    self.conv = conv()

    def forward(self, x):
        y = self.conv(x)
        n, c = y.shape[:2]
        return y.reshape(n, c, -1).permute(0, 2, 1), y.dim()

    return forward


@case(x=IMAGE)
def conv_twice(self):
    """One convolution called twice in a row."""
    self.conv = conv(3, 3)
    return lambda self, x: self.conv(self.conv(x))


@case(x=(2, 4))
def linear_relu_twice(self):
    """One linear + relu pair called twice."""
    self.fc, self.relu = nn.Linear(4, 4), nn.ReLU()
    return lambda self, x: self.relu(self.fc(self.relu(self.fc(x))))


@case(x=IMAGE, y=IMAGE)
def shared_conv_two_inputs(self):
    """One convolution on two inputs, added."""
    self.conv = conv()
    return lambda self, x, y: self.conv(x) + self.conv(y)


@case(x=(2, 4))
def functional_linear(self):
    """F.linear with and without bias, weights from get_attr, one with relu."""
    self.w1, self.w2, self.b = (nn.Parameter(torch.randn(s)) for s in ((5, 4), (3, 5), (5,)))
    return lambda self, x: F.linear(F.relu(F.linear(x, self.w1, self.b)), self.w2)


@case(x=IMAGE)
def functional_conv(self):
    """F.conv2d with all arguments, relu, and one without."""
    self.w1, self.b1 = nn.Parameter(torch.randn(4, 3, 3, 3)), nn.Parameter(torch.randn(4))
    self.w2 = nn.Parameter(torch.randn(2, 4, 1, 1))

    def forward(self, x):
        x = F.relu(F.conv2d(x, self.w1, self.b1, (1, 1), (1, 1), (1, 1), 1))
        return F.conv2d(x, self.w2, None, (1, 1), (0, 0), (1, 1), 1)

    return forward


@case(x=(1, 3, 8))
def functional_conv1d(self):
    """F.conv1d with integer stride, padding and dilation."""
    self.w, self.b = nn.Parameter(torch.randn(4, 3, 3)), nn.Parameter(torch.randn(4))
    return lambda self, x: F.conv1d(x, self.w, self.b, 1, 1, 1, 1)


@case(x=(2, 4))
def shared_weight(self):
    """One weight for two functional linears."""
    self.w = nn.Parameter(torch.randn(4, 4))
    return lambda self, x: F.linear(F.linear(x, self.w), self.w)


@case(x=(2, 4))
def tied_modules(self):
    """Two linear modules that share one weight."""
    self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    self.b.weight = self.a.weight
    return lambda self, x: self.b(self.a(x))


@case(x=(2, 4))
def weight_in_submodule(self):
    """A functional linear whose weight belongs to a submodule."""
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 4))

        def forward(self, x):
            return F.linear(x, self.w)

    Holder.__module__, Holder.__qualname__ = "blocks", "Holder"
    self.sub = Holder()
    return lambda self, x: self.sub(x)


@case(x=(2, 4), y=(2, 4))
def dict_output(self):
    """A dict of a list, a value and None."""
    self.fc = nn.Linear(4, 4)

    def forward(self, x, y):
        a = self.fc(x)
        return {"a": a, "rest": [a + y, None], "in": y}

    return forward


@case(x=(2, 4))
def nested_output(self):
    """Nested tuples with an input passed through."""
    self.fc1, self.fc2 = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        a = self.fc1(x)
        return (a, (self.fc2(a), [x])), None

    return forward


@case(x=(2, 4))
def optional_input(self):
    """An input with a default that stays unused."""
    self.fc = nn.Linear(4, 4)

    def forward(self, x, mask=None):
        return self.fc(x)

    return forward


@case(x=(2, 4), y=(2, 5))
def two_inputs(self):
    """Two branches joined by mul and relu."""
    self.l1, self.l2, self.relu = nn.Linear(4, 3), nn.Linear(5, 3), nn.ReLU()
    return lambda self, x, y: self.relu(self.l1(x) * self.l2(y))


@case(x=IMAGE)
def input_used_thrice(self):
    """One input for a convolution, a pool and the output."""
    self.conv, self.pool = conv(3, 3), nn.AvgPool2d(3, 1, 1)
    return lambda self, x: (self.conv(x), self.pool(x), x)


@case(x=IMAGE)
def pool_of_input(self):
    """Sharing operators directly on the input keep an observer of their own."""
    self.pool, self.conv = nn.MaxPool2d(2), conv()
    return lambda self, x: self.conv(self.pool(x))


@case(x=IMAGE)
def exp_reshape_linear(self):
    """A sharing operator behind one that is not quantized: no observer to share."""
    self.fc = nn.Linear(192, 3)
    return lambda self, x: self.fc(torch.exp(x).reshape(1, 192))


@case(x=IMAGE)
def transposed(self):
    """Transposed convolutions: with batch norm, with relu, after each other."""
    self.up1, self.bn, self.relu = nn.ConvTranspose2d(3, 4, 2, 2), nn.BatchNorm2d(4), nn.ReLU()
    self.up2 = nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1)
    return lambda self, x: self.up2(self.relu(self.bn(self.up1(x))))


@case(x=IMAGE)
def u_net(self):
    """Down, up, and a skip connection by cat."""
    self.down, self.pool, self.mid = conv(3, 4), nn.MaxPool2d(2), conv(4, 4)
    self.up, self.out = nn.ConvTranspose2d(4, 4, 2, 2), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        skip = F.relu(self.down(x))
        y = self.up(F.relu(self.mid(self.pool(skip))))
        return self.out(torch.cat([skip, y], 1))

    return forward


@case(x=(1, 4, 8, 8))
def grouped(self):
    """Grouped, depthwise, dilated and strided convolutions."""
    self.a = nn.Conv2d(4, 8, 3, groups=2, padding=1)
    self.b = nn.Conv2d(8, 8, 3, groups=8, padding=2, dilation=2)
    self.c = nn.Conv2d(8, 4, 1, stride=2)
    self.relu6 = nn.ReLU6()
    return lambda self, x: self.c(self.relu6(self.b(F.relu6(self.a(x)))))


@case(x=(1, 3, 4, 6, 6))
def conv3d(self):
    """3-D convolution, batch norm and relu, pool."""
    self.conv, self.bn, self.relu, self.pool = nn.Conv3d(3, 4, 3), nn.BatchNorm3d(4), nn.ReLU(), nn.MaxPool3d(2)
    return lambda self, x: self.pool(self.relu(self.bn(self.conv(x))))


@case(x=(1, 3, 16))
def conv1d(self):
    """1-D convolution, batch norm, relu, pool, linear on the last axis."""
    self.conv, self.bn, self.relu = nn.Conv1d(3, 4, 3, padding=1), nn.BatchNorm1d(4), nn.ReLU()
    self.pool, self.fc = nn.AvgPool1d(2), nn.Linear(8, 2)
    return lambda self, x: self.fc(self.pool(self.relu(self.bn(self.conv(x)))))


@case(x=(2, 4))
def linear_bn(self):
    """Linear with BatchNorm1d folded, then relu."""
    self.fc, self.bn, self.relu = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()
    return lambda self, x: self.relu(self.bn(self.fc(x)))


@case(x=IMAGE)
def partial_fusion(self):
    """conv + bn where the convolution has a second user; bn + relu fuse instead."""
    self.conv, self.bn, self.relu = conv(), nn.BatchNorm2d(4), nn.ReLU()

    def forward(self, x):
        y = self.conv(x)
        return self.relu(self.bn(y)) + y

    return forward


@case(x=IMAGE)
def shared_relu(self):
    """One ReLU module after a convolution and after an addition, and a lone torch.relu."""
    self.conv, self.relu = conv(3, 3), nn.ReLU()
    return lambda self, x: torch.relu(self.relu(self.relu(self.conv(x)) + x))


@case(x=IMAGE)
def blocks(self):
    """User-defined blocks, inlined; names come from their scopes."""
    self.stem, self.a, self.b, self.head = conv(), Block(), Block(), nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 4), Dense())
    return lambda self, x: self.head(self.b(self.a(self.stem(x))))


@case(x=IMAGE)
def sequential_numbers(self):
    """Module paths that are numbers."""
    self.seq = nn.Sequential(conv(), nn.ReLU(), nn.Sequential(conv(4), nn.BatchNorm2d(4)))
    return lambda self, x: self.seq(x)


@case(x=(2, 4), y=(2, 4))
def unquantized_between(self):
    """Float operators between quantized ones."""
    self.fc1, self.fc2 = nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x, y: self.fc2(torch.exp(self.fc1(x)) / y)


@case(input=(2, 4))
def reserved_names(self):
    """Names that need a suffix: input, sum, a module called max."""
    self.max, self.sum = nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, input: self.sum(self.max(input)).sum(1)


@case(x=(2, 4))
def lone_relu(self):
    """Only operators that share: relu and clamp on the input, nothing weighted."""
    self.relu = nn.ReLU()
    return lambda self, x: torch.clamp(self.relu(x), 0.0, 1.0)


@case(x=IMAGE)
def squeeze_excite(self):
    """Global pooling, two 1x1 convolutions, hardsigmoid, multiplication."""
    self.conv, self.pool = conv(), nn.AdaptiveAvgPool2d(1)
    self.fc1, self.fc2 = nn.Conv2d(4, 2, 1), nn.Conv2d(2, 4, 1)
    self.relu, self.scale = nn.ReLU(), nn.Hardsigmoid()

    def forward(self, x):
        x = self.conv(x)
        return self.scale(self.fc2(self.relu(self.fc1(self.pool(x))))) * x

    return forward


@case(x=IMAGE)
def super_resolution(self):
    """PixelShuffle as module and function, interpolate."""
    self.conv, self.shuffle, self.conv2 = conv(3, 8), nn.PixelShuffle(2), conv(2, 4)

    def forward(self, x):
        y = self.conv2(self.shuffle(self.conv(x)))
        return F.interpolate(F.pixel_shuffle(y, 2), scale_factor=2, mode="nearest")

    return forward


@case(x=(2, 5, 8))
def attention(self):
    """Self-attention written out: matmul, transpose, softmax, a scalar division."""
    self.q, self.k, self.v, self.softmax = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Softmax(-1)

    def forward(self, x):
        scores = torch.matmul(self.q(x), self.k(x).transpose(-2, -1)) / 2.0
        return torch.matmul(self.softmax(scores), self.v(x))

    return forward


@case(x=(2, 4), fails={"converted": "an assertion about the number of positional arguments"})
def keyword_module(self):
    """A module called with its input by keyword."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x: self.fc(input=x)


@case(x=IMAGE)
def cat_keywords(self):
    """cat with its tensors by keyword."""
    self.conv1, self.conv2 = conv(), conv()
    return lambda self, x: torch.cat(tensors=[self.conv1(x), self.conv2(x)], dim=1)


@case(x=IMAGE, fails={"converted": "an assertion about the number of positional arguments"})
def keyword_functions(self):
    """Functional convolution and linear with their weights by keyword, an addition by keyword."""
    self.k, self.b = nn.Parameter(torch.randn(4, 3, 1, 1)), nn.Parameter(torch.randn(4))
    self.w = nn.Parameter(torch.randn(5, 8))

    def forward(self, x):
        y = F.conv2d(x, weight=self.k, bias=self.b)
        return F.linear(torch.add(y, other=y), weight=self.w, bias=None)

    return forward


@case(x=(2, 4))
def dead_code(self):
    """A quantizable value that nobody reads."""
    self.fc1, self.fc2 = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        self.fc2(x)
        return self.fc1(x)

    return forward
