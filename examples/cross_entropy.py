"""Mean cross-entropy of class scores against integer labels."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, logits, labels):
        return F.cross_entropy(logits, labels)


batch, classes = 256, 1000


def get_inputs():
    return [torch.randn(batch, classes), torch.randint(0, classes, (batch,))]


def get_init_inputs():
    return []
