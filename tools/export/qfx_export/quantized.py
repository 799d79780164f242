"""The module classes of torch.ao: observers, QAT, reference, quantized and dynamic modules, and packed weights. Classes are known by name, so
that this file imports where upstream has removed them; packed weights are read unpacked."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch

from .errors import ExportError
from .table import Argument, REQUIRED, computed, optional, plain, presence, required

# (kind, name, tensor), kind being 'parameter' or 'buffer'.
Tensors = List[Tuple[str, str, torch.Tensor]]


class Row(NamedTuple):
    """One class: constructor arguments, the tensors to write (None: its own parameters and buffers but for `hidden`), and whether its
    children belong to the file."""

    arguments: List[Argument]
    tensors: Optional[Callable[[torch.nn.Module], Tensors]] = None
    hidden: Tuple[str, ...] = ()
    children: bool = True


_FLOAT_EPS = torch.finfo(torch.float32).eps


def _given_bound(observer: torch.nn.Module, name: str, default: Any) -> Any:
    """quant_min or quant_max as the constructor was given it: the attribute is the effective one, halved by reduce_range."""
    if not getattr(observer, "has_customized_qrange", False):
        return default
    effective = int(getattr(observer, name))
    if not observer.reduce_range:
        return effective
    return 2 * effective + (1 if name == "quant_max" else 0)


def _given_range(name: str, default: Any = None) -> List[Argument]:
    return computed(name, default, lambda m: _given_bound(m, name, default))


def _uniform(qscheme: torch.qscheme) -> List[Argument]:
    return (
        optional(dtype=torch.quint8, qscheme=qscheme, reduce_range=False)
        + _given_range("quant_min") + _given_range("quant_max")
        + computed("eps", _FLOAT_EPS, lambda m: float(m.eps))
        + optional(is_dynamic=False)
    )


_AVERAGING = optional(averaging_constant=0.01)
_OBSERVERS: Dict[str, Row] = {
    "MinMaxObserver": Row(_uniform(torch.per_tensor_affine)),
    "MovingAverageMinMaxObserver": Row(_AVERAGING + _uniform(torch.per_tensor_affine)),
    "PerChannelMinMaxObserver": Row(optional(ch_axis=0) + _uniform(torch.per_channel_affine)),
    "MovingAveragePerChannelMinMaxObserver": Row(_AVERAGING + optional(ch_axis=0) + _uniform(torch.per_channel_affine)),
    "HistogramObserver": Row(optional(bins=2048) + _uniform(torch.per_tensor_affine)),
    "FixedQParamsObserver": Row(
        computed("scale", REQUIRED, lambda m: float(m.scale)) + computed("zero_point", REQUIRED, lambda m: int(m.zero_point))
        + optional(dtype=torch.quint8, qscheme=torch.per_tensor_affine, quant_min=0, quant_max=255, is_dynamic=False)),
    "PlaceholderObserver": Row(
        optional(dtype=torch.float32) + computed("custom_op_name", "", lambda m: getattr(m, "custom_op", ""))
        + optional(quant_min=None, quant_max=None, qscheme=None, eps=None, is_dynamic=False), hidden=("eps",)),
    "RecordingObserver": Row(optional(dtype=torch.quint8)),
    "NoopObserver": Row(optional(dtype=torch.float16) + computed("custom_op_name", "", lambda m: getattr(m, "custom_op", ""))),
    "ReuseInputObserver": Row([]),
}


def _column_range(child: str) -> List[Argument]:
    """quant_min and quant_max of an equalization observer, which hands them on to its observer of columns."""

    def read(name: str) -> Callable[[torch.nn.Module], Any]:
        return lambda m: _given_bound(getattr(m, child), name, None)

    return computed("quant_min", None, read("quant_min")) + computed("quant_max", None, read("quant_max"))


def _equalization_shape(module: torch.nn.Module) -> Tensors:
    return [("buffer", "equalization_shape", torch.tensor(module.equalization_shape, dtype=torch.int64))]


_EQUALIZATION: Dict[str, Row] = {
    "_InputEqualizationObserver": Row(
        optional(dtype=torch.quint8, qscheme=torch.per_tensor_affine) + _column_range("input_obs"), _equalization_shape),
    "_WeightEqualizationObserver": Row(
        optional(dtype=torch.qint8, qscheme=torch.per_tensor_affine) + _column_range("weight_col_obs")),
}


def _fake_quantize_range(minimum: Any, maximum: Any) -> List[Argument]:
    """The bounds as the wrapper was given them, and handed on to the observer inside."""

    def read(name: str, default: Any) -> Callable[[torch.nn.Module], Any]:
        return lambda m: _given_bound(m.activation_post_process, name, default)

    return computed("quant_min", minimum, read("quant_min", minimum)) + computed("quant_max", maximum, read("quant_max", maximum))


_FAKE_QUANTIZERS: Dict[str, Row] = {
    "FakeQuantize": Row(_fake_quantize_range(None, None) + optional(is_dynamic=False)),
    "FusedMovingAvgObsFakeQuantize": Row(_fake_quantize_range(0, 255) + optional(is_dynamic=False)),
    "FixedQParamsFakeQuantize": Row([]),
}

_CONV_SIZES = required("in_channels", "out_channels", "kernel_size") + optional(stride=1, padding=0, dilation=1, groups=1)
_CONV = _CONV_SIZES + presence("bias", "bias") + optional(padding_mode="zeros")
_CONV_TRANSPOSE_SIZES = required("in_channels", "out_channels", "kernel_size") + optional(stride=1, padding=0, output_padding=0, groups=1)
_LINEAR = required("in_features", "out_features") + presence("bias", "bias")
_EMBEDDING = required("num_embeddings", "embedding_dim") + optional(
    padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False)
_EMBEDDING_BAG = required("num_embeddings", "embedding_dim") + optional(
    max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False, include_last_offset=False, padding_idx=None)
_RNN = required("input_size", "hidden_size") + optional(
    num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False)
_CELL = required("input_size", "hidden_size") + optional(bias=True)
_RNN_CELL = _CELL + optional(nonlinearity="tanh")


def _qat_batch_norm(sizes: List[Argument]) -> List[Argument]:
    return (
        sizes + computed("bias", None, lambda m: m.bias is not None)
        + (optional(padding_mode="zeros") if sizes is _CONV_SIZES else [])
        + computed("eps", 1e-05, lambda m: m.bn.eps) + computed("momentum", 0.1, lambda m: m.bn.momentum) + optional(freeze_bn=False)
    )


def _numbered(prefix: str, name: str, row: Row, numbers=(1, 2, 3)) -> Dict[str, Row]:
    return {"%s.%s%dd" % (prefix, name, n): row for n in numbers}


_QAT_LINEAR_BN = required("in_features", "out_features") + computed("bias", True, lambda m: m.bias is not None)
_QAT: Dict[str, Row] = {
    "torch.ao.nn.qat.Linear": Row(_LINEAR),
    "torch.ao.nn.qat.dynamic.Linear": Row(_LINEAR),
    "torch.ao.nn.intrinsic.qat.LinearReLU": Row(_LINEAR),
    "torch.ao.nn.intrinsic.qat.LinearBn1d": Row(
        _QAT_LINEAR_BN + computed("eps", 1e-05, lambda m: m.bn.eps) + computed("momentum", 0.1, lambda m: m.bn.momentum)
        + optional(freeze_bn=False)),
    **_numbered("torch.ao.nn.qat", "Conv", Row(_CONV)),
    **_numbered("torch.ao.nn.intrinsic.qat", "ConvReLU", Row(_CONV)),
    **_numbered("torch.ao.nn.intrinsic.qat", "ConvBn", Row(_qat_batch_norm(_CONV_SIZES))),
    **_numbered("torch.ao.nn.intrinsic.qat", "ConvBnReLU", Row(_qat_batch_norm(_CONV_SIZES))),
    "torch.ao.nn.qat.Embedding": Row(_EMBEDDING),
    "torch.ao.nn.qat.EmbeddingBag": Row(_EMBEDDING_BAG),
}

# -- reference modules ----------------------------------------------------------------------------------------------------


def _weight_names(module: torch.nn.Module) -> List[str]:
    """`weight`, or all weights of a recurrent layer."""
    if hasattr(module, "weight_qscheme"):
        return ["weight"]
    return [name for name in module._parameters if hasattr(module, name + "_qscheme")]


def _shared(module: torch.nn.Module, what: str, default: Any) -> Any:
    """`<weight>_<what>` of the module's weights, of which qfx keeps one."""
    values = [getattr(module, "%s_%s" % (name, what), default) for name in _weight_names(module)]
    if any(value != values[0] for value in values):
        raise ExportError("the weights of a '%s' differ in '%s' (%s); qfx keeps one for all weights of a module"
                          % (type(module).__name__, what, ", ".join(str(value) for value in values)))
    return values[0]


