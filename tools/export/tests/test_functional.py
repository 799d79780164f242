"""In-place operators of exported programs: made functional only where that is not seen."""
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

    def test_keeps_a_write_that_a_view_shows(self):
        def forward(self, x):
            y = x * 2
            z = y.view(3, 2)
            y.relu_()
            return z + 1

        self.assertIn("aten.relu_.default", self.check(forward, torch.randn(2, 3)))

    def test_keeps_a_write_through_a_view(self):
        def forward(self, x):
            y = x * 2
            y[0].relu_()
            return y

        self.assertIn("aten.relu_.default", self.check(forward, torch.randn(2, 3)))

    def test_keeps_a_write_to_an_input(self):
        self.assertIn("aten.relu_.default", self.check(lambda self, x: x.relu_() + 1, torch.randn(2, 3)))


if __name__ == "__main__":
    unittest.main()
