#!/usr/bin/env python3
"""Writes the seeds of fuzz_plan and fuzz_frame: Plans of small programs as the worker sends them."""
import pathlib
import struct
import sys

FUZZ = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FUZZ.parent.parent / "worker"))

import msgpack  # noqa: E402
import record  # noqa: E402

REFERENCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, 4)
        self.register_buffer("table", torch.tensor([1, 2, 3]))

    def forward(self, x, scale):
        return {"y": torch.relu(self.linear(x))[:, 1:] * scale, "z": [x.to(torch.bfloat16), self.table]}

def get_inputs():
    return [torch.randn(3, 8), 0.5]

def get_init_inputs():
    return [8]
"""

CANDIDATE = """
import torch, triton, triton.language as tl

@triton.autotune([triton.Config({"B": 16}), triton.Config({"B": 32}, num_warps=2)], key=["n"])
@triton.jit
def double(x, y, n, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + r, tl.load(x + r, mask=r < n) * 2, mask=r < n)

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x, scale):
        y = torch.empty_like(x)
        double[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel())
        return y * scale
"""

BROKEN = "def broken(:\n"


def request(role, source, **more):
    return {"role": role, "source": source, "entry": "Model", "kind": "class", "capability": [9, 0], **more}


def main():
    record.warm_up()
    inputs = {"init_inputs": [8], "inputs": [{"tensor": ["float32", [3, 8], [8, 1]]}, 0.5]}
    replies = {
        "reference": record.record(request("reference", REFERENCE)),
        "candidate": record.record(request("candidate", CANDIDATE, **inputs)),
        "broken": record.record(request("candidate", BROKEN, **inputs)),
    }
    for name, reply in replies.items():
        packed = msgpack.packb(reply)
        (FUZZ / "corpus" / "frame" / name).write_bytes(struct.pack("<I", len(packed)) + packed)
        if reply["ok"]:
            (FUZZ / "corpus" / "plan" / name).write_bytes(msgpack.packb(reply["plan"]))


if __name__ == "__main__":
    main()