def _axis(module: torch.nn.Module) -> int:
    return int(_shared(module, "axis_int", _shared(module, "axis", 0)))


def _is_decomposed(module: torch.nn.Module) -> bool:
    return bool(getattr(module, "is_decomposed", False)) or bool(_shared(module, "is_decomposed", False))


def _of_weight(name: str, default: Any) -> List[Argument]:
    return computed("weight_" + name, default, lambda m: _shared(m, name, default))


_WEIGHT_QPARAMS = (
    _of_weight("qscheme", torch.per_tensor_affine) + _of_weight("dtype", torch.quint8) + computed("weight_axis", 0, _axis)
    + _of_weight("quant_min", None) + _of_weight("quant_max", None) + computed("is_decomposed", False, _is_decomposed)
)


def _reference_tensors(module: torch.nn.Module) -> Tensors:
    tensors: Tensors = [("parameter", name, value) for name, value in module._parameters.items() if value is not None]
    return tensors + [("buffer", name, value) for name, value in module._buffers.items() if value is not None and not name.endswith("_axis")]


def _reference(arguments: List[Argument]) -> Row:
    return Row(arguments + _WEIGHT_QPARAMS, _reference_tensors)


_NNQR = "torch.ao.nn.quantized.reference"
_CONV_TRANSPOSE = _CONV_TRANSPOSE_SIZES + presence("bias", "bias") + optional(dilation=1, padding_mode="zeros")
_REFERENCE: Dict[str, Row] = {
    _NNQR + ".Linear": _reference(_LINEAR),
    **_numbered(_NNQR, "Conv", _reference(_CONV)),
    **_numbered(_NNQR, "ConvTranspose", _reference(_CONV_TRANSPOSE)),
    _NNQR + ".Embedding": _reference(_EMBEDDING),
    _NNQR + ".EmbeddingBag": _reference(_EMBEDDING_BAG),
    _NNQR + ".LSTM": _reference(_RNN),
    _NNQR + ".GRU": _reference(_RNN),
    _NNQR + ".LSTMCell": _reference(_CELL),
    _NNQR + ".GRUCell": _reference(_CELL),
    _NNQR + ".RNNCell": _reference(_RNN_CELL),
}

