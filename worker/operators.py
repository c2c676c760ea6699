"""What the recorder knows about ATen operators: which stay whole, which fall into parts, which have their own rule.

Everything on the tape must run on CPU tensors through libtorch's dispatcher, so nothing that only CUDA has is recorded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

import decompositions
import eager_checks
import meta_kernels
import said_sizes
from guards import reject

if TYPE_CHECKING:
    from tensors import Recording

aten = torch.ops.aten

# Composite operators that are one step: they print as the one PyTorch function that the program called.
_WHOLE = {
    "linear", "matmul", "scaled_dot_product_attention", "layer_norm", "group_norm", "rms_norm", "softmax.int",
    "log_softmax.int", "cross_entropy_loss", "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_avg_pool1d",
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input",
    "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "prelu", "batch_norm", "instance_norm",
    "fake_quantize_per_tensor_affine", "fake_quantize_per_tensor_affine.tensor_qparams",
    "fake_quantize_per_channel_affine", "ctc_loss.IntList", "ctc_loss.Tensor",
}  # fmt: skip

# Files between what a program calls and this one.
_BETWEEN = {os.path.dirname(__file__), os.path.dirname(torch.utils._python_dispatch.__file__)}

_MIXES_DEVICES = (
    "aten::copy_", "aten::_to_copy", "aten::index", "aten::_index_put", "aten::set_data", "aten::ctc_loss",
    "aten::_pack_padded_sequence",
)  # fmt: skip


@dataclass(slots=True)
class Traits:
    """What the recorder must know of one overload."""

    name: str
    special: Callable[..., Any] | None  # its own rule: (recording, overload, args, kwargs) → result
    parts: Callable[..., Any] | None  # runs the composite kernel, whose parts are recorded
    infer: Callable[..., Any]  # runs it on meta tensors
    view: bool  # a result shares the storage of an argument
    makes: bool  # takes a dtype and a device: a factory
    dynamic: bool  # the size of a result depends on values
    mixes_devices: bool
    device_argument: bool  # a positional argument may be a device
    written_args: tuple[int, ...]
    written_kwargs: tuple[str, ...]
    written_unsaid: Callable[[tuple], tuple]  # what else is written, of positional arguments


# Masks are told from indices by a rule of their own; the solution of least squares has one size, and the rest of their
# results, which hangs on driver and device, is left out.
_KNOWN_SIZES = {aten.index.Tensor, aten.linalg_lstsq.default}

_known: dict[Any, Traits] = {}


def traits_of(function: Any) -> Traits:
    found = _known.get(function)
    if found is None:
        found = _known[function] = _look_up(function)
    return found


def _look_up(function: Any) -> Traits:
    name = function.name()
    schema = function._schema
    written = [(i, a) for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
    names = {a.name for a in schema.arguments}
    parts = None
    if not name.startswith("aten::"):
        parts = _foreign(function)
    elif name.startswith(("aten::upsample_", "aten::_upsample_")):
        parts = _plain_upsample(function) if name.endswith(".vec") else None
    elif function is aten.dropout.default:
        parts = _dropout
    elif name.startswith("aten::_foreach_") and not schema.returns:
        parts = decompositions.on_each(function)  # a step says by its results what it writes
    elif function._can_decompose() and name.removeprefix("aten::") not in _WHOLE:
        parts = function.decompose
    return Traits(
        name=name,
        special=_SPECIAL.get(function) or _SPECIAL.get(function.overloadpacket),
        parts=parts,
        infer=eager_checks.checked(function, meta_kernels.WHOLE.get(function, function)),
        view=any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns),
        makes={"dtype", "device"} <= names,
        dynamic=(torch.Tag.dynamic_output_shape in function.tags and function not in _KNOWN_SIZES)
        or function is aten._pack_padded_sequence.default,
        mixes_devices=name.startswith(_MIXES_DEVICES),
        device_argument="device" in names,
        written_args=tuple(i for i, a in written if not a.kwarg_only),
        written_kwargs=tuple(a.name for i, a in written),
        written_unsaid=_updated_statistics if function is aten.batch_norm.default else lambda args: (),
    )


def _plain_upsample(function: Any) -> Callable[..., Any]:
    """interpolate(…) becomes the operator that runs, by C++; decompose() would take Python's, down to single reads."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return lambda *args, **kwargs: function._op_dk(key, *args, **kwargs)


