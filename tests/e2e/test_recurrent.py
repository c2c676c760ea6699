"""The teacher's kernels for recurrent layers, verified."""

import json

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
    return [torch.randn({shape})]


def get_init_inputs():
    return []
"""


def test_every_kind_of_layer_passes(tritogen, tmp_path):
    folder = tmp_path / "layers"
    folder.mkdir()
    for name, (layer, shape) in LAYERS.items():
        (folder / f"{name}.py").write_text(MODULE.format(layer=layer, shape=shape))
    done = tritogen("eval", "--suite", "kernelbench", folder, "--proposer", "teacher", "-n", "2", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["left_out"] == 0
    verdicts = summary["proposers"]["teacher"]["verdicts"]
    assert verdicts == {"passed": 2 * len(LAYERS)}, summary["proposers"]["teacher"]["examples"]
