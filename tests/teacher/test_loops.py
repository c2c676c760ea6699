"""Loops over time steps, written out by who traces them: layers in the answers. Every candidate against PyTorch."""
import pytest

import oracle

HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F

B, T, I, H = 3, 5, 4, 6


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x, h):
        {forward}


def get_inputs():
    return [torch.randn({shape}), torch.randn(B, H)]
"""
BATCH_FIRST = "B, T, I"

# name: (set-up, forward, what the first answer's file says)
LOOPS = {
    "plain": ("self.l = nn.Linear(I + H, H)\nself.o = nn.Linear(H, 3)",
              "ys = []\nfor t in range(T):\n    h = torch.tanh(self.l(torch.cat([x[:, t], h], 1)))\n    ys.append(self.o(h))\nreturn torch.stack(ys, 1), h"),
    "matrices": ("self.a, self.b, self.c = [nn.Parameter(torch.randn(*s) * 0.3) for s in ((I, H), (H, H), (H,))]",
                 "for xt in x.unbind(1):\n    h = torch.relu(xt @ self.a + h @ self.b + self.c)\nreturn h"),
    "lstm_in_another_order": ("self.l = nn.Linear(I + H, 4 * H)",
                              "c, ys = h * 0.5, []\nfor t in reversed(range(T)):\n    f, i, o, g = self.l(torch.cat([h, x[:, t]], -1)).chunk(4, -1)\n"
                              "    c = c * torch.sigmoid(f) + torch.tanh(g) * torch.sigmoid(i)\n    h = torch.tanh(c) * torch.sigmoid(o)\n    ys.append(h)\n"
                              "return torch.stack(ys, 2), c"),
    "lstm_gate_by_gate": ("self.x = nn.ModuleList([nn.Linear(I, H) for _ in range(4)])\nself.h = nn.ModuleList([nn.Linear(H, H, bias=k == 2) for k in range(4)])",
                          "c = torch.zeros_like(h)\nfor t in range(T):\n    i, f, o = [torch.sigmoid(self.x[k](x[:, t]) + self.h[k](h)) for k in range(3)]\n"
                          "    c = f * c + i * torch.tanh(self.x[3](x[:, t]) + self.h[3](h))\n    h = o * torch.tanh(c)\nreturn h, c"),
    "gru": ("self.x, self.h = nn.Linear(I, 3 * H), nn.Linear(H, 3 * H)",
            "for t in range(T):\n    a, b = self.x(x[:, t]).chunk(3, 1), self.h(h).chunk(3, 1)\n    r, z = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])\n"
            "    h = (1 - z) * torch.tanh(a[2] + r * b[2]) + z * h\nreturn h"),
    "two_inputs": ("self.l, self.k, self.r = nn.Linear(I, H), nn.Linear(I, H), nn.Linear(H, H)",
                   "for t in range(T):\n    h = torch.tanh(self.l(x[:, t]) + self.k(x[:, T - 1 - t]) + self.r(h))\nreturn h"),
    "two_layers": ("self.a, self.b = nn.Linear(I + H, H), nn.Linear(2 * H, H)",
                   "g, ys = h, []\nfor t in range(T):\n    h = torch.tanh(self.a(torch.cat([x[:, t], h], 1)))\n    g = torch.tanh(self.b(torch.cat([h, g], 1)))\n"
                   "    ys.append(torch.softmax(torch.cat([g, h], 1), 1))\nreturn torch.cat(ys, 0)"),
}
# Stay loops, the first one because of how it is traced here; an LSTM's cells on the way are used; a step's input is made of the state.
OTHERS = {
    "inputs_multiplied_before": ("self.l, self.r = nn.Linear(I, H), nn.Linear(H, H, bias=False)",
                                 "p, ys = self.l(x), []\nfor t in range(T):\n    h = torch.tanh(p[:, t] + self.r(h))\n    ys.append(h)\nreturn torch.stack(ys, 1)"),
    "all_cells": ("self.l = nn.Linear(I + H, 4 * H)",
                  "c, ys = h, []\nfor t in range(T):\n    i, f, g, o = self.l(torch.cat([x[:, t], h], 1)).chunk(4, 1)\n    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)\n"
                  "    h = torch.sigmoid(o) * torch.tanh(c)\n    ys.append(c)\nreturn torch.stack(ys, 1)"),
    "fed_back": ("self.l, self.o = nn.Linear(I + H, H), nn.Linear(H, I)",
                 "y = x[:, 0]\nfor t in range(T):\n    h = torch.tanh(self.l(torch.cat([y, h], 1)))\n    y = self.o(h)\nreturn y"),
}


def file_of(init, forward):
    return HEAD.format(init=init.replace("\n", "\n        "), forward=forward.replace("\n", "\n        "), shape=BATCH_FIRST)


@pytest.mark.parametrize("name", list(LOOPS))
def test_loops_are_layers(name):
    assert oracle.check(file_of(*LOOPS[name]), strict=True, count=4, with_first="for step in range(")


@pytest.mark.parametrize("name", list(OTHERS))
def test_other_loops(name):
    assert oracle.check(file_of(*OTHERS[name]), strict=True, count=2)
