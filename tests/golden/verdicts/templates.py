"""Sources of references and candidates from the bodies of their forward."""

from __future__ import annotations

from dataclasses import dataclass

HEADER = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
"""


@dataclass
class Candidate:
    name: str
    source: str
    verdict: str
    rule: str = ""
    waive: bool = False
    strict: bool = False


def forward(body: str, init: str = "pass", arguments: str = "x", extra: str = "", init_arguments: str = "") -> str:
    """A ModelNew with this forward; `extra` stands before the class."""
    lines = "\n".join("        " + line for line in body.strip().splitlines())
    setup = "\n".join("        " + line for line in init.strip().splitlines())
    return (f"{HEADER}\n{extra}\nclass ModelNew(nn.Module):\n    def __init__(self{init_arguments}):\n"
            f"        super().__init__()\n{setup}\n    def forward(self, {arguments}):\n{lines}\n")


def model(body: str, inputs: str, init: str = "pass", arguments: str = "x") -> str:
    text = forward(body, init, arguments).replace("ModelNew", "Model")
    return f"{text}\ndef get_inputs():\n    return {inputs}\n\ndef get_init_inputs():\n    return []\n"


def torch_only(name: str, body: str, verdict: str, rule: str = "", **more: str) -> Candidate:
    return Candidate(name, forward(body, **more), verdict, rule, waive=True)


def both(*candidates: tuple, **more: str) -> list[Candidate]:
    """Honest candidates and wrong ones, each (name, body, verdict[, rule])."""
    return [torch_only(*candidate, **more) for candidate in candidates]
