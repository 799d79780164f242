"""Makes the golden data of test/passes/eager/transformer-observers.test: what the observers inside Transformer layers see in eager mode.

transformer/  model.qfx + model.safetensors   an encoder layer, and a decoder layer that hears it; qconfigs included
              calib.safetensors               batches 0 and 1
              expected.safetensors            `<observer>.min_val` and `.max_val` of each observer after PyTorch's prepare and calibration;
                                              infinite where nothing reaches an observer
PyTorch's converted model does not run: the layers' own sums take no codes, and its check for the fast path reads what attention has no more.
"""
import os
import sys
import warnings

import torch
from torch import nn
from torch.ao import quantization as tq

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "transformer")
sys.path[:0] = [os.path.join(HERE, "..", "..", "..", "tools", "export")]
import qfx_export  # noqa: E402
from qfx_export.tensors import safetensors_bytes, write_together  # noqa: E402

warnings.filterwarnings("ignore")
SEED = 13


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant_x, self.quant_y, self.dequant = tq.QuantStub(), tq.QuantStub(), tq.DeQuantStub()
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16)
        self.decoder = nn.TransformerDecoderLayer(8, 2, 16, norm_first=True)

    def forward(self, x, y):
        return self.dequant(self.decoder(self.quant_y(y), self.encoder(self.quant_x(x))))


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    model = Net().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    batches = [(torch.randn(5, 2, 8), torch.randn(3, 2, 8)) for _ in range(2)]
    model.qconfig = tq.default_qconfig
    os.makedirs(OUT, exist_ok=True)
    qfx_export.export(model, batches[0], os.path.join(OUT, "model"), dynamic_batch=False)
    prepared = tq.prepare(model)
    with torch.no_grad():
        for batch in batches:
            prepared(*batch)
    expected = {}
    for path, module in prepared.named_modules():
        if path.endswith(".activation_post_process"):
            expected[path + ".min_val"], expected[path + ".max_val"] = module.min_val.clone(), module.max_val.clone()
    calibration = {"%d.%s" % (i, name): value for i, batch in enumerate(batches) for name, value in zip("xy", batch)}
    write_together({os.path.join(OUT, "calib.safetensors"): safetensors_bytes(calibration, {}),
                    os.path.join(OUT, "expected.safetensors"): safetensors_bytes(expected, {"torch": torch.__version__, "seed": str(SEED)})})
    print("%d observers" % (len(expected) // 2))


if __name__ == "__main__":
    main()
