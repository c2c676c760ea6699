"""Kernels and launches that a Plan cannot hold, or that Triton refuses, and those that look like them."""

from __future__ import annotations

import pytest
import triton

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


MATMUL = """
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BLOCK):
        a = tl.load(a_ptr + m[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + (start + k[:, None]) * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)

@triton.autotune([triton.Config({}, num_stages=4), triton.Config({}, num_stages=2)], key=[])
@triton.jit
def tuned(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    product(a_ptr, b_ptr, c_ptr, K, M, N, BLOCK)
"""
PRODUCT = "y = torch.empty(128, 128, device=x.device)\n{}\nreturn y"


def test_tiles_for_which_no_gpu_has_shared_memory() -> None:
    call = "product[(1,)](x, x, y, 128, M=128, N=128, BLOCK=64, num_stages={})"
    reply = record(function(PRODUCT.format(call.format(5)), MATMUL), tensor(128, 128))
    assert reply["kind"] == "compile_error"
    assert "out of resource: shared memory, Required: 327680, Hardware limit: 232448" in reply["message"]
    plan = plan_of(record(function(PRODUCT.format(call.format(2)), MATMUL), tensor(128, 128)))
    assert len(plan["run"]) == 2


def test_a_variant_for_which_no_gpu_has_shared_memory_is_left_out() -> None:
    call = "tuned[(1,)](x, x, y, 128, M=128, N=128, BLOCK=64)"
    text = function(PRODUCT.format(call), MATMUL)
    plan = plan_of(record(text, tensor(128, 128)))
    assert [plan["kernels"][variant["kernel"]]["options"]["num_stages"] for variant in plan["run"][1]["variants"]] == [2]
    reply = record(text.replace("num_stages=2", "num_stages=5"), tensor(128, 128))
    assert reply["kind"] == "compile_error" and "shared memory" in reply["message"]


def test_descriptors_made_in_a_kernel_need_an_allocator() -> None:
    head = """
@triton.jit
def double(x_ptr, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x_ptr, shape=[B, B], strides=[B, 1], block_shape=[B, B])
    d.store([0, 0], d.load([0, 0]) * 2)
"""
    triton.set_allocator(triton.runtime._allocation.NullAllocator())  # tests share a process, programs do not
    body = "double[(1,)](x, B=16)\nreturn x"
    reply = candidate(function(body, head), [tensor(16, 16)], entry="f", kind="function")
    assert reply["kind"] == "runtime_error" and "no allocator was set" in reply["message"]
    plan_of(candidate(function(body, head), [tensor(16, 16)], entry="f", kind="function", capability=(8, 0)))


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
