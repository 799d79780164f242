"""The comparing parts of the parity test, on small hand-written cases; needs neither PyTorch nor qfx."""
import os
import sys
import tempfile
import unittest

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import replay  # noqa: E402
import texts  # noqa: E402
from compare import Quantized, codes_of  # noqa: E402

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
