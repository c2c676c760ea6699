"""Parts of windows and frequencies, which are ranges; of resizing with filters, which is two products; of the like."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from special_decompositions import in_floats

Tensor = torch.Tensor
aten = torch.ops.aten


def _places(length: int, periodic: bool, options: dict[str, Any]) -> Tensor:
    """0…1 over a window; over one element more where it is periodic."""
    span = length if periodic else length - 1
    return torch.arange(length, **_as_floats(options)) / max(span, 1)


def _as_floats(options: dict[str, Any]) -> dict[str, Any]:
    kept = {name: options[name] for name in ("dtype", "device") if options.get(name) is not None}
    return {"dtype": torch.get_default_dtype(), **kept}


def _cosines(first: float, *rest: float) -> Callable[..., Tensor]:
    """first + rest[0]·cos(2πx) + rest[1]·cos(4πx)…"""

    def run(length: int, periodic: bool = True, **options: Any) -> Tensor:
        return _sum_of_cosines(length, periodic, (first, *rest), options)

    return run


def _sum_of_cosines(length: int, periodic: bool, factors: tuple[float, ...], options: dict[str, Any]) -> Tensor:
    x = _places(length, periodic, options)
    if length == 1:
        return torch.ones_like(x)
    return sum((2 * math.pi * (k + 1) * x).cos() * f for k, f in enumerate(factors[1:])) + factors[0]


def _hamming(length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any) -> Tensor:
    return _sum_of_cosines(length, periodic, (alpha, -beta), options)


def _bartlett(length: int, periodic: bool = True, **options: Any) -> Tensor:
    x = _places(length, periodic, options)
    return 1 - (2 * x - 1).abs() if length > 1 else torch.ones_like(x)


def _kaiser(length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    x = _places(length, periodic, options)
    if length == 1:
        return torch.ones_like(x)
    away = 2 * x - 1
    return torch.i0(beta * (1 - away * away).clamp(min=0).sqrt()) / torch.i0(torch.full_like(x, beta))


def _frequencies(n: int, d: float = 1.0, **options: Any) -> Tensor:
    place = torch.arange(n, **_as_floats(options))
    return torch.where(place >= (n + 1) // 2, place - n, place) * (1 / (n * d))


def _half_frequencies(n: int, d: float = 1.0, **options: Any) -> Tensor:
    return torch.arange(n // 2 + 1, **_as_floats(options)) * (1 / (n * d))


# --- resizing with filters -------------------------------------------------------------------------------------------


def _triangle(x: Tensor) -> Tensor:
    return (1 - x.abs()).clamp(min=0)


def _cubic(x: Tensor) -> Tensor:
    x = x.abs()
    near, far = ((1.5 * x - 2.5) * x) * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))


def _filtered(kernel: Callable[[Tensor], Tensor], radius: int) -> Callable[..., Tensor]:
    def run(x: Tensor, size: list[int], align_corners: bool, *scales: float | None) -> Tensor:
        if not x.is_floating_point():
            return NotImplemented

        @in_floats  # as PyTorch's kernels weigh half types
        def resized(x: Tensor) -> Tensor:
            rows, columns = (
                _weights(x, dim, out, align_corners, scale, kernel, radius)
                for dim, out, scale in zip((-2, -1), size, (*scales, None, None))
            )
            return rows @ (x @ columns.mT)

        return resized(x)

    return run


def _weights(
    x: Tensor, dim: int, out: int, align_corners: bool, scale: float | None, kernel: Any, radius: int
) -> Tensor:
    """[out, in]: how much of each element is in each new one."""
    size = x.shape[dim]
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = 1 / scale if scale is not None and scale > 0 else size / out
    wide = max(step, 1.0)
    centre = (step * (torch.arange(out, device=x.device, dtype=x.dtype) + 0.5)).unsqueeze(1)
    place = torch.arange(size, device=x.device, dtype=x.dtype)
    low = (centre - radius * wide + 0.5).clamp(min=0).trunc()
    high = (centre + radius * wide + 0.5).clamp(max=size).trunc()
    weight = torch.where((place >= low) & (place < high), kernel((place - centre + 0.5) / wide), 0.0)
    return weight / weight.sum(1, keepdim=True)


PARTS: dict[Any, Callable[..., Any]] = {
    aten.hann_window: _cosines(0.5, -0.5),
    aten.hamming_window: _hamming,
    aten.blackman_window: _cosines(0.42, -0.5, 0.08),
    aten.bartlett_window: _bartlett,
    aten.kaiser_window: _kaiser,
    aten.fft_fftfreq.default: _frequencies,
    aten.fft_rfftfreq.default: _half_frequencies,
    aten._upsample_bilinear2d_aa.default: _filtered(_triangle, 1),
    aten._upsample_bicubic2d_aa.default: _filtered(_cubic, 2),
}
