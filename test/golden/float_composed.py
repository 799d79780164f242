"""Cases of make_float_ops.py: operators that are graphs of others, sampling, strides, half-precision layers."""
import torch

F = "torch.nn.functional."


def composed(function, method, module, f, i, b):
    x, k, v = f(3, 4, 5), i(3, 4, 5), f(4)
    # joining and cutting
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        function(["torch." + name, "aten.%s.default" % name], [f(3, 4), f(3, 4)])
        function("torch." + name, [v, f(4)])
        function("torch." + name, [f(), f()])
        function("torch." + name, [k, k])
        function("torch." + name, [f(3, 4), f(2, 5)])
    function("torch.row_stack", [v, f(3, 4)])
    function(["torch.tensor_split", "aten.tensor_split.sections"], x, 3, 1)
    function(["torch.tensor_split", "aten.tensor_split.indices"], x, [1, 3], 2)
    method("tensor_split", x, (2, -1, 9), 1)
    method("tensor_split", k, 5)
    function("torch.tensor_split", x, 0)
    function("torch.split_with_sizes", x, [1, 3], 1)
    method("split_with_sizes", x, [2, 3], 2)
    # moving
    for turns in (-1, 0, 1, 2, 3):
        function("torch.rot90", x, turns, [0, 2])
    method("rot90", k)
    function("aten.rot90.default", x, 1, [1, 2])
    function("torch.rot90", x, 1, [0, 0])
    method("reshape_as", x, f(5, 12))
    method(["view_as"], x, f(60))
    method("reshape_as", x, f(7))
    function("torch.diag", v)
    function(["torch.diag", "aten.diag.default"], v, -2)
    method("diag", f(4, 6), 1)
    function("torch.diag", x)
    function(["torch.diag_embed", "aten.diag_embed.default"], x)
    function("torch.diag_embed", x, 1)
    function("torch.diag_embed", x, -2, 0, 2)
    method("diag_embed", i(2, 3), 1, 1, 0)
    function("torch.diag_embed", x, 0, 1, 1)
    function(["torch.as_strided", "aten.as_strided.default"], x, [3, 2], [7, 1], 4)
    method("as_strided", x, (2, 3, 4), (1, 0, 5))
    method("as_strided", k, (4,), (20,))
    function("torch.as_strided", x, [], [], 7)
    for name in ("swapaxes", "swapdims"):
        method(name, x, 0, -1)
    function("torch.swapdims", x, 0, 1)
    method("moveaxis", x, 0, 2)
    function("torch.ravel", x)
    method("ravel", k)
    # products and quotients
    function(["torch.tensordot", "torch.functional.tensordot"], f(3, 4, 5), f(4, 5, 2))
    function("torch.tensordot", f(3, 4, 5), f(5, 2), dims=1)
    function("torch.tensordot", f(2, 3), f(4), dims=0)
    function("torch.tensordot", f(3, 4, 5), f(5, 2, 3), ([2, 0], [0, 2]))
    function("aten.tensordot.default", f(3, 4), f(2, 3), [0], [1])
    function("torch.tensordot", f(3, 4), f(3, 4), 1)
    module("torch.nn.Bilinear", dict(in1_features=3, in2_features=4, out_features=5), f(2, 6, 3), f(2, 6, 4))
    module("torch.nn.Bilinear", dict(in1_features=3, in2_features=4, out_features=2, bias=False), f(3), f(4))
    function([F + "bilinear", "torch.bilinear", "aten.bilinear.default"], f(7, 3), f(7, 4), f(2, 3, 4), f(2))
    function(F + "bilinear", f(7, 3), f(6, 4), f(2, 3, 4))
    for dim in (0, 1, 2, -1):
        function(["torch._weight_norm", "aten._weight_norm.default"], f(3, 4, 5), f(*[1] * 3) if dim < 0 else f(*[s if n == dim else 1 for n, s in enumerate((3, 4, 5))]), dim)
    module("torch.nn.CosineSimilarity", dict(dim=2), x, f(3, 4, 5))
    function([F + "cosine_similarity", "torch.cosine_similarity", "aten.cosine_similarity.default"], f(3, 5), f(3, 5))
    function(F + "cosine_similarity", x, f(4, 1), dim=-1)
    function(F + "cosine_similarity", torch.zeros(2, 3), f(2, 3))
    # order
    distinct = torch.randperm(60, generator=torch.Generator().manual_seed(3)).reshape(3, 4, 5)
    floats = distinct.float() / 7 - 4
    broken = floats.clone()
    broken[1, 2, 3] = float("nan")
    for value in (distinct, floats, broken):
        function(["torch.median", "aten.median.default"], value)
        function(["torch.median", "aten.median.dim"], value, 1)
        method("median", value, -1, keepdim=True)
    method("median", floats.half(), 2)
    function("torch.median", f())
    function(["torch.kthvalue", "aten.kthvalue.default"], floats, 2)
    method("kthvalue", distinct, 3, 1, keepdim=True)
    function("torch.kthvalue", floats, 6)
    function("torch.kthvalue", floats, 0)
    # pooling and its reverse
    image, volume, line = f(2, 3, 7, 6), f(1, 2, 4, 5, 6), f(2, 3, 9)
    for d, y in ((1, line), (2, image), (3, volume)):
        module("torch.nn.LPPool%dd" % d, dict(norm_type=2, kernel_size=2), y)
        module("torch.nn.LPPool%dd" % d, dict(norm_type=1.5, kernel_size=3, stride=2, ceil_mode=True), y.abs())
        function(F + "lp_pool%dd" % d, y, 3.0, 2, 1)
        pool = getattr(torch.nn.functional, "max_pool%dd" % d)
        pooled, indices = pool(y, 2, return_indices=True)
        function(F + "max_unpool%dd" % d, pooled, indices, 2, output_size=list(y.shape[2:]))
        if d < 3:
            module("torch.nn.MaxUnpool%dd" % d, dict(kernel_size=2), pooled[0], indices[0])
        module("torch.nn.MaxUnpool%dd" % d, dict(kernel_size=2), pooled, indices, output_size=list(y.shape))
        pooled, indices = pool(y, 3, 2, 1, return_indices=True)
        function(F + "max_unpool%dd" % d, pooled, indices, 3, 2, 1, output_size=list(y.shape))
    function(F + "max_unpool2d", f(1, 1, 2, 2), i(1, 1, 2, 2, low=0, high=4), 2, output_size=(9, 9))
    # grids
    for align in (False, True):
        function([F + "affine_grid"], f(2, 2, 3), [2, 3, 4, 5], align_corners=align)
        function("aten.affine_grid_generator.default", f(1, 3, 4), [1, 2, 3, 4, 5], align)
        function(F + "affine_grid", f(1, 2, 3), [1, 1, 1, 3], align_corners=align)
        for padding in ("zeros", "border", "reflection"):
            for mode in ("bilinear", "nearest", "bicubic"):
                function(F + "grid_sample", image, f(2, 4, 5, 2, low=-1.6, high=1.6), mode, padding, align)
                if mode != "bicubic":
                    function(F + "grid_sample", volume, f(1, 3, 4, 2, 3, low=-1.6, high=1.6), mode, padding, align)
    function(F + "grid_sample", image, f(2, 4, 5, 2))
    function(["torch.grid_sampler", "aten.grid_sampler.default", "aten.grid_sampler_2d.default"], image, f(2, 4, 5, 2), 0, 1, False)
    function("aten.grid_sampler_3d.default", volume, f(1, 2, 2, 2, 3), 1, 0, True)
    function(F + "grid_sample", f(1, 2, 1, 1), f(1, 3, 3, 2, low=-3.0, high=3.0), "bilinear", "reflection", True)
    function(F + "affine_grid", f(2, 2, 2), [2, 3, 4, 5], align_corners=False)
    # signals
    for name in ("hann_window", "hamming_window"):
        for length in (0, 1, 2, 7, 16):
            function("torch." + name, length)
        function("torch." + name, 9, False)
        function("aten.%s.default" % name, 8)
        function("aten.%s.periodic" % name, 8, False)
    function("torch.hamming_window", 9, True, 0.5, 0.4)
    signal = f(2, 40)
    function(["torch.stft", "torch.functional.stft"], signal, 16, return_complex=False)
    function("torch.stft", signal[0], 16, 5, 12, torch.hann_window(12), normalized=True, return_complex=False)
    method("stft", signal, 10, center=False, onesided=False, return_complex=False)
    function("torch.stft", signal, 16, pad_mode="constant", window=torch.hamming_window(16), return_complex=False)
    function("torch.stft", signal, 64, center=False, return_complex=False)
    # constants and conversions
    for data in ([1, 2, 3], [[1.5, 2.0], [3.0, 4.0]], 7, 2.5, True, [[True], [False]], [], [1, 2.5], [[1, 2], [3]]):
        function("torch.tensor", data)
    function("torch.tensor", [1, 2], dtype=torch.float16)
    for name in ("short", "char", "byte"):
        method(name, k + 5)
    method("type_as", k, x)
    function(["torch.subtract", "torch.divide"], x, f(5) + 3.0)
    method("true_divide", k, 4)
    function(F + "logsigmoid", x)
    for name in ("alpha_dropout", "feature_alpha_dropout"):
        function(F + name, x, 0.5, False)
    module("torch.nn.FeatureAlphaDropout", {}, x)
    function("torch.index_put", x, [torch.tensor([1, 2]), torch.tensor([0, 3])], f(5))
    # embedding rows as bytes
    ops = "torch.ops.quantized.embedding_bag_"
    for name in ("byte", "4bit", "2bit"):
        prepack, unpack = (getattr(torch.ops.quantized, "embedding_bag_%s_%s" % (name, way)) for way in ("prepack", "unpack"))
        for columns in (4, 32, 36):
            table = f(5, columns)
            table[3] = 0.75
            function(ops + name + "_prepack", table)
            packed = prepack(table)
            function(ops + name + "_unpack", packed)
            function(ops + name + "_rowwise_offsets", packed, i(7, low=0, high=5), torch.tensor([0, 3, 3]))
            assert unpack(packed).shape == table.shape
        function(ops + name + "_rowwise_offsets", packed, i(6, low=0, high=5, dtype=torch.int32), torch.tensor([0, 2, 6], dtype=torch.int32),
                 per_sample_weights=f(6), include_last_offset=True)
        function(ops + name + "_unpack", f(5, 16))
    function(ops + "byte_prepack", f(2, 3, 8))
    function(ops + "4bit_prepack", f(3, 7))
    # half floats are computed in float32 and rounded
    for dtype in (torch.float16, torch.bfloat16):
        def h(*sizes):
            return f(*sizes, low=-1.0, high=1.0, dtype=dtype)

        module("torch.nn.Linear", dict(in_features=8, out_features=5), h(3, 8))
        function("torch.matmul", h(2, 3, 8), h(8, 5))
        function("torch.bmm", h(2, 3, 8), h(2, 8, 5))
        function("torch.addmm", h(5), h(3, 8), h(8, 5))
        module("torch.nn.Conv1d", dict(in_channels=3, out_channels=4, kernel_size=3, stride=2), h(2, 3, 9))
        module("torch.nn.Conv2d", dict(in_channels=4, out_channels=6, kernel_size=3, padding=1, groups=2, bias=False), h(1, 4, 6, 6))
        function(F + "conv_transpose2d", h(1, 3, 4, 4), h(3, 2, 2, 2), h(2), 2)
        module("torch.nn.BatchNorm1d", dict(num_features=3), h(2, 3, 4))
        function(F + "layer_norm", h(3, 8), [8], h(8), h(8))
        function(F + "max_pool2d", h(1, 3, 6, 6), 2)
        function(F + "avg_pool2d", h(1, 3, 6, 6), 3, 1, 1)
        function(F + "adaptive_avg_pool2d", h(1, 3, 6, 6), 2)
        function(F + "interpolate", h(1, 3, 4, 4), scale_factor=2.0, mode="bilinear")
        function(F + "scaled_dot_product_attention", h(1, 2, 5, 4), h(1, 2, 6, 4), h(1, 2, 6, 4))
        function("torch.einsum", "ij,jk->ik", h(3, 8), h(8, 5))
        function("torch.cat", [h(3, 2), h(3, 4)], 1)
        function("torch.hstack", [h(3, 2), h(3, 4)])
        function(F + "embedding", i(6, low=0, high=7), h(7, 5))
        function("torch.topk", h(3, 9), 4)
        function("torch.cumsum", h(3, 9), 1)
        function("torch.scatter_add", h(3, 9), 1, i(3, 4, low=0, high=9), h(3, 4))
        method("std", h(3, 9), 1)