# -- quantized modules ----------------------------------------------------------------------------------------------------


def _packed_tensors(module: torch.nn.Module) -> Tensors:
    """Weight and bias of a module that keeps them packed; float16 weights as half."""
    weight, bias = module.weight(), module.bias() if hasattr(module, "bias") else None
    if not weight.is_quantized:
        weight = weight.half()
    return [("parameter", "weight", weight)] + ([("parameter", "bias", bias)] if bias is not None else [])


def _embedding_tensors(module: torch.nn.Module) -> Tensors:
    return [("parameter", "weight", module.weight())]


def _norm_tensors(module: torch.nn.Module) -> Tensors:
    names = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    values = [(name, getattr(module, name, None)) for name in names]
    return [("parameter" if name in ("weight", "bias") else "buffer", name, value) for name, value in values if value is not None]


def _no_tensors(_: torch.nn.Module) -> Tensors:
    return []


def _prelu_tensors(module: torch.nn.Module) -> Tensors:
    return [("parameter", "weight", module.weight)]


def _recurrent_tensors(module: torch.nn.Module) -> Tensors:
    """Unpacked weights and biases under the float layer's names, in its order."""
    values = {**module.get_weight(), **module.get_bias()}
    suffixes = sorted({name.partition("_")[2][3:] for name in values})  # '', or l0, l0_reverse, l1, ...
    ordered = ["%s_%s%s" % (kind, side, "_" + suffix if suffix else "")
               for suffix in suffixes for kind in ("weight", "bias") for side in ("ih", "hh")]
    tensors: Tensors = []
    for name in ordered:
        if values.get(name) is not None:
            value = values[name]
            half = name.startswith("weight") and not value.is_quantized
            tensors.append(("parameter", name, value.half() if half else value))
    return tensors


