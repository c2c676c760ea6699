import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("acp", torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0))

    def forward(self, x, e, t):
        a = self.acp[t][:, None]
        ap = torch.where(t > 0, self.acp[(t - 1).clamp(min=0)], torch.ones_like(self.acp[t]))[:, None]
        x0 = (x - (1 - a).sqrt() * e) / a.sqrt()
        return ap.sqrt() * x0 + (1 - ap).sqrt() * e


def get_inputs():
    return [torch.randn(4, 64), torch.randn(4, 64), torch.randint(0, 1000, (4,))]


def get_init_inputs():
    return []
