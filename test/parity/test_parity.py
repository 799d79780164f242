"""The comparing parts of the parity test, on small hand-written cases; needs neither PyTorch nor qfx."""
import os
import sys
import tempfile
import unittest

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exact  # noqa: E402
import replay  # noqa: E402
import texts  # noqa: E402
import ties  # noqa: E402
from compare import codes_of  # noqa: E402
from recordings import Quantized  # noqa: E402

LOWERED = '''\
qfx 1
weights "int8.safetensors"
module conv : torch.ao.nn.quantized.Conv2d(in_channels=1, out_channels=1, kernel_size=(1, 1), scale=0.5, zero_point=3)
buffer s : f32[] = 0.25

graph(%x : f32[1, 1, 2, 2]) {
  %s = get_attr[s]()
  %quantize_per_tensor = call_function[torch.quantize_per_tensor](%x, %s, 1, torch.quint8) meta {"note": "(\\"%y"}
  %conv = call_module[conv](%quantize_per_tensor) : quint8[1, 1, 2, 2]{scale = 0.5, zero_point = 3}
  %add = call_function[torch.ops.quantized.add](%conv, %quantize_per_tensor, %s, 0) scope("a", "b.C")
  %size = call_method[size](%add, 0)
  %view = call_method[view](%add, %size, -1)
  %dequantize = call_method[dequantize](%view)
  return %dequantize
}
'''


def quantized(scale, zero_point):
    return Quantized(numpy.array([[[[1, 2], [3, 255]]]], numpy.uint8), scale, zero_point, "quint8")


class ReplayTest(unittest.TestCase):
    def test_build(self):
        recorded = {
            "x": Quantized(numpy.zeros((1, 1, 2, 2), numpy.float32), None, 0, ""),
            "quantize_per_tensor": quantized(0.25, 1), "conv": quantized(0.5, 3), "add": quantized(0.25, 0),
            "view": quantized(0.25, 0),
        }
        text, inputs, names = replay.build(LOWERED, recorded)
        self.assertEqual(names, ["conv", "add"])
        self.assertEqual(text.partition("graph(")[2], '''\
%in_quantize_per_tensor : f32[1, 1, 2, 2], %in_conv : f32[1, 1, 2, 2]) {
  %n_quantize_per_tensor = call_function[torch.quantize_per_tensor](%in_quantize_per_tensor, 0.25, 1, torch.quint8)
  %q_quantize_per_tensor = call_method[contiguous](%n_quantize_per_tensor, memory_format=torch.channels_last)
  %n_conv = call_function[torch.quantize_per_tensor](%in_conv, 0.5, 3, torch.quint8)
  %q_conv = call_method[contiguous](%n_conv, memory_format=torch.channels_last)
  %s = get_attr[s]()
  %conv = call_module[conv](%q_quantize_per_tensor)
  %d_conv = call_method[dequantize](%conv)
  %add = call_function[torch.ops.quantized.add](%q_conv, %q_quantize_per_tensor, %s, 0)
  %d_add = call_method[dequantize](%add)
  return {"conv": %d_conv, "add": %d_add}
}
''')
        self.assertEqual(inputs["in_conv"].reshape(-1).tolist(), [-1.0, -0.5, 0.0, 126.0])

    def test_codes_survive_the_way_through_floats(self):
        for scale in (0.0208597294986248, 1e-7, 3.7):
            value = Quantized(numpy.arange(256).astype(numpy.uint8), scale, 117, "quint8")
            floats = (value.codes.astype(numpy.int64) - 117).astype(numpy.float32) * numpy.float32(scale)
            self.assertTrue(numpy.array_equal(codes_of(floats, value), value.codes))


TIED = '''\
qfx 1

graph(%x : f32[3]) {
  %norm = call_module[norm](%x)
  %quantize_per_tensor = call_function[torch.quantize_per_tensor](%norm, 0.5, 10, torch.quint8)
  %mul = call_function[torch.ops.quantized.mul](%quantize_per_tensor, %quantize_per_tensor, 0.5, 0)
  %mean = call_function[torch.mean](%mul, [0])
  return %mean
}
'''


