"""torch.compile in a program. A reference means the same without the compiler. A candidate has the text of its reference
around it, so that it may hold what is compiled there; but it may not call that."""

from __future__ import annotations

import functools
from typing import Any

import torch

import guards


def install() -> None:
    """Once per process."""
    torch.compile = _compile
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
