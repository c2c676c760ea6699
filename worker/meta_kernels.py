"""Fast shape inference.

PyTorch 2.11 infers shapes on meta tensors with Python decompositions even where a C++ kernel exists: 0.2 ms for an
addition, 3.5 ms for a batch norm, against 5 µs in C++. A recording runs hundreds of these, so `install()` takes the
Python functions out, keeps those that have no C++ equal, and adds short ones for what is common in real programs.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

import torch
import torch._meta_registrations as registrations
from torch._decomp import global_decomposition_table

from guards import forbid

aten = torch.ops.aten

# Python versions of these call themselves, as torch._meta_registrations says.
_NEVER = {"empty_strided", "clone", "_to_copy", "copy_", "constant_pad_nd", "rot90", "as_strided_scatter"}
# The C++ version of these asks for a device's kernel, and meta tensors have none.
_ALWAYS = {"aten::ldexp.Tensor"}

_library: torch.library.Library | None = None


def install() -> None:
    """Replaces the meta kernels of the whole process, once."""
    global _library
    _bypass_dynamo()
    registrations._meta_lib_dont_use_me_use_register_meta._destroy()
    _library = torch.library.Library("aten", "IMPL", "Meta")
    table: dict[Any, Any] = {}
    for kind in ("pre_autograd", "post_autograd", "meta"):  # the last one is the most specific
        table.update(global_decomposition_table[kind])
    table.update(_OURS)
    for function, kernel in table.items():
        if isinstance(function, torch._ops.OpOverload) and (function in _OURS or _needs_python(function)):
            _library.impl(function, kernel)


def _needs_python(function: torch._ops.OpOverload) -> bool:
    name = function.name()
    if not name.startswith("aten::") or function.is_view or name.removeprefix("aten::").split(".")[0] in _NEVER:
        return False
    if name in _ALWAYS:
        return True
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    if has(name, "CompositeImplicitAutograd") or has(name, "Meta"):
        return False
    made_for_meta = function in global_decomposition_table["meta"]
    return made_for_meta or not any(
        has(name, key) for key in ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
    )


def _bypass_dynamo() -> None:
    """Stands in for torch's compiler, which its Python shape functions import, for seconds, only to switch it off.

    Both packages are there without their own start-up: kernels that Inductor has printed, and transformers, import helpers
    from them.
    """
    dynamo = ModuleType("torch._dynamo")
    for decorator in ("disable", "assume_constant_result", "allow_in_graph", "disallow_in_graph", "mark_static_address"):
        setattr(dynamo, decorator, lambda fn=None, *args, **kwargs: fn or (lambda decorated: decorated))
    dynamo.is_compiling = lambda: False
    dynamo.is_dynamo_supported = dynamo.optimize = forbid("torch_compile", "torch's compiler is not part of a Plan")
    inductor = ModuleType("torch._inductor")
    for stand_in in (dynamo, inductor):
        stand_in.__path__ = [os.path.join(os.path.dirname(torch.__file__), stand_in.__name__.removeprefix("torch."))]
        sys.modules.setdefault(stand_in.__name__, stand_in)


def _like(x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    return torch.empty_like(x)


def _real_kind(dtype: torch.dtype) -> torch.dtype:
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


def _contiguous_like(x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _scalar_like(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(())


def _where(condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if condition.dtype not in (torch.bool, torch.uint8):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    return aten.add.Tensor(aten.add.Tensor(x, y), condition.to(torch.bool))


def _variance(x: torch.Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> torch.Tensor:
    if not x.is_floating_point():
        raise RuntimeError("std and var only support floating point and complex dtypes")
    return aten.mean.dim(x, dim, keepdim)


def _variance_mean(x: torch.Tensor, dim: Any = None, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return _variance(x, dim, **kwargs), _variance(x, dim, **kwargs)


def _statistics(x: torch.Tensor) -> torch.dtype:
    return torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype


def _batch_norm(x: torch.Tensor, weight: Any, bias: Any, *args: Any) -> tuple[torch.Tensor, ...]:
    for given in (weight, bias, *args[:-3]):
        if isinstance(given, torch.Tensor) and given.numel() != x.shape[1]:
            raise RuntimeError(f"running_mean should contain {x.shape[1]} elements not {given.numel()}")
    size = x.shape[1] if args[-3] else 0  # without training nothing is saved
    saved = [torch.empty(size, dtype=_statistics(x), device="meta") for _ in range(2)]
    return torch.empty_like(x), *saved


def _batch_norm_eval(
    x: torch.Tensor, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float
) -> Any:
    return _batch_norm(x, weight, bias, mean, variance, False, momentum, eps)


def _layer_norm(x: torch.Tensor, shape: list[int], weight: Any, bias: Any, eps: float) -> tuple[torch.Tensor, ...]:
    shape, rank = list(shape), len(shape)
    for given in (weight, bias):
        if given is not None and list(given.shape) != shape:
            raise RuntimeError(
                f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(given.shape)} "
                f"and normalized_shape = {shape}"
            )
    if list(x.shape[x.dim() - rank :]) != shape or rank == 0:
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [*, {', '.join(map(str, shape))}], "
            f"but got input of size{list(x.shape)}"
        )
    outer = [*x.shape[: x.dim() - rank], *[1] * rank]
    saved = [torch.empty(outer, dtype=_statistics(x), device="meta") for _ in range(2)]
    return _contiguous_like(x), *saved


def _group_norm(x: torch.Tensor, weight: Any, bias: Any, n: int, c: int, inner: int, groups: int, eps: float) -> Any:
    saved = [torch.empty((n, groups), dtype=_statistics(x), device="meta") for _ in range(2)]
    return torch.empty_like(x), *saved


def _rms_norm(x: torch.Tensor, shape: list[int], weight: Any = None, eps: float | None = None) -> torch.Tensor:
    return _layer_norm(x, shape, weight, None, 0.0)[0]


def _dropout(x: torch.Tensor, p: float, train: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(x), torch.empty_like(x, dtype=torch.bool)


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: Any = None, dropout_p: float = 0.0,
               is_causal: bool = False, *, scale: Any = None, enable_gqa: bool = False) -> torch.Tensor:  # fmt: skip
    """Laid out as on a Hopper GPU: cuDNN's kernel (half types) keeps the layout of the query, others [B, L, H, D]."""
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError("Expected query, key, and value to all be at least 2 dimensional")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            f"The sizes of query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} do not fit"
        )
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        outer = query.shape[:-2]
    else:
        outer = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    shape = (*outer, query.shape[-2], value.shape[-1])
    if len(shape) != 4:
        return torch.empty(shape, dtype=query.dtype, device="meta")
    batch, heads, length, features = shape
    if query.dtype in (torch.float16, torch.bfloat16) and query.stride(1) >= query.stride(2):
        return torch.empty(shape, dtype=query.dtype, device="meta")
    return torch.empty((batch, length, heads, features), dtype=query.dtype, device="meta").transpose(1, 2)