def _number(value: Any) -> float:
    return float(value.detach().reshape(-1)[0]) if isinstance(value, torch.Tensor) else float(value)


_OUTPUT = computed("scale", 1.0, lambda m: _number(m.scale)) + computed("zero_point", 0, lambda m: int(_number(m.zero_point)))
_SIGMOID_OUTPUT = (
    computed("scale", 1.0, lambda m: _number(m.output_scale)) + computed("zero_point", 0, lambda m: int(_number(m.output_zero_point))))
_DTYPE = computed("dtype", torch.qint8, lambda m: m._packed_params.dtype)
_RNN_DTYPE = optional(dtype=torch.qint8)
_CELL_DTYPE = computed("dtype", torch.qint8, lambda m: m.weight_dtype)


def _reduces_range(version: int) -> List[Argument]:
    """Modules whose state was loaded from before this version, or without one, quantize activations to 8 bits instead of 7."""
    return computed("reduce_range", True, lambda m: m.version is not None and m.version >= version)


_EMBEDDING_DTYPE = computed("dtype", torch.quint8, lambda m: m.weight().dtype)


def _quantized(arguments: List[Argument], tensors: Callable[[torch.nn.Module], Tensors]) -> Row:
    return Row(arguments, tensors, children=False)


_QLINEAR = required("in_features", "out_features")
_QBIAS = computed("bias", True, lambda m: m.bias() is not None)
_QCONV = _quantized(_CONV_SIZES + _QBIAS + optional(padding_mode="zeros") + _OUTPUT, _packed_tensors)
_QCONV_TRANSPOSE = _quantized(
    _CONV_TRANSPOSE_SIZES + _QBIAS + optional(dilation=1, padding_mode="zeros") + _OUTPUT, _packed_tensors)
_QBATCH_NORM = _quantized(required("num_features") + optional(eps=1e-05, momentum=0.1) + _OUTPUT, _norm_tensors)
_NNQ, _NNIQ, _NNQD, _NNIQD = (
    "torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized", "torch.ao.nn.quantized.dynamic", "torch.ao.nn.intrinsic.quantized.dynamic")
