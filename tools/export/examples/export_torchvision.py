"""Exports a torchvision classification network with seeded random weights and batch-norm statistics taken from one
seeded forward pass in train mode: deterministic, needs no download."""
import argparse
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import qfx_export  # noqa: E402
from qfx_export.torchvision_import import import_module  # noqa: E402


def import_torchvision():
    """torchvision's network definitions, also where its compiled operators are missing."""
    return import_module("torchvision")


def stated_data(batches, batch_size, size, seed):
    """Batches [batch_size, 3, size, size] of seeded images as a network sees them after normalisation: smooth colour
    fields with noise, roughly zero mean and unit variance."""
    generator = torch.Generator().manual_seed(seed)
    result = []
    for _ in range(batches):
        coarse = torch.randn(batch_size, 3, 8, 8, generator=generator)
        smooth = torch.nn.functional.interpolate(coarse, size=(size, size), mode="bilinear", align_corners=False)
        result.append(smooth + 0.5 * torch.randn(batch_size, 3, size, size, generator=generator))
    return result


def seeded_network(name, seed=0, size=224, statistics_batch=8):
    """A torchvision network in eval mode: weights from torch.manual_seed(seed) as the constructor draws them,
    batch-norm statistics those of one batch of stated_data(seed + 1) (momentum 1)."""
    torchvision = import_torchvision()
    torch.manual_seed(seed)
    constructor = getattr(torchvision.models, name, None)
    if constructor is None:
        raise SystemExit("export_torchvision: error: torchvision has no network '%s'" % name)
    model = constructor(weights=None)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            module.eval()
    with torch.no_grad():
        model(stated_data(1, statistics_batch, size, seed + 1)[0])
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", help="resnet18, mobilenet_v2, ...")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--calibration-batches", type=int, default=4)
    parser.add_argument("--calibration-batch-size", type=int, default=4)
    parser.add_argument("--trace", choices=("auto", "fx", "export"), default="auto")
    options = parser.parse_args()
    torch.set_num_threads(1)  # the same sums on every machine with the same instruction set
    model = seeded_network(options.network, options.seed, options.size)
    calibration = stated_data(
        options.calibration_batches, options.calibration_batch_size, options.size, options.seed + 2)
    example = stated_data(1, 1, options.size, options.seed + 3)[0]
    qfx_export.export(model, example, options.output, calibration or None, trace=options.trace)


if __name__ == "__main__":
    main()
