"""Dynamic, weight-only and float16 quantization."""
import torch
import torch.nn.functional as F
from torch import nn

from declare import case

DYNAMIC = {"global": "default_dynamic_qconfig"}
HALF = {"global": "float16_dynamic_qconfig"}
STATIC_HALF = {"global": "float16_static_qconfig"}


@case(x=(2, 4), mapping=DYNAMIC, backend="qnnpack")
def dynamic_linear(self):
    """Appendix A8: a dynamic linear layer, qnnpack engine."""
    self.linear = nn.Linear(4, 3)
    return lambda self, x: self.linear(x)


@case(x=(2, 4), mapping=DYNAMIC)
def dynamic_mlp(self):
    """linear + relu, linear, on x86."""
    self.a, self.relu, self.b = nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3)
    return lambda self, x: self.b(self.relu(self.a(x)))


@case(x=(2, 4), mapping=DYNAMIC)
def dynamic_twice(self):
    """One linear layer applied twice: both calls run the dynamic module."""
    self.fc = nn.Linear(4, 4)
    return lambda self, x: self.fc(torch.tanh(self.fc(x)))


@case(x=(2, 4), mapping=DYNAMIC)
def dynamic_functional(self):
    """F.linear and F.linear + relu with dynamic inputs."""
    self.w1, self.b1 = nn.Parameter(torch.randn(5, 4)), nn.Parameter(torch.randn(5))
    self.w2, self.relu = nn.Parameter(torch.randn(3, 5)), nn.ReLU()
    return lambda self, x: self.relu(F.linear(F.relu(F.linear(x, self.w1, self.b1)), self.w2))


@case(x=(2, 4), mapping={"global": "per_channel_dynamic_qconfig"})
def dynamic_shared_input(self):
    """Two dynamic layers that read one value share its placeholder observer."""
    self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: self.a(x) + self.b(x)


@case(x=(2, 4), mapping={"global": "default_qconfig", "module_name": {"b": "default_dynamic_qconfig"}})
def dynamic_behind_static(self):
    """A dynamic layer between static ones."""
    self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
    return lambda self, x: self.c(self.b(self.a(x)))


@case(x=(1, 3, 8, 8), mapping=DYNAMIC)
def dynamic_conv(self):
    """A convolution under a dynamic qconfig: no dtype config of the backend."""
    self.conv, self.fc = nn.Conv2d(3, 4, 3), nn.Linear(6, 2)
    return lambda self, x: self.fc(self.conv(x))


@case(x=(1, 3, 8), mapping=DYNAMIC)
def dynamic_conv_functional(self):
    """F.conv1d under a dynamic qconfig."""
    self.w = nn.Parameter(torch.randn(4, 3, 3))
    return lambda self, x: F.conv1d(x, self.w, None, 1, 0, 1, 1)


@case(x=(5, 2, 4), mapping=DYNAMIC)
def dynamic_lstm(self):
    """LSTM and a linear layer on its output."""
    self.lstm, self.fc = nn.LSTM(4, 6, num_layers=2, bidirectional=True), nn.Linear(12, 3)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return self.fc(out), h

    return forward


@case(x=(5, 2, 4), mapping=DYNAMIC)
def dynamic_gru(self):
    """GRU with its state."""
    self.gru, self.fc = nn.GRU(4, 6), nn.Linear(6, 3)

    def forward(self, x):
        out, h = self.gru(x)
        return self.fc(h)

    return forward


@case(x=(2, 4), h=(2, 6), c=(2, 6), mapping=DYNAMIC)
def dynamic_cells(self):
    """LSTMCell, GRUCell, RNNCell."""
    self.lstm, self.gru, self.rnn = nn.LSTMCell(4, 6), nn.GRUCell(6, 6), nn.RNNCell(6, 6)

    def forward(self, x, h, c):
        h2, c2 = self.lstm(x, (h, c))
        return self.rnn(self.gru(h2, h), c2)

    return forward


@case(x=(2, 4), mapping=HALF, backend="fbgemm")
def half_dynamic(self):
    """float16 dynamic: linear, linear + relu, functional linear."""
    self.a, self.relu, self.b = nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3)
    self.w, self.bias = nn.Parameter(torch.randn(3, 3)), nn.Parameter(torch.randn(3))
    return lambda self, x: F.relu(F.linear(self.b(self.relu(self.a(x))), self.w, self.bias))


@case(x=(5, 2, 4), mapping=HALF)
def half_dynamic_lstm(self):
    """float16 dynamic LSTM and GRUCell."""
    self.lstm, self.cell = nn.LSTM(4, 6), nn.GRUCell(6, 6)
    return lambda self, x: self.cell(self.lstm(x)[0][0])


@case(x=(2, 4), mapping=STATIC_HALF)
def half_static(self):
    """float16 static on x86: only what the backend lists."""
    self.a, self.norm, self.s = nn.Linear(4, 4), nn.LayerNorm(4), nn.Sigmoid()
    return lambda self, x: torch.cat([self.s(self.norm(self.a(x))), F.relu(x)], 1) + 1.0


@case(x=(2, 4), mapping=STATIC_HALF, backend="native")
def half_static_native(self):
    """float16 static on the native backend, functional linear, add, mul, max_pool."""
    self.a, self.w, self.b = nn.Linear(4, 4), nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4))

    def forward(self, x):
        y = F.linear(self.a(x), self.w, self.b)
        return torch.matmul(y + x, (y * x).transpose(0, 1)).reshape(4)

    return forward


@case(i=torch.tensor([0, 1, 2, 3]), offsets=torch.tensor([0, 2]), mapping={"global": "float_qparams_weight_only_qconfig"})
def embedding_bag(self):
    """EmbeddingBag and Embedding, 8 bits."""
    self.bag, self.emb = nn.EmbeddingBag(10, 4, mode="sum", include_last_offset=True), nn.Embedding(10, 4)
    return lambda self, i, offsets: (self.bag(i, offsets), self.emb(i))


@case(i=torch.tensor([0, 1, 2, 3]), offsets=torch.tensor([0, 2]), mapping={"global": "float_qparams_weight_only_qconfig_4bit"})
def embedding_bag_4bit(self):
    """EmbeddingBag and Embedding, 4 bits."""
    self.bag, self.emb = nn.EmbeddingBag(10, 4, mode="sum"), nn.Embedding(10, 4)
    return lambda self, i, offsets: (self.bag(i, offsets), self.emb(i))


@case(i=torch.tensor([[0, 1], [2, 3]]), mapping={"global": None, "object_type": {"torch.nn.Embedding": "float_qparams_weight_only_qconfig", "torch.nn.LSTM": "default_dynamic_qconfig", "torch.nn.Linear": "default_dynamic_qconfig"}})
def text_classifier(self):
    """Embedding, LSTM and linear: weight-only and dynamic together."""
    self.emb, self.lstm, self.fc = nn.Embedding(10, 4), nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 2)

    def forward(self, i):
        out, (h, c) = self.lstm(self.emb(i))
        return self.fc(h[-1])

    return forward
