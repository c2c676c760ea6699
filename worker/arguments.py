"""What a program is given: arguments as its harness passes them, and as descriptors that another program's are made of."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import register_pytree_node

import cuda_api
import guards
from nested import map_arguments
from tape import DTYPE_NAMES


class Sequence(tuple):
    """A list or tuple among a candidate's arguments. A Plan does not say which it was, so it adds to either, and so
    does a part of it."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return Sequence(found) if isinstance(at, slice) else found

    def __mul__(self, times: int) -> Sequence:
        return Sequence(super().__mul__(times))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Sequence:
        return Sequence((*self, *other))

    def __radd__(self, other: Any) -> Sequence:
        return Sequence((*other, *self))


register_pytree_node(Sequence, lambda given: (list(given), None), lambda items, _: Sequence(items))  # as lists are


def as_list(value: Any, name: str) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if not isinstance(value, (list, tuple)):
        guards.reject("contract", f"{name}() returns a {type(value).__name__}; it must return a list of arguments")
    return list(value)


def to_cuda(value: Any) -> Any:
    """Arguments as KernelBench passes them: tensors on the device, everything else as it is."""
    return map_arguments(lambda item: item.to(cuda_api.DEVICE) if isinstance(item, torch.Tensor) else item, value)


def described(value: Any) -> Any:
    """The descriptor that record.py makes an equal argument of; the host writes the same from a Plan."""
    if isinstance(value, torch.Tensor):
        return {"tensor": [DTYPE_NAMES[value.dtype], list(value.shape), list(value.stride())]}
    if isinstance(value, torch.dtype):
        return {"dtype": DTYPE_NAMES[value]}
    if isinstance(value, torch.device):
        return {"device": value.type}
    if isinstance(value, dict):
        return {"dict": [[key, described(item)] for key, item in value.items()]}
    return [described(item) for item in value] if isinstance(value, (list, tuple)) else value
