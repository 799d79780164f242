"""Every row of the module table: what is written rebuilds the same module."""
import os
import sys
import unittest

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from qfx_export.modules import MODULE_ARGUMENTS, module_arguments  # noqa: E402
from qfx_export.text import class_name, format_arg  # noqa: E402

# (class, arguments) -> what must be written beside the required ones; built with values unlike the defaults.
MODULES = {
    "Linear": [(3, 4), dict(bias=False)],
    "Identity": [()],
    "Bilinear": [(2, 3, 4), dict(bias=False)],
    "GroupNorm": [(2, 4), dict(eps=1e-3, affine=False)],
    "LayerNorm": [((3, 4),), dict(eps=1e-6, bias=False)],
    "RMSNorm": [((4,),), dict(eps=1e-6, elementwise_affine=False)],
    "LocalResponseNorm": [(3,), dict(alpha=1e-3, beta=0.5, k=2.0)],
    "CrossMapLRN2d": [(3,), dict(alpha=1e-3, beta=0.5, k=2)],
    "SyncBatchNorm": [(4,), dict(eps=1e-3, momentum=None)],
    "LeakyReLU": [(), dict(negative_slope=0.2, inplace=True)],
    "PReLU": [(), dict(num_parameters=3)],
    "RReLU": [(), dict(lower=0.1, upper=0.2)],
    "ELU": [(), dict(alpha=2.0)],
    "CELU": [(), dict(alpha=2.0)],
    "GELU": [(), dict(approximate="tanh")],
    "GLU": [(), dict(dim=1)],
    "Hardtanh": [(), dict(min_val=-2.0, max_val=3.0)],
    "Hardshrink": [(), dict(lambd=0.1)],
    "Softshrink": [(), dict(lambd=0.1)],
    "Softplus": [(), dict(beta=2.0, threshold=3.0)],
    "Threshold": [(0.1, 20.0), dict(inplace=True)],
    "AvgPool1d": [(3,), dict(stride=2, ceil_mode=True)],
    "AvgPool2d": [(3,), dict(stride=(2, 1), padding=1, count_include_pad=False, divisor_override=2)],
    "AvgPool3d": [(3,), dict(divisor_override=2)],
    "Upsample": [(), dict(scale_factor=2, mode="bilinear", align_corners=True)],
    "UpsamplingNearest2d": [(), dict(size=(4, 4))],
    "UpsamplingBilinear2d": [(), dict(scale_factor=2)],
    "PixelShuffle": [(2,)],
    "PixelUnshuffle": [(2,)],
    "ChannelShuffle": [(2,)],
    "Flatten": [(), dict(start_dim=0, end_dim=2)],
    "Unflatten": [(1, (2, 3))],
    "Unfold": [(3,), dict(dilation=2, padding=1, stride=2)],
    "Fold": [((8, 8), 3), dict(padding=1)],
    "CosineSimilarity": [(), dict(dim=2, eps=1e-6)],
    "PairwiseDistance": [(), dict(p=1.0, keepdim=True)],
    "Embedding": [(5, 4), dict(padding_idx=1, max_norm=1.0)],
    "EmbeddingBag": [(5, 4), dict(mode="sum", include_last_offset=True)],
    "LSTM": [(3, 4), dict(num_layers=2, bias=False, batch_first=True, dropout=0.1, bidirectional=True, proj_size=2)],
    "GRU": [(3, 4), dict(num_layers=2)],
    "RNN": [(3, 4), dict(nonlinearity="relu")],
    "LSTMCell": [(3, 4), dict(bias=False)],
    "GRUCell": [(3, 4)],
    "RNNCell": [(3, 4), dict(nonlinearity="relu")],
    "MultiheadAttention": [(4, 2), dict(dropout=0.1, bias=False, add_bias_kv=True, kdim=3, vdim=5, batch_first=True)],
    "TransformerEncoderLayer": [(4, 2), dict(dim_feedforward=8, activation="gelu", norm_first=True, batch_first=True)],
    "TransformerDecoderLayer": [(4, 2), dict(dropout=0.2, layer_norm_eps=1e-3)],
    "Transformer": [(), dict(d_model=4, nhead=2, batch_first=True)],
}
for _n in (1, 2, 3):
    MODULES["Conv%dd" % _n] = [(4, 6, 3), dict(stride=2, padding=1, dilation=2, groups=2, bias=False,
                                               padding_mode="reflect")]
    MODULES["ConvTranspose%dd" % _n] = [(4, 6, 3), dict(stride=2, padding=1, output_padding=1, groups=2, dilation=2)]
    MODULES["BatchNorm%dd" % _n] = [(4,), dict(eps=1e-3, momentum=None, affine=False, track_running_stats=False)]
    MODULES["InstanceNorm%dd" % _n] = [(4,), dict(affine=True, track_running_stats=True)]
    MODULES["MaxPool%dd" % _n] = [(3,), dict(stride=1, padding=1, dilation=2, return_indices=True, ceil_mode=True)]
    MODULES["MaxUnpool%dd" % _n] = [(3,), dict(stride=2)]
    MODULES["LPPool%dd" % _n] = [(2.0, 3), dict(ceil_mode=True)]
    MODULES["AdaptiveAvgPool%dd" % _n] = [(tuple([2] * _n),)]
    MODULES["AdaptiveMaxPool%dd" % _n] = [(2,), dict(return_indices=True)]
    MODULES["ConstantPad%dd" % _n] = [(1, 2.5)]
    for _pad in ("Zero", "Reflection", "Replication", "Circular"):
        MODULES["%sPad%dd" % (_pad, _n)] = [(tuple(range(2 * _n)),)]
    MODULES["Dropout%dd" % _n] = [(), dict(p=0.1)]
