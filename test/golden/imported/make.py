"""Models that torch.ao.quantization has handled already, as qfx_export writes them, and what PyTorch makes of them.

<model>/  prepared.qfx, qat.qfx       prepare_fx and calibrated; prepare_qat_fx and run (fake-quantizers have seen data)
          reference.qfx               convert_to_reference_fx of the first
          converted.qfx               convert_fx of the first, packed weights unpacked
          reference.txt, converted.txt, qat.txt    str(graph) of the converted forms of prepared (both) and of qat
          input.safetensors           one batch
          expected.safetensors        `codes`, `scale`, `zero_point`: the quantized value that the last dequantize of `converted` reads;
                                      `output` and `qat_output`, the float results
          state.safetensors           the converted model's state dict (qfx_export.save_state_dict)
Eager/    the same idea: prepared.qfx (observed and calibrated) and converted.qfx of eager mode
Every .qfx has its .safetensors beside it.
"""
import copy
import os
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.ao import quantization as tq
from torch.ao.quantization import quantize_fx as fx
from torch.ao.quantization.fx.custom_config import ConvertCustomConfig, PrepareCustomConfig

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "..", "tools", "export"), os.path.join(HERE, "..", "eager")]
import models as eager_models  # noqa: E402
import qfx_export  # noqa: E402
from qfx_export.state_dict import save_state_dict  # noqa: E402
from qfx_export.tensors import safetensors_bytes, write_together  # noqa: E402

warnings.filterwarnings("ignore")
SEED, ENGINE = 5, "x86"


class Convolutions(nn.Module):
    """Convolution with batch norm and relu, functional convolution and linear with their own weights, a residual sum."""

    shape = (2, 3, 8, 8)

    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.relu = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
        self.kernel = nn.Parameter(torch.randn(4, 4, 3, 3) * 0.2)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.fc = nn.Linear(16, 6)
        self.weight = nn.Parameter(torch.randn(5, 6) * 0.3)

    def forward(self, x):
        x = self.relu(self.bn(self.conv(x)))
        y = F.conv2d(x, self.kernel, None, [1, 1], [1, 1], [1, 1], 1)
        x = torch.flatten(self.pool(x + y), 1)
        return F.linear(self.fc(x), self.weight)


class Sequence(nn.Module):
    """One-dimensional convolutions, activations with parameters of their own, cat."""

    shape = (2, 3, 20)

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv1d(3, 4, 3, padding=1), nn.Conv1d(4, 4, 3, padding=1, bias=False)
        self.act, self.leaky = nn.Hardswish(), nn.LeakyReLU(0.1)
        self.kernel = nn.Parameter(torch.randn(3, 8, 3) * 0.2)

    def forward(self, x):
        x = self.act(self.first(x))
        y = self.leaky(self.second(x))
        return F.conv1d(torch.cat([x, y], 1), self.kernel, None, [1], [1], [1], 1)


class Inner(nn.Module):
    """What becomes a standalone module."""

    def __init__(self):
        super().__init__()
        self.conv, self.relu = nn.Conv2d(4, 4, 3, padding=1), nn.ReLU()

    def forward(self, x):
        return self.relu(self.conv(x)) + x


class Standalone(nn.Module):
    """A standalone module that takes and gives codes, between two convolutions."""

    shape = (2, 3, 8, 8)

    def __init__(self):
        super().__init__()
        self.first, self.inner, self.last = nn.Conv2d(3, 4, 3), Inner(), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.last(self.inner(self.first(x)))

    @staticmethod
    def prepare_config():
        inner = PrepareCustomConfig().set_input_quantized_indexes([0]).set_output_quantized_indexes([0])
        return PrepareCustomConfig().set_standalone_module_name("inner", None, (), inner, None)


class Recurrent(nn.Module):
    """An LSTM as custom module: taken apart into layers that are observed and quantized."""

    shape = {"x": (5, 2, 4), "h0": (1, 2, 6), "c0": (1, 2, 6)}

    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(4, 6), nn.Linear(6, 3)

    def forward(self, x, h0, c0):
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out)

    @staticmethod
    def prepare_config():
        return PrepareCustomConfig().set_float_to_observed_mapping(nn.LSTM, torch.ao.nn.quantizable.LSTM)

    @staticmethod
    def convert_config():
        return ConvertCustomConfig().set_observed_to_quantized_mapping(torch.ao.nn.quantizable.LSTM, torch.ao.nn.quantized.LSTM)


