"""Writes int8_kernels.txt: PyTorch's codes of quantized linear and convolution, engines x86 and qnnpack.

Usage: python make_int8_kernels.py   (torch; seeded, the version is written into the file)
Activations stay below 128: without VNNI, fbgemm's vpmaddubsw saturates above (spec operators 3.5).
A case is one line `case engine relu ic oc groups kd kh kw sd sh sw pd ph pw dd dh dw batch d h w per_channel` and lines
`xs xz ys yz` (hex floats of doubles), `ws` , `bias` (hex floats, `none`), `x`, `w`, `y` (hex bytes; x and y channels-last, w row-major).
"""
import pathlib

import torch

CASES = [
    # ic, oc, groups, kernel, stride, padding, dilation, batch, input
    (3, 20, 1, (1, 7, 7), (1, 2, 2), (0, 3, 3), (1, 1, 1), 1, (1, 15, 13)),
    (16, 18, 1, (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), 2, (1, 5, 6)),
    (8, 24, 1, (1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1), 1, (1, 7, 6)),
    (8, 8, 1, (1, 3, 3), (1, 2, 2), (0, 2, 2), (1, 2, 2), 1, (1, 9, 8)),
    (12, 16, 4, (1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1), 1, (1, 5, 5)),
    (40, 40, 40, (1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1), 1, (1, 6, 5)),
    (40, 40, 40, (1, 5, 5), (1, 2, 2), (0, 2, 2), (1, 1, 1), 1, (1, 7, 7)),
]


def hex_floats(values):
    return " ".join(float(v).hex() for v in values)


def hex_bytes(tensor):
    return bytes(tensor.contiguous().view(torch.uint8).flatten().tolist()).hex()


def make_case(engine, relu, per_channel, case, generator, linear=False):
    ic, oc, groups, kernel, stride, padding, dilation, batch, size = case
    weight_scale = torch.rand(oc if per_channel else 1, generator=generator, dtype=torch.float64) * 0.02 + 0.002
    codes = torch.randn((oc, ic // groups) + kernel, generator=generator).mul(40).round().clamp(-128, 127)
    scales = weight_scale.reshape((-1,) + (1,) * 4)
    shape = (oc, ic // groups) if linear else (oc, ic // groups) + kernel[1:]
    weight = (codes * scales).float().reshape(shape)
    zero_points = torch.zeros(len(weight_scale), dtype=torch.int64)
    if per_channel:
        qweight = torch.quantize_per_channel(weight, weight_scale, zero_points, 0, torch.qint8)
    else:
        qweight = torch.quantize_per_tensor(weight, float(weight_scale), 0, torch.qint8)
    x_scale, x_zero_point = float(torch.rand(1, generator=generator)) * 0.05 + 0.01, int(torch.randint(0, 128, (1,), generator=generator))
    x_codes = torch.randint(0, 128, (batch, ic) + size[1:], generator=generator, dtype=torch.uint8)
    depth = ic // groups * kernel[1] * kernel[2]
    y_scale = x_scale * 0.012 * 40 * 40 * depth**0.5 / 50
    y_zero_point = int(torch.randint(0, 256, (1,), generator=generator))
    bias = torch.randn(oc, generator=generator) * y_scale * 30
    bias = None if int(torch.randint(0, 4, (1,), generator=generator)) == 0 else bias
    torch.backends.quantized.engine = engine
    if linear:
        x_codes = x_codes[:, :, 0, 0]
        qx = torch._make_per_tensor_quantized_tensor(x_codes.contiguous(), x_scale, x_zero_point)
        packed = torch.ops.quantized.linear_prepack(qweight, bias)
        run = torch.ops.quantized.linear_relu if relu else torch.ops.quantized.linear
        y = run(qx, packed, y_scale, y_zero_point).int_repr()
        kernel, stride, padding, dilation, size = (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), (1, 1, 1)
    else:
        x = x_codes.contiguous(memory_format=torch.channels_last)
        qx = torch._make_per_tensor_quantized_tensor(x, x_scale, x_zero_point)
        packed = torch.ops.quantized.conv2d_prepack(
            qweight, bias, list(stride[1:]), list(padding[1:]), list(dilation[1:]), groups
        )
        run = torch.ops.quantized.conv2d_relu if relu else torch.ops.quantized.conv2d
        y = run(qx, packed, y_scale, y_zero_point).int_repr().permute(0, 2, 3, 1)
        x_codes = x_codes.permute(0, 2, 3, 1)
    numbers = [ic, oc, groups, *kernel, *stride, *padding, *dilation, batch, *size, int(per_channel)]
    return "\n".join(
        [
            f"case {engine} {int(relu)} " + " ".join(map(str, numbers)),
            f"{x_scale.hex()} {x_zero_point} {float(y_scale).hex()} {y_zero_point}",
            hex_floats(weight_scale),
            "none" if bias is None else hex_floats(bias),
            hex_bytes(x_codes),
            hex_bytes(qweight.int_repr()),
            hex_bytes(y),
        ]
    )


def main():
    generator = torch.Generator().manual_seed(20)
    lines = [f"# torch {torch.__version__}, seed 20, written by make_int8_kernels.py"]
    for engine in ["x86", "qnnpack"]:
        for i, case in enumerate(CASES):
            for per_channel in [False, True]:
                lines.append(make_case(engine, (i + per_channel) % 2 == 1, per_channel, case, generator))
        for relu in [False, True]:
            case = (70, 21, 1, (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), 5, (1, 1, 1))
            lines.append(make_case(engine, relu, relu, case, generator, linear=True))
    (pathlib.Path(__file__).parent / "int8_kernels.txt").write_text("\n".join(lines) + "\n")


main()