_QUANTIZED: Dict[str, Row] = {
    _NNQ + ".Quantize": Row(optional(dtype=torch.quint8)),
    _NNQ + ".DeQuantize": Row([]),
    _NNQ + ".Linear": _quantized(_QLINEAR + _DTYPE + _OUTPUT, _packed_tensors),
    _NNIQ + ".LinearReLU": _quantized(_QLINEAR + _DTYPE + _OUTPUT, _packed_tensors),
    _NNIQ + ".LinearLeakyReLU": _quantized(_QLINEAR + required("negative_slope") + _DTYPE + _OUTPUT, _packed_tensors),
    _NNIQ + ".LinearTanh": _quantized(_QLINEAR + _DTYPE + _OUTPUT, _packed_tensors),
    **_numbered(_NNQ, "Conv", _QCONV),
    **_numbered(_NNIQ, "ConvReLU", _QCONV),
    _NNIQ + ".ConvAdd2d": _QCONV,
    _NNIQ + ".ConvAddReLU2d": _QCONV,
    **_numbered(_NNQ, "ConvTranspose", _QCONV_TRANSPOSE),
    **_numbered(_NNQ, "BatchNorm", _QBATCH_NORM, (2, 3)),
    **_numbered(_NNIQ, "BNReLU", _QBATCH_NORM, (2, 3)),
    _NNQ + ".LayerNorm": _quantized(required("normalized_shape") + _OUTPUT + optional(eps=1e-05, elementwise_affine=True), _norm_tensors),
    _NNQ + ".GroupNorm": _quantized(required("num_groups", "num_channels") + _OUTPUT + optional(eps=1e-05, affine=True), _norm_tensors),
    # Upstream's conversion passes `affine` where `momentum` stands: both are left at their defaults here (operators 13.1).
    **_numbered(_NNQ, "InstanceNorm", _quantized(required("num_features") + _OUTPUT + optional(eps=1e-05), _norm_tensors)),
    _NNQ + ".ReLU6": _quantized(optional(inplace=False), _no_tensors),
    _NNQ + ".Hardswish": _quantized(_OUTPUT, _no_tensors),
    _NNQ + ".ELU": _quantized(_OUTPUT + optional(alpha=1.0), _no_tensors),
    _NNQ + ".LeakyReLU": _quantized(_OUTPUT + optional(negative_slope=0.01, inplace=False), _no_tensors),
    _NNQ + ".Sigmoid": _quantized(_SIGMOID_OUTPUT, _no_tensors),
    _NNQ + ".Softmax": _quantized(optional(dim=None) + _OUTPUT, _no_tensors),
    _NNQ + ".PReLU": _quantized(_OUTPUT + optional(num_parameters=1), _prelu_tensors),
    _NNQ + ".Dropout": _quantized(optional(p=0.5, inplace=False), _no_tensors),
    _NNQ + ".Embedding": _quantized(required("num_embeddings", "embedding_dim") + _EMBEDDING_DTYPE, _embedding_tensors),
    _NNQ + ".EmbeddingBag": _quantized(
        required("num_embeddings", "embedding_dim") + optional(include_last_offset=False) + _EMBEDDING_DTYPE, _embedding_tensors),
    _NNQD + ".Linear": _quantized(_QLINEAR + _DTYPE + _reduces_range(4), _packed_tensors),
    _NNIQD + ".LinearReLU": _quantized(_QLINEAR + _DTYPE, _packed_tensors),
    **_numbered(_NNQD, "Conv", _quantized(_CONV_SIZES + _QBIAS + optional(padding_mode="zeros"), _packed_tensors)),
    **_numbered(_NNQD, "ConvTranspose", _quantized(
        _CONV_TRANSPOSE_SIZES + _QBIAS + optional(dilation=1, padding_mode="zeros"), _packed_tensors)),
    _NNQD + ".LSTM": _quantized(_RNN + _RNN_DTYPE + _reduces_range(2), _recurrent_tensors),
    _NNQD + ".GRU": _quantized(_RNN + _RNN_DTYPE + _reduces_range(2), _recurrent_tensors),
    _NNQD + ".LSTMCell": _quantized(_CELL + _CELL_DTYPE, _recurrent_tensors),
    _NNQD + ".GRUCell": _quantized(_CELL + _CELL_DTYPE, _recurrent_tensors),
    _NNQD + ".RNNCell": _quantized(_RNN_CELL + _CELL_DTYPE, _recurrent_tensors),
}

# -- LSTM and attention in pieces -----------------------------------------------------------------------------------------


def _splits_gates(module: torch.nn.Module) -> bool:
    return bool(getattr(module.layers[0].layer_fw.cell, "split_gates", False))


def _attention_tensors(module: torch.nn.Module) -> Tensors:
    """The rows that extend key and value; what the pieces hold is left over in the module itself."""
    values = [(name, getattr(module, name, None)) for name in ("bias_k", "bias_v")]
    return [("parameter", name, value) for name, value in values if value is not None]


_LAYERS = Row(_RNN + computed("split_gates", False, _splits_gates), _no_tensors)
_ATTENTION = Row(
    required("embed_dim", "num_heads") + optional(dropout=0.0)
    + computed("bias", True, lambda m: (m.linear_Q.bias() if callable(m.linear_Q.bias) else m.linear_Q.bias) is not None)
    + computed("add_bias_kv", False, lambda m: m.bias_k is not None) + optional(add_zero_attn=False)
    + computed("kdim", None, lambda m: None if m.kdim == m.embed_dim else m.kdim)
    + computed("vdim", None, lambda m: None if m.vdim == m.embed_dim else m.vdim) + optional(batch_first=False), _attention_tensors)
