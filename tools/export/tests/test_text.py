"""The text that small modules become, and that it says what FX says."""
import os
import sys
import tempfile
import unittest
import warnings

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import qfx_export  # noqa: E402
from qfx_export.tracer import trace  # noqa: E402


warnings.filterwarnings("ignore", message="torch.quantize_per_tensor")


class Case(unittest.TestCase):
    """Exports into a folder of its own."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name

    def export(self, model, inputs, **options):
        result = qfx_export.export(model, inputs, os.path.join(self.folder, "m.qfx"), **options)
        with open(result.model_path) as file:
            return file.read(), (load_file(result.weights_path) if result.weights_path else {})


class ConvBnRelu(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn = torch.nn.BatchNorm2d(4)
        self.relu = torch.nn.ReLU()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return F.relu(self.linear(x)) + 1.5


class TextTest(Case):
    def test_conv_bn_relu(self):
        text, tensors = self.export(ConvBnRelu().eval(), torch.randn(1, 3, 8, 8))
        self.assertEqual(text, '''\
qfx 1
weights "m.safetensors"
module conv : torch.nn.Conv2d(in_channels=3, out_channels=4, kernel_size=(3, 3), padding=(1, 1), bias=False)
module bn : torch.nn.BatchNorm2d(num_features=4)
module relu : torch.nn.ReLU()

graph(%x : f32[N, 3, 8, 8]) {
  %conv = call_module[conv](%x)
  %bn = call_module[bn](%conv)
  %relu = call_module[relu](%bn)
  return %relu
}
''')
        self.assertEqual(sorted(tensors), ["bn.bias", "bn.num_batches_tracked", "bn.running_mean", "bn.running_var",
                                           "bn.weight", "conv.weight"])
        self.assertEqual(tensors["bn.num_batches_tracked"].dtype, torch.int64)

    def test_scopes_and_containers(self):
        model = torch.nn.Sequential(Block(), torch.nn.Sequential(torch.nn.ReLU6())).eval()
        text, _ = self.export(model, torch.randn(2, 4), dynamic_batch=False)
        name = Block.__module__ + ".Block"
        self.assertEqual(text, '''\
qfx 1
weights "m.safetensors"
module 0 : %s()
module 0.linear : torch.nn.Linear(in_features=4, out_features=4)
module 1 : torch.nn.Sequential()
module 1.0 : torch.nn.ReLU6()

graph() {
  %%input_1 = placeholder[input]() : f32[2, 4]
  %%_0_linear = call_module[0.linear](%%input_1)
  %%relu = call_function[torch.nn.functional.relu](%%_0_linear, inplace=False) scope("0", "%s")
  %%add = call_function[operator.add](%%relu, 1.5) scope("0", "%s")
  %%_1_0 = call_module[1.0](%%add)
  return %%_1_0
}
''' % (name, name, name))

    def test_arguments(self):
        class M(torch.nn.Module):
            def forward(self, x, y: torch.Tensor, flag: bool = True):
                z = torch.stack((x, y)).to(torch.float64)[..., 1:]
                z = z.contiguous(memory_format=torch.channels_last).to(torch.device("cpu"))
                return {"a": z * 1e-5, "b": [x.view(x.size(0), -1), (y,), float("-inf")], "c": x.shape[0]}

        text, _ = self.export(M(), (torch.randn(2, 3, 4), torch.randn(2, 3, 4), True))
        body = text[text.index("graph("):]
        self.assertEqual(body, '''\
graph(%x : f32[N, 3, 4]) {
  %y = placeholder[y]() : f32[N, 3, 4] meta {"type": "torch.Tensor"}
  %flag = placeholder[flag](True) meta {"type": "bool"}
  %stack = call_function[torch.stack]((%x, %y))
  %to = call_method[to](%stack, torch.float64)
  %getitem = call_function[operator.getitem](%to, (..., slice(1, None, None)))
  %contiguous = call_method[contiguous](%getitem, memory_format=torch.channels_last)
  %to_1 = call_method[to](%contiguous, device("cpu"))
  %mul = call_function[operator.mul](%to_1, 1e-05)
  %size = call_method[size](%x, 0)
  %view = call_method[view](%x, %size, -1)
  %getattr_1 = call_function[builtins.getattr](%x, "shape")
  %getitem_1 = call_function[operator.getitem](%getattr_1, 0)
  return {"a": %mul, "b": [%view, (%y,), -inf], "c": %getitem_1}
}
''')

    def test_parameters_constants_and_ties(self):
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.emb = torch.nn.Embedding(5, 4)
                self.fc = torch.nn.Linear(4, 5, bias=False)
                self.fc.weight = self.emb.weight
                self.scale = torch.nn.Parameter(torch.ones(4))
                self.register_buffer("shift", torch.zeros(4, dtype=torch.float16))
                self.unused = torch.nn.Parameter(torch.ones(1000))

            def forward(self, i):
                return self.fc(self.emb(i) * self.scale + self.shift + torch.tensor([2.0]))

        model = M().eval()
        text, tensors = self.export(model, torch.zeros(2, 3, dtype=torch.int64))
        self.assertIn("parameter fc.weight = emb.weight\n", text)
        self.assertIn("parameter scale : f32[4]\n", text)
        self.assertIn("buffer shift : f16[4]\n", text)
        self.assertIn("buffer _tensor_constant0 : f32[1]\n", text)
        self.assertEqual(sorted(tensors), ["_tensor_constant0", "emb.weight", "scale", "shift"])
        self.assertFalse(hasattr(model, "_tensor_constant0"))

    def test_shared_module_is_called_twice_under_its_first_path(self):
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = torch.nn.ReLU()
                self.b = self.a

            def forward(self, x):
                return self.b(self.a(x) - 1)

        text, _ = self.export(M().eval(), torch.randn(1, 2))
        self.assertEqual(text.count("module "), 1)
        self.assertIn("%a_1 = call_module[a](%sub)", text)

    def test_alias_of_a_graph_module(self):
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_module("b", (graph.call_module("a", (x,)),)))
        relu = torch.nn.ReLU()
        model = torch.fx.GraphModule({"a": relu, "b": relu}, graph)
        text, _ = self.export(model.eval(), torch.randn(1, 2))
        self.assertIn("module a : torch.nn.ReLU()\nmodule b = a\n", text)

    def test_training_flags(self):
        model = ConvBnRelu().train()
        before = model.bn.running_mean.clone()
        text, _ = self.export(model, torch.randn(2, 3, 8, 8))
        self.assertIn("module bn : torch.nn.BatchNorm2d(num_features=4) training\n", text)
        self.assertTrue(torch.equal(before, model.bn.running_mean))

    def test_fixed_batch_is_noticed(self):
        class M(torch.nn.Module):
            def forward(self, x):
                return x.view(1, 6)

        with self.assertWarnsRegex(UserWarning, "batch stays fixed at 1"):
            text, _ = self.export(M(), torch.randn(1, 2, 3))
        self.assertIn("%x : f32[1, 2, 3]", text)

    def test_bfloat16_and_calibration(self):
        model = torch.nn.Linear(2, 2).to(torch.bfloat16)
        wrapper = torch.nn.Sequential(model).eval()
        batches = [torch.zeros(3, 2, dtype=torch.bfloat16), torch.ones(1, 2, dtype=torch.bfloat16)]
        result = qfx_export.export(wrapper, batches[0], os.path.join(self.folder, "m"), batches)
        self.assertEqual(load_file(result.weights_path)["0.weight"].dtype, torch.bfloat16)
        calibration = load_file(result.calibration_path)
        self.assertEqual({k: tuple(v.shape) for k, v in calibration.items()}, {"0.input_1": (3, 2), "1.input_1": (1, 2)})

    def test_quantized_attribute_is_written_as_codes(self):
        w = torch.tensor([[0.5, -1.0], [2.0, 4.0]])
        root = torch.nn.Module()
        root.register_buffer("w", torch.quantize_per_channel(
            w, torch.tensor([0.5, 1.0]), torch.tensor([0, 1]), 0, torch.qint8))
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_function(torch.mul, (x, graph.call_method("dequantize", (graph.get_attr("w"),)))))
        model = torch.fx.GraphModule(root, graph)
        result = qfx_export.export(model, torch.randn(1, 2), os.path.join(self.folder, "m.qfx"))
        with open(result.model_path) as file:
            self.assertIn("buffer w : qint8[2, 2]\n", file.read())
        tensors = load_file(result.weights_path)
        self.assertEqual(tensors["w"].tolist(), [[1, -2], [3, 5]])
        self.assertEqual(tensors["w:scales"].tolist(), [0.5, 1.0])
        self.assertEqual(tensors["w:zero_points"].tolist(), [0, 1])


class TracerTest(unittest.TestCase):
    def test_equals_upstream(self):
        try:
            from torch.ao.quantization.fx.tracer import QuantizationTracer
        except ImportError:
            self.skipTest("upstream's tracer is gone")
        model = torch.nn.Sequential(Block(), torch.nn.Sequential(Block(), torch.nn.ReLU()), ConvBnRelu()).eval()
        upstream = QuantizationTracer([], [])
        expected = upstream.trace(model)
        ours, scopes = trace(model)
        self.assertEqual(str(expected), str(ours.graph))
        self.assertEqual(
            {k: (v[0], v[1]) for k, v in upstream.node_name_to_scope.items()}, scopes)


class ExportTraceTest(Case):
    def test_data_dependent_branch_falls_back(self):
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = torch.nn.Conv2d(3, 4, 3)
                self.bn = torch.nn.BatchNorm2d(4)

            def forward(self, x):
                if x.shape[1] != 3:
                    raise ValueError("three channels")
                return {"y": torch.relu(self.bn(self.conv(x)))}

        with self.assertRaisesRegex(qfx_export.ExportError, "torch.fx cannot trace .*trace='export'"):
            self.export(M().eval(), torch.randn(1, 3, 8, 8), trace="fx")
        self.assertEqual(os.listdir(self.folder), [])
        text, tensors = self.export(M().eval(), torch.randn(1, 3, 8, 8))
        self.assertIn("%x : f32[N, 3, 8, 8]", text)
        self.assertIn("call_function[torch.conv2d](%x, %conv_weight, %conv_bias, [1, 1], [0, 0], [1, 1], 1)", text)
        self.assertIn("call_function[torch.nn.functional.batch_norm]", text)
        self.assertIn('return {"y": %relu}', text)
        self.assertIn("parameter conv.weight : f32[4, 3, 3, 3]\n", text)
        self.assertIn("conv.weight", tensors)


class ErrorTest(Case):
    def check(self, message, model, inputs, **options):
        with self.assertRaisesRegex(qfx_export.ExportError, message):
            self.export(model, inputs, **options)
        self.assertEqual(os.listdir(self.folder), [])

    def test_unknown_leaf(self):
        model = torch.nn.Sequential(torch.nn.CrossEntropyLoss())
        self.check(r"module '0' has the class 'torch.nn.CrossEntropyLoss', for which", model, torch.randn(1, 2))

    def test_parametrized(self):
        linear = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
        self.check("remove_parametrizations", torch.nn.Sequential(linear).eval(), torch.randn(1, 2))

    def test_hook(self):
        linear = torch.nn.Linear(2, 2)
        linear.register_forward_hook(lambda m, i, o: o * 2)
        self.check("module '0' of class 'torch.nn.Linear' has the forward hook", torch.nn.Sequential(linear).eval(),
                   torch.randn(1, 2))

    def test_meta_tensor(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2, device="meta")).eval()
        self.check("meta device", model, torch.randn(1, 2), dynamic_batch=False)

    def test_too_many_inputs(self):
        self.check("2 inputs given", torch.nn.Sequential(torch.nn.ReLU()), (torch.randn(1, 2), torch.randn(1)))

    def test_missing_calibration_input(self):
        class M(torch.nn.Module):
            def forward(self, x, y):
                return x + y

        self.check("calibration batch 1: no value for the input 'y'", M(), (torch.ones(1), torch.ones(1)),
                   calibration=[{"x": torch.ones(1), "y": torch.ones(1)}, {"x": torch.ones(1)}])

    def test_unwritable_file_leaves_the_others_alone(self):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2)).eval()
        os.mkdir(os.path.join(self.folder, "m.qfx"))
        for path in ("m.qfx", os.path.join("missing", "m.qfx")):
            with self.assertRaises(OSError):
                qfx_export.export(model, torch.ones(1, 2), os.path.join(self.folder, path), [torch.ones(1, 2)])
        self.assertEqual(os.listdir(self.folder), ["m.qfx"])

    def test_foreign_function(self):
        def mine(x):
            return x

        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        graph.output(graph.call_function(mine, (x,)))
        model = torch.fx.GraphModule(torch.nn.Module(), graph)
        self.check("not of PyTorch's library", model, torch.ones(1), trace="fx")
        with self.assertWarnsRegex(UserWarning, "written as torch.export sees it"):
            text, _ = self.export(model, torch.ones(1))
        self.assertIn("return %x", text)


class PathsTest(Case):
    def test_names_that_are_no_identifiers_are_quoted(self):
        model = torch.nn.Sequential()
        model.add_module("block1-0", torch.nn.Linear(2, 2))
        text, tensors = self.export(model.eval(), torch.zeros(1, 2))
        self.assertIn('module "block1-0" : torch.nn.Linear(', text)
        self.assertIn('call_module["block1-0"]', text)
        self.assertEqual(set(tensors), {"block1-0.weight", "block1-0.bias"})


if __name__ == "__main__":
    unittest.main()
