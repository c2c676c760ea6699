"""Parts of what layers and losses call as one operator: recurrent cells, quantisation, alignments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

Tensor = torch.Tensor
aten = torch.ops.aten

_MOST_STEPS = 256  # of an alignment, which are written out


def _gates(x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> Any:
    return F.linear(x, w_ih, b_ih), F.linear(h, w_hh, b_hh)


def _lstm_cell(x: Tensor, hx: list[Tensor], *weights: Any, **named: Any) -> tuple[Tensor, Tensor]:
    h, c = hx
    of_input, of_state = _gates(x, h, *_four(weights, named))
    i, f, g, o = (of_input + of_state).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def _gru_cell(x: Tensor, h: Tensor, *weights: Any, **named: Any) -> Tensor:
    of_input, of_state = (part.chunk(3, -1) for part in _gates(x, h, *_four(weights, named)))
    r, z = (torch.sigmoid(of_input[i] + of_state[i]) for i in (0, 1))
    n = torch.tanh(of_input[2] + r * of_state[2])
    return n + z * (h - n)


def _plain_cell(activation: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def run(x: Tensor, h: Tensor, *weights: Any, **named: Any) -> Tensor:
        of_input, of_state = _gates(x, h, *_four(weights, named))
        return activation(of_input + of_state)

    return run


def _four(weights: tuple, named: dict[str, Any]) -> tuple:
    """w_ih, w_hh, b_ih, b_hh; the biases may be missing."""
    given = dict(zip(("w_ih", "w_hh", "b_ih", "b_hh"), weights)) | named
    return tuple(given.get(name) for name in ("w_ih", "w_hh", "b_ih", "b_hh"))


def _fake_quantize(x: Tensor, scale: Any, zero_point: Any, low: int, high: int) -> Tensor:
    inverse = 1.0 / scale
    return ((torch.round(x * inverse) + zero_point).clamp(low, high) - zero_point) * scale


def _fake_quantize_channels(x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int) -> Tensor:
    shape = [1] * x.dim()
    shape[axis] = -1
    return _fake_quantize(x, scale.reshape(shape), zero_point.reshape(shape).to(x.dtype), low, high)


def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """The probabilities of all alignments, step by step; with lengths as tensors, each sequence's own end is picked."""
    if log_probs.dim() != 3 or targets.dim() != 2 or log_probs.shape[0] > _MOST_STEPS or targets.shape[1] == 0:
        return NotImplemented
    steps, batch, _ = log_probs.shape
    lengths = [_on_device(given, log_probs) for given in (input_lengths, target_lengths)]
    places = torch.arange(2 * targets.shape[1] + 1, device=log_probs.device)
    labels = torch.where(places % 2 == 1, targets.index_select(1, (places // 2).clamp(max=targets.shape[1] - 1)), blank)
    before = F.pad(labels[:, :-2], (2, 0), value=blank)
    may_skip = (labels != blank) & (labels != before)
    emitted = log_probs.gather(2, labels.unsqueeze(0).expand(steps, batch, places.shape[0]))
    alpha = torch.where(places < 2, emitted[0], -math.inf)
    ends = alpha
    for step in range(1, steps):
        one, two = F.pad(alpha[:, :-1], (1, 0), value=-math.inf), F.pad(alpha[:, :-2], (2, 0), value=-math.inf)
        ways = torch.stack([alpha, one, torch.where(may_skip, two, -math.inf)])
        alpha = _log_of_sum(ways) + emitted[step]
        ends = torch.where((lengths[0] == step + 1).unsqueeze(1), alpha, ends)
    last = 2 * lengths[1].unsqueeze(1)
    both = torch.stack([ends.gather(1, last), torch.where(last > 0, ends.gather(1, (last - 1).clamp(min=0)), -math.inf)])
    loss = -_log_of_sum(both).squeeze(1)
    if zero_infinity:
        loss = torch.where(loss == math.inf, 0.0, loss)
    if reduction == 1:
        return (loss / lengths[1].clamp(min=1).to(loss.dtype)).mean()
    return loss.sum() if reduction == 2 else loss


def _on_device(lengths: Any, like: Tensor) -> Tensor:
    if isinstance(lengths, torch.Tensor):
        return lengths.to(device=like.device, dtype=torch.int64)
    return torch.tensor(lengths, dtype=torch.int64, device=like.device)


def _log_of_sum(x: Tensor) -> Tensor:
    """logsumexp over the first dimension, of -inf alone too."""
    largest = x.amax(0)
    shift = torch.where(largest == -math.inf, 0.0, largest)
    return (x - shift).exp().sum(0).log() + shift


def _multilabel_margin_loss(x: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """PyTorch's own parts count the places behind the first -1 as labels 0."""
    lines, labels = torch.atleast_2d(x), torch.atleast_2d(target)
    place = torch.arange(lines.shape[1], device=x.device)
    given = place < torch.where(labels == -1, place, lines.shape[1]).amin(1, keepdim=True)
    chosen = lines.gather(1, torch.where(given, labels, 0))
    is_label = (place == torch.where(given, labels, -1).unsqueeze(-1)).any(1)
    gaps = (1 - chosen.unsqueeze(-1) + lines.unsqueeze(1)).clamp_min(0)  # [line, label, class]
    loss = torch.where(given.unsqueeze(-1) & ~is_label.unsqueeze(1), gaps, 0).sum((1, 2)) / lines.shape[1]
    loss = (lambda: loss.reshape(x.shape[:-1]), loss.mean, loss.sum)[reduction]()
    return loss, is_label.to(x.dtype).reshape(x.shape)


PARTS: dict[Any, Callable[..., Any]] = {
    aten.lstm_cell.default: _lstm_cell,
    aten.gru_cell.default: _gru_cell,
    aten.rnn_tanh_cell.default: _plain_cell(torch.tanh),
    aten.rnn_relu_cell.default: _plain_cell(torch.relu),
    aten.fake_quantize_per_tensor_affine.default: _fake_quantize,
    aten.fake_quantize_per_tensor_affine.tensor_qparams: _fake_quantize,
    aten.fake_quantize_per_channel_affine.default: _fake_quantize_channels,
    aten.multilabel_margin_loss_forward.default: _multilabel_margin_loss,
    aten.ctc_loss.IntList: _ctc_loss,
    aten.ctc_loss.Tensor: _ctc_loss,
}
