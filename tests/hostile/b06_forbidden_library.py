# A library whose kernels are the answer.
# task: attention
# expect: runtime_error
# says: fla
import torch.nn as nn

from fla.ops.common import attention


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        return attention(q, k, v)