def _dropout(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """What drops nothing gives its argument itself, as C++ does; decompose() would take Python's, which copies it."""
    return aten.dropout.default.decompose(input, p, train) if train and p > 0 else input


def _foreign(function: Any) -> Callable[..., Any]:
    """Runs an operator that the program registered itself (torch.library): its parts are recorded."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    return lambda *args, **kwargs: function.redispatch(keys, *args, **kwargs)


def device_kind(device: torch.device) -> str:
    """`cpu` or `cuda`; an error of PyTorch's kind for a device that is not there."""
    if device.type not in ("cpu", "cuda"):
        reject("device", f"tensors on {device} are not supported; use cuda or cpu")
    if device.index not in (None, 0):
        raise RuntimeError("CUDA error: invalid device ordinal")
    return device.type


# --- rules of single operators ---------------------------------------------------------------------------------------


def _read(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    from tensors import read

    if function.overloadpacket is aten.is_nonzero and _is_check_of_pytorch():
        return False
    what = {"_local_scalar_dense": "item()", "item": "item()", "is_nonzero": "a tensor as a condition"}
    name = function.overloadpacket.__name__
    real = [read(a, what.get(name, name)) if isinstance(a, torch.Tensor) else a for a in args]
    return function(*real, **kwargs)


def _is_check_of_pytorch() -> bool:
    """Whether torch.nn.functional asks. It does only to raise an error, as for negative variances."""
    frame = sys._getframe(1)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) in _BETWEEN:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == torch.nn.functional.__file__


def _lift(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """torch.tensor(…): a real tensor enters the program."""
    from tensors import RecordingTensor

    return args[0] if isinstance(args[0], RecordingTensor) else recording.constant(args[0])


def _detach(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """Another object for the same value."""
    from tensors import RecordingTensor

    (tensor,) = args
    if not isinstance(tensor, RecordingTensor):
        return function(tensor)
    return RecordingTensor(tensor.inner, tensor.tid, recording.tape.tensors[tensor.tid].device)


def _conjugated(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """A tensor of its own, not a view with a bit that says so: a Plan's tensors are what their memory holds."""
    return recording.step(aten.conj_physical.default, args, kwargs)


def _negated(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    return recording.step(aten.neg.default, args, kwargs)


def _same(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    return args[0]


def _not_pinned(recording: Recording, function: Any, args: tuple, kwargs: dict) -> bool:
    return False


def _no_check(recording: Recording, function: Any, args: tuple, kwargs: dict) -> None:
    """It raises for a matrix that has no inverse, say: taken as passed."""


def _to(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """x.to(…) as PyTorch does it; its own kernel would ask the CUDA driver."""
    given = {argument.name: value for argument, value in zip(function._schema.arguments, args)} | kwargs
    x, other = given["self"], given.get("other")
    if not isinstance(x, torch.Tensor):  # under two vmaps a number is made a tensor of the result's dtype
        return recording.constant(torch.tensor(x, dtype=given["dtype"]))
    dtype, device = (other.dtype, other.device) if other is not None else (given.get("dtype"), given.get("device"))
    form = given.get("memory_format")
    form = torch.preserve_format if form is None else form
    same = dtype in (None, x.dtype) and (device is None or device_kind(device) == x.device.type)
    if same and not given.get("copy") and (form is torch.preserve_format or x.is_contiguous(memory_format=form)):
        return x
    changes = {"dtype": dtype, "device": device, "memory_format": None if form is torch.preserve_format else form}
    changes = {name: value for name, value in changes.items() if value is not None}
    return recording.step(aten._to_copy.default, (x,), changes)


def _batch_norm(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """Its last argument lets cuDNN have it where eager PyTorch would, whatever torch.backends.cudnn says here."""
    return recording.step(function, (*args[:-1], True), kwargs)


def _updated_statistics(args: tuple) -> tuple:
    """batch_norm writes its running statistics in training, which its schema does not say."""
    return tuple(a for a in args[3:5] if a is not None) if args[5] else ()


def _instance_norm(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    if args[3] is None:
        return recording.step(function, (*args[:-1], True), kwargs)
    with recording:
        return function.decompose(*args, **kwargs)


def _in_place_view(view: Any) -> Callable[..., Any]:
    """t_(), squeeze_() and the like: the Python object names the view from now on."""

    def run(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
        with recording:
            recording.assign(args[0], view(*args, **kwargs))
        return args[0]

    return run


def _fill_diagonal(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """Of a matrix without the view by strides that PyTorch takes, which says less."""
    x, value, wrap = (*args, False)[:3]
    with recording:
        if x.dim() != 2:
            return function.decompose(*args, **kwargs)
        if wrap and x.shape[0] > x.shape[1]:  # the diagonal begins anew below itself
            if not x.is_contiguous():
                return function.decompose(*args, **kwargs)
            x.view(-1)[:: x.shape[1] + 1].fill_(value)
        else:
            x.diagonal().fill_(value)
    return x


def _cov(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """With weights, as PyTorch computes it, but without its questions whether these are allowed and leave freedom."""
    given = {argument.name: value for argument, value in zip(function._schema.arguments, args)} | kwargs
    frequencies, importance = given.get("fweights"), given.get("aweights")
    correction = given.get("correction", 1)
    with recording:
        if frequencies is None and importance is None:
            return function.decompose(*args, **kwargs)
        x = given["self"].view(1, -1) if given["self"].dim() < 2 else given["self"]
        weights = importance if frequencies is None else frequencies
        if frequencies is not None and importance is not None:
            weights = frequencies * importance
        total = weights.sum()
        freedom = total - correction
        if importance is not None and correction != 0:
            freedom = total - correction * (weights * importance).sum() / total
        x = x - ((x * weights).sum(1) / total).unsqueeze(1)
        return (x @ (x * weights).t() / freedom.clamp(min=0)).squeeze()


def _unfold_backward(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """Python's `istft` gives it one window for all lines, which it reads again and again without looking at sizes."""
    frames, sizes, dim, size, step = args
    shape = [*sizes, size]
    shape[dim % len(sizes)] = frames.shape[dim % len(sizes)]
    with recording:
        frames = frames.expand(shape)
    return recording.parts_or_step(function, (frames, sizes, dim, size, step), kwargs)


def _set_to(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """x.set_(y), by which register_parametrization takes a weight over: as `x.data = y`."""
    recording.assign(*args)
    return args[0]


def _grid_sampler(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    """The choice of cuDNN, which only CUDA has, by the operator of all devices."""
    return recording.call(aten.grid_sampler_2d.default, (*args, 0, 0, True), kwargs)


def _only_on_cpus(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    how = "torch.histc, or torch.bucketize and scatter_add, count on GPUs"
    reject("device", f"PyTorch has {function.name()} for CPUs only; {how}")


def _no_resize(recording: Recording, function: Any, args: tuple, kwargs: dict) -> Any:
    reject("resize", f"{function.name()} changes the memory behind a tensor; allocate it with its final size")


_SPECIAL: dict[Any, Callable[..., Any]] = {
    aten._local_scalar_dense: _read,
    aten.item: _read,
    aten.is_nonzero: _read,
    aten.equal: _read,
    aten.allclose: _read,
    aten.lift_fresh: _lift,
    aten.lift: _lift,
    aten.lift_fresh_copy: _lift,
    aten._linalg_check_errors: _no_check,
    aten.to: _to,
    aten.detach: _detach,
    aten.alias: _detach,
    aten._conj: _conjugated,
    aten._neg_view: _negated,
    aten.detach_: _same,
    aten.pin_memory: _same,
    aten._pin_memory: _same,
    aten.is_pinned: _not_pinned,
    aten.batch_norm: _batch_norm,
    aten.instance_norm: _instance_norm,
    aten.cudnn_grid_sampler: _grid_sampler,
    aten.fill_diagonal_: _fill_diagonal,
    aten.index.Tensor: said_sizes.index,
    aten.index_put: said_sizes.index_put,
    aten.index_put_: said_sizes.index_put,
    aten.masked_select: said_sizes.masked_select,
    aten.repeat_interleave.Tensor: said_sizes.repeat_interleave,
    aten.bincount: said_sizes.bincount,
    aten.unfold_backward: _unfold_backward,
    aten.combinations: said_sizes.combinations,
    aten.cov: _cov,
    aten.t_: _in_place_view(aten.t),
    aten.transpose_: _in_place_view(aten.transpose),
    aten.squeeze_: _in_place_view(aten.squeeze),
    aten.unsqueeze_: _in_place_view(aten.unsqueeze),
    aten.as_strided_: _in_place_view(aten.as_strided),
    aten.histogram: _only_on_cpus,
    aten._histogramdd_bin_edges: _only_on_cpus,
    aten._histogramdd_from_bin_cts: _only_on_cpus,
    aten._histogramdd_from_bin_tensors: _only_on_cpus,
    aten.resize_: _no_resize,
    aten.resize_as_: _no_resize,
    aten.set_.source_Tensor: _set_to,
    aten.set_: _no_resize,
}
