"""Constructor arguments of every library module class: which there are, their defaults, and how to read them back from
a module. One row per class; what equals its default is not written."""
from __future__ import annotations

from typing import Any, Dict, List, Tuple

import torch

from .errors import ExportError, UnknownTargetError
from .quantized import QUANTIZATION_CLASSES
from .table import REQUIRED, Argument, computed, optional, plain, presence, required
from .text import class_name

def _stride_or_none(module: torch.nn.Module) -> Any:
    """Pooling's stride, None where it is the kernel size (what None means to the constructor)."""
    return None if _same(module.stride, module.kernel_size) else plain(module.stride)


def _norm_bias(module: torch.nn.Module) -> bool:
    """`bias` of the normalizations, which tells nothing when they are not affine."""
    affine = getattr(module, "affine", getattr(module, "elementwise_affine", False))
    return not affine or module.bias is not None


_INPLACE = optional(inplace=False)
_POOL_STRIDE = computed("stride", None, _stride_or_none)

_CONV = (
    required("in_channels", "out_channels", "kernel_size")
    + optional(stride=1, padding=0, dilation=1, groups=1)
    + presence("bias", "bias")
    + optional(padding_mode="zeros")
)
_CONV_TRANSPOSE = (
    required("in_channels", "out_channels", "kernel_size")
    + optional(stride=1, padding=0, output_padding=0, groups=1)
    + presence("bias", "bias")
    + optional(dilation=1, padding_mode="zeros")
)
_BATCH_NORM = (
    required("num_features")
    + optional(eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    + computed("bias", True, _norm_bias)
)
_INSTANCE_NORM = (
    required("num_features")
    + optional(eps=1e-05, momentum=0.1, affine=False, track_running_stats=False)
    + computed("bias", True, _norm_bias)
)
_MAX_POOL = (
    required("kernel_size") + _POOL_STRIDE + optional(padding=0, dilation=1, return_indices=False, ceil_mode=False)
)
_AVG_POOL1D = required("kernel_size") + _POOL_STRIDE + optional(padding=0, ceil_mode=False, count_include_pad=True)
_AVG_POOL = _AVG_POOL1D + optional(divisor_override=None)
_LP_POOL = required("norm_type", "kernel_size") + _POOL_STRIDE + optional(ceil_mode=False)
_MAX_UNPOOL = required("kernel_size") + _POOL_STRIDE + optional(padding=0)
_ADAPTIVE_AVG = required("output_size")
_ADAPTIVE_MAX = required("output_size") + optional(return_indices=False)
_DROPOUT = optional(p=0.5, inplace=False)
_PAD = required("padding")
_CONSTANT_PAD = required("padding", "value")
_UPSAMPLE = optional(size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None)
_RNN = required("input_size", "hidden_size") + optional(
    num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0
)
_CELL = required("input_size", "hidden_size") + optional(bias=True)
_EMBEDDING = required("num_embeddings", "embedding_dim")
_LINEAR = required("in_features", "out_features") + presence("bias", "bias")
_LAYER_NORM = required("normalized_shape") + optional(eps=1e-05, elementwise_affine=True)


def _attention() -> List[Argument]:
    return (
        required("embed_dim", "num_heads")
        + optional(dropout=0.0)
        + presence("bias", "in_proj_bias")
        + presence("add_bias_kv", "bias_k", default=False)
        + optional(add_zero_attn=False)
        + computed("kdim", None, lambda m: None if m.kdim == m.embed_dim else m.kdim)
        + computed("vdim", None, lambda m: None if m.vdim == m.embed_dim else m.vdim)
        + optional(batch_first=False)
    )


def _activation_name(module: torch.nn.Module) -> str:
    activation = module.activation
    for name in ("relu", "gelu"):
        is_module = type(activation).__name__.lower() == name and getattr(activation, "approximate", "none") == "none"
        if activation is getattr(torch.nn.functional, name) or is_module:
            return name
    raise UnknownTargetError("a '%s' has the activation %r; only 'relu' and 'gelu' have a name in .qfx" % (
        class_name(type(module)), activation))


def _transformer_layer() -> List[Argument]:
    return (
        computed("d_model", REQUIRED, lambda m: m.self_attn.embed_dim)
        + computed("nhead", REQUIRED, lambda m: m.self_attn.num_heads)
        + computed("dim_feedforward", 2048, lambda m: m.linear1.out_features)
        + computed("dropout", 0.1, lambda m: m.dropout.p)
        + computed("activation", "relu", _activation_name)
        + computed("layer_norm_eps", 1e-05, lambda m: m.norm1.eps)
        + computed("batch_first", False, lambda m: m.self_attn.batch_first)
        + optional(norm_first=False)
        + computed("bias", True, lambda m: m.linear1.bias is not None)
    )


def _numbered(prefix: str, row: List[Argument]) -> Dict[str, List[Argument]]:
    return {"%s%dd" % (prefix, n): row for n in (1, 2, 3)}


NN_CLASSES: Dict[str, List[Argument]] = {
    "Linear": _LINEAR,
    "Identity": [],
    "Bilinear": required("in1_features", "in2_features", "out_features") + presence("bias", "bias"),
    **_numbered("Conv", _CONV),
    **_numbered("ConvTranspose", _CONV_TRANSPOSE),
    **_numbered("BatchNorm", _BATCH_NORM),
    "SyncBatchNorm": _BATCH_NORM,
    **_numbered("InstanceNorm", _INSTANCE_NORM),
    "LayerNorm": _LAYER_NORM + computed("bias", True, _norm_bias),
    "RMSNorm": required("normalized_shape") + optional(eps=None, elementwise_affine=True),
    "GroupNorm": required("num_groups", "num_channels") + optional(eps=1e-05, affine=True)
    + computed("bias", True, _norm_bias),
    "LocalResponseNorm": required("size") + optional(alpha=0.0001, beta=0.75, k=1.0),
    "CrossMapLRN2d": required("size") + optional(alpha=0.0001, beta=0.75, k=1),
    # activations
    **{name: _INPLACE for name in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid")},
    **{name: [] for name in ("Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Tanhshrink", "Softmax2d")},
    "LeakyReLU": optional(negative_slope=0.01, inplace=False),
    "PReLU": optional(num_parameters=1),
    "RReLU": optional(lower=0.125, upper=1.0 / 3.0, inplace=False),
    "ELU": optional(alpha=1.0, inplace=False),
    "CELU": optional(alpha=1.0, inplace=False),
    "GELU": optional(approximate="none"),
    "GLU": optional(dim=-1),
    "Hardtanh": optional(min_val=-1.0, max_val=1.0, inplace=False),
    "Hardshrink": optional(lambd=0.5),
    "Softshrink": optional(lambd=0.5),
    "Softplus": optional(beta=1.0, threshold=20.0),
    "Threshold": required("threshold", "value") + _INPLACE,
    **{name: optional(dim=None) for name in ("Softmax", "LogSoftmax", "Softmin")},
    # dropout
    **{name: _DROPOUT for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout",
                                   "FeatureAlphaDropout")},
    # pooling and resizing
    **_numbered("MaxPool", _MAX_POOL),
    **_numbered("MaxUnpool", _MAX_UNPOOL),
    "AvgPool1d": _AVG_POOL1D,
    "AvgPool2d": _AVG_POOL,
    "AvgPool3d": _AVG_POOL,
    **_numbered("LPPool", _LP_POOL),
    **_numbered("AdaptiveAvgPool", _ADAPTIVE_AVG),
    **_numbered("AdaptiveMaxPool", _ADAPTIVE_MAX),
    "Upsample": _UPSAMPLE,
    "UpsamplingNearest2d": optional(size=None, scale_factor=None),
    "UpsamplingBilinear2d": optional(size=None, scale_factor=None),
    "PixelShuffle": required("upscale_factor"),
    "PixelUnshuffle": required("downscale_factor"),
    "ChannelShuffle": required("groups"),
    # padding and shape
    **_numbered("ConstantPad", _CONSTANT_PAD),
    **_numbered("ZeroPad", _PAD),
    **_numbered("ReflectionPad", _PAD),
    **_numbered("ReplicationPad", _PAD),
    **_numbered("CircularPad", _PAD),
    "Flatten": optional(start_dim=1, end_dim=-1),
    "Unflatten": required("dim", "unflattened_size"),
    "Unfold": required("kernel_size") + optional(dilation=1, padding=0, stride=1),
    "Fold": required("output_size", "kernel_size") + optional(dilation=1, padding=0, stride=1),
    "CosineSimilarity": optional(dim=1, eps=1e-08),
    "PairwiseDistance": computed("p", 2.0, lambda m: m.norm) + optional(eps=1e-06, keepdim=False),
    # embedding, recurrent, attention
    "Embedding": _EMBEDDING
    + optional(padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False),
    "EmbeddingBag": _EMBEDDING
    + optional(max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
               include_last_offset=False, padding_idx=None),
    "LSTM": _RNN,
    "GRU": _RNN,
    "RNN": _RNN + computed("nonlinearity", "tanh", lambda m: "relu" if m.mode == "RNN_RELU" else "tanh"),
    "LSTMCell": _CELL,
    "GRUCell": _CELL,
    "RNNCell": _CELL + optional(nonlinearity="tanh"),
    "MultiheadAttention": _attention(),
    "TransformerEncoderLayer": _transformer_layer(),
    "TransformerDecoderLayer": _transformer_layer(),
    "TransformerEncoder": required("num_layers"),
    "TransformerDecoder": required("num_layers"),
    "Transformer": required("d_model", "nhead") + computed("batch_first", False, lambda m: m.batch_first),
}

# Float fused containers: no arguments of their own, the members are the children "0", "1", "2".
_INTRINSIC_CLASSES = (
    ["%s%dd" % (name, n) for name in ("ConvBn", "ConvReLU", "ConvBnReLU") for n in (1, 2, 3)]
    + ["BNReLU2d", "BNReLU3d", "LinearReLU", "LinearBn1d", "LinearLeakyReLU", "LinearTanh", "ConvAdd2d", "ConvAddReLU2d"]
)

MODULE_ARGUMENTS: Dict[str, List[Argument]] = {
    **{"torch.nn." + name: row for name, row in NN_CLASSES.items()},
    **{"torch.ao.nn.intrinsic." + name: [] for name in _INTRINSIC_CLASSES},
    "torch.nn.modules.linear.NonDynamicallyQuantizableLinear": _LINEAR,
    **{name: row.arguments for name, row in QUANTIZATION_CLASSES.items()},
}
# Hooks that eager mode's prepare puts on a module; the tracer records what they do as a call.
OBSERVER_HOOKS = ("_observer_forward_hook", "_observer_forward_pre_hook")


def _same(value: Any, default: Any) -> bool:
    """Equality up to what the constructor itself does: a number stands for a tuple of that number."""
    if isinstance(value, (tuple, list)) and isinstance(default, (int, float)) and not isinstance(default, bool):
        return all(_same(v, default) for v in value)
    if isinstance(default, (tuple, list)) and isinstance(value, (int, float)) and not isinstance(value, bool):
        return all(_same(v, value) for v in default)
    if isinstance(value, (tuple, list)) and isinstance(default, (tuple, list)):
        return len(value) == len(default) and all(_same(v, d) for v, d in zip(value, default))
    return type(value) is type(default) and value == default or (
        isinstance(value, (int, float)) and isinstance(default, (int, float))
        and not isinstance(value, bool) and not isinstance(default, bool) and value == default
    )


def is_library_leaf(module: torch.nn.Module) -> bool:
    """True for a class that has a row here: it brings its own parameters and buffers."""
    return class_name(type(module)) in MODULE_ARGUMENTS


def module_arguments(module: torch.nn.Module, path: str) -> List[Tuple[str, Any]]:
    """Constructor arguments of a library module that differ from their defaults, and the required ones, in the
    constructor's order. Raises ExportError for a class without a row and for one whose value is not its constructor's
    (weight-norm hooks, parametrizations)."""
    name = class_name(type(module))
    if name not in MODULE_ARGUMENTS:
        raise _unknown_class(module, path, name)
    hooks = [hook for hook in list(module._forward_pre_hooks.values()) + list(module._forward_hooks.values())
             if getattr(hook, "__name__", "") not in OBSERVER_HOOKS]
    if hooks:
        raise ExportError(
            "module '%s' of class '%s' has the forward hook %s, which .qfx cannot hold; remove it before the export "
            "(torch.nn.utils.remove_weight_norm, remove_spectral_norm, or handle.remove())"
            % (path, name, type(hooks[0]).__name__ if not hasattr(hooks[0], "__name__") else hooks[0].__name__)
        )
    written = []
    for argument in MODULE_ARGUMENTS[name]:
        value = argument.read(module)
        if argument.default is REQUIRED or not _same(value, argument.default):
            written.append((argument.name, value))
    return written


def _unknown_class(module: torch.nn.Module, path: str, name: str) -> ExportError:
    start = "module '%s' has the class '%s', " % (path, name)
    if hasattr(module, "parametrizations"):
        return ExportError(start + (
            "a parametrized module; make the parametrization permanent with "
            "torch.nn.utils.parametrize.remove_parametrizations(module, '%s')" % next(iter(module.parametrizations))
        ))
    if "Lazy" in type(module).__name__:
        return ExportError(start + "whose shape is not known yet; run the model once on the example inputs before the export")
    if name.startswith("torch.ao."):
        return ExportError(start + (
            "for which the exporter has no table row; export the float model and let qfx-opt prepare and convert it"
        ))
    if name.startswith("torch."):
        return UnknownTargetError(start + (
            "for which the exporter has no table row; replace it by modules it knows, or trace='export', which "
            "records ATen operators instead of modules"
        ))
    return ExportError(start + (
        "which was recorded as a leaf but is not a library module; take it out of leaf_names/leaf_classes so that "
        "tracing goes through it, or use trace='export'"
    ))
