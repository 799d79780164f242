"""In-place operators of exported programs: each made functional where that is not seen, else the whole graph."""
import os
import sys
import unittest

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from qfx_export.aten import export_aten  # noqa: E402


@unittest.skipUnless(hasattr(torch, "export"), "this PyTorch has no torch.export")
class FunctionalTest(unittest.TestCase):
    def check(self, forward, *inputs):
        """Targets of the exported graph, whose values must be the module's."""
        module = type("M", (torch.nn.Module,), {"forward": forward})()
        expected = module(*[i.clone() for i in inputs])
        graph_module, _ = export_aten(module, [i.clone() for i in inputs], {}, False, 2)
        self.assertTrue(torch.equal(graph_module(*[i.clone() for i in inputs]), expected))
        return [str(node.target) for node in graph_module.graph.nodes if node.op == "call_function"]

    def test_fresh_value(self):
        targets = self.check(lambda self, x: (x * 2).relu_().add_(1), torch.randn(2, 3))
        self.assertEqual(targets, ["aten.mul.Tensor", "aten.relu.default", "aten.add.Tensor"])

    def test_later_uses_read_the_new_value(self):
        def forward(self, x):
            y = x * 2
            y.relu_()
            return y - x

        self.assertIn("aten.relu.default", self.check(forward, torch.randn(2, 3)))

    def check_functional(self, forward, *inputs):
        """The same, of a graph whose writes others can see: nothing in place may be left. Returns the base names."""
        targets = self.check(forward, *inputs)
        names = [target.split(".")[1] for target in targets]
        self.assertFalse([name for name in names if name.endswith("_")])
        return names

    def test_a_write_that_a_view_shows(self):
        def forward(self, x):
            y = x * 2
            z = y.view(3, 2)
            y.relu_()
            return z + 1

        self.assertIn("relu", self.check_functional(forward, torch.randn(2, 3)))

    def test_a_write_through_a_view(self):
        def forward(self, x):
            y = x * 2
            y[0].relu_()
            return y

        self.assertIn("select_scatter", self.check_functional(forward, torch.randn(2, 3)))

    def test_writes_into_slices(self):
        def forward(self, x, m):
            y = x * 2
            y[:, 0] = 1.0
            y[:, 1:3] = m
            y[:, ::2] *= 2
            y[1].fill_(3)
            y[:, -1].zero_()
            return y

        names = self.check_functional(forward, torch.randn(3, 6), torch.randn(3, 2))
        self.assertLessEqual({"slice_scatter", "select_scatter", "fill", "copy", "zero"}, set(names))

    def test_a_write_at_a_mask(self):
        def forward(self, x):
            y = torch.zeros_like(x)
            y[x > 0] = 5.0
            return y[0] + y

        names = self.check_functional(forward, torch.randn(3, 6))
        self.assertIn("where", names)
        self.assertNotIn("index_put", names)

    def test_a_write_to_an_input_is_left_out(self):
        with self.assertWarnsRegex(UserWarning, "the model writes to 'x'"):
            names = self.check_functional(lambda self, x: x.relu_() + 1, torch.randn(2, 3))
        self.assertEqual(names, ["relu", "add"])

    def test_layers_stay_whole(self):
        class Layers(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear, self.norm = torch.nn.Linear(6, 6), torch.nn.LayerNorm(6)

            def forward(self, x):
                y = self.norm(self.linear(x))
                y[:, 0] = 0.0
                return y

        graph_module, symbolic = export_aten(Layers().eval(), [torch.randn(2, 6)], {}, True, 2)
        targets = [str(node.target) for node in graph_module.graph.nodes if node.op == "call_function"]
        self.assertTrue(symbolic)
        self.assertLessEqual({"aten.linear.default", "aten.layer_norm.default", "aten.select_scatter.default"}, set(targets))


if __name__ == "__main__":
    unittest.main()