def _convolution(x: torch.Tensor, weight: torch.Tensor, bias: Any, stride: list[int], padding: list[int],
                 dilation: list[int], transposed: bool, output_padding: list[int], groups: int) -> torch.Tensor:  # fmt: skip
    """The memory format is cuDNN's: channels last when the input or the weight is."""
    rank = weight.dim() - 2
    batched = x.dim() == weight.dim()
    if not batched and x.dim() != weight.dim() - 1:
        raise RuntimeError(f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input, got {list(x.shape)}")
    channels, sizes = x.shape[-rank - 1], x.shape[-rank:]
    expected = weight.shape[0] if transposed else weight.shape[1] * groups
    if channels != expected:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(x.shape)} to have "
            f"{expected} channels, but got {channels} channels instead"
        )
    if x.dtype != weight.dtype:
        raise RuntimeError(f"Input type ({x.dtype}) and weight type ({weight.dtype}) should be the same")
    each = [
        values * rank if len(values) == 1 else list(values) for values in (stride, padding, dilation, output_padding)
    ]
    result = []
    for size, kernel, step, pad, gap, extra in zip(sizes, weight.shape[2:], *each, strict=True):
        reach = gap * (kernel - 1)
        result.append(
            (size - 1) * step - 2 * pad + reach + extra + 1 if transposed else (size + 2 * pad - reach - 1) // step + 1
        )
    if min(result) <= 0:
        raise RuntimeError(
            f"Kernel size can't be greater than actual input size (the result would be of size {result})"
        )
    made = weight.shape[1] * groups if transposed else weight.shape[0]
    form = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    last = form and any(not t.is_contiguous() and t.is_contiguous(memory_format=form) for t in (x, weight))
    shape = [*x.shape[: x.dim() - rank - 1], made, *result]
    return torch.empty(shape, dtype=x.dtype, device="meta", memory_format=form if last else torch.contiguous_format)


