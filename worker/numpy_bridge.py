"""Where Python data becomes a tensor without passing through the dispatcher: those doors lead onto the tape too."""

from __future__ import annotations

from typing import Any

import numpy
import torch

import tensors


def _entering(make: Any) -> Any:
    """`make` with its real result turned into a constant of the program."""

    def enter(data: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        result = make(data, *args, **kwargs)
        if isinstance(result, tensors.RecordingTensor) or not tensors.recording_is_on():
            return result
        return tensors.current().constant(result)

    return enter


def _as_tensor(make: Any) -> Any:
    """torch.as_tensor and torch.asarray: an array enters as it is, then moves and converts as any tensor does."""

    def enter(data: Any, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> torch.Tensor:
        if isinstance(data, torch.Tensor):
            return data.to(device=device, dtype=dtype)
        if isinstance(data, numpy.ndarray):
            return torch.from_numpy(data).to(device=device, dtype=dtype)
        return torch.tensor(data, *args, dtype=dtype, device=device, **kwargs)

    return enter


def install() -> None:
    torch.from_numpy = _entering(torch.from_numpy)
    torch.as_tensor = _as_tensor(torch.as_tensor)
    torch.asarray = _as_tensor(torch.asarray)
