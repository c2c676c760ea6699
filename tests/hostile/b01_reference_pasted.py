# The reference under the name of the answer.
# task: layer_norm
# expect: rejected
# rule: no_triton
# says: launches no Triton kernel
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(200)

    def forward(self, x):
        return self.norm(x)
