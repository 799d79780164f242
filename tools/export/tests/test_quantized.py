"""Models that torch.ao.quantization prepared, trained or converted, in graph and eager mode: what is written of them."""
import copy
import os
import sys
import tempfile
import unittest
import warnings

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
try:
    from torch.ao import quantization as tq
    from torch.ao.quantization import quantize_fx as fx
    from torch.ao.quantization.fx.custom_config import ConvertCustomConfig, PrepareCustomConfig
    from torch.ao.quantization.fx import _equalize
except ImportError:
    tq = None
from safetensors.torch import load_file  # noqa: E402

import qfx_export  # noqa: E402
from qfx_export.modules import MODULE_ARGUMENTS  # noqa: E402
from qfx_export.quantized import QUANTIZATION_CLASSES  # noqa: E402


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.relu, self.fc = nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Linear(2, 2)
        self.weight = nn.Parameter(torch.randn(3, 2))

    def forward(self, x):
        x = self.relu(self.conv(x)).mean((2, 3))
        return nn.functional.linear(self.fc(x), self.weight)


class Stubs(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.fc, self.dequant = tq.QuantStub(), nn.Linear(2, 2), tq.DeQuantStub()
        self.sum = torch.ao.nn.quantized.FloatFunctional()
        self.plus = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):
        x = self.quant(x)
        return self.dequant(self.plus.add_scalar(self.sum.add(self.fc(x), x), 2.0))