for _name in ("Dropout", "AlphaDropout", "FeatureAlphaDropout"):
    MODULES[_name] = [(), dict(p=0.1, inplace=True)]
for _name in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid"):
    MODULES[_name] = [(), dict(inplace=True)]
for _name in ("Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Tanhshrink", "Softmax2d"):
    MODULES[_name] = [()]
for _name in ("Softmax", "LogSoftmax", "Softmin"):
    MODULES[_name] = [(), dict(dim=1)]
NOT_BUILT_BY_ARGUMENTS = {"TransformerEncoder", "TransformerDecoder"}  # they take a layer: see below


def shapes(module):
    return {k: tuple(v.shape) for k, v in module.state_dict().items()}


class ModuleTableTest(unittest.TestCase):
    def test_every_row_has_a_case(self):
        rows = {name.rpartition(".")[2] for name in MODULE_ARGUMENTS if name.startswith("torch.nn.")
                and name.count(".") == 2}
        self.assertEqual(rows, set(MODULES) | NOT_BUILT_BY_ARGUMENTS)

    def test_rebuilds_the_same_module(self):
        for name, case in MODULES.items():
            if not hasattr(nn, name):
                continue  # a class that this PyTorch is too old for
            for keywords in ([{}] if len(case) == 1 else [{}, case[1]]):
                if name == "Transformer" and not keywords:
                    continue
                with self.subTest(name, keywords=keywords):
                    module = getattr(nn, name)(*case[0], **keywords)
                    self.assertEqual(class_name(type(module)), "torch.nn." + name)
                    written = dict(module_arguments(module, "m"))
                    rebuilt = getattr(nn, name)(**written)
                    self.assertEqual(repr(rebuilt), repr(module))
                    self.assertEqual(shapes(rebuilt), shapes(module))
                    for key in keywords:
                        self.assertIn(key, written)
                    for key, value in written.items():
                        format_arg(value, key)

    def test_only_what_differs(self):
        conv = nn.Conv2d(1, 2, 3, padding=1)
        self.assertEqual([k for k, _ in module_arguments(conv, "m")],
                         ["in_channels", "out_channels", "kernel_size", "padding"])
        self.assertEqual([k for k, _ in module_arguments(nn.MaxPool2d(2, 2), "m")], ["kernel_size"])

    def test_fused_and_stacked_classes(self):
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, batch_first=True), 3)
        self.assertEqual(module_arguments(encoder, "m"), [("num_layers", 3)])
        try:
            import torch.ao.nn.intrinsic as nni
        except ImportError:
            self.skipTest("upstream's fused modules are gone")
        fused = nni.ConvReLU2d(nn.Conv2d(1, 1, 1), nn.ReLU())
        self.assertEqual(class_name(type(fused)), "torch.ao.nn.intrinsic.ConvReLU2d")
        self.assertEqual(module_arguments(fused, "m"), [])
        for name in MODULE_ARGUMENTS:
            if name.startswith("torch.ao.nn.intrinsic.") and name.count(".") == 4:
                self.assertTrue(hasattr(nni, name.rpartition(".")[2]), name)


if __name__ == "__main__":
    unittest.main()