def last_quantized(model, inputs):
    """The value that the last dequantize reads."""
    seen = []

    class Recorder(torch.fx.Interpreter):
        def call_method(self, target, args, kwargs):
            if target == "dequantize":
                seen.append(args[0])
            return super().call_method(target, args, kwargs)

    with torch.no_grad():
        output = Recorder(model).run(*inputs)
    return seen[-1], output


def write_text(folder, name, model):
    with open(os.path.join(folder, name + ".txt"), "w") as file:
        file.write("# torch %s seed %d engine %s\n%s\n" % (torch.__version__, SEED, ENGINE, model.graph))


def calibrated(model, batches):
    with torch.no_grad():
        for batch in batches:
            model(*batch)
    return model


def make(cls):
    folder = os.path.join(HERE, cls.__name__)
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(SEED)
    model = cls().eval()
    shapes = cls.shape if isinstance(cls.shape, dict) else {"x": cls.shape}
    batches = [tuple(torch.randn(shape) for shape in shapes.values()) for _ in range(3)]
    inputs = batches[2]
    prepare_config = cls.prepare_config() if hasattr(cls, "prepare_config") else None
    convert_config = cls.convert_config() if hasattr(cls, "convert_config") else None

    def export(name, graph_module):
        qfx_export.export(graph_module, inputs, os.path.join(folder, name), dynamic_batch=False)

    prepared = fx.prepare_fx(copy.deepcopy(model), tq.get_default_qconfig_mapping(ENGINE), inputs, prepare_config)
    calibrated(prepared, batches[:2])
    export("prepared", prepared)
    reference = fx.convert_to_reference_fx(copy.deepcopy(prepared), convert_config)
    export("reference", reference)
    write_text(folder, "reference", reference)
    converted = fx.convert_fx(copy.deepcopy(prepared), convert_config)
    export("converted", converted)
    write_text(folder, "converted", converted)
    save_state_dict(converted, os.path.join(folder, "state.safetensors"))
    value, output = last_quantized(converted, inputs)
    tensors = {"codes": value.int_repr().contiguous(), "scale": torch.tensor(value.q_scale(), dtype=torch.float64),
               "zero_point": torch.tensor(value.q_zero_point()), "output": output.contiguous()}
    files = {os.path.join(folder, "input.safetensors"): safetensors_bytes(dict(zip(shapes, inputs)), {})}
    if prepare_config:
        files[os.path.join(folder, "expected.safetensors")] = safetensors_bytes(tensors, {})
        write_together(files)
        return
    qat = fx.prepare_qat_fx(copy.deepcopy(model).train(), tq.get_default_qat_qconfig_mapping(ENGINE), inputs).eval()
    calibrated(qat, batches[:2])
    export("qat", qat)
    qat_converted = fx.convert_fx(copy.deepcopy(qat))
    write_text(folder, "qat", qat_converted)
    with torch.no_grad():
        tensors["qat_output"] = qat_converted(*inputs).contiguous()
    files[os.path.join(folder, "expected.safetensors")] = safetensors_bytes(tensors, {})
    write_together(files)


def make_eager():
    folder = os.path.join(HERE, "Eager")
    os.makedirs(folder, exist_ok=True)
    cls = eager_models.Residual
    model = eager_models.build(cls, SEED)
    batches = eager_models.batches(cls, 3, SEED)
    model = tq.fuse_modules(model, cls.fuse)
    model.qconfig = tq.get_default_qconfig(ENGINE)
    prepared = calibrated(tq.prepare(model), batches[:2])
    qfx_export.export(prepared, batches[2], os.path.join(folder, "prepared"), dynamic_batch=False)
    converted = tq.convert(prepared)
    qfx_export.export(converted, batches[2], os.path.join(folder, "converted"), dynamic_batch=False)
    with torch.no_grad():
        output = converted(*batches[2])
    write_together({
        os.path.join(folder, "input.safetensors"): safetensors_bytes({"x": batches[2][0]}, {}),
        os.path.join(folder, "expected.safetensors"): safetensors_bytes({"output": output.contiguous()}, {}),
    })


def main():
    torch.backends.quantized.engine = ENGINE
    torch.set_num_threads(1)
    for cls in (Convolutions, Sequence, Standalone, Recurrent):
        make(cls)
    make_eager()


if __name__ == "__main__":
    main()
