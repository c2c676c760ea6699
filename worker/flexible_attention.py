"""flex_attention as what it computes: PyTorch calls a compiler for it, even where nothing is compiled.

Stands in for torch.nn.attention.flex_attention, as `stand_ins` does. `score_mod` and `mask_mod` are called once, with
all indices as tensors that broadcast, where PyTorch calls them for one element at a time under vmap: programs of single
numbers, which is what both have to be, say the same either way. The rest follows `math_attention` of
torch/_higher_order_ops/flex_attention.py: scores in float32 (float64 stays), rows without a key are 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

Mod = Callable[..., Any]

_BLOCK = 128  # as PyTorch has it


class AuxRequest(NamedTuple):
    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    lse: torch.Tensor | None = None
    max_scores: torch.Tensor | None = None


class BlockMask:
    """What a mask is made of. Which blocks are empty is for those to find out who need it."""

    def __init__(self, mask_mod: Mod, sizes: tuple[int, int, int, int], block: tuple[int, int], device: Any) -> None:
        self.mask_mod = mask_mod
        self.shape = sizes
        self.seq_lengths = sizes[2:]
        self.BLOCK_SIZE = block
        self._device = device

    def to_dense(self) -> torch.Tensor:
        """1 for blocks with a key in them. (B, H, ceil(Q / block), ceil(KV / block)), int32."""
        mask = create_mask(self.mask_mod, *self.shape, self._device)
        rows, columns = self.BLOCK_SIZE
        padding = (0, -mask.shape[3] % columns, 0, -mask.shape[2] % rows)
        blocks = torch.nn.functional.pad(mask, padding).unflatten(3, (-1, columns)).unflatten(2, (-1, rows))
        return blocks.any(-1).any(-2).to(torch.int32)

    def to(self, device: Any) -> "BlockMask":
        return BlockMask(self.mask_mod, self.shape, self.BLOCK_SIZE, device)


def create_block_mask(
    mask_mod: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cuda",
    BLOCK_SIZE: int | tuple[int, int] = _BLOCK, _compile: bool = False,
) -> BlockMask:  # fmt: skip
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), block, device)


def create_mask(mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cuda") -> Any:
    """Bool, (B, H, Q_LEN, KV_LEN), of a mask or of scores that are -Inf where nothing is seen."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    if mod_fn.__code__.co_argcount == 5:
        scores = mod_fn(torch.zeros(sizes, device=device), *_indices(sizes, device))
        return torch.isneginf(scores).logical_not().expand(sizes)
    return mod_fn(*_indices(sizes, device)).expand(sizes)


def and_masks(*mask_mods: Mod) -> Mod:
    return lambda *indices: functools.reduce(torch.logical_and, [mod(*indices) for mod in mask_mods])


def or_masks(*mask_mods: Mod) -> Mod:
    return lambda *indices: functools.reduce(torch.logical_or, [mod(*indices) for mod in mask_mods])


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> torch.Tensor:
    return batch.new_ones((), dtype=torch.bool)


def flex_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, score_mod: Mod | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False,
    kernel_options: Any = None, *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev): (B, Hq, L, Ev) in the query's dtype."""
    _check(query, key, value, block_mask, enable_gqa)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (factor.repeat_interleave(groups, 1) for factor in (key, value))
    precision = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = query.to(precision) @ key.to(precision).transpose(-2, -1)
    scores = scores * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    indices = _indices(scores.shape, scores.device)
    if score_mod is not None:
        scores = score_mod(scores, *indices).to(precision)
    if block_mask is not None:
        scores = torch.where(block_mask.mask_mod(*indices), scores, -math.inf)
    # Without either no row is empty.
    plain = score_mod is None and block_mask is None
    weights = scores.softmax(-1) if plain else torch._safe_softmax(scores, -1)
    result = weights.to(query.dtype) @ value.to(query.dtype)
    if return_aux is not None:
        lse = scores.logsumexp(-1) if return_aux.lse else None
        return result, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
    return (result, scores.logsumexp(-1)) if return_lse else result


def _indices(sizes: Any, device: Any) -> list[torch.Tensor]:
    """Of the four dimensions, each along its own."""
    return [torch.arange(size, device=device).view([-1 if i == d else 1 for i in range(4)])
            for d, size in enumerate(sizes)]  # fmt: skip


def _check(query: Any, key: Any, value: Any, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, of_keys = query.shape[1], key.shape[1]
    if (heads % of_keys if enable_gqa else heads != of_keys) != 0:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and "
                         f"Hkv={of_keys}. Try setting enable_gqa=True for GQA.")  # fmt: skip
    lengths = (query.shape[2], key.shape[2])
    if block_mask is not None and block_mask.seq_lengths != lengths:
        raise ValueError(f"block_mask was created for {block_mask.seq_lengths} but got q_len={lengths[0]} and "
                         f"kv_len={lengths[1]}")  # fmt: skip


_PUBLIC = (AuxRequest, AuxOutput, BlockMask, create_block_mask, create_mask, and_masks, or_masks, noop_mask, flex_attention)
NAMES = {one.__name__: one for one in _PUBLIC} | {"_mask_mod_signature": Mod, "_score_mod_signature": Mod}
