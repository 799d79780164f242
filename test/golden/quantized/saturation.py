"""Shows where PyTorch's engines saturate pair sums of u8 x s8 products (known_traps B70, operators.md 25.3).  Prints, writes nothing.

Processors without VNNI: x86 and fbgemm give 128 for the first pair; exact is 226.  qfx gives 226 everywhere (test/kernels/int8).
"""
import torch

Q = torch.ops.quantized
for engine in ("x86", "fbgemm", "onednn", "qnnpack"):
    torch.backends.quantized.engine = engine
    for codes, weights in (((255, 255), (114, 113)), ((211, 171), (71, 107)), ((127, 127), (127, 127))):
        x = torch._make_per_tensor_quantized_tensor(torch.tensor([codes], dtype=torch.uint8), 1.0, 0)
        w = torch._make_per_tensor_quantized_tensor(torch.tensor([weights], dtype=torch.int8), 1.0, 0)
        exact = sum(a * b for a, b in zip(codes, weights))
        linear = Q.linear(x, Q.linear_prepack(w, None), 256.0, 0).int_repr().item()
        conv = Q.conv2d(x.reshape(1, 2, 1, 1), Q.conv2d_prepack(w.reshape(1, 2, 1, 1), None, [1, 1], [0, 0], [1, 1], 1), 256.0, 0).int_repr().item()
        print("%-8s %s . %s: linear %d, conv2d %d, exact %d" % (engine, codes, weights, linear, conv, round(exact / 256)))