def _recurrent(x: torch.Tensor, hidden: torch.Tensor, params: list[torch.Tensor], has_biases: bool, num_layers: int,
               dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Without running through the time steps. As cuDNN lays it out: time outermost."""
    if params[0].shape[1] != x.shape[-1]:
        raise RuntimeError(
            f"input.size(-1) must be equal to input_size. Expected {params[0].shape[1]}, got {x.shape[-1]}"
        )
    outer = (x.shape[1], x.shape[0]) if batch_first else x.shape[:-1]
    output = x.new_empty((*outer, hidden.shape[-1] * (2 if bidirectional else 1)))
    return output.transpose(0, 1) if batch_first else output, _contiguous_like(hidden)


def _lstm(x: torch.Tensor, hidden: list[torch.Tensor], *args: Any) -> tuple[torch.Tensor, ...]:
    return *_recurrent(x, hidden[0], *args), _contiguous_like(hidden[1])


_OURS = {
    aten.relu.default: _like,
    aten.abs.default: lambda x: torch.empty_like(x, dtype=_real_kind(x.dtype)),
    aten.hardtanh.default: _like,
    aten.hardswish.default: _like,
    aten.flip.default: _like,
    aten.roll.default: _contiguous_like,
    aten.max.default: _scalar_like,
    aten.min.default: _scalar_like,
    aten.isin.Scalar_Tensor: lambda element, test, **_: test.new_empty((), dtype=torch.bool),
    aten.where.self: _where,
    aten.var.correction: _variance,
    aten.std.correction: _variance,
    aten.var_mean.correction: _variance_mean,
    aten.std_mean.correction: _variance_mean,
    aten._native_batch_norm_legit.default: _batch_norm,
    aten._native_batch_norm_legit.no_stats: _batch_norm,
    aten._native_batch_norm_legit_no_training.default: _batch_norm_eval,
    aten.native_batch_norm.default: _batch_norm,
    aten.native_layer_norm.default: _layer_norm,
    aten.native_group_norm.default: _group_norm,
    aten.native_dropout.default: _dropout,
    aten.convolution.default: _convolution,
}

def _as_strided(tensor: torch.Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> torch.Tensor:
    """On meta tensors PyTorch does not look whether the view stays inside its storage."""
    view = aten.as_strided.default(tensor, size, stride, storage_offset)
    needed = (view.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(size, stride))) * view.element_size()
    held = view.untyped_storage().nbytes()
    if view.numel() > 0 and needed > held:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {view.storage_offset()}, and itemsize "
            f"{view.element_size()} requiring a storage size of {needed} are out of bounds for storage of size {held}"
        )
    return view


def _embedding_bag(weight: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor, *rest: Any) -> tuple[Any, ...]:
    """Without the results for its backward pass, whose sizes depend on device, dtype and mode."""
    return aten._embedding_bag.default(weight, indices, offsets, *rest)[0], None, None, None


def _least_squares(a: torch.Tensor, b: torch.Tensor, *_: Any, **__: Any) -> tuple[Any, ...]:
    """Without residuals, rank and singular values, whose sizes depend on driver and device."""
    vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-1] if vector else b.shape[:-2])
    return b.new_empty((*batch, a.shape[-1], *(() if vector else b.shape[-1:]))), None, None, None


def _reflections(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    *batch, height, width = a.shape
    return a.new_empty((*batch, width, height)).mT, a.new_empty((*batch, min(height, width)))


def _ctc_loss(log_probs: torch.Tensor, targets: torch.Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
              reduction: int = 1, *_: Any) -> torch.Tensor:  # fmt: skip
    if log_probs.dtype not in (torch.float32, torch.float64):
        raise RuntimeError(f'"ctc_loss" not implemented for {log_probs.dtype}')
    return log_probs.new_empty(log_probs.shape[1:2] if reduction == 0 and log_probs.dim() == 3 else ())


# What tells a result's shape instead of the operator itself. Composite operators that the tape holds whole: PyTorch
# allows no meta kernel for these.
WHOLE = {
    aten.as_strided.default: _as_strided,
    aten.lstm.input: _lstm,
    aten.gru.input: _recurrent,
    aten.rnn_tanh.input: _recurrent,
    aten.rnn_relu.input: _recurrent,
    aten.rms_norm.default: _rms_norm,
    aten.scaled_dot_product_attention.default: _attention,
    aten.batch_norm.default: lambda *args: _batch_norm(*args[:-1])[0],
    aten._embedding_bag.default: _embedding_bag,
    aten._embedding_bag_forward_only.default: _embedding_bag,
    aten.fake_quantize_per_tensor_affine.default: _like,
    aten.fake_quantize_per_tensor_affine.tensor_qparams: _like,
    aten.fake_quantize_per_channel_affine.default: _like,
    aten.geqrf.default: _reflections,
    aten.linalg_lstsq.default: _least_squares,
    aten.ctc_loss.IntList: _ctc_loss,
    aten.ctc_loss.Tensor: _ctc_loss,
}
