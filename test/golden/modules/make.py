"""One model that holds a module of every quantized, dynamic and reference class, built by its constructor, and what PyTorch makes of it.

modules.qfx, modules.safetensors    the model as qfx_export writes it
state.safetensors                   its state dict (qfx_export.save_state_dict)
input.safetensors                   one batch
expected.safetensors                outputs by number; quantized ones dequantized (in float32: the code times a float scale, exactly)

Run with the venv that has torch:  python test/golden/modules/make.py
Weights have 6 bits, so that FBGEMM's 16-bit sums cannot saturate; scales are no short binary fractions, so that no value is a tie.
"""
import os
import sys
import warnings

import torch
import torch.ao.nn.intrinsic.quantized as nniq
import torch.ao.nn.intrinsic.quantized.dynamic as nniqd
import torch.ao.nn.quantized as nnq
import torch.ao.nn.quantized.dynamic as nnqd
import torch.ao.nn.quantized.reference as nnqr
import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers the operators that is_decomposed calls)
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tools", "export"))
import qfx_export  # noqa: E402
from qfx_export.state_dict import save_state_dict  # noqa: E402
from qfx_export.tensors import safetensors_bytes, write_together  # noqa: E402

warnings.filterwarnings("ignore")
torch.backends.quantized.engine = "x86"
torch.set_num_threads(1)
SEED = 11
SCALE, ZERO_POINT = 0.0731, 63
NUMBERS = (1, 2, 3)


def codes(*sizes, axis=None):
    """A qint8 weight of 6 bits."""
    values = torch.randint(-32, 32, sizes, dtype=torch.int8)
    if axis is None:
        return torch.ops.aten._make_per_tensor_quantized_tensor(values, 0.0173, 0)
    scales = torch.rand(sizes[axis], dtype=torch.float64) * 0.02 + 0.01
    return torch.ops.aten._make_per_channel_quantized_tensor(values, scales, torch.zeros(sizes[axis], dtype=torch.long), axis)


def with_weight(module, weight, bias, with_output=True):
    module.set_weight_bias(weight, bias)
    if with_output:
        module.scale, module.zero_point = SCALE, ZERO_POINT
    return module


def table(dtype, width):
    weight = torch.randn(5, width)
    observer = torch.ao.quantization.PerChannelMinMaxObserver(
        dtype=dtype, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0)
    observer(weight)
    scales, zero_points = observer.calculate_qparams()
    return torch.quantize_per_channel(weight, scales.float(), zero_points.float(), 0, dtype)


def batch_norm(cls):
    module = cls(4, eps=1e-3)
    module.weight.data.uniform_(0.5, 2)
    module.bias.data.normal_()
    module.running_mean.normal_()
    module.running_var.uniform_(0.5, 2)
    module.scale, module.zero_point = torch.tensor(SCALE), torch.tensor(ZERO_POINT)
    return module


def prelu():
    module = nnq.PReLU(SCALE, ZERO_POINT, 4)
    module.set_weight(torch.quantize_per_tensor(torch.rand(4), 0.00413, 0, torch.quint8))
    return module


def affine():
    return nn.Parameter(torch.rand(4)), nn.Parameter(torch.randn(4))


def dynamic(cls, dtype, **arguments):
    """By from_float: these classes have no other way to give them weights."""
    model = nn.Sequential(cls(4, 3, **arguments))
    return torch.ao.quantization.quantize_dynamic(model, qconfig_spec={cls}, dtype=dtype)[0]


def of_version(module, version):
    """As a module is that loaded the state of an older version."""
    module.version = version
    return module


PER_TENSOR = {"qscheme": torch.per_tensor_affine, "dtype": torch.qint8, "scale": 0.0311, "zero_point": 3}
NARROW = {**PER_TENSOR, "quant_min": -10, "quant_max": 10}  # a range that only the decomposed form clamps to
FLOAT16 = {"qscheme": torch.per_tensor_affine, "dtype": torch.float16, "scale": 1.0, "zero_point": 0}
NONE = {"qscheme": None, "dtype": torch.float32}


def per_channel(axis, count):
    return {"qscheme": torch.per_channel_affine, "dtype": torch.qint8, "scale": torch.rand(count) * 0.02 + 0.01,
            "zero_point": torch.zeros(count, dtype=torch.long), "axis": axis}


def float_rows():
    return {"qscheme": torch.per_channel_affine_float_qparams, "dtype": torch.quint8, "scale": torch.rand(5) * 0.02 + 0.01,
            "zero_point": torch.rand(5) * 100, "axis": 0}


