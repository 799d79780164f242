"""Writes the shape lists of this folder: every convolution and linear layer that torchvision's networks run.

Usage: python make_shapes.py   (torch and torchvision; batch 1, 224 x 224)
"""
import collections
import pathlib

import torch

# torchvision's compiled operators are not needed for the network definitions.
library = torch.library.Library("torchvision", "DEF")
for operator in ["nms", "qnms"]:
    library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
import torchvision  # noqa: E402

MODELS = ["resnet18", "resnet50", "mobilenet_v2"]


def layer_line(module, size):
    if isinstance(module, torch.nn.Linear):
        return f"linear m={size[0]} n={module.out_features} k={module.in_features}"
    return (
        f"conv ic={module.in_channels} oc={module.out_channels} kernel={module.kernel_size[0]} "
        f"stride={module.stride[0]} padding={module.padding[0]} groups={module.groups} in={size[2]}"
    )


def main():
    folder = pathlib.Path(__file__).parent
    for name in MODELS:
        model = getattr(torchvision.models, name)().eval()
        lines = collections.Counter()
        for module in model.modules():
            if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
                module.register_forward_pre_hook(lambda m, x: lines.update([layer_line(m, x[0].shape)]))
        with torch.no_grad():
            model(torch.zeros(1, 3, 224, 224))
        text = "".join(f"{line} count={count}\n" for line, count in lines.items())
        (folder / f"{name}.txt").write_text(f"# {name}, batch 1, 224 x 224; written by make_shapes.py\n{text}")


main()
