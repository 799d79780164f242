"""Writes elementwise.txt: what PyTorch's quantized elementwise, pooling and table operators return.

Run: python3 make_elementwise.py > elementwise.txt     (torch 2.13.0, x86 engine, seed 7)
A case is: `case NAME`, then `KEY COUNT VALUES...` lines (numbers) or `KEY hex BYTES` (codes), then `end`.
Tables (and cat) have no input line: their input is every code, in the order of its byte.
Sizes are whole vectors, where PyTorch's kernels follow one rule for every element (operators.md 3.2).
"""
import torch
import torch.nn.functional as F

torch.manual_seed(7)
torch.set_num_threads(1)
torch.backends.quantized.engine = "x86"
Q = torch.ops.quantized


def case(name, **fields):
    print("case", name)
    for key, value in fields.items():
        if isinstance(value, torch.Tensor) and value.dtype in (torch.uint8, torch.int8):
            print(key, "hex", value.contiguous().flatten().view(torch.uint8).numpy().tobytes().hex())
            continue
        values = value.flatten().tolist() if isinstance(value, torch.Tensor) else list(value)
        print(key, len(values), *(repr(v) for v in values))
    print("end")


def codes(shape, dtype, scale, zero_point):
    low = -128 if dtype == torch.qint8 else 0
    raw = torch.randint(low, low + 256, shape)
    real = (raw - zero_point).double() * scale
    return torch.quantize_per_tensor(real.float(), scale, zero_point, dtype)


def qparams(dtype):
    low = -128 if dtype == torch.qint8 else 0
    return torch.rand(()).item() * 0.2 + 0.01, low + int(torch.randint(0, 256, ()))


def nhwc(x):
    return x.permute(0, 2, 3, 1).contiguous()


