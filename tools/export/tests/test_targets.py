"""Only files that qfx reads are written: leaf classes, functions and methods without an operator are refused or taken apart; arguments that the
example inputs leave out have their defaults."""
import os
import sys
import tempfile
import unittest
import warnings

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import qfx_export  # noqa: E402
from qfx_export.known import is_known  # noqa: E402
from qfx_export.modules import MODULE_ARGUMENTS  # noqa: E402


class Calls(nn.Module):
    """A function as a model."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def export(self, model, inputs, **options):
        path = os.path.join(self.folder, "m.qfx")
        qfx_export.export(model.eval(), inputs, path, **options)
        with open(path) as file:
            return file.read()


class LeafTest(Case):
    def test_every_leaf_class_has_an_operator(self):
        self.assertEqual([name for name in MODULE_ARGUMENTS if not is_known("module", name)], [])

    def test_leaves_are_written(self):
        layer, x = nn.TransformerEncoderLayer(8, 2, 12), torch.randn(5, 2, 8)
        encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=False)
        image = torch.randn(2, 6, 4, 4)
        for leaf, inputs in ((layer, x), (encoder, x), (nn.TransformerDecoderLayer(8, 2, 12), (x, x)),
                             (nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12), 1), (x, x)),
                             (nn.Transformer(8, 2, 1, 1, 12), (x, x)), (nn.SyncBatchNorm(6), image), (nn.CrossMapLRN2d(3), image),
                             (nn.AdaptiveMaxPool3d(2), image), (nn.CircularPad1d(1), image[0]), (nn.CircularPad2d(1), image),
                             (nn.CircularPad3d(1), image), (nn.PairwiseDistance(), (x, x))):
            name = "torch.nn." + type(leaf).__name__
            with self.subTest(name):
                class Holder(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.leaf = leaf

                    def forward(self, x, *, y=None):
                        return self.leaf(x) if y is None else self.leaf(x, y)

                given = {"x": inputs[0], "y": inputs[1]} if isinstance(inputs, tuple) else {"x": inputs}
                text = self.export(Holder(), given, trace="fx", dynamic_batch=False)
                self.assertIn("\nmodule leaf : %s(" % name, text)
                self.assertIn("= call_module[leaf](", text)
        text = self.export(nn.Sequential(encoder), x, trace="fx", dynamic_batch=False)
        self.assertIn("\nmodule 0.layers.1.self_attn.out_proj : ", text)
        self.assertIn("\nmodule 0.norm : torch.nn.LayerNorm(", text)

    def test_a_leaf_without_a_row_is_taken_apart(self):
        model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 12, activation=nn.functional.silu, batch_first=True))
        with self.assertRaisesRegex(qfx_export.ExportError, "'torch.nn.TransformerEncoderLayer' has the activation .*silu"):
            self.export(model, torch.randn(2, 5, 8), trace="fx")
        self.assertEqual(os.listdir(self.folder), [])
        with self.assertWarnsRegex(UserWarning, "TransformerEncoderLayer.* written as torch.export sees it"):
            text = self.export(model, torch.randn(2, 5, 8))
        self.assertIn("call_function[torch.nn.functional.silu]", text)

    def test_gelu_by_tanh_is_another_activation(self):
        model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 12, activation=nn.GELU("tanh")))
        with self.assertRaisesRegex(qfx_export.ExportError, "has the activation GELU"):
            self.export(model, torch.randn(5, 2, 8), trace="fx")

    def test_a_leaf_that_nothing_takes_apart_is_refused(self):
        model = nn.Sequential(nn.FractionalMaxPool2d(2, output_size=2))
        with self.assertRaisesRegex(qfx_export.ExportError, "module '0' has the class 'torch.nn.FractionalMaxPool2d', for which"):
            self.export(model, torch.randn(1, 2, 5, 5), trace="fx")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaisesRegex(qfx_export.ExportError, "'torch.nn.FractionalMaxPool2d'.* and as torch.export sees the model: "):
                self.export(model, torch.randn(1, 2, 5, 5))
        self.assertEqual(os.listdir(self.folder), [])


class FunctionTest(Case):
    def test_function_without_an_operator(self):
        model = Calls(lambda x: torch.linalg.matrix_exp(x) + 1)
        with self.assertRaisesRegex(qfx_export.ExportError, "calls the function 'torch.*matrix_exp', for which qfx has no operator"):
            self.export(model, torch.randn(2, 3, 3), trace="fx")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaisesRegex(qfx_export.ExportError, "torch.export sees the model: .*'aten.*matrix_exp.default'"):
                self.export(model, torch.randn(2, 3, 3))
        self.assertEqual(os.listdir(self.folder), [])

    def test_method_without_an_operator(self):
        model = Calls(lambda x: (x * 2).addcmul_(x, x) + x)
        with self.assertRaisesRegex(qfx_export.ExportError, "calls the tensor method 'addcmul_', for which qfx has no operator"):
            self.export(model, torch.randn(2, 3), trace="fx")
        with self.assertWarnsRegex(UserWarning, "'addcmul_'"):
            text = self.export(model, torch.randn(2, 3))
        self.assertIn("call_function[aten.addcmul.default]", text)

    def test_exported_spellings_are_understood(self):
        self.assertTrue(is_known("function", "torch.ops.quantized.add.default"))
        self.assertTrue(is_known("function", "torch.ops.aten.relu.default"))


class Defaults(nn.Module):
    """Branches on arguments that are usually left out."""

    def forward(self, x, mask=None, factor: float = 2.0, *, bias=None):
        if mask is not None:
            x = x * mask
        if bias is not None:
            x = x + bias
        return x * factor


class LeftOutTest(Case):
    def graph(self, inputs, **options):
        text = self.export(Defaults(), inputs, trace="fx", **options)
        return text[text.index("graph("):]

    def test_defaults_of_what_is_left_out(self):
        self.assertEqual(self.graph(torch.randn(2, 3)), """\
graph(%x : f32[N, 3]) {
  %mul = call_function[operator.mul](%x, 2.0)
  return %mul
}
""")

    def test_what_is_given_stays_an_input(self):
        text = self.graph((torch.randn(2, 3), torch.randn(2, 3)))
        self.assertIn("%mask = placeholder[mask](None) : f32[N, 3]", text)
        self.assertIn("call_function[operator.mul](%mul, 2.0)", text)
        self.assertNotIn("bias", text)

    def test_keywords(self):
        text = self.graph({"x": torch.randn(2, 3), "bias": torch.randn(3)})
        self.assertIn("%bias = placeholder[bias](None) : f32[3]", text)
        self.assertNotIn("mask", text)

    def test_calibration_gives_the_same_inputs(self):
        self.graph(torch.randn(2, 3), calibration=[torch.randn(2, 3)])
        with self.assertRaisesRegex(qfx_export.ExportError, "the model has no input 'mask'"):
            self.graph(torch.randn(2, 3), calibration=[{"x": torch.randn(2, 3), "mask": torch.randn(2, 3)}])

    def test_concrete_args_come_first(self):
        text = self.graph(torch.randn(2, 3), concrete_args={"mask": None, "factor": 3.0, "bias": None})
        self.assertIn("call_function[operator.mul](%x, 3.0)", text)


if __name__ == "__main__":
    unittest.main()
