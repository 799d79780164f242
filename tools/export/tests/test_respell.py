"""ATen calls in the spelling of torch.fx: each row gives the overload's bits, and graph mode quantizes what torch.export wrote."""
import os
import sys
import tempfile
import unittest
import warnings

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import qfx_export  # noqa: E402
from qfx_export.aten import export_aten  # noqa: E402
from qfx_export.known import is_known  # noqa: E402
from qfx_export.respell import SPELLINGS, respell  # noqa: E402
from qfx_export.text import target_name  # noqa: E402

aten = torch.ops.aten


def t(*shape):
    return torch.randn(*shape)


def calls():
    """(overload, arguments, keywords): each overload as torch.export writes it, with and without its defaults."""
    conv1, conv2, conv3 = t(6, 2, 3), t(6, 2, 3, 3), t(6, 2, 3, 3, 3)
    line, image, volume = t(2, 4, 9), t(2, 4, 8, 8), t(1, 4, 6, 6, 6)
    mean, var, weight, bias = t(4), t(4).abs() + 0.5, t(4), t(4)
    for overload, x, w in ((aten.conv1d, line, conv1), (aten.conv2d, image, conv2), (aten.conv3d, volume, conv3)):
        rank = w.dim() - 2
        yield overload.default, (x, w.repeat(1, 2, *[1] * rank)), {}
        yield overload.default, (x, w, t(6), [2] * rank, [1] * rank, [2] * rank, 2), {}
        yield overload.padding, (x, w, None, [1] * rank, "same", [1] * rank, 2), {}
        yield overload.padding, (x, w, t(6), [2] * rank, "valid", [1] * rank, 2), {}
    for overload, x, w in ((aten.conv_transpose1d.default, line, t(4, 3, 3)), (aten.conv_transpose2d.input, image, t(4, 3, 3, 3)),
                           (aten.conv_transpose3d.input, volume, t(4, 3, 3, 3, 3))):
        rank = w.dim() - 2
        yield overload, (x, w), {}
        yield overload, (x, w, t(6), [2] * rank, [1] * rank, [1] * rank, 2, [2] * rank), {}
    yield aten.linear.default, (t(3, 4), t(5, 4), t(5)), {}
    yield aten.linear.default, (t(3, 4), t(5, 4)), {}
    yield aten.embedding.default, (t(9, 4), torch.randint(0, 9, (2, 3))), {}
    yield aten.embedding.default, (t(9, 4), torch.randint(0, 9, (2, 3)), 0), {}
    yield aten.layer_norm.default, (line, [9]), {}
    yield aten.layer_norm.default, (line, [4, 9], t(4, 9), t(4, 9), 1e-3), {}
    yield aten.group_norm.default, (image, 2), {}
    yield aten.group_norm.default, (image, 2, weight, bias, 1e-3), {}
    yield aten.batch_norm.default, (image, weight, bias, mean, var, False, 0.1, 1e-3, True), {}
    yield aten.instance_norm.default, (image, weight, bias, None, None, True, 0.1, 1e-3, True), {}
    yield aten.instance_norm.default, (image, weight, bias, mean, var, False, 0.1, 1e-5, True), {}
    yield aten.dropout.default, (image, 0.3, False), {}
    for overload in (aten.relu, aten.relu6, aten.hardswish, aten.hardsigmoid, aten.sigmoid, aten.tanh, aten.silu, aten.gelu, aten.elu,
                     aten.leaky_relu, aten.hardtanh, aten.detach, aten.clone, aten.contiguous):
        yield overload.default, (4 * image,), {}
    yield aten.gelu.default, (image,), {"approximate": "tanh"}
    yield aten.elu.default, (image, 0.7), {}
    yield aten.leaky_relu.default, (image, 0.2), {}
    yield aten.hardtanh.default, (image, -0.5, 0.7), {}
    yield aten.softmax.int, (image, -1), {}
    yield aten.softmax.int, (image, 1, torch.float64), {}
    yield aten.clamp.default, (image, 0), {}
    yield aten.clamp.default, (image, None, 0.5), {}
    for overload in (aten.add, aten.sub, aten.mul):
        yield overload.Tensor, (image, t(4, 1, 8)), {}
        yield overload.Tensor, (image, 3), {}
        yield overload.Scalar, (image, 0.3), {}
    yield aten.matmul.default, (line, t(9, 3)), {}
    yield aten.bmm.default, (line, t(2, 9, 3)), {}
    yield aten.addmm.default, (t(3), t(2, 4), t(4, 3)), {}
    yield aten.addmm.default, (t(3), t(2, 4), t(4, 3)), {"beta": 0.5, "alpha": 2}
    yield aten.mean.dim, (image, [2, 3]), {}
    yield aten.mean.dim, (image, [-1], True), {}
    for kind, name, rank in ((aten.max_pool1d, "max", 1), (aten.max_pool2d, "max", 2), (aten.max_pool3d, "max", 3),
                             (aten.avg_pool1d, "avg", 1), (aten.avg_pool2d, "avg", 2), (aten.avg_pool3d, "avg", 3)):
        x = (line, image, volume)[rank - 1]
        yield kind.default, (x, [3] * rank), {}
        yield kind.default, (x, [3] * rank, [], [1] * rank), {}
        last = ([2] * rank, True) if name == "max" else (True, False)
        yield kind.default, (x, [3] * rank, [2] * rank, [1] * rank, *last), {}
    yield aten.avg_pool2d.default, (image, [3, 3], [2, 2], [1, 1], True, True, 5), {}
    yield aten.adaptive_avg_pool1d.default, (line, [2]), {}
    yield aten.adaptive_avg_pool2d.default, (image, [3, 1]), {}
    yield aten.adaptive_avg_pool3d.default, (volume, [3, 1, 2]), {}
    for overload, x in ((aten.upsample_nearest1d, line), (aten.upsample_nearest2d, image), (aten.upsample_nearest3d, volume)):
        yield overload.vec, (x, [11] * (x.dim() - 2), None), {}
        yield overload.vec, (x, None, [1.7] * (x.dim() - 2)), {}
    for overload, x in ((aten.upsample_linear1d, line), (aten.upsample_bilinear2d, image), (aten.upsample_bicubic2d, image),
                        (aten.upsample_trilinear3d, volume)):
        yield overload.vec, (x, [11] * (x.dim() - 2), True, None), {}
        yield overload.vec, (x, None, False, [1.7] * (x.dim() - 2)), {}
    yield aten.pixel_shuffle.default, (image, 2), {}
    yield aten.pixel_unshuffle.default, (image, 2), {}
    yield aten.channel_shuffle.default, (image, 2), {}
    yield aten.pad.default, (image, [1, 2, 0, 1]), {}
    yield aten.pad.default, (image, [1, 2], "constant", 3.0), {}
    yield aten.cat.default, ([image, image[:1]],), {}
    yield aten.cat.default, ([image, image], 1), {}
    yield aten.stack.default, ([image, image],), {}
    yield aten.stack.default, ([image, image], -1), {}
    yield aten.chunk.default, (image, 2, 1), {}
    yield aten.split.Tensor, (image, 3, -1), {}
    yield aten.split_with_sizes.default, (image, [1, 3], 1), {}
    yield aten.narrow.default, (image, 1, 1, 2), {}
    yield aten.repeat_interleave.self_int, (image, 2), {}
    yield aten.repeat_interleave.self_int, (image, 2, 1), {}
    yield aten.flatten.using_ints, (image, 1), {}
    yield aten.flatten.using_ints, (image, 1, 2), {}
    yield aten.view.default, (image, [2, -1, 16]), {}
    yield aten.reshape.default, (image, [-1]), {}
    yield aten.permute.default, (image, [0, 2, 3, 1]), {}
    yield aten.transpose.int, (image, 1, -1), {}
    yield aten.squeeze.default, (t(1, 3, 1),), {}
    yield aten.squeeze.dim, (t(1, 3, 1), -1), {}
    yield aten.unsqueeze.default, (image, -1), {}
    yield aten.repeat.default, (line, [2, 1, 1, 3]), {}
    yield aten.sym_size.int, (image, 1), {}


