"""Cases of make_float_ops.py: complex numbers, transforms, whole-tensor comparisons, sequence slices, ranges of packed rows.

A complex result is recorded as its parts, which qfx yields under `real` and `imag`.
"""
import torch

F = "torch.nn.functional."


def signals(function, method, module, chain, f, i):
    x, k = f(3, 4, 5), i(3, 4, 5)
    # transforms: real and complex, cut, filled, along other dimensions, scaled
    for name in ("fft", "ifft", "rfft"):
        function(["torch.fft." + name, "aten.fft_%s.default" % name], f(2, 9), None, -1, None)
        function("torch.fft." + name, f(16))
        function("torch.fft." + name, f(3, 8, 2), dim=1, norm="ortho")
        function("torch.fft." + name, f(2, 9), 6)
        function("torch.fft." + name, f(2, 9), n=15, norm="forward")
        function("torch.fft." + name, f(2, 300))
    for size, options in (((2, 5), {}), ((2, 5), dict(n=9)), ((2, 6), dict(n=7)), ((3, 4, 2), dict(dim=1, norm="ortho")), ((2, 1), dict(n=1)), ((2, 151), {})):
        parts = f(*size), f(*size)
        chain(["torch.complex(%x0, %x1)", "torch.fft.irfft(%y0, **)"], parts, options)
        chain(["torch.complex(%x0, %x1)", "torch.fft.fft(%y0, **)"], parts, options)
        chain(["torch.complex(%x0, %x1)", "torch.fft.ifft(%y0, **)", "torch.view_as_real(%y1)"], parts, options)
    chain(["torch.fft.rfft(%x0)", "torch.abs(%y0)", "torch.square(%y1)"], (f(2, 40),))
    signal = f(2, 64)
    for options in (dict(n_fft=16), dict(n_fft=16, hop_length=5, win_length=12), dict(n_fft=10, center=False, onesided=False), dict(n_fft=16, normalized=True)):
        chain(["torch.stft(%x0, return_complex=True, **)"], (signal,), options)
        for last in ("torch.abs(%y0)", "torch.real(%y0)", "torch.imag(%y0)", "torch.view_as_real(%y0)", "torch.conj(%y0)"):
            chain(["torch.stft(%x0, return_complex=True, **)", last], (signal,), options)
    window = torch.hann_window(16)
    chain(["torch.stft(%x0, 16, window=%x1, return_complex=True)", "torch.istft(%y0, 16, window=%x1)"], (signal, window))
    chain(["torch.stft(%x0, 16, window=%x1, return_complex=True)", "torch.istft(%y0, 16, window=%x1, length=64)"], (signal[0], window))
    chain(["torch.stft(%x0, 16, 4, window=%x1, return_complex=True, normalized=True)", "torch.istft(%y0, 16, 4, window=%x1, normalized=True, length=70)"],
          (signal, window))
    chain(["torch.stft(%x0, 10, 5, center=False, onesided=False, return_complex=True)", "torch.istft(%y0, 10, 5, center=False, onesided=False)"], (signal,))
    chain(["torch.stft(%x0, 15, 4, 12, return_complex=True)", "torch.istft(%y0, 15, 4, 12)"], (signal,))
    # a mask on a spectrum, and back
    chain(["torch.stft(%x0, 16, window=%x1, return_complex=True)", "torch.abs(%y0)", "torch.sigmoid(%y1)", "torch.mul(%y0, %y2)", "torch.istft(%y3, 16, window=%x1)"],
          (signal, window))
    # arithmetic and moves
    a, b, c, d = f(2, 3), f(2, 3), f(2, 3), f(3)
    two = ["torch.complex(%x0, %x1)", "torch.complex(%x1, %x2)"]
    for call in ("torch.add(%y0, %y1)", "torch.sub(%y0, %y1)", "torch.mul(%y0, %y1)", "torch.mul(%y0, %x3)", "torch.mul(%x3, %y0)", "torch.add(%y0, %x3)",
                 "torch.sub(%x3, %y0)", "torch.div(%y0, %x3)", "torch.mul(%y0, 2.5)", "torch.add(%y0, 1.5)", "torch.conj(%y0)", "torch.angle(%y0)"):
        chain(two + [call], (a, b, c, d))
    z = f(2, 3, 4, 2)
    for call in ("torch.transpose(%y0, 0, 2)", "torch.reshape(%y0, (6, 4))", "torch.flatten(%y0, 1)", "torch.permute(%y0, (2, 0, 1))", "torch.unsqueeze(%y0, 1)",
                 "torch.select(%y0, 1, -1)", "torch.narrow(%y0, 2, 1, 2)", "torch.clone(%y0)"):
        chain(["torch.view_as_complex(%x0)", call], (z,))
    chain(["torch.view_as_complex(%x0)", "torch.squeeze(%y0, 1)"], (f(2, 1, 3, 2),))
    chain(["torch.polar(%x0, %x1)"], (a, b))
    function(["torch.angle", "aten.angle.default"], torch.tensor([1.0, -1.0, 0.0, float("nan"), float("inf")]))
    function("torch.real", x)
    function("torch.imag", x)
    function("torch.view_as_complex", x)
    function("torch.complex", x, f(5))
    # a part of a list
    for cut in ("slice(1, None, 2)", "slice(-3, 4, None)", "slice(None, 2, None)", "slice(2, 99, None)"):
        chain(["torch.chunk(%x0, 5, 2)", "operator.getitem(%y0, " + cut + ")", "torch.cat(%y1, 2)"], (x,))
    # whole tensors
    for name in ("equal", "allclose", "isclose"):
        for other in (x.clone(), x + 1e-7, x + 0.5):
            function(["torch." + name, "aten.%s.default" % name], x, other)
        method(name, x, x.clone())
    function("torch.equal", k, k.clone())
    function("torch.equal", x, f(3, 4, 4))
    function("torch.equal", x, k)
    function("torch.equal", f(0, 3), f(0, 3))
    special = torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
    for options in ({}, dict(equal_nan=True), dict(rtol=0.0, atol=0.0), dict(atol=2.0)):
        function("torch.isclose", special, special.clone(), **options)
        function("torch.allclose", special, special.flip(0), **options)
    function("torch.isclose", x, f(5), atol=0.5)
    function("torch.allclose", x, k)
    function(["torch.isin", "aten.isin.Tensor_Tensor"], k, i(2, 3))
    function("torch.isin", k, i(3), invert=True)
    # rows of codes whose ranges are searched for
    ops = "torch.ops.quantized.embedding_bag_"
    for name in ("4bit", "2bit"):
        for columns in (4, 64):
            table = f(6, columns)
            table[3] = 0.75
            table[4, 0] = 40.0  # an outlier, which a search may leave out
            function(ops + name + "_prepack", table, True)
            function(ops + name + "_prepack", table, optimized_qparams=True, nbins=50, ratio=0.5)
