"""Writes right candidates for KernelBench's level1/19_ReLU.py, which differ in block size and warps, as a batch.

    bench/task19.py 19_ReLU.py COUNT > batch.jsonl
"""

import json
import pathlib
import sys

CANDIDATE = """import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.maximum(tl.load(x_ptr + offsets, mask=mask), 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = x.numel()
        relu[(triton.cdiv(n, {block}),)](x, out, n, BLOCK={block}, num_warps={warps})
        return out
"""


def main() -> None:
    reference, count = pathlib.Path(sys.argv[1]).read_text(), int(sys.argv[2])
    variants = [(block, warps) for warps in (4, 8) for block in (512, 1024, 2048, 4096, 8192, 16384)]
    for number, (block, warps) in enumerate(variants[:count]):
        candidate = CANDIDATE.format(block=block, warps=warps)
        print(json.dumps(dict(id=f"relu-{number}", reference=reference, candidate=candidate, expect=["passed"])))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
