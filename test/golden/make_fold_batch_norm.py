# Writes fold_batch_norm.json: batch norms folded by torch.nn.utils.fusion of PyTorch 2.13 (seed 0), tensors as float32 bit patterns.
#   python test/golden/make_fold_batch_norm.py
import json
import pathlib

import torch
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

CASES = [
    # name, layer, batch norm class
    ("conv2d", lambda: torch.nn.Conv2d(3, 9, 2), torch.nn.BatchNorm2d, {}),
    ("conv2d_no_bias_grouped", lambda: torch.nn.Conv2d(4, 12, 2, groups=4, bias=False), torch.nn.BatchNorm2d, {"eps": 1e-3}),
    ("conv1d_not_affine", lambda: torch.nn.Conv1d(3, 17, 3), torch.nn.BatchNorm1d, {"affine": False}),
    ("conv3d", lambda: torch.nn.Conv3d(2, 5, 1), torch.nn.BatchNorm3d, {}),
    ("conv_transpose2d", lambda: torch.nn.ConvTranspose2d(3, 10, 2), torch.nn.BatchNorm2d, {}),
    ("linear", lambda: torch.nn.Linear(7, 19), torch.nn.BatchNorm1d, {}),
    ("linear_no_bias", lambda: torch.nn.Linear(7, 11, bias=False), torch.nn.BatchNorm1d, {}),
]


def bits(tensor):
    if tensor is None:
        return None
    flat = tensor.detach().contiguous().flatten().view(torch.int32)
    return {"sizes": list(tensor.shape), "bits": [value & 0xFFFFFFFF for value in flat.tolist()]}


def main():
    torch.manual_seed(0)
    out = {"torch": torch.__version__, "seed": 0, "cases": []}
    for name, make, batch_norm, options in CASES:
        layer = make().eval()
        channels = layer.out_features if isinstance(layer, torch.nn.Linear) else layer.out_channels
        bn = batch_norm(channels, **options).eval()
        bn.running_mean.normal_()
        bn.running_var.uniform_(0.05, 4.0)
        if bn.affine:
            torch.nn.init.normal_(bn.weight)
            torch.nn.init.normal_(bn.bias)
        if isinstance(layer, torch.nn.Linear):
            folded = fuse_linear_bn_eval(layer, bn)
        else:
            folded = fuse_conv_bn_eval(layer, bn, transpose="Transpose" in type(layer).__name__)
        out["cases"].append({
            "name": name, "layer": "torch.nn." + type(layer).__name__, "batch_norm": "torch.nn." + type(bn).__name__,
            "groups": getattr(layer, "groups", 1), "eps": bn.eps,
            "weight": bits(layer.weight), "bias": bits(layer.bias), "mean": bits(bn.running_mean), "var": bits(bn.running_var),
            "gamma": bits(bn.weight), "beta": bits(bn.bias), "folded_weight": bits(folded.weight), "folded_bias": bits(folded.bias),
        })
    path = pathlib.Path(__file__).with_name("fold_batch_norm.json")
    path.write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
