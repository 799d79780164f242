"""The six networks of issue 2 export, and what was traced is what prepare_fx traces."""
import os
import re
import sys
import tempfile
import unittest

import torch
from safetensors import safe_open

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "examples"))
import qfx_export  # noqa: E402
from export_torchvision import seeded_network, stated_data  # noqa: E402

NETWORKS = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x1_0", "vgg11_bn")


class TorchvisionTest(unittest.TestCase):
    def test_networks(self):
        try:
            from torch.ao.quantization.fx.tracer import QuantizationTracer
        except ImportError:
            QuantizationTracer = None
        for name in NETWORKS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                model = seeded_network(name, size=64, statistics_batch=4)
                result = qfx_export.export(model, stated_data(1, 1, 64, 3)[0], os.path.join(folder, name))
                with open(result.model_path) as file:
                    text = file.read()
                graph = result.graph_module.graph
                if QuantizationTracer:
                    self.assertEqual(str(QuantizationTracer([], []).trace(model)), str(graph))
                statements = re.findall(r"^  %(\w+) = (\w+)\[([\w.]+)\]", text, re.MULTILINE)
                expected = [(n.name, n.op) for n in graph.nodes if n.op != "output"]
                self.assertEqual([s[:2] for s in statements], expected)
                self.assertIn(": f32[N, 3, 64, 64]", text)
                with safe_open(result.weights_path, "pt") as file:
                    state = model.state_dict()
                    self.assertEqual(set(file.keys()), set(state))
                    for key in file.keys():
                        self.assertTrue(torch.equal(file.get_tensor(key), state[key]), key)

    def test_deterministic(self):
        with tempfile.TemporaryDirectory() as folder:
            digests = []
            for run in range(2):
                path = os.path.join(folder, "m%d" % run)
                model = seeded_network("mobilenet_v3_small", size=64, statistics_batch=2)
                result = qfx_export.export(model, stated_data(1, 1, 64, 3)[0], path)
                with open(result.weights_path, "rb") as file:
                    digests.append(file.read())
            self.assertEqual(digests[0], digests[1])


if __name__ == "__main__":
    unittest.main()
