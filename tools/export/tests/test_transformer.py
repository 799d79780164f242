"""Transformers through torch.export: symbolic sequence length, no exporter notes left in the graph."""
import os
import sys
import tempfile
import unittest

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from qfx_export import ExportError, export  # noqa: E402


class Encoder(torch.nn.Module):
    """One attention layer over token and position embeddings, with a padding mask."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = torch.nn.Embedding(50, 16), torch.nn.Embedding(32, 16)
        self.qkv, self.out, self.norm = torch.nn.Linear(16, 48), torch.nn.Linear(16, 16), torch.nn.LayerNorm(16)

    def forward(self, ids, mask):
        n, s = ids.shape
        x = self.tokens(ids) + self.positions(torch.arange(s))
        q, k, v = [t.view(n, s, 4, 4).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1)]
        keep = mask.to(torch.bool)[:, None, None, :].expand(n, 1, s, s)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.norm(x + self.out(y.transpose(1, 2).reshape(n, s, 16)))


@unittest.skipUnless(hasattr(torch, "export"), "this PyTorch has no torch.export")
class TransformerTest(unittest.TestCase):
    def setUp(self):
        self.inputs = (torch.randint(0, 50, (2, 7)), torch.ones(2, 7, dtype=torch.int64))

    def write(self, folder, **options):
        path = os.path.join(folder, "m.qfx")
        result = export(Encoder().eval(), self.inputs, path, trace="export", **options)
        with open(path) as file:
            return file.read(), result.graph_module

    def test_symbolic_sequence(self):
        with tempfile.TemporaryDirectory() as folder:
            text, graph_module = self.write(folder, dynamic_dims={"ids": {1: "S"}, "mask": {1: "S"}})
            self.assertIn("graph(%ids : i64[N, S], %mask : i64[N, S]) {", text)
            for word in ("_assert_tensor_metadata", "torch.strided", "pin_memory"):
                self.assertNotIn(word, text)
            longer = (torch.randint(0, 50, (3, 11)), torch.ones(3, 11, dtype=torch.int64))
            self.assertEqual(graph_module(*longer).shape, (3, 11, 16))

    def test_fixed_without_request(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("graph(%ids : i64[N, 7], %mask : i64[N, 7]) {", self.write(folder)[0])

    def test_slice_up_to_the_length(self):
        class Places(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = torch.nn.Embedding(16, 4)
                self.register_buffer("positions", torch.arange(16).unsqueeze(0))

            def forward(self, x):
                return x + self.embed(self.positions[:, :x.shape[1]])

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.qfx")
            result = export(Places().eval(), (torch.randn(2, 7, 4),), path, trace="export", dynamic_dims={"x": {1: "S"}})
            with open(path) as file:
                text = file.read()
            self.assertIn("graph(%x : f32[N, S, 4]) {", text)
            self.assertRegex(text, r"aten\.slice\.Tensor\]\(%positions, 1, (0|None), %size\w*\)")
            self.assertEqual(result.graph_module(torch.randn(3, 12, 4)).shape, (3, 12, 4))

    def test_size_that_the_model_fixes(self):
        class Fixed(torch.nn.Module):
            def forward(self, x):
                return x.view(x.shape[0], 7, 4) + torch.ones(7, 1)

        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ExportError, "torch.export cannot keep S symbolic"):
                export(Fixed().eval(), (torch.randn(2, 7, 4),), os.path.join(folder, "f.qfx"), trace="export", dynamic_dims={"x": {1: "S"}})

    def test_unknown_input(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ExportError, "dynamic_dims names 'tokens'; the model's inputs are ids, mask"):
                self.write(folder, dynamic_dims={"tokens": {1: "S"}})


if __name__ == "__main__":
    unittest.main()
