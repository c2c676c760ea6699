"""The standard deviation in each class, 0 in a class of one: generated labels make none."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, label):
        member = (label[None, :] == torch.arange(6, device=x.device)[:, None]).float()
        count = member.sum(1)
        mean = member @ x / count.clamp(min=1)[:, None]
        squares = ((x[None] - mean[:, None]) ** 2 * member[:, :, None]).sum(1)
        return squares / (count - 1).clamp(min=1)[:, None]


def get_inputs():
    return [torch.randn(128, 16), torch.randint(0, 6, (128,))]


def get_init_inputs():
    return []
