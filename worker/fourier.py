"""Discrete Fourier transforms as products with small matrices, of real and imaginary parts.

A length that is a product a·b is done as a transforms of length b and b transforms of length a (Cooley and Tukey): a
sum of many terms in a row would be less exact than PyTorch's.
"""

from __future__ import annotations

import math

import torch

Tensor = torch.Tensor
_LONGEST_SUM = 16  # of one product, where the length has such factors


def of_real(x: Tensor, dims: list[int], normalization: int, onesided: bool) -> tuple[Tensor, Tensor]:
    """aten::_fft_r2c: the last dimension from real numbers, the others as of complex ones."""
    scale = _scale(x, dims, normalization)
    *others, last = dims
    size = x.shape[last]
    re, im = _along(x, None, last, -1)
    if onesided:
        re, im = re.narrow(last, 0, size // 2 + 1), im.narrow(last, 0, size // 2 + 1)
    for dim in others:
        re, im = _along(re, im, dim, -1)
    return _scaled(re, im, scale)


def of_complex(re: Tensor, im: Tensor, dims: list[int], normalization: int, forward: bool) -> tuple[Tensor, Tensor]:
    """aten::_fft_c2c"""
    scale = _scale(re, dims, normalization)
    for dim in dims:
        re, im = _along(re, im, dim, -1 if forward else 1)
    return _scaled(re, im, scale)


def to_real(re: Tensor, im: Tensor, dims: list[int], normalization: int, size: int) -> Tensor:
    """aten::_fft_c2r: back, where the last dimension has the half of a spectrum that tells the other one."""
    *others, last = dims
    for dim in others:
        re, im = _along(re, im, dim, 1)
    half = size // 2 + 1
    re, im = re.narrow(last, 0, half), im.narrow(last, 0, half)
    mirrored = (size - 1) // 2  # of 1…mirrored there is a conjugate at the end
    ends = torch.arange(half, device=re.device)
    ends = ((ends == 0) | (ends * 2 == size)).view(-1, *[1] * (re.dim() - 1 - last % re.dim()))
    im = torch.where(ends, 0.0, im)  # what stands there is not looked at
    if mirrored > 0:
        re = torch.cat([re, re.narrow(last, 1, mirrored).flip(last)], last)
        im = torch.cat([im, -im.narrow(last, 1, mirrored).flip(last)], last)
    result, _ = _along(re, im, last, 1)
    scale = _scale(result, dims, normalization)
    return result if scale == 1 else result * scale


def _scale(x: Tensor, dims: list[int], normalization: int) -> float:
    count = math.prod(x.shape[dim] for dim in dims)
    return {0: 1.0, 1: 1 / math.sqrt(count), 2: 1 / count}[normalization]


def _scaled(re: Tensor, im: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    return (re, im) if scale == 1 else (re * scale, im * scale)


def _along(re: Tensor, im: Tensor | None, dim: int, sign: int) -> tuple[Tensor, Tensor]:
    """One dimension's transform, exp(sign·2πi·jk / n); `im` is None where it is zero."""
    im = None if im is None else im.movedim(dim, -1)
    re, im = _transformed(re.movedim(dim, -1), im, sign)
    return re.movedim(-1, dim), im.movedim(-1, dim)


def _transformed(re: Tensor, im: Tensor | None, sign: int) -> tuple[Tensor, Tensor]:
    size = re.shape[-1]
    outer = _factor(size)
    if outer == 1:
        return _direct(re, im, sign)
    inner = size // outer
    split = lambda x: None if x is None else x.unflatten(-1, (outer, inner)).transpose(-1, -2)  # [inner, outer]
    re, im = _direct(split(re), split(im), sign)  # over elements that are `inner` apart
    turn_re, turn_im = _roots(inner, outer, size, sign, re)
    re, im = re * turn_re - im * turn_im, re * turn_im + im * turn_re
    re, im = _transformed(re.transpose(-1, -2), im.transpose(-1, -2), sign)  # [outer, inner]
    return re.transpose(-1, -2).flatten(-2), im.transpose(-1, -2).flatten(-2)


def _factor(size: int) -> int:
    """The largest factor that is no longer than a sum may be; 1 where the whole is not, or has none."""
    if size <= _LONGEST_SUM:
        return 1
    return next((f for f in range(_LONGEST_SUM, 1, -1) if size % f == 0), 1)


def _direct(re: Tensor, im: Tensor | None, sign: int) -> tuple[Tensor, Tensor]:
    size = re.shape[-1]
    cosine, sine = _roots(size, size, size, sign, re)
    if im is None:
        return re @ cosine, re @ sine
    return re @ cosine - im @ sine, re @ sine + im @ cosine


def _roots(rows: int, columns: int, size: int, sign: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sign·sin of 2π·jk / size; integers take the angle to an eighth of a turn, exactly."""
    place = torch.arange(rows, device=like.device).unsqueeze(1) * torch.arange(columns, device=like.device)
    turns = torch.remainder(place, size) * 4
    quarter = torch.div(turns + size // 2, size, rounding_mode="floor")
    angle = (turns - quarter * size).to(like.dtype) * (math.pi / 2 / size)
    cosine, sine = angle.cos(), angle.sin()
    odd, quarter = torch.remainder(quarter, 2) == 1, torch.remainder(quarter, 4)
    real = torch.where((quarter == 1) | (quarter == 2), -1.0, 1.0) * torch.where(odd, sine, cosine)
    imaginary = torch.where(quarter >= 2, -1.0, 1.0) * torch.where(odd, cosine, sine)
    return real, sign * imaginary
