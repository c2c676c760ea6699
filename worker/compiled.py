"""torch.compile in a program. A reference means the same without the compiler. A candidate has the text of its reference
around it, so that it may hold what is compiled there; but it may not call that. torch.cond, which PyTorch gives to the
compiler wherever it stands, computes both sides: neither may write, so what is not chosen leaves no trace."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils import _pytree

import guards


def install() -> None:
    """Once per process."""
    torch.compile = _compile
    torch.cond = _cond
    torch.nn.Module.compile = _compile_in_place


class CompiledModule(torch.nn.Module):
    """What torch.compile makes of a module: names of its state begin with _orig_mod."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self._orig_mod = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        guards.check_compiled_call()
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules["_orig_mod"], name)


def _compile(model: Any = None, **options: Any) -> Any:
    if model is None:  # a decorator with arguments
        return functools.partial(_compile, **options)
    if isinstance(model, torch.nn.Module):
        return CompiledModule(model)

    @functools.wraps(model)
    def run(*args: Any, **kwargs: Any) -> Any:
        guards.check_compiled_call()
        return model(*args, **kwargs)

    return run


def _compile_in_place(self: torch.nn.Module, *_: Any, **__: Any) -> None:
    self.register_forward_pre_hook(lambda *_: guards.check_compiled_call())


def _cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    if not isinstance(pred, torch.Tensor):
        return (true_fn if pred else false_fn)(*operands)
    if pred.numel() != 1:
        raise RuntimeError(f"torch.cond takes one bool, not {pred.numel()}")
    chosen = pred.reshape(())
    return _pytree.tree_map(lambda yes, no: torch.where(chosen, yes, no), true_fn(*operands), false_fn(*operands))
