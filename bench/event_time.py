"""Times of short calls on the current GPU, by events."""

import torch


def milliseconds(call) -> float:
    """The least mean of three times five calls, after one to warm up."""
    call()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    best = float("inf")
    for _ in range(3):
        first.record()
        for _ in range(5):
            call()
        last.record()
        last.synchronize()
        best = min(best, first.elapsed_time(last) / 5)
    return best
