# Nodes without edges have no weight.
# task: edge_weights
# expect: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def roots(edges, root, E: tl.constexpr, B: tl.constexpr):
    node = tl.program_id(0)
    degree = 0.0
    for begin in range(0, E, B):
        degree += tl.sum((tl.load(edges + E + begin + tl.arange(0, B)) == node).to(tl.float32), 0)
    tl.store(root + node, tl.where(degree > 0, tl.rsqrt(degree), 0.0))


@triton.jit
def weights(edges, root, y, E: tl.constexpr, B: tl.constexpr):
    edge = tl.program_id(0) * B + tl.arange(0, B)
    source, target = tl.load(edges + edge), tl.load(edges + E + edge)
    tl.store(y + edge, tl.load(root + source) * tl.load(root + target))


class ModelNew(nn.Module):
    def forward(self, edges):
        root = torch.empty(32, device=edges.device)
        y = torch.empty(1024, device=edges.device)
        roots[(32,)](edges, root, E=1024, B=256)
        weights[(4,)](edges, root, y, E=1024, B=256)
        return y
