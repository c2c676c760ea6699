"""The teacher's kernels for recurrent layers, verified."""

from .shipped import check, convert

# name: layer, input; sizes that a program holds in registers and larger ones, in all directions
LAYERS = {
    "lstm": ("nn.LSTM(5, 7)", "4, 3, 5"),
    "lstm_batch_first": ("nn.LSTM(5, 20, batch_first=True)", "18, 3, 5"),
    "lstm_both_ways": ("nn.LSTM(5, 7, num_layers=2, bidirectional=True)", "4, 3, 5"),
    "gru": ("nn.GRU(5, 7)", "4, 3, 5"),
    "gru_without_biases": ("nn.GRU(5, 33, bias=False)", "4, 3, 5"),
    "rnn": ("nn.RNN(5, 70, nonlinearity='relu', bidirectional=True)", "3, 3, 5"),
    "one_step": ("nn.RNN(1, 1)", "1, 1, 1"),
    "too_large_to_hold": ("nn.LSTM(5, 66)", "2, 3, 5"),
    "too_large_and_long": ("nn.LSTM(3, 66, num_layers=2, bidirectional=True)", "17, 2, 3"),
    "too_large_and_long_gru": ("nn.GRU(3, 129, bias=False, batch_first=True)", "2, 70, 3"),
    "too_large_and_long_rnn": ("nn.RNN(3, 130)", "70, 1, 3"),
    "too_large_stacked": ("nn.LSTM(5, 66, num_layers=3, batch_first=True)", "3, 4, 5"),
    "too_large_stacked_gru": ("nn.GRU(5, 68, num_layers=2)", "4, 17, 5"),
    "too_large_stacked_rnn": ("nn.RNN(5, 132, num_layers=3, bias=False)", "2, 3, 5"),
    "too_large_gru_of_half_type": ("nn.GRU(5, 67, num_layers=2, dtype=torch.bfloat16)", "4, 3, 5"),
}
# All forms: in waves of other sizes, a sequence for each program, step by step; small ones in waves.
IN_EVERY_FORM = {
    "lstm": ("nn.LSTM(3, 24, num_layers=2)", "3, 2, 3"),
    "too_large_lstm": ("nn.LSTM(3, 66, num_layers=2, bidirectional=True)", "17, 2, 3"),
    "too_large_gru": ("nn.GRU(3, 66, num_layers=2)", "33, 2, 3"),
    "too_large_and_short_rnn": ("nn.RNN(3, 129)", "3, 2, 3"),
}
MODULE = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn({shape}).to(next(Model().parameters()).dtype)]


def get_init_inputs():
    return []
"""


def modules(layers):
    return {name: MODULE.format(layer=layer, shape=shape) for name, (layer, shape) in layers.items()}


def test_every_kind_of_layer_passes(taught):
    teacher = taught(modules(LAYERS), 2)
    assert teacher["verdicts"] == {"passed": 2 * len(LAYERS)}, teacher["examples"]


def test_every_form_of_a_layer_passes(taught):
    teacher = taught(modules(IN_EVERY_FORM), 5, "--strict")
    assert teacher["verdicts"] == {"passed": 5 * len(IN_EVERY_FORM)}, teacher["examples"]


# Lists of a layer's parameters, which the layer makes anew whenever it is moved, are none of its settings.
def test_a_module_runs_kernels_after_it_was_moved(tritogen, tmp_path):
    source = """
import torch, torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.RNN(5, 8, 2, "relu", batch_first=True), nn.Linear(8, 3)
    def forward(self, x, h):
        return self.head(self.rnn(x, h)[0][:, -1])

def get_inputs(): return [torch.randn(4, 4, 5), torch.randn(2, 4, 8)]
def get_init_inputs(): return []
"""
    said = convert(tritogen, tmp_path, source, "--strict")
    assert "wrote shipped.py" in said, said
    check(
        tmp_path,
        """
inputs = original.get_inputs()
one, other = pair()
assert kernels_run(other, *inputs) and alike(one, other, *inputs)
for module in (one, other):
    module.double().float()
    with torch.no_grad():
        module.rnn.weight_hh_l1.mul_(0.5)
assert kernels_run(other, *inputs) and alike(one, other, *inputs)
for module in (one, other):
    module.rnn.batch_first = False
assert not kernels_run(other, *inputs) and alike(one, other, *inputs)
""",
    )
