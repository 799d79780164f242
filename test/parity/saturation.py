"""Where PyTorch's integers are not the exact ones: FBGEMM on processors without VNNI adds u8 x s8 products in pairs of saturating
16-bit sums (spec/operators.md 3.5, 25.3). Each code that differs from exact arithmetic is recomputed with such pairs; only when all of
an image's are then equal is the image called saturated. A network of random weights makes many output steps of one such code."""
import numpy
import torch


def _parameters(module):
    """(weight codes as int64, scale per output channel, bias or None) of a quantized convolution or linear."""
    weight, bias = module._weight_bias()
    if weight.qscheme() == torch.per_tensor_affine:
        transposed = getattr(module, "transposed", False)
        scales = torch.full((weight.shape[1] * module.groups if transposed else weight.shape[0],), weight.q_scale())
    else:
        scales = weight.q_per_channel_scales()
    return weight.int_repr().long(), scales.float().numpy(), None if bias is None else bias.detach().float().numpy()


def _stage(sums, channels, module, scale, weight_scales, bias):
    """Output codes from exact sums (spec/operators.md 3.6); `channels` is the output channel of each sum."""
    f32 = numpy.float32
    products = (f32(scale) * weight_scales).astype(f32)
    value = sums.astype(f32)
    if bias is not None:
        value = value + (bias / products).astype(f32)[channels]
    multiplier = (products / f32(module.scale)).astype(f32)[channels]
    codes = numpy.rint(value * multiplier).astype(numpy.int64) + module.zero_point
    return numpy.clip(codes, module.zero_point if "ReLU" in type(module).__name__ else 0, 255)


def _windows(module, codes, weight, position):
    """(codes, weights) of one output value, in the order in which FBGEMM pairs them: taps, then input channels."""
    if not hasattr(module, "groups"):
        return codes[position[:-1]], weight[position[-1]]
    image, channel = position[0], position[1]
    groups, inner = module.groups, weight.shape[1]
    first = channel // (weight.shape[0] // groups) * inner
    padded = torch.nn.functional.pad(codes[image, first:first + inner], [p for p in reversed(module.padding) for _ in (0, 1)],
                                     value=0)
    taps = [slice(p * s, p * s + d * (k - 1) + 1, d)
            for p, s, d, k in zip(position[2:], module.stride, module.dilation, weight.shape[2:])]
    window = padded[(slice(None), *taps)]
    return window.movedim(0, -1).reshape(-1), weight[channel].movedim(0, -1).reshape(-1)


def _saturated_sum(codes, weight, zero_point):
    """sum((code - zero_point) * weight) as pairs of saturating 16-bit sums give it; padded taps hold the zero point."""
    products = (codes * weight).numpy()
    if products.size % 2:
        products = numpy.append(products, 0)
    pairs = products.reshape(-1, 2).sum(1)
    return int(numpy.clip(pairs, -32768, 32767).sum()) - zero_point * int(weight.sum())


def _exact_sums(module, x, weight):
    """Sums of products in double, which holds them exactly."""
    functional = torch.nn.functional
    if not hasattr(module, "groups"):
        return functional.linear(x, weight)
    rest = (None, module.stride, module.padding)
    rank = weight.dim() - 2
    if module.transposed:
        convolution = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)[rank - 1]
        return convolution(x, weight, *rest, module.output_padding, module.groups, module.dilation)
    convolution = (functional.conv1d, functional.conv2d, functional.conv3d)[rank - 1]
    return convolution(x, weight, *rest, module.dilation, module.groups)


def inspect(module, x, y):
    """(codes of y that differ from exact arithmetic, those of them that saturating pairs give) of one operator's call."""
    weight, scales, bias = _parameters(module)
    zero_point, centered = x.q_zero_point(), (x.int_repr().long() - x.q_zero_point())
    sums = _exact_sums(module, centered.double(), weight.double())
    axis = 1 if hasattr(module, "groups") else sums.dim() - 1
    channels = numpy.arange(sums.shape[axis]).reshape([-1 if d == axis else 1 for d in range(sums.dim())])
    exact = _stage(sums.numpy(), channels, module, x.q_scale(), scales, bias)
    got = y.int_repr().numpy()
    different, explained = numpy.argwhere(exact != got), 0
    for position in different:
        if getattr(module, "transposed", False):
            continue
        window, row = _windows(module, centered, weight, tuple(int(p) for p in position))
        total = _saturated_sum(window + zero_point, row, zero_point)
        code = _stage(numpy.array(total), int(position[axis]), module, x.q_scale(), scales, bias)
        explained += int(code == got[tuple(position)])
    return len(different), explained


class Inspector(torch.fx.Interpreter):
    """Runs a converted model and collects {node: (codes not exact, explained by saturation)}."""

    def __init__(self, module):
        super().__init__(module)
        self.found = {}

    def call_module(self, target, args, kwargs):
        result, module = super().call_module(target, args, kwargs), self.fetch_attr(target)
        if hasattr(module, "_weight_bias") and isinstance(result, torch.Tensor) and result.dtype == torch.quint8:
            different, explained = inspect(module, args[0], result)
            if different:
                self.found[target] = (different, explained)
        return result


def saturated_images(module, inputs):
    """One entry for each image of the batches: None where all sums are exact, else {module: (codes not exact, explained)}."""
    entries = []
    with torch.no_grad():
        for batch in inputs:
            for image in batch.split(1):
                inspector = Inspector(module)
                inspector.run(image)
                entries.append(inspector.found or None)
    return entries