def graph_of(overload, args, kwargs):
    """A graph of the one call, its tensors as inputs: (graph module, tensors)."""
    graph, tensors = torch.fx.Graph(), []

    def placeholder(value):
        if not isinstance(value, torch.Tensor):
            return value
        tensors.append(value)
        return graph.placeholder("x%d" % len(tensors))

    def replaced(value):
        return [replaced(v) for v in value] if isinstance(value, list) else placeholder(value)

    node = graph.call_function(overload, tuple(replaced(value) for value in args), kwargs)
    node.meta["val"] = overload(*args, **kwargs)
    graph.output(node)
    return torch.fx.GraphModule(nn.Module(), graph), tensors


def left(graph_module):
    """The ATen overloads of a graph."""
    return [str(node.target) for node in graph_module.graph.nodes if isinstance(node.target, torch._ops.OpOverload)]


def is_read(node):
    """Has qfx an operator for the node?"""
    if node.op == "call_function":
        return is_known("function", target_name(node.target, node.name))
    return node.op != "call_method" or is_known("method", node.target)


class RowTest(unittest.TestCase):
    def test_every_row_gives_the_bits_of_its_overload(self):
        torch.manual_seed(1)
        met = set()
        for overload, args, kwargs in calls():
            with self.subTest(overload=str(overload), args=[a for a in args if not isinstance(a, torch.Tensor)], **kwargs):
                module, tensors = graph_of(overload, args, kwargs)
                expected, respelled = module(*tensors), respell(module)
                self.assertEqual(left(respelled), [])
                self.assertEqual([str(n.target) for n in respelled.graph.nodes if not is_read(n)], [])
                found = respelled(*tensors)
                for a, b in zip(*[v if isinstance(v, (list, tuple)) else [v] for v in (expected, found)]):
                    self.assertTrue(a == b if isinstance(a, int) else a.dtype == b.dtype and torch.equal(a, b))
                self.assertEqual(isinstance(expected, (list, tuple)) and len(expected), isinstance(found, (list, tuple)) and len(found))
                met.add(overload)
        self.assertEqual({str(overload) for overload in set(SPELLINGS) - met}, set())

    def test_calls_without_a_twin_stay(self):
        image, ints = t(2, 4, 8, 8), torch.arange(6).reshape(2, 3)
        for overload, args, kwargs in (
                (aten.add.Tensor, (image, image), {"alpha": 2}),
                (aten.sub.Scalar, (image, 1), {"alpha": 2}),
                (aten.elu.default, (image, 1.0, 1.05), {}),
                (aten.mean.dim, (image, [1]), {"dtype": torch.float64}),
                (aten.contiguous.default, (image,), {"memory_format": torch.channels_last}),
                (aten.clone.default, (image,), {"memory_format": torch.channels_last}),
                (aten.mul.Tensor, (ints, 2), {}),
                (aten.split.Tensor, (ints, 1), {}),
                (aten.exp.default, (image,), {})):
            with self.subTest(overload=str(overload)):
                module, tensors = graph_of(overload, args, kwargs)
                self.assertEqual(left(respell(module)), [str(overload)])