def written(model, inputs):
    """(text, tensors) of an export."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = os.path.join(folder, "m")
        qfx_export.export(model, inputs, path, dynamic_batch=False)
        with open(path + ".qfx") as file:
            return file.read(), load_file(path + ".safetensors")


@unittest.skipIf(tq is None, "upstream's quantization is gone")
class QuantizedModelsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        warnings.simplefilter("ignore")
        torch.backends.quantized.engine = "x86"
        self.inputs = (torch.randn(2, 1, 4, 4),)

    def prepared(self):
        model = fx.prepare_fx(Net().eval(), tq.get_default_qconfig_mapping("x86"), self.inputs)
        model(*self.inputs)
        return model

    def test_prepared(self):
        model = self.prepared()
        text, tensors = written(model, self.inputs)
        self.assertIn("module activation_post_process_0 : torch.ao.quantization.observer.HistogramObserver(reduce_range=True)", text)
        self.assertIn("%activation_post_process_0 = call_module[activation_post_process_0](%x) scope(None)", text)
        self.assertIn('"is_qat": False', text)
        self.assertIn('"observed_node_names": ["conv", "fc", "linear", "mean"]', text)
        self.assertTrue(torch.equal(tensors["activation_post_process_0.histogram"], model.activation_post_process_0.histogram))

    def test_equalized(self):
        mapping = tq.QConfigMapping().set_global(tq.default_qconfig)
        equalization = tq.QConfigMapping().set_global(_equalize.default_equalization_qconfig)
        model = fx.prepare_fx(torch.nn.Sequential(torch.nn.Linear(3, 2)).eval(), mapping, (torch.randn(2, 3),), _equalization_config=equalization)
        model(torch.randn(2, 3))
        text, tensors = written(model, (torch.randn(2, 3),))
        name = "activation_post_process_0_equalization_process_0"
        self.assertIn("module %s : torch.ao.quantization.fx._equalize._InputEqualizationObserver(qscheme=torch.per_tensor_symmetric)" % name, text)
        self.assertIn("module %s.input_obs : torch.ao.quantization.observer.PerChannelMinMaxObserver(ch_axis=1, "
                      "qscheme=torch.per_channel_symmetric)" % name, text)
        self.assertIn('"equalization_node_name_to_qconfig": {"_0": {"activation": {"class": "_InputEqualizationObserver", ', text)
        self.assertEqual(tensors[name + ".equalization_shape"].tolist(), [1, 3])
        self.assertTrue(torch.equal(tensors[name + ".input_obs.min_val"], getattr(model, name).input_obs.min_val))

    def test_trained(self):
        model = fx.prepare_qat_fx(Net().train(), tq.get_default_qat_qconfig_mapping("x86"), self.inputs).eval()
        model(*self.inputs)
        text, tensors = written(model, self.inputs)
        self.assertIn("module conv : torch.ao.nn.intrinsic.qat.ConvReLU2d(", text)
        self.assertIn("FusedMovingAvgObsFakeQuantize() training" if model.activation_post_process_0.training
                      else "FusedMovingAvgObsFakeQuantize()", text)
        self.assertIn("MovingAverageMinMaxObserver(reduce_range=True, quant_min=0, quant_max=255)", text)
        self.assertIn("module conv.weight_fake_quant : torch.ao.quantization.fake_quantize.FusedMovingAvgObsFakeQuantize(", text)
        self.assertTrue(torch.equal(tensors["fc.weight_fake_quant.scale"], model.fc.weight_fake_quant.scale))

    def test_reference(self):
        model = fx.convert_to_reference_fx(self.prepared())
        text, tensors = written(model, self.inputs)
        self.assertIn("module fc : torch.ao.nn.quantized.reference.Linear(in_features=2, out_features=2, "
                      "weight_qscheme=torch.per_channel_affine, weight_dtype=torch.qint8, weight_quant_min=-128, weight_quant_max=127)", text)
        self.assertTrue(torch.equal(tensors["fc.weight_scale"], model.fc.weight_scale))
        self.assertNotIn("fc.weight_axis", tensors)

    def test_reference_weights_of_one_module_share_their_scheme(self):
        one = {"qscheme": torch.per_tensor_affine, "dtype": torch.qint8, "scale": 0.1, "zero_point": 0}
        other = {**one, "qscheme": torch.per_channel_affine, "scale": torch.ones(8), "zero_point": torch.zeros(8), "axis": 0}
        cell = torch.ao.nn.quantized.reference.LSTMCell(
            3, 2, weight_qparams_dict={"weight_ih": one, "weight_hh": other, "is_decomposed": False})
        with self.assertRaisesRegex(qfx_export.ExportError, "the weights of a 'LSTMCell' differ in 'qscheme'"):
            written(nn.Sequential(cell), (torch.randn(1, 3),))

    def test_converted_is_unpacked(self):
        model = fx.convert_fx(self.prepared())
        text, tensors = written(model, self.inputs)
        self.assertIn("module _packed_weight_0 : torch.classes.quantized.LinearPackedParamsBase()", text)
        self.assertIn("module conv : torch.ao.nn.intrinsic.quantized.ConvReLU2d(", text)
        self.assertTrue(torch.equal(tensors["fc.weight"], model.fc.weight().int_repr()))
        weight = torch.ops.quantized.linear_unpack(model._packed_weight_0)[0]
        self.assertTrue(torch.equal(tensors["_packed_weight_0.weight"], weight.int_repr()))
        self.assertTrue(torch.equal(tensors["_packed_weight_0.weight:scales"], weight.q_per_channel_scales()))

    def test_standalone_module_brings_its_graph(self):
        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.fc = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 2)

            def forward(self, x):
                return self.fc(self.inner(x))

        interface = PrepareCustomConfig().set_input_quantized_indexes([0]).set_output_quantized_indexes([0])
        custom = PrepareCustomConfig().set_standalone_module_name("inner", None, (), interface, None)
        inputs = (torch.randn(2, 4),)
        model = fx.prepare_fx(Outer().eval(), tq.get_default_qconfig_mapping("x86"), inputs, custom)
        model(*inputs)
        text, tensors = written(model, inputs)
        self.assertIn("module inner : torch.fx.GraphModule()", text)
        self.assertIn("graph inner(", text)
        self.assertIn('meta "inner:prepared" = {', text)
        self.assertIn('"input_quantized_idxs": [0], "output_quantized_idxs": [0]', text)
        self.assertIn("inner.activation_post_process_0.histogram", tensors)
        text, _ = written(fx.convert_fx(model), inputs)
        self.assertIn("graph inner(", text)
        self.assertNotIn("inner:prepared", text)

    def test_custom_lstm_comes_in_pieces(self):
        class Recurrent(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = nn.LSTM(4, 3)

            def forward(self, x, h, c):
                return self.lstm(x, (h, c))[0]

        inputs = (torch.randn(5, 2, 4), torch.randn(1, 2, 3), torch.randn(1, 2, 3))
        custom = PrepareCustomConfig().set_float_to_observed_mapping(nn.LSTM, torch.ao.nn.quantizable.LSTM)
        model = fx.prepare_fx(Recurrent().eval(), tq.get_default_qconfig_mapping("x86"), inputs, custom)
        model(*inputs)
        text, tensors = written(model, inputs)
        self.assertIn("module lstm : torch.ao.nn.quantizable.LSTM(input_size=4, hidden_size=3)", text)
        self.assertIn("module lstm.layers.0.layer_fw.cell : torch.ao.nn.quantizable.LSTMCell(input_dim=4, hidden_dim=3)", text)
        self.assertIn("lstm.layers.0.layer_fw.cell.gates.activation_post_process.min_val", tensors)
        converted = ConvertCustomConfig().set_observed_to_quantized_mapping(torch.ao.nn.quantizable.LSTM, torch.ao.nn.quantized.LSTM)
        text, tensors = written(fx.convert_fx(model, converted), inputs)
        self.assertIn("module lstm : torch.ao.nn.quantized.LSTM(input_size=4, hidden_size=3)", text)
        self.assertIn("module lstm.layers.0.layer_fw.cell.gates : torch.ao.nn.quantized.QFunctional()", text)
        self.assertIn("lstm.layers.0.layer_fw.cell.gates.scale", tensors)

    def test_state_dict(self):
        model = fx.convert_fx(self.prepared())
        tensors, metadata = qfx_export.flatten_state_dict(model.state_dict())
        self.assertEqual(metadata["fc._packed_params.dtype"], "qint8")
        self.assertTrue(torch.equal(tensors["fc._packed_params._packed_params.0"], model.fc.weight().int_repr()))
        self.assertTrue(torch.equal(tensors["_packed_weight_0.0"], torch.ops.quantized.linear_unpack(model._packed_weight_0)[0].int_repr()))
        self.assertEqual(float(tensors["conv.scale"]), float(torch.tensor(model.conv.scale)))
        with self.assertRaises(qfx_export.ExportError):
            qfx_export.flatten_state_dict({"a": object()})

    def test_recurrent_layers_in_a_state_dict(self):
        for dtype in (torch.qint8, torch.float16):
            lstm = nn.LSTM(4, 3, 2, bidirectional=True)
            weights = {name: value.detach().clone() for name, value in lstm.named_parameters()}
            model = tq.quantize_dynamic(nn.Sequential(lstm), {nn.LSTM}, dtype=dtype)
            tensors, _ = qfx_export.flatten_state_dict(model.state_dict())
            keys = ["0._all_weight_values.%d.param.%d" % (k, i) for k in range(4) for i in range(4)]
            self.assertEqual(sorted(key for key in tensors if ":" not in key), sorted(keys))
            for k, suffix in enumerate(("l0", "l0_reverse", "l1", "l1_reverse")):
                for i, part in enumerate(("weight_ih", "weight_hh", "bias_ih", "bias_hh")):
                    tensor = tensors["0._all_weight_values.%d.param.%d" % (k, i)]
                    self.assertEqual(tensor.shape, weights["%s_%s" % (part, suffix)].shape)
                    if i > 1:
                        self.assertTrue(torch.equal(tensor, weights["%s_%s" % (part, suffix)]))
        cell = tq.quantize_dynamic(nn.Sequential(nn.LSTMCell(4, 3)), {nn.LSTMCell})
        tensors, _ = qfx_export.flatten_state_dict(cell.state_dict())
        self.assertEqual(sorted(key for key in tensors if ":" not in key),
                         ["0._packed_weight_hh.0", "0._packed_weight_hh.1", "0._packed_weight_ih.0", "0._packed_weight_ih.1"])

    def test_packed_convolution_in_a_state_dict(self):
        weight = torch.quantize_per_tensor(torch.randn(4, 2, 3, 3), 0.1, 0, torch.qint8)
        packed = torch.ops.quantized.conv2d_prepack(weight, None, [2, 1], [1, 0], [1, 1], 1)
        tensors, _ = qfx_export.flatten_state_dict({"_packed_weight_0": packed})
        self.assertEqual(tensors["_packed_weight_0.config"].tolist(), [2, 2, 1, 1, 0, 1, 1, 0, 0, 1, 0])

    def test_eager(self):
        model = Stubs().eval()
        model.qconfig = tq.get_default_qconfig("x86")
        inputs = (torch.randn(3, 2),)
        text, _ = written(model, inputs)
        self.assertIn('%add = call_function[torch.add](%fc, %quant) meta {"functional": "sum"}', text)
        self.assertIn('%add_1 = call_function[torch.add](%sum_activation_post_process, 2.0) meta {"functional": "plus"}', text)
        self.assertIn("module plus : torch.ao.nn.quantized.FloatFunctional()", text)
        self.assertIn('meta eager_qconfigs = {"qconfigs": [{"activation": {"class": "HistogramObserver", "reduce_range": True}', text)
        prepared = tq.prepare(model)
        prepared(*inputs)
        text, tensors = written(prepared, inputs)
        self.assertIn("%fc_activation_post_process = call_module[fc.activation_post_process](%fc)", text)
        self.assertIn("sum.activation_post_process.histogram", tensors)
        text, tensors = written(tq.convert(prepared), inputs)
        self.assertIn("module quant : torch.ao.nn.quantized.Quantize()", text)
        self.assertIn("call_function[torch.ops.quantized.add](%fc, %quant, scale=", text)
        self.assertIn("call_function[torch.ops.quantized.add_scalar](%sum_activation_post_process, 2.0)", text)
        self.assertIn("sum.scale", tensors)
        self.assertFalse(any("add" in vars(module) for module in model.modules()), "tracing leaves the methods alone")

    def test_unpacked_weights_are_not_taken_for_one_another(self):
        model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(6)])
        text, tensors = written(tq.quantize_dynamic(model), (torch.randn(1, 4),))
        self.assertNotIn("weight =", text)
        self.assertEqual(sum(name.endswith(".weight") for name in tensors), 6)

    def test_dynamic_and_weight_only(self):
        class Recurrent(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm, self.cell = nn.LSTM(3, 4, num_layers=2, bidirectional=True), nn.GRUCell(8, 4)

            def forward(self, x):
                return self.cell(self.lstm(x)[0][0])

        model = tq.quantize_dynamic(Recurrent().eval())
        text, tensors = written(model, (torch.randn(5, 2, 3),))
        self.assertIn("module lstm : torch.ao.nn.quantized.dynamic.LSTM(input_size=3, hidden_size=4, num_layers=2, bidirectional=True)", text)
        for name, weight in model.lstm.get_weight().items():
            self.assertTrue(torch.equal(tensors["lstm." + name], weight.int_repr()), name)
        for name, bias in model.cell.get_bias().items():
            self.assertTrue(torch.equal(tensors["cell." + name], bias), name)
        text, tensors = written(tq.quantize_dynamic(Recurrent().eval(), dtype=torch.float16), (torch.randn(5, 2, 3),))
        self.assertEqual(tensors["lstm.weight_ih_l1_reverse"].dtype, torch.float16)
        bag = nn.Sequential(nn.EmbeddingBag(10, 8, mode="sum"))
        text, tensors = written(tq.quantize_dynamic(bag, dtype=torch.quint4x2), (torch.randint(10, (3, 4)),))
        self.assertIn("torch.ao.nn.quantized.EmbeddingBag(num_embeddings=10, embedding_dim=8, dtype=torch.quint4x2)", text)
        self.assertEqual(tensors["0.weight"].numel(), 40)

    def test_other_hooks_are_still_refused(self):
        model = nn.Sequential(nn.Linear(2, 2))
        model[0].register_forward_hook(lambda *_: None)
        with self.assertRaises(qfx_export.ExportError):
            written(model, (torch.randn(1, 2),))

    def test_observers_with_arguments_of_their_own(self):
        mapping = tq.QConfigMapping().set_global(tq.QConfig(
            activation=tq.MovingAverageMinMaxObserver.with_args(averaging_constant=0.5, quant_min=0, quant_max=120, eps=2 ** -12),
            weight=tq.default_weight_observer))
        model = fx.prepare_fx(Net().eval(), mapping, self.inputs)
        text, _ = written(model, self.inputs)
        self.assertIn("MovingAverageMinMaxObserver(averaging_constant=0.5, quant_min=0, quant_max=120, eps=0.000244140625)", text)
        self.assertIn('"module_name": []', text)

    def test_every_row_is_in_the_module_table(self):
        self.assertLessEqual(set(QUANTIZATION_CLASSES), set(MODULE_ARGUMENTS))
        for name in QUANTIZATION_CLASSES:
            module, _, cls = name.rpartition(".")
            with self.subTest(name):
                self.assertTrue(hasattr(__import__(module, fromlist=[cls]), cls))


if __name__ == "__main__":
    unittest.main()
