"""Kernels and launches that a Plan cannot hold, or that Triton refuses, and those that look like them."""

from __future__ import annotations

import pytest

from launches import ADD, function, record
from programs import candidate, line_of, ops, plan_of, tensor


def test_cpu_tensors_are_refused_as_triton_refuses_them() -> None:
    reply = record(function("y = torch.empty(1000)\nadd[(4,)](x, y, 1000, 1.0, BLOCK=256)\nreturn x"))
    assert reply["kind"] == "runtime_error" and "cpu tensor?" in reply["message"]


@pytest.mark.parametrize(
    "option, said",
    [
        ("num_warps=64", "out of resource: threads, Required: 2048, Hardware limit: 1024"),
        ("num_stages=-1", "num_stages=-1 is not between 0 and 64"),
        ("num_ctas=32", "num_ctas=32 is not between 1 and 16"),
        ("num_ctas=3", "no power of 2"),
        ("maxnreg=512", "maxnreg=512 is not between 0 and 255"),
    ],
)
def test_options_that_no_gpu_launches_are_the_programs_fault(option: str, said: str) -> None:
    reply = record(function(f"add[(4,)](x, x, 1000, 1.0, BLOCK=256, {option})\nreturn x"))
    assert reply["kind"] == "runtime_error" and said in reply["message"]


@pytest.mark.parametrize(
    "line, said",
    [
        ("tl.store(y_ptr + i, undefined)", "undefined is not defined"),
        ("tl.store(y_ptr + i, tl.dot(i, i))", ""),
        ("tl.static_assert(BLOCK == 3, 'three')", "three"),
        ("tl.store(y_ptr + tl.arange(0, 48), 1.0)", "power of 2"),
        ("return helper(i)", "no_such_thing"),
    ],
)
def test_compile_errors_name_the_line_and_what_triton_says(line: str, said: str) -> None:
    head = f"""
@triton.jit
def helper(v):
    return v + tl.no_such_thing(v)

@triton.jit
def bad(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    {line}
"""
    text = function("bad[(1,)](x, x, BLOCK=64)\nreturn x", head)
    reply = record(text)
    assert reply["kind"] == "compile_error" and said in reply["message"] and reply["message"].startswith("kernel bad: ")
    assert reply["line"] == line_of(text, "tl.no_such_thing" if "helper" in line else line)
    assert len(reply["message"]) < 300


def test_a_fallback_after_a_compile_error_is_the_programs_choice() -> None:
    head = "@triton.jit\ndef bad(x_ptr):\n    tl.store(x_ptr, undefined)\n"
    body = "try:\n    bad[(1,)](x)\nexcept Exception:\n    pass\nreturn x + 1"
    assert ops(plan_of(record(function(body, head)))["run"]) == ["add.Tensor"]


def test_addresses_are_not_numbers() -> None:
    reply = record(function("add[(1,)](x, x, x.data_ptr(), 1.0, BLOCK=256)\nreturn x"))
    assert reply["rule"] == "raw_pointer"
    reply = record(function("torch.tensor([x.data_ptr()], device='cuda')\nreturn x"))
    assert reply["rule"] == "raw_pointer"
    assert plan_of(record(function("assert x.data_ptr() % 16 == 0 and x[1:].data_ptr() % 16 == 4\nreturn x + 1")))


def test_globals_that_change_are_an_error_as_in_triton() -> None:
    head = ADD + "\nG = tl.constexpr(1)\n\n@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, G)\n"
    body = "global G\nk[(1,)](x)\nG = tl.constexpr(2)\nk[(1,)](x)\nreturn x"
    reply = record(function(body, head))
    assert reply["kind"] == "runtime_error" and "has changed since we compiled" in reply["message"]


def test_flags_stand_in_a_plan_where_they_are_unusual() -> None:
    launch = "add[(1,)](x, x, 10, 1.0, BLOCK=256, enable_fp_fusion=False, launch_cooperative_grid=True)\nreturn x"
    (kernel,) = record(function(launch))["plan"]["kernels"]
    usual = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}
    assert kernel["options"] == usual | {"enable_fp_fusion": False, "launch_cooperative_grid": True}


def test_launch_options_that_a_plan_cannot_hold() -> None:
    reply = record(function("add[(1,)](x, x, 10, 1.0, BLOCK=256, launch_pdl=True)\nreturn x"))
    assert reply["rule"] == "launch_option"


def test_kernels_may_be_timed_by_nobody() -> None:
    reply = record(function("triton.testing.do_bench(lambda: None)\nreturn x"))
    assert reply["rule"] == "timing"


def test_gluon_is_another_language() -> None:
    text = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
@gluon.jit
def k(x, B: gl.constexpr):
    i = gl.arange(0, B, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(x + i, gl.load(x + i) * 2)
def f(x):
    k[(1,)](x, 128)
    return x
"""
    reply = candidate(text, [tensor(128)], entry="f", kind="function")
    assert reply["rule"] == "gluon" and reply["line"] == line_of(text, "k[(1,)]") and "Gluon" in reply["message"]
