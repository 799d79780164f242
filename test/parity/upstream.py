"""What torch.ao.quantization makes of a model: the graphs of every phase and their numbers, recorded without change."""
import copy
import os
import sys
import warnings

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [
    os.path.join(ROOT, "tools", "export"), os.path.join(ROOT, "tools", "export", "examples"),
    os.path.join(ROOT, "test", "models"),
]
from export_torchvision import seeded_network, stated_data  # noqa: E402
from qfx_export.tensors import add_tensor, safetensors_bytes, write_together  # noqa: E402

warnings.filterwarnings("ignore")

NETWORKS = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x1_0", "vgg11_bn")
SEED = 0
ENGINE = "x86"


class Phases:
    """float, fused, prepared, reference and converted graph modules of one model; prepared is calibrated.

    Upstream's x86 road: engine x86, default qconfig mapping of x86, the x86 BackendConfig. `calibration` is a list of
    argument tuples; `adjust` may change the prepared module before calibration.
    """

    NAMES = ("float", "fused", "prepared", "reference", "converted")

    def __init__(self, model, calibration, adjust=None):
        from torch.ao.quantization import get_default_qconfig_mapping
        from torch.ao.quantization.backend_config.x86 import get_x86_backend_config
        from torch.ao.quantization.fx.tracer import QuantizationTracer
        from torch.ao.quantization.quantize_fx import convert_fx, convert_to_reference_fx, fuse_fx, prepare_fx

        torch.backends.quantized.engine = ENGINE
        config = get_x86_backend_config()
        own = copy.deepcopy(model)  # tracing leaves its tensor constants on the root
        setattr(self, "float", torch.fx.GraphModule(own, QuantizationTracer([], []).trace(own)))
        self.fused = fuse_fx(copy.deepcopy(model), backend_config=config)
        self.prepared = prepare_fx(
            copy.deepcopy(model), get_default_qconfig_mapping(ENGINE), calibration[0], backend_config=config)
        if adjust:
            adjust(self.prepared)
        with torch.no_grad():
            for batch in calibration:
                self.prepared(*batch)
        self.reference = convert_to_reference_fx(copy.deepcopy(self.prepared), backend_config=config)
        self.converted = convert_fx(copy.deepcopy(self.prepared), backend_config=config)

    def text(self, phase):
        """str(graph) of a phase."""
        return str(getattr(self, phase).graph)

    def observers(self):
        """{key: tensor}: the observers' statistics in the calibrated model, under their state-dict keys."""
        return {key: value for key, value in self.prepared.state_dict().items() if "activation_post_process" in key}

    def qparams(self):
        """{"activations": {node: {scale, zero_point}}, "weights": {path: {scale: [...], zero_point: [...]}}, "constants":
        {path of the scale: {weight, zero_point_path}}} of the reference graph; constants are weights of functional layers, quantized by a
        node. Scales are the doubles of the stored float32 values."""
        model, activations, weights, constants = self.reference, {}, {}, {}
        for node in model.graph.nodes:
            if node.op == "call_function" and node.target is torch.quantize_per_tensor:
                scale, zero_point = (_attribute(model, argument) for argument in node.args[1:3])
                activations[node.name] = {"scale": float(scale), "zero_point": int(zero_point)}
            elif node.op == "call_function" and node.target is torch.quantize_per_channel:
                scale, zero_point = (_attribute(model, argument) for argument in node.args[1:3])
                weights[node.args[0].target] = _lists(scale, zero_point)
                constants[node.args[1].target] = {"weight": node.args[0].target, "zero_point_path": node.args[2].target}
        for path, module in model.named_modules():
            if hasattr(module, "weight_scale"):
                weights[path] = _lists(module.weight_scale, module.weight_zero_point)
        return {"activations": activations, "weights": weights, "constants": constants}


def _attribute(model, argument):
    if not isinstance(argument, torch.fx.Node):
        return argument
    owner, _, name = argument.target.rpartition(".")
    return getattr(model.get_submodule(owner), name)


def _lists(scale, zero_point):
    return {"scale": [float(v) for v in scale.reshape(-1)], "zero_point": [int(v) for v in zero_point.reshape(-1)]}


def calibrate_otherwise(model, calibration):
    """The converted model when PyTorch calibrates with its own convolutions instead of oneDNN's: the same mathematics,
    other float rounding. How far it is from `Phases.converted` is what a second float implementation can at best reach."""
    with torch.backends.mkldnn.flags(enabled=False):
        return Phases(model, calibration)


class Recorder(torch.fx.Interpreter):
    """Runs a graph module and keeps every tensor value by node name, as it was when it was made."""

    def __init__(self, module):
        super().__init__(module)
        self.values = {}

    def run_node(self, node):
        result = super().run_node(node)
        if isinstance(result, torch.Tensor) and node.op != "output":
            self.values[node.name] = result.detach().clone()
        return result


def intermediates(module, batch):
    """(output, {node name: tensor}) of one run."""
    recorder = Recorder(module)
    with torch.no_grad():
        return recorder.run(*batch), recorder.values


def single_output(value):
    """The tensor of a model with one output, which may stand in a dict or tuple (segmentation networks: {"out": ...})."""
    leaves = torch.utils._pytree.tree_leaves(value)
    if len(leaves) != 1:
        raise ValueError("the parity test compares one output, the model has %d" % len(leaves))
    return leaves[0]


def save_tensors(path, tensors):
    """Writes tensors, quantized ones as codes with parameters (docs/IR.md)."""
    entries, metadata = {}, {}
    for name, tensor in tensors.items():
        add_tensor(entries, metadata, name, tensor)
    write_together({path: safetensors_bytes(entries, metadata)})


def load_digits_net():
    """(model, calibration batches, test batches) of the shipped model, read from test/models/digits."""
    from digits_net import DigitsNet
    from safetensors.torch import load_file

    folder = os.path.join(ROOT, "test", "models", "digits")
    model = DigitsNet()
    model.load_state_dict(load_file(os.path.join(folder, "digits.safetensors")))

    def batches(name):
        tensors = load_file(os.path.join(folder, name + ".safetensors"))
        return [tensors["%d.x" % i] for i in range(len(tensors))]

    return model.eval(), batches("calib"), batches("test")


def load_subject(name, size=224):
    """(model, calibration batches, evaluation batches) of a network by name; all seeded. Evaluation has 16 inputs."""
    if name == "digits":
        model, calibration, test = load_digits_net()
        return model, calibration, list(test[0][:16].split(4))
    return (
        seeded_network(name, SEED, size), stated_data(4, 4, size, SEED + 2), stated_data(4, 4, size, SEED + 3))
