import torch
import torch.nn as nn


class Model(nn.Module):
    """The last positive element of each row; the first one of the row where there is none."""

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        last = torch.where(x > 0, places, 0).amax(dim=1, keepdim=True)
        return x.gather(1, last).squeeze(1)


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return []