class Net(nn.Module):
    """Branches on a size, which torch.fx cannot follow."""

    def __init__(self):
        super().__init__()
        self.stem, self.grouped = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.pool, self.squash, self.fc = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Linear(16, 5)

    def forward(self, x):
        y = torch.relu(self.stem(x))
        if x.shape[-1] > 8:
            y = self.pool(y)
        z = (self.grouped(y) + y).relu_()
        z = torch.cat([z, y], 1)
        z = z.view(x.shape[0], 16, -1).mean(-1) + self.squash(z).flatten(1)
        return self.fc(z)


class NetTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.model, self.x = Net().eval(), torch.randn(2, 3, 16, 16)

    def test_float_bits_and_a_symbolic_batch(self):
        module, symbolic = export_aten(self.model, (self.x,), {}, True, 2)
        respelled, other = respell(module), torch.randn(5, 3, 16, 16)
        self.assertTrue(symbolic)
        self.assertEqual(left(respelled), [])
        self.assertTrue(torch.equal(respelled(self.x), self.model(self.x)))
        self.assertTrue(torch.equal(respelled(other), self.model(other)))

    def test_the_file_holds_the_spelling(self):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = os.path.join(folder, "m.qfx")
            qfx_export.export(self.model, self.x, path)
            with open(path) as file:
                text = file.read()
        self.assertNotIn("aten.", text)
        self.assertIn("%size = call_method[size](%x, 0)", text)
        self.assertIn("%relu = call_function[torch.nn.functional.relu](%conv2d, inplace=False)", text)

    def test_graph_mode_quantizes_it(self):
        try:
            from torch.ao.quantization import get_default_qconfig_mapping
            from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx
        except ImportError:
            self.skipTest("this PyTorch has no FX graph mode quantization")
        respelled = respell(export_aten(self.model, (self.x,), {}, True, 2)[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prepared = prepare_fx(respelled, get_default_qconfig_mapping("x86"), (self.x,))
            names = [node.name for node in prepared.graph.nodes if "activation_post_process" not in node.name]
            self.assertEqual(names, [node.name for node in respelled.graph.nodes])
            prepared(self.x)
            converted = convert_fx(prepared)
        targets = [str(getattr(node.target, "__name__", node.target)) for node in converted.graph.nodes if node.op == "call_function"]
        self.assertEqual(sorted(t for t in targets if t in ("conv2d", "linear", "add_relu", "conv2d_relu", "add", "max_pool2d", "relu")),
                         ["add", "add_relu", "conv2d", "conv2d_relu", "linear", "max_pool2d"])
        self.assertEqual([n.target for n in converted.graph.nodes if n.target in (torch.conv2d, nn.functional.linear)], [])
        expected = self.model(self.x)
        self.assertLess((converted(self.x) - expected).abs().max(), 0.05 * expected.abs().max())


if __name__ == "__main__":
    unittest.main()
