"""The outside of tensors that stand for others: what PyTorch sees of a recording tensor."""

from __future__ import annotations

import torch


def make_wrapper(
    kind: type, like: torch.Tensor, dtype: torch.dtype, device: torch.device, storage_offset: int = 0
) -> torch.Tensor:
    """A tensor of class `kind` with the sizes and strides of `like`.

    Never an inference tensor: PyTorch gives the result of a view its base's version counter, which those do not have.
    """
    with torch.inference_mode(False):
        return torch.Tensor._make_wrapper_subclass(
            kind, like.shape, strides=like.stride(), storage_offset=storage_offset, dtype=dtype, device=device
        )