print("# torch", torch.__version__, "engine", torch.backends.quantized.engine, torch.backends.cpu.get_cpu_capability())
for dtype in (torch.quint8, torch.qint8):
    signed = int(dtype == torch.qint8)
    for name in ("add", "add_relu", "mul", "mul_relu"):
        for _ in range(3):
            (sa, za), (sb, zb), (so, zo) = qparams(dtype), qparams(dtype), qparams(dtype)
            if name.startswith("mul"):
                so *= 8
            a, b = codes((256,), dtype, sa, za), codes((256,), dtype, sb, zb)
            out = getattr(Q, name)(a, b, so, zo)
            case(name, params=[signed, sa, za, sb, zb, so, zo], a=a.int_repr(), b=b.int_repr(), out=out.int_repr())

    def table(name, f, scale, zero_point, *extra):
        raw = torch.arange(0, 256, dtype=torch.uint8)
        raw = raw.view(torch.int8) if signed else raw
        x = torch._make_per_tensor_quantized_tensor(raw, scale, zero_point)
        y = f(x)
        params = [signed, scale, zero_point, y.q_scale(), y.q_zero_point(), *extra]
        case(name, params=params, out=y.int_repr())

    for _ in range(2):
        (s, z), (so, zo) = qparams(dtype), qparams(dtype)
        table("Sigmoid", torch.sigmoid, s, z)
        table("Sigmoid", lambda x: Q.sigmoid(x, so, zo), s, z)
        table("Tanh", torch.tanh, s, z)
        table("Hardsigmoid", F.hardsigmoid, s, z)
        table("Hardswish", lambda x: Q.hardswish(x, so, zo), s, z)
        table("Elu", lambda x: Q.elu(x, so, zo, 0.75, 1.0, 1.0), s, z, 0.75, 1.0, 1.0)
        table("Elu", lambda x: Q.celu(x, so, zo, 2.0), s, z, 2.0, 1.0, 0.5)
        table("LeakyRelu", lambda x: Q.leaky_relu(x, 0.1, False, so, zo), s, z, 0.1)
        table("Threshold", lambda x: Q.threshold(x, 0.5, -0.25), s, z, 0.5, -0.25)
        table("Gelu", F.gelu, s, z)
        table("Relu", torch.relu, s, z)
        table("Clamp", lambda x: F.hardtanh(x, -0.7, 1.1), s, z, -0.7, 1.1)
        table("Clamp", lambda x: Q.relu6(x), s, z, 0.0, 6.0)
        for c in (0.3, 7.5, -9.25):
            table("add_scalar", lambda x: Q.add(x, c), s, z, c)
            table("add_scalar_relu", lambda x: Q.add_relu(x, c), s, z, c)
            table("mul_scalar", lambda x: Q.mul(x, c), s, z, c)
            table("mul_scalar_relu", lambda x: Q.mul_relu(x, c), s, z, c)

    # pooling: 32 channels, whole vectors on AVX2 and AVX-512 (operators.md 8.1 says what the rest would follow)
    for last in (0, 1):
        form = torch.channels_last if last else torch.contiguous_format
        for kernel, stride, padding, ceil, include, divisor in (
            (3, 2, 1, False, True, None),
            (2, 2, 0, True, False, None),
            (3, 1, 1, False, False, None),
            (2, 1, 1, True, True, 3),
        ):
            s, z = qparams(dtype)
            x = codes((1, 32, 6, 7), dtype, s, z).contiguous(memory_format=form)
            y = F.avg_pool2d(x, kernel, stride, padding, ceil, include, divisor)
            m = torch.nn.quantized.functional.max_pool2d(x, kernel, stride, padding, 1, ceil)
            geometry = [signed, z, last, kernel, stride, padding, int(ceil), int(include), divisor or 0, y.shape[2], y.shape[3]]
            case("avg_pool2d", params=geometry, a=nhwc(x.int_repr()), out=nhwc(y.int_repr()))
            case("max_pool2d", params=geometry, a=nhwc(x.int_repr()), out=nhwc(m.int_repr()))
        for size in ((1, 1), (3, 4), (6, 7), (5, 2)):
            s, z = qparams(dtype)
            x = codes((1, 32, 6, 7), dtype, s, z).contiguous(memory_format=form)
            y = F.adaptive_avg_pool2d(x, size)
            case("adaptive_avg_pool2d", params=[signed, z, last, *size], a=nhwc(x.int_repr()), out=nhwc(y.int_repr()))
        s, z = qparams(dtype)
        x = codes((1, 32, 6, 7), dtype, s, z).contiguous(memory_format=form)
        y = x.mean((2, 3))
        case("mean", params=[signed, s, z, last], a=nhwc(x.int_repr()), out=y.int_repr())

    for relu in (0, 1):
        (s, z), (so, zo) = qparams(dtype), qparams(dtype)
        x = codes((1, 64, 3, 3), dtype, s, z)
        weight, bias, mean, var = torch.randn(64), torch.randn(64), torch.randn(64), torch.rand(64) + 0.1
        op = Q.batch_norm2d_relu if relu else Q.batch_norm2d
        y = op(x, weight, bias, mean, var, 1e-5, so * 5, zo)
        case("batch_norm", params=[signed, s, z, so * 5, zo, relu], weight=weight, bias=bias, mean=mean, var=var,
             a=nhwc(x.int_repr()), out=nhwc(y.int_repr()))

    s, z = qparams(dtype)
    x = torch.randn(512) * 30
    # no exact halves: builds with FBGEMM add the zero point before rounding, REF (which qfx follows) after it
    x[:4] = torch.tensor([0.0, -0.0, 1e6, -1e6])
    y = torch.quantize_per_tensor(x, s, z, dtype)
    case("quantize", params=[signed, s, z], x=x, out=y.int_repr(), real=y.dequantize())
    for relu in (0, 1):
        (s, z), (so, zo) = qparams(dtype), qparams(dtype)
        raw = torch.arange(0, 256, dtype=torch.uint8)
        x = torch._make_per_tensor_quantized_tensor(raw.view(torch.int8) if signed else raw, s, z)
        op = Q.cat_relu if relu else Q.cat
        y = op([x.view(1, 256)], 1, so, zo)
        case("cat", params=[signed, s, z, so, zo, relu], out=y.int_repr())

for dist in (torch.randn(2000), torch.relu(torch.randn(2000)), torch.rand(2000) * 1e-3 + 5):
    lo, hi = torch.aminmax(dist)
    case("histc", params=[256, lo.item(), hi.item()], x=dist, out=torch.histc(dist, 256, lo.item(), hi.item()))