def cell(cls):
    gates = cls(4, 3).weight_hh.shape[0]
    return cls(4, 3, weight_qparams_dict={"weight_ih": per_channel(0, gates), "weight_hh": per_channel(0, gates), "is_decomposed": False})


def layer(cls):
    return cls(4, 3, weight_qparams_dict={"weight_ih_l0": PER_TENSOR, "weight_hh_l0": PER_TENSOR, "is_decomposed": False})


def rows_modules():
    return {
        "linear": with_weight(nnq.Linear(4, 6), codes(6, 4, axis=0), torch.randn(6)),
        "linear_no_bias": with_weight(nnq.Linear(4, 6, False), codes(6, 4), None),
        "linear_relu": with_weight(nniq.LinearReLU(4, 6), codes(6, 4, axis=0), torch.randn(6)),
    }


def image_modules(n):
    number = "%dd" % n
    size, transposed = (6, 2) + (3,) * n, (4, 3) + (3,) * n
    made = {
        "conv" + number: with_weight(getattr(nnq, "Conv" + number)(4, 6, 3, 2, 1, 1, 2), codes(*size, axis=0), torch.randn(6)),
        "conv_relu" + number: with_weight(getattr(nniq, "ConvReLU" + number)(4, 6, 3, 1, 1, 1, 2, bias=False), codes(*size), None),
        "transposed" + number: with_weight(getattr(nnq, "ConvTranspose" + number)(4, 6, 3, 2, 1, 1, 2), codes(*transposed), torch.randn(6)),
        "output_padding" + number: with_weight(
            getattr(nnq, "ConvTranspose" + number)(4, 6, 3, output_padding=1, groups=2), codes(*transposed), None),
        "instance_norm" + number: getattr(nnq, "InstanceNorm" + number)(4, *affine(), SCALE, ZERO_POINT),
    }
    if n > 1:
        made["batch_norm" + number] = batch_norm(getattr(nnq, "BatchNorm" + number))
        made["batch_norm_relu" + number] = batch_norm(getattr(nniq, "BNReLU" + number))
    if n < 3:
        made["reflect" + number] = with_weight(
            getattr(nnq, "Conv" + number)(4, 6, 3, padding=1, groups=2, padding_mode="reflect"), codes(*size), torch.randn(6))
    if n == 2:
        made.update({
            "layer_norm": nnq.LayerNorm([9, 8], nn.Parameter(torch.rand(9, 8)), nn.Parameter(torch.randn(9, 8)), SCALE, ZERO_POINT, eps=1e-3),
            "group_norm": nnq.GroupNorm(2, 4, *affine(), SCALE, ZERO_POINT), "group_norm_plain": nnq.GroupNorm(2, 4, None, None, SCALE, ZERO_POINT),
            "relu6": nnq.ReLU6(), "hardswish": nnq.Hardswish(SCALE, ZERO_POINT), "elu": nnq.ELU(SCALE, ZERO_POINT, 0.7),
            "leaky_relu": nnq.LeakyReLU(SCALE, ZERO_POINT, 0.3, True), "sigmoid": nnq.Sigmoid(0.00511, 3),
            "softmax": nnq.Softmax(1, 0.0103, 5), "softmax_none": nnq.Softmax(None, 0.00407, 0), "prelu": prelu(), "dropout": nnq.Dropout(0.3),
        })
    return made


def float_image_modules(n):
    number = "%dd" % n
    conv, transposed = getattr(nnqd, "Conv" + number), getattr(nnqd, "ConvTranspose" + number)
    reference, float_conv = getattr(nnqr, "Conv" + number), getattr(nn, "Conv" + number)
    back, float_back = getattr(nnqr, "ConvTranspose" + number), getattr(nn, "ConvTranspose" + number)
    return {
        "dynamic_conv" + number: with_weight(conv(4, 6, 3), codes(6, 4, *(3,) * n, axis=0), torch.randn(6), False),
        "dynamic_transposed" + number: with_weight(transposed(4, 6, 3), codes(4, 6, *(3,) * n), torch.randn(6), False),
        "reference_conv" + number: reference.from_float(float_conv(4, 6, 3, padding=1, groups=2), per_channel(0, 6)),
        "reference_transposed" + number: back.from_float(float_back(4, 6, 3, 2, output_padding=1), per_channel(1, 6)),
    }


