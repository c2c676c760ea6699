"""Programs that launch one kernel, for the tests of launches."""

from __future__ import annotations

from programs import candidate, plan_of, tensor

ADD = """
@triton.jit
def add(x_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * scale, mask=i < n)
"""


def function(body: str, head: str = ADD) -> str:
    return head + "\ndef f(x):\n" + "".join(f"    {line}\n" for line in body.strip().splitlines())


def record(text: str, *inputs: dict) -> dict:
    return candidate(text, list(inputs) or [tensor(1000)], entry="f", kind="function")


def launches(text: str, *inputs: dict) -> list[dict]:
    return [step for step in plan_of(record(text, *inputs))["run"] if step["op"] == "launch"]