class TiesTest(unittest.TestCase):
    """A float of 0.75 lies at the tie between the codes 11 and 12."""

    def values(self, floats, codes, products):
        return {"norm": Quantized(numpy.array(floats), None, 0, ""), "mul": Quantized(numpy.array(products), 0.5, 0, "quint8"),
                "quantize_per_tensor": Quantized(numpy.array(codes), 0.5, 10, "quint8")}

    def explain(self, ours):
        theirs = self.values([0.75 + 1e-6, 1.0, 2.0], [12, 12, 14], [1, 1, 8])
        return ties.explain(replay.parse_statements(TIED)[1], replay.get_targets(TIED), theirs, ours)

    def test_nothing_differs(self):
        self.assertEqual(self.explain(self.values([0.75 + 2e-6, 1.0, 2.0], [12, 12, 14], [1, 1, 8])), ([], []))

    def test_what_follows_a_tie_is_no_origin(self):
        self.assertEqual(self.explain(self.values([0.75 - 1e-6, 1.0, 2.0], [11, 12, 14], [0, 1, 8])), (["quantize_per_tensor"], []))

    def test_a_float_beside_the_tie(self):
        self.assertEqual(self.explain(self.values([0.74, 1.0, 2.0], [11, 12, 14], [0, 1, 8])), ([], ["quantize_per_tensor"]))

    def test_another_code_that_is_at_no_tie(self):
        self.assertEqual(self.explain(self.values([0.75 - 1e-6, 1.0, 2.0], [11, 12, 13], [0, 1, 8])), ([], ["quantize_per_tensor"]))

    def test_two_steps(self):
        self.assertEqual(self.explain(self.values([0.75 - 1e-6, 1.0, 2.0], [10, 12, 14], [0, 1, 8])), ([], ["quantize_per_tensor"]))

    def test_an_operator_on_equal_codes(self):
        self.assertEqual(self.explain(self.values([0.75 + 1e-6, 1.0, 2.0], [12, 12, 14], [1, 1, 9])), ([], ["mul"]))


class LayerNormTest(unittest.TestCase):
    """Codes 0 and 2 have the variance 1: with an eps of 3 they become -0.5 and 0.5, both at ties."""

    def differs(self, text, **names):
        model = "qfx 1\nmodule norm : torch.ao.nn.quantized.LayerNorm(eps=3.0)\n\ngraph(%%x) {\n  %s\n}\n" % text
        statement = replay.parse_statements(model)[1][0]
        one, zero = (Quantized(numpy.full(2, v, numpy.float32), None, 0, "") for v in (1, 0))
        recorded = {"x": Quantized(numpy.array([[0, 2]]), 1.0, 0, "quint8"), "y": Quantized(numpy.array([[0, 1]]), 1.0, 0, "quint8"),
                    names["weight"]: one, names["bias"]: zero}
        return exact.differs_at_ties(statement, replay.get_targets(model)["y"], recorded, numpy.array([[False, True]]))

    def test_function(self):
        text = "%%y = call_function[torch.ops.quantized.layer_norm](%%x, (2,), weight=%%w, bias=%%b, eps=%s, output_scale=%%s)"
        self.assertTrue(self.differs(text % "3.0", weight="w", bias="b"))
        self.assertFalse(self.differs(text % "3.1", weight="w", bias="b"))

    def test_module(self):
        self.assertTrue(self.differs("%y = call_module[norm](%x)", weight="norm.weight", bias="norm.bias"))
        self.assertFalse(self.differs("%y = call_module[norm](%x)", weight="w", bias="b"))


class TextsTest(unittest.TestCase):
    def test_compare(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("# comment\nresnet* prepared ^[-+] *%a  # a reason\n")
            file.flush()
            allowed = texts.Allowed(file.name)
        expected, found = "graph():\n    %a = 1\n    %b = 2\n", "graph():\n    %a = 3\n    %b = 2"
        self.assertEqual(texts.compare("resnet18", "prepared", expected, found, allowed), ([], ["a reason"]))
        self.assertEqual(texts.compare("resnet18", "fused", expected, found, allowed),
                         (["-    %a = 1", "+    %a = 3"], []))


if __name__ == "__main__":
    unittest.main()
