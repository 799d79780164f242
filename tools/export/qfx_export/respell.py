"""ATen calls of an exported graph in the spelling that torch.fx traces: the one that patterns of a BackendConfig name."""
from __future__ import annotations

import operator
from typing import Any, Callable, Dict

import torch
import torch.fx
import torch.nn.functional as F

aten = torch.ops.aten


def _conv(function, rank):
    """convert_fx packs only convolutions that state every argument."""
    ones, zeros = [1] * rank, [0] * rank
    return lambda x, weight, bias=None, stride=ones, padding=zeros, dilation=ones, groups=1: function(
        x, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(function, rank):
    ones, zeros = [1] * rank, [0] * rank
    return lambda x, weight, bias=None, stride=ones, padding=zeros, output_padding=zeros, groups=1, dilation=ones: function(
        x, weight, bias, stride, padding, output_padding, groups, dilation)


def _add(x, other, *, alpha=1):
    return x + other if alpha == 1 else NotImplemented


def _sub(x, other, *, alpha=1):
    return x - other if alpha == 1 else NotImplemented


def _elu(x, alpha=1.0, scale=1, input_scale=1):
    return F.elu(x, alpha) if scale == 1 and input_scale == 1 else NotImplemented


def _softmax(x, dim, dtype=None):
    return F.softmax(x, dim, dtype=dtype)


def _mean(x, dim, keepdim=False, *, dtype=None):
    return torch.mean(x, dim, keepdim) if dtype is None else NotImplemented


def _embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def _layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return F.layer_norm(x, normalized_shape, weight, bias, eps)


def _group_norm(x, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    return F.group_norm(x, num_groups, weight, bias, eps)


def _batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    return F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)


def _instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    return F.instance_norm(x, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def _max_pool(function):
    return lambda x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False: function(
        x, kernel_size, stride or None, padding, dilation, ceil_mode)


def _nearest(x, output_size, scale_factors=None):
    return F.interpolate(x, output_size, scale_factors, "nearest")


def _linear_interpolation(mode):
    return lambda x, output_size, align_corners, scale_factors=None: F.interpolate(x, output_size, scale_factors, mode, align_corners)


def _contiguous(x, *, memory_format=torch.contiguous_format):
    return x.contiguous() if memory_format is torch.contiguous_format else NotImplemented


def _clone(x, *, memory_format=None):
    return x.clone() if memory_format is None else NotImplemented


# Overload -> the same call as a model spells it. It takes the overload's arguments and gives the same bits; NotImplemented leaves the ATen call.
SPELLINGS: Dict[Any, Callable[..., Any]] = {
    aten.linear.default: F.linear,
    aten.conv1d.default: _conv(F.conv1d, 1),
    aten.conv1d.padding: _conv(F.conv1d, 1),
    aten.conv2d.default: _conv(F.conv2d, 2),
    aten.conv2d.padding: _conv(F.conv2d, 2),
    aten.conv3d.default: _conv(F.conv3d, 3),
    aten.conv3d.padding: _conv(F.conv3d, 3),
    aten.conv_transpose1d.default: _conv_transpose(F.conv_transpose1d, 1),
    aten.conv_transpose2d.input: _conv_transpose(F.conv_transpose2d, 2),
    aten.conv_transpose3d.input: _conv_transpose(F.conv_transpose3d, 3),
    aten.embedding.default: _embedding,
    aten.layer_norm.default: _layer_norm,
    aten.group_norm.default: _group_norm,
    aten.batch_norm.default: _batch_norm,
    aten.instance_norm.default: _instance_norm,
    aten.dropout.default: F.dropout,
    aten.relu.default: F.relu,
    aten.relu6.default: F.relu6,
    aten.hardtanh.default: F.hardtanh,
    aten.hardswish.default: F.hardswish,
    aten.hardsigmoid.default: F.hardsigmoid,
    aten.sigmoid.default: torch.sigmoid,
    aten.tanh.default: torch.tanh,
    aten.elu.default: _elu,
    aten.leaky_relu.default: F.leaky_relu,
    aten.silu.default: F.silu,
    aten.gelu.default: F.gelu,
    aten.softmax.int: _softmax,
    aten.clamp.default: torch.clamp,
    aten.add.Tensor: _add,
    aten.add.Scalar: _add,
    aten.sub.Tensor: _sub,
    aten.sub.Scalar: _sub,
    aten.mul.Tensor: operator.mul,
    aten.mul.Scalar: operator.mul,
    aten.matmul.default: torch.matmul,
    aten.bmm.default: torch.bmm,
    aten.addmm.default: torch.addmm,
    aten.mean.dim: _mean,
    aten.max_pool1d.default: _max_pool(F.max_pool1d),
    aten.max_pool2d.default: _max_pool(F.max_pool2d),
    aten.max_pool3d.default: _max_pool(F.max_pool3d),
    aten.avg_pool1d.default: F.avg_pool1d,
    aten.avg_pool2d.default: F.avg_pool2d,
    aten.avg_pool3d.default: F.avg_pool3d,
    aten.adaptive_avg_pool1d.default: F.adaptive_avg_pool1d,
    aten.adaptive_avg_pool2d.default: F.adaptive_avg_pool2d,
    aten.adaptive_avg_pool3d.default: F.adaptive_avg_pool3d,
    aten.upsample_nearest1d.vec: _nearest,
    aten.upsample_nearest2d.vec: _nearest,
    aten.upsample_nearest3d.vec: _nearest,
    aten.upsample_linear1d.vec: _linear_interpolation("linear"),
    aten.upsample_bilinear2d.vec: _linear_interpolation("bilinear"),
    aten.upsample_bicubic2d.vec: _linear_interpolation("bicubic"),
    aten.upsample_trilinear3d.vec: _linear_interpolation("trilinear"),
    aten.pixel_shuffle.default: F.pixel_shuffle,
    aten.pixel_unshuffle.default: F.pixel_unshuffle,
    aten.channel_shuffle.default: torch.channel_shuffle,
    aten.pad.default: F.pad,
    aten.cat.default: torch.cat,
    aten.stack.default: torch.stack,
    aten.chunk.default: torch.chunk,
    aten.split.Tensor: torch.split,
    aten.split_with_sizes.default: torch.split,
    aten.narrow.default: torch.narrow,
    aten.repeat_interleave.self_int: torch.repeat_interleave,
    aten.flatten.using_ints: torch.flatten,
    aten.view.default: lambda x, size: x.view(*size),
    aten.reshape.default: lambda x, shape: x.reshape(*shape),
    aten.permute.default: lambda x, dims: x.permute(*dims),
    aten.transpose.int: lambda x, dim0, dim1: x.transpose(dim0, dim1),
    aten.squeeze.default: lambda x: x.squeeze(),
    aten.squeeze.dim: lambda x, dim: x.squeeze(dim),
    aten.unsqueeze.default: lambda x, dim: x.unsqueeze(dim),
    aten.repeat.default: lambda x, repeats: x.repeat(*repeats),
    aten.contiguous.default: _contiguous,
    aten.clone.default: _clone,
    aten.detach.default: lambda x: x.detach(),
    aten.sym_size.int: lambda x, dim: x.size(dim),
}


def _is_quantizable(value: Any) -> bool:
    """Is an example value one that observers may watch, a float tensor or a list of them, or a size?"""
    if isinstance(value, (list, tuple)):
        return all(_is_quantizable(element) for element in value)
    return not isinstance(value, torch.Tensor) or value.is_floating_point()


class _Respeller(torch.fx.Transformer):
    """Copies the graph; the calls of SPELLINGS are traced anew, so that they and the names of all nodes are what torch.fx makes of a model."""

    def run_node(self, node):
        spelling = SPELLINGS.get(node.target) if node.op == "call_function" and _is_quantizable(node.meta.get("val")) else None
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        result = spelling(*args, **kwargs) if spelling else NotImplemented
        if result is NotImplemented:
            return super().run_node(node)
        return result

    def call_function(self, target, args, kwargs):
        return self.tracer.create_proxy("call_function", target, args, kwargs)


def respell(graph_module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The same graph with the calls of SPELLINGS as torch.fx writes them, `aten.conv2d.default` as torch.nn.functional.conv2d: what
    prepare_fx and qfx quantize. Inputs, results and their bits stay. Calls whose value is not of floats keep their ATen spelling, since
    graph mode, which does not know types, would observe them; so do calls without an exact twin.
    """
    return _Respeller(graph_module).transform()