_PIECES: Dict[str, Row] = {
    "torch.ao.nn.quantizable.LSTM": _LAYERS,
    "torch.ao.nn.quantized.LSTM": _LAYERS,
    "torch.ao.nn.quantizable.LSTMCell": Row(
        computed("input_dim", REQUIRED, lambda m: m.input_size) + computed("hidden_dim", REQUIRED, lambda m: m.hidden_size)
        + optional(bias=True, split_gates=False), _no_tensors),
    "torch.ao.nn.quantizable.MultiheadAttention": _ATTENTION,
    "torch.ao.nn.quantized.MultiheadAttention": _ATTENTION,
}

QUANTIZATION_CLASSES: Dict[str, Row] = {
    **{"torch.ao.quantization.observer." + name: row for name, row in _OBSERVERS.items()},
    **{"torch.ao.quantization.fake_quantize." + name: row for name, row in _FAKE_QUANTIZERS.items()},
    **{"torch.ao.quantization.fx._equalize." + name: row for name, row in _EQUALIZATION.items()},
    "torch.ao.quantization.stubs.QuantStub": Row([]),
    "torch.ao.quantization.stubs.DeQuantStub": Row([]),
    **_QAT, **_REFERENCE, **_QUANTIZED, **_PIECES,
}

# -- packed weights in graph modules ----------------------------------------------------------------------------------------


class Packed(NamedTuple):
    """A packed object as a module: class, geometry, weight and bias."""

    class_name: str
    arguments: List[Tuple[str, Any]]
    tensors: Tensors


def is_packed(value: Any) -> bool:
    return isinstance(value, torch.ScriptObject) and "PackedParams" in str(value._type())


def unpack(value: Any, users: List[str], where: str) -> Packed:
    """Unpacks what linear_prepack, convNd_prepack and conv_transposeNd_prepack made; `users` are the names of the functions that read it
    (a one-dimensional convolution packs as a two-dimensional one). Raises ExportError for another kind of object."""
    kind = str(value._type())
    ops = torch.ops.quantized
    if "LinearPackedParamsBase" in kind:
        half = any("fp16" in user for user in users)
        weight, bias = (ops.linear_unpack_fp16 if half else ops.linear_unpack)(value)
        return Packed("torch.classes.quantized.LinearPackedParamsBase", [], _weight_and_bias(weight, bias))
    if "EmbeddingPackedParamsBase" in kind:
        return Packed("torch.classes.quantized.EmbeddingPackedParamsBase", [], [("parameter", "weight", ops.embedding_bag_unpack(value))])
    for dimensions in (3, 2):
        if "Conv%ddPackedParamsBase" % dimensions not in kind:
            continue
        is_1d = any("1d" in user for user in users)
        unpacker = getattr(ops, "conv%dd_unpack" % (1 if is_1d else dimensions))
        if value.transpose():
            unpacker = getattr(ops, "conv_transpose%dd_unpack" % (1 if is_1d else dimensions))
        weight, bias = unpacker(value)
        cut = slice(-1, None) if is_1d else slice(None)
        arguments = [(name, tuple(getattr(value, name)())[cut]) for name in ("stride", "padding", "dilation")]
        if value.transpose():
            arguments.insert(2, ("output_padding", tuple(value.output_padding())[cut]))
        arguments.append(("groups", int(value.groups())))
        if value.transpose():
            arguments.append(("transpose", True))
        rank = 1 if is_1d else dimensions
        return Packed("torch.classes.quantized.Conv%ddPackedParamsBase" % rank, arguments, _weight_and_bias(weight, bias))
    raise ExportError("%s reads a %s, which cannot be unpacked" % (where, kind))


def _weight_and_bias(weight: torch.Tensor, bias: Optional[torch.Tensor]) -> Tensors:
    return [("parameter", "weight", weight)] + ([("parameter", "bias", bias)] if bias is not None else [])
