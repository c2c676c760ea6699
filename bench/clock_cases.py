"""Right candidates of many kinds and lengths, from 5 µs to 1 ms, for bench/clock_check.py and bench/clock_agreement.py."""

import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
from make_candidates import HEAD, REFERENCE, candidates  # noqa: E402

# Steps of arithmetic that leave x as it is: the length of the program is in proportion to `steps`.
CHAIN = HEAD + """
@triton.jit
def kernel(x_ptr, out_ptr, n, steps, one, zero, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    for _ in range(steps):
        x = x * one + zero
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = x.numel()
        kernel[(triton.cdiv(n, 1024),)](x, out, n, {steps}, 1.0, 0.0, BLOCK=1024)
        return out
"""
CHAIN_REFERENCE = REFERENCE.format(args="x", body="torch.relu(x)", inputs="torch.randn(1024, {columns})")


def chain(columns: int, steps: int) -> dict:
    return dict(reference=CHAIN_REFERENCE.format(columns=columns), candidate=CHAIN.format(steps=steps))


def chain_lengths(count: int) -> list[int]:
    """About 20 µs to 1 ms on an H200 for 2M elements."""
    return [round(300 * 50 ** (i / (count - 1))) for i in range(count)]


def named(prefix: str, lines: list[dict]) -> list[dict]:
    return [dict(id=f"{prefix}-{i:02}", reference=line["reference"], candidate=line["candidate"], expect=["passed"])
            for i, line in enumerate(lines)]


def all_kinds(small: int, medium: int, large: int, chains: int, seed: int = 1) -> list[dict]:
    """So many candidates of 20-300 thousand, 1-16 million and 16-32 million elements, and chains of arithmetic."""
    def synthetic(count, low, high):
        return list(candidates(count, seed, (low, high), right=True))

    return (named("small", synthetic(small, 20_000, 300_000)) + named("medium", synthetic(medium, 1_000_000, 16_000_000))
            + named("large", synthetic(large, 16_000_000, 32_000_000))
            + named("chain", [chain(2048, steps) for steps in chain_lengths(chains)]))


def slowed(candidate: str, elements: int, rows: int) -> tuple[str, str, float]:
    """A pointwise or reducing candidate, one that does 5% of its programs twice, and the share of work that is more."""
    if "row = tl.program_id(0)" in candidate:
        both = candidate.replace("row = tl.program_id(0)", f"row = tl.program_id(0) % {rows}")
        programs, grid = rows, "(x.shape[0],)"
    else:
        both = candidate.replace("tl.program_id(0) * BLOCK", "(tl.program_id(0) % tl.cdiv(n, BLOCK)) * BLOCK")
        block = int(candidate.split("triton.cdiv(n, ")[1].split(")")[0])
        programs, grid = math.ceil(elements / block), f"(triton.cdiv(n, {block}),)"
    more = round(0.05 * programs)
    assert both != candidate and grid in both
    return both, both.replace(grid, f"({programs + more},)"), more / programs