class Modules(nn.Module):
    def __init__(self):
        super().__init__()
        half, int8 = torch.float16, torch.qint8
        self.quantize = nnq.Quantize(0.0519, 100, torch.quint8)
        self.rows = nn.ModuleDict(rows_modules())
        self.images = nn.ModuleList([nn.ModuleDict(image_modules(n)) for n in NUMBERS])
        self.floats = nn.ModuleList([nn.ModuleDict(float_image_modules(n)) for n in NUMBERS])
        self.features = nn.ModuleDict({
            "dynamic": with_weight(nnqd.Linear(4, 6), codes(6, 4, axis=0), torch.randn(6), False),
            "dynamic_old": of_version(with_weight(nnqd.Linear(4, 6), codes(6, 4), torch.randn(6), False), 3),
            "dynamic_half": with_weight(nnqd.Linear(4, 6, dtype=half), torch.randn(6, 4), torch.randn(6), False),
            "dynamic_relu": with_weight(nniqd.LinearReLU(4, 6, False), codes(6, 4), None, False),
            "reference": nnqr.Linear.from_float(nn.Linear(4, 6), PER_TENSOR),
            "reference_default": nnqr.Linear.from_float(nn.Linear(4, 6), None),
            "reference_half": nnqr.Linear.from_float(nn.Linear(4, 6), FLOAT16),
            "reference_none": nnqr.Linear.from_float(nn.Linear(4, 6, False), NONE),
            "reference_narrow": nnqr.Linear.from_float(nn.Linear(4, 6), NARROW),
            "reference_decomposed": nnqr.Linear.from_float(nn.Linear(4, 6), {**NARROW, "is_decomposed": True}),
        })
        self.cells = nn.ModuleDict({
            "dynamic_lstm": dynamic(nn.LSTMCell, int8), "dynamic_gru": dynamic(nn.GRUCell, int8), "dynamic_rnn": dynamic(nn.RNNCell, half),
            "reference_lstm": cell(nnqr.LSTMCell), "reference_gru": cell(nnqr.GRUCell), "reference_rnn": cell(nnqr.RNNCell),
        })
        self.layers = nn.ModuleDict({
            "dynamic_lstm": dynamic(nn.LSTM, int8, num_layers=2, bidirectional=True), "dynamic_gru": dynamic(nn.GRU, int8),
            "dynamic_old": of_version(dynamic(nn.LSTM, int8), 1), "dynamic_half": dynamic(nn.GRU, half),
            "reference_lstm": layer(nnqr.LSTM), "reference_gru": layer(nnqr.GRU),
        })
        self.tables = nn.ModuleDict({
            "embedding": nnq.Embedding(5, 8, _weight=table(torch.quint8, 8)),
            "embedding_4bit": nnq.Embedding(5, 8, _weight=table(torch.quint4x2, 8), dtype=torch.quint4x2),
            "bag": nnq.EmbeddingBag(5, 8, _weight=table(torch.quint8, 8)),
            "bag_4bit": nnq.EmbeddingBag(5, 8, _weight=table(torch.quint4x2, 8), dtype=torch.quint4x2),
            "reference": nnqr.Embedding.from_float(nn.Embedding(5, 8, padding_idx=2), float_rows()),
            "reference_bag": nnqr.EmbeddingBag.from_float(nn.EmbeddingBag(5, 8, mode="max"), float_rows()),
        })

    def forward(self, rows, line, image, volume, sequence, indices):
        results = [module(rows) for module in self.features.values()]
        results += [module(self.quantize(rows)).dequantize() for module in self.rows.values()]
        for spatial, exact, plain in zip((line, image, volume), self.images, self.floats):
            results += [module(self.quantize(spatial)).dequantize() for module in exact.values()]
            results += [module(spatial) for module in plain.values()]
        for name, module in self.cells.items():
            state = module(rows)
            results.append(state[0] + state[1] if name.endswith("lstm") else state)
        results += [module(sequence)[0] for module in self.layers.values()]
        return tuple(results + [module(indices) for module in self.tables.values()])


def main():
    torch.manual_seed(SEED)
    model = Modules().eval()
    inputs = {"rows": torch.randn(3, 4), "line": torch.randn(2, 4, 9), "image": torch.randn(2, 4, 9, 8), "volume": torch.randn(1, 4, 6, 7, 5),
              "sequence": torch.randn(5, 2, 4), "indices": torch.tensor([[0, 2, 1], [3, 3, 0]])}
    qfx_export.export(model, tuple(inputs.values()), os.path.join(HERE, "modules.qfx"), dynamic_batch=False)
    save_state_dict(model, os.path.join(HERE, "state.safetensors"))
    with torch.no_grad():
        outputs = model(*inputs.values())
    write_together({os.path.join(HERE, "input.safetensors"): safetensors_bytes({k: v.contiguous() for k, v in inputs.items()}, {}),
                    os.path.join(HERE, "expected.safetensors"): safetensors_bytes(
                        {"%03d" % i: value.contiguous() for i, value in enumerate(outputs)}, {"torch": torch.__version__, "seed": str(SEED)})})
    print(len(outputs), "outputs")


main()
