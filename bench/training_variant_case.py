"""What the cases of bench/training_kernel_variants.py share. A case is a kernel at a shape: its memory, what it should give, how it is
launched, and the variants to try, today's first.

Of tensors: b is the weights' dtype, f float32, i int32. `changed` is read and written, `written` only written.
"""
import functools
import os

import triton

REHEARSAL = os.environ.get("TRITON_INTERPRET") == "1"
SHAPES = {  # chunk: tokens whose logits are held at once (src/train/fused_pass.cc: LogitTokens)
    "embedded": {"tokens": 65536, "hidden": 384, "intermediate": 1024, "heads": 6, "kv_heads": 2, "norm": True, "vocabulary": 2048,
                 "chunk": 16384, "layers": 10},
    "0.5b": {"tokens": 32768, "hidden": 896, "intermediate": 4864, "heads": 14, "kv_heads": 2, "norm": False, "vocabulary": 151936,
             "chunk": 7040, "layers": 24},
}  # fmt: skip
if REHEARSAL:
    SHAPES = {"embedded": SHAPES["embedded"] | {"tokens": 37, "chunk": 5}, "0.5b": SHAPES["0.5b"] | {"tokens": 9, "chunk": 2}}


@functools.cache
def unaligned(function, *names):
    """The kernel as if nothing were known of these numbers."""
    return triton.jit(function.fn, do_not_specialize=list(names))


def text_of(variant):
    return " ".join(str(value) if key == "form" else f"{key}={value}" for key, value in variant.items())


def constants_of(variant):
    return {key: value for key, value in variant.items() if key not in ("form", "programs")}


def form(name, warps=4, **constants):
    return {"form": name, **constants, "num_warps": warps}


class Case:
    changed, written = (), ()

    def __init__(self, shape):
        self.s = shape
        self.n, self.hidden, self.wide = shape["tokens"], shape["hidden"], shape["intermediate"]
        self.heads, self.kv = shape["heads"], shape["kv_heads"]
        self.both = self.heads + self.kv
        self.width = max(512, triton.next_power_of_2(self.hidden))

    def fill(self, tensors, generator):
        pass

    def times(self):
        """Launches in a step."""
        return self.s["layers"]
