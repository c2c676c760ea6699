"""What eager PyTorch refuses and meta kernels let pass.

A model of which `.half()` missed a tensor, or that fills half-precision scores with -1e9, does not run on any device;
shape inference alone would record it, and what was written for it would be blamed for the reference's mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten

# Arguments, by position, whose tensors must have one dtype.
_ONE_DTYPE = {
    aten.mm.default: (0, 1),
    aten.bmm.default: (0, 1),
    aten.mv.default: (0, 1),
    aten.matmul.default: (0, 1),
    aten.linear.default: (0, 1),
    aten.baddbmm.default: (1, 2),
    aten.grid_sampler_2d.default: (0, 1),
    aten.grid_sampler_3d.default: (0, 1),
    aten.binary_cross_entropy.default: (0, 1),
    aten.cross_entropy_loss.default: (0, 2),
    aten.nll_loss_forward.default: (0, 2),
    aten.nll_loss2d_forward.default: (0, 2),
    aten._cdist_forward.default: (0, 1),
    aten.index_put.default: (0, 2),
    aten.index_put_.default: (0, 2),
}

# Numbers, by position and name, that must be values of the result's dtype.
_VALUES = {
    aten.masked_fill.Scalar: ((2, "value"),),
    aten.masked_fill_.Scalar: ((2, "value"),),
    aten.full.default: ((1, "fill_value"),),
    aten.full_like.default: ((1, "fill_value"),),
    aten.new_full.default: ((2, "fill_value"),),
    aten.fill.Scalar: ((1, "value"),),
    aten.fill_.Scalar: ((1, "value"),),
    aten.index_fill.int_Scalar: ((3, "value"),),
    aten.index_fill_.int_Scalar: ((3, "value"),),
    aten.scatter.value: ((3, "value"),),
    aten.scatter_.value: ((3, "value"),),
    aten.constant_pad_nd.default: ((2, "value"),),
    aten.clamp.default: ((1, "min"), (2, "max")),
    aten.clamp_min.default: ((1, "min"),),
    aten.clamp_max.default: ((1, "max"),),
    aten.hardtanh.default: ((1, "min_val"), (2, "max_val")),
}


def checked(function: torch._ops.OpOverload, infer: Callable[..., Any]) -> Callable[..., Any]:
    """`infer`, which gives the results of `function` for meta tensors, and before or after it what eager looks at.

    The function returned raises RuntimeError where eager PyTorch does.
    """
    if function in _ONE_DTYPE:
        one, other = _ONE_DTYPE[function]

        def of_one_dtype(*args: Any, **kwargs: Any) -> Any:
            pair = [args[at] if at < len(args) else None for at in (one, other)]
            if all(isinstance(tensor, torch.Tensor) for tensor in pair) and pair[0].dtype != pair[1].dtype:
                name, dtypes = function.overloadpacket.__name__, f"{pair[0].dtype} and {pair[1].dtype}"
                raise RuntimeError(f"{name} expects tensors of one dtype, but got {dtypes}")
            return infer(*args, **kwargs)

        return of_one_dtype
    if function in _VALUES:

        def of_values(*args: Any, **kwargs: Any) -> Any:
            result = infer(*args, **kwargs)
            for at, name in _VALUES[function]:
                _must_fit(args[at] if at < len(args) else kwargs.get(name), result.dtype)
            return result

        return of_values
    return infer


def _must_fit(number: Any, dtype: torch.dtype) -> None:
    """Infinite numbers fit; what is finite and above the largest of a floating dtype does not."""
    if dtype.is_floating_point and isinstance(number, int | float):
        if torch.finfo(dtype).max < abs(number) < float("inf"):
            raise RuntimeError(f"value {number} cannot be converted to {dtype} without overflow")
