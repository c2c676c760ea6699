# Dropout of the input is more than a draw: its product is PyTorch's.
# task: with_noise
# expect: rejected
# rule: strict
# mode: strict
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add(x, kept, noise, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(kept + i, mask=i < n)
    tl.store(y + i, v + 0.1 * tl.load(noise + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kept = nn.functional.dropout(x, 0.25, training=True)
        add[(4,)](x, kept, torch.randn_like(x), y, 4096, BLOCK=1024)
        return y
