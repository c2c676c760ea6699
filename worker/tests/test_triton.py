"""Triton launches: what of them stands in the Plan."""

from __future__ import annotations

import re

import pytest

from launches import ADD, function, launches, record
from programs import candidate, line_of, ops, plan_of, tensor


def test_a_launch_names_every_argument() -> None:
    text = function(
        "y = torch.empty_like(x)\nadd[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), 2.5, BLOCK=256)\nreturn y"
    )
    plan = plan_of(record(text))
    (variant,) = plan["run"][1]["variants"]
    x, y = plan["inputs"][0]["t"], plan["outputs"][0]["t"]
    assert variant["grid"] == [4, 1, 1]
    assert variant["args"] == [{"ptr": x}, {"ptr": y}, 1000, 2.5]
    assert variant["call"] == [["x_ptr", {"t": x}], ["y_ptr", {"t": y}], ["n", 1000], ["scale", 2.5], ["BLOCK", 256]]
    assert plan["run"][1]["line"] == line_of(text, "add[(triton")
    kernel = plan["kernels"][variant["kernel"]]
    assert kernel["name"] == "add" and "tt.func public @add" in kernel["ttir"]
    assert f'loc("candidate.py":{line_of(text, "tl.store(y_ptr")}' in kernel["ttir"]
    assert kernel["options"] == {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}
    assert kernel["source"] == ADD.strip() + "\n"
    assert kernel["support"] == "import triton\nimport triton.language as tl\n"


@pytest.mark.parametrize(
    "grid, expected",
    [
        ("(4,)", [4, 1, 1]),
        ("[2, 3]", [2, 3, 1]),
        ("lambda meta: (triton.cdiv(x.shape[0], meta['BLOCK']), 2, 3)", [4, 2, 3]),
        ("(x.shape[0] // 500, torch.Size([7])[0])", [2, 7, 1]),
        ("(0,)", [0, 1, 1]),
    ],
)
def test_grids(grid: str, expected: list[int]) -> None:
    text = function(f"y = torch.empty_like(x)\nadd[{grid}](x, y, 1000, 1.0, BLOCK=256)\nreturn y")
    assert launches(text)[0]["variants"][0]["grid"] == expected


@pytest.mark.parametrize("grid", ["(1, 65536)", "(2.5,)", "(-1,)"])
def test_grids_that_cuda_refuses(grid: str) -> None:
    reply = record(function(f"y = torch.empty_like(x)\nadd[{grid}](x, y, 1000, 1.0, BLOCK=256)\nreturn y"))
    assert reply["kind"] == "runtime_error"


def test_specialised_arguments_have_no_parameter() -> None:
    head = """
@triton.jit
def k(x_ptr, stride, flag, missing, big, size, B: tl.constexpr):
    i = tl.arange(0, B)
    if missing is None:
        tl.store(x_ptr + i * stride, tl.where(flag, big, size).to(tl.float32))
"""
    (launch,) = launches(function("k[(1,)](x, 1, True, None, 2**40, 7, B=16)\nreturn x", head))
    (variant,) = launch["variants"]
    assert variant["args"][1:] == [1, 2**40, 7]  # the stride, which is 1, and None are constants
    assert dict(map(tuple, variant["call"]))["missing"] is None and dict(map(tuple, variant["call"]))["stride"] == 1


def test_options_and_constexprs_of_every_kind() -> None:
    head = """
@triton.jit
def k(x_ptr, MODE: tl.constexpr, DTYPE: tl.constexpr, FLAG: tl.constexpr, SHAPE: tl.constexpr, B: tl.constexpr = 64):
    i = tl.arange(0, B)
    v = tl.load(x_ptr + i).to(DTYPE)
    if MODE == "double":
        v = v * SHAPE[0]
    if FLAG:
        tl.store(x_ptr + i, v)
"""
    text = function(
        "k[(1,)](x, 'double', tl.bfloat16, True, (2, 3), num_warps=8, num_stages=2, maxnreg=128)\nreturn x", head
    )
    plan = plan_of(record(text))
    assert plan["kernels"][0]["options"] == {"num_warps": 8, "num_stages": 2, "num_ctas": 1, "maxnreg": 128}
    call = dict(map(tuple, plan["run"][0]["variants"][0]["call"]))
    assert call["MODE"] == "double" and call["DTYPE"] == {"dtype": "bfloat16"} and call["FLAG"] is True
    assert call["SHAPE"] == [2, 3] and call["B"] == 64


def test_three_calls_compile_once() -> None:
    import triton_driver

    compiled = []
    original, triton_driver._compile = (
        triton_driver._compile,
        lambda f, *a: compiled.append(f.__name__) or original(f, *a),
    )
    try:
        plan_of(record(function("y = torch.empty_like(x)\nadd[(4,)](x, y, 1000, 1.0, BLOCK=256)\nreturn y")))
    finally:
        triton_driver._compile = original
    assert compiled == ["add"]


def test_functions_dtypes_and_tuples_as_constexprs() -> None:
    head = """
@triton.jit
def inner(v):
    return v * 2

@triton.jit
def helper(v):
    return inner(v)

@triton.jit
def k(x_ptr, FN: tl.constexpr, DTYPE: tl.constexpr, DIMS: tl.constexpr, WORD: tl.constexpr):
    i = tl.arange(0, 64)
    tl.store(x_ptr + i, FN(tl.load(x_ptr + i)).to(DTYPE) + DIMS[0])
"""
    text = function("k[(1,)](x, FN=helper, DTYPE=tl.float16, DIMS=(2, tl.int32), WORD='helper')\nreturn x", head)
    plan = plan_of(record(text))
    (variant,) = plan["run"][0]["variants"]
    assert variant["call"][1:] == [
        ["FN", {"function": "helper"}],
        ["DTYPE", {"dtype": "float16"}],
        ["DIMS", [2, {"dtype": "int32"}]],
        ["WORD", "helper"],
    ]
    support = plan["kernels"][0]["support"]
    assert support.index("def inner") < support.index("def helper")


def test_helpers_constants_and_libdevice_are_support() -> None:
    head = """
from triton.language.extra import libdevice
UNUSED = 3
SCALE = tl.constexpr(0.5)
OTHER = SCALE

@triton.jit
def inner(v):
    return libdevice.tanh(v) * SCALE

@triton.jit
def unrelated(v):
    return v

@triton.jit(noinline=True)
def outer(v):
    return v + 1.0

@triton.jit
def k(x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = inner(tl.load(x_ptr + i))
    tl.store(x_ptr + i, v + outer(1.0) + tl.math.exp2(v))
"""
    plan = plan_of(record(function("k[(1,)](x, B=64)\nreturn x", head)))
    (kernel,) = plan["kernels"]
    support = kernel["support"]
    for needed in (
        "import libdevice",
        "SCALE = tl.constexpr(0.5)",
        "def inner(v):",
        "@triton.jit(noinline=True)\ndef outer",
    ):
        assert needed in support
    assert "UNUSED" not in support and "OTHER" not in support and "unrelated" not in support
    assert support.index("SCALE") < support.index("def inner") < support.index("def outer")
    assert "tt.call" in kernel["ttir"] and "__nv_tanhf" in kernel["ttir"]
    assert 'loc("/' not in kernel["ttir"]  # no path of this machine


def test_kernels_inside_functions_carry_their_constants() -> None:
    head = """
def make(width):
    @triton.jit
    def k(x_ptr, B: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, B), WIDTH)
    WIDTH = tl.constexpr(width)
    return k
"""
    (kernel,) = plan_of(record(function("make(3.0)[(1,)](x, B=16)\nreturn x", head)))["kernels"]
    assert kernel["source"].startswith("@triton.jit\ndef k(") and "WIDTH = tl.constexpr(3.0)" in kernel["support"]


AUTOTUNED = """
@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (128, 256) for w in (4, 8)], key=["n"], PRUNE
)
@triton.heuristics({"EVEN": lambda a: a["n"] % a["BLOCK"] == 0})
@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.static_assert(BLOCK != FORBIDDEN)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)
"""
CALL = "y = torch.empty_like(x)\nk[lambda m: (triton.cdiv(1000, m['BLOCK']),)](x, y, 1000)\nreturn y"


def autotuned(prune: str = "", forbidden: int = 0) -> str:
    return function(CALL, AUTOTUNED.replace("PRUNE", prune).replace("FORBIDDEN", str(forbidden)))


def test_autotune_is_one_launch_with_all_variants() -> None:
    plan = plan_of(record(autotuned()))
    assert ops(plan["run"]) == ["empty_like", "launch"]
    variants = plan["run"][1]["variants"]
    assert [v["grid"][0] for v in variants] == [8, 8, 4, 4]
    assert [plan["kernels"][v["kernel"]]["options"]["num_warps"] for v in variants] == [4, 8, 4, 8]
    assert [dict(map(tuple, v["call"]))["EVEN"] for v in variants] == [False] * 4
    assert plan["kernels"][0]["source"].startswith("@triton.jit\ndef k(")


def test_autotune_prunes_and_leaves_out_what_does_not_compile() -> None:
    prune = "prune_configs_by={'early_config_prune': lambda configs, args, **kw: configs[:3]}"
    assert len(launches(autotuned(prune))[0]["variants"]) == 3
    assert len(launches(autotuned(forbidden=128))[0]["variants"]) == 2
    too_many = autotuned().replace("for w in (4, 8)", "for w in (4, 64)")
    assert len(launches(too_many)[0]["variants"]) == 2


def test_autotune_resets_only_the_first_time_and_hooks_run_before_the_launch() -> None:
    plan = plan_of(record(autotuned("reset_to_zero=['y_ptr']")))
    assert ops(plan["run"]) == ["empty_like", "launch"]
    head = AUTOTUNED.replace("num_warps=w)", "num_warps=w, pre_hook=lambda a: a['y_ptr'].zero_())")
    text = function(CALL, head.replace("PRUNE", "").replace("FORBIDDEN", "0"))
    assert ops(plan_of(record(text))["run"]) == ["empty_like", "zero_", "launch"]


def test_launches_in_a_grid_function_are_steps_of_their_own() -> None:
    head = AUTOTUNED.replace("PRUNE", "").replace("FORBIDDEN", "0") + """
@triton.jit
def clear(p, n, B: tl.constexpr):
    tl.store(p + tl.arange(0, B), 0.0, mask=tl.arange(0, B) < n)

def grid_behind(grid, y):
    def made(meta):
        clear[(1,)](y, 16, B=16)
        return grid(meta)
    return made
"""
    grid = re.search(r"k\[(.*)\]\(", CALL).group(1)
    plan = plan_of(record(function(CALL.replace(f"k[{grid}]", f"k[grid_behind({grid}, y)]"), head)))
    assert ops(plan["run"]) == ["empty_like", "launch", "launch"]
    assert [len(step["variants"]) for step in plan["run"][1:]] == [1, 4]
    assert plan["kernels"][plan["run"][1]["variants"][0]["kernel"]]["name"] == "clear"


def test_host_descriptor() -> None:
    head = """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def k(src, dst, M: tl.constexpr, N: tl.constexpr):
    dst.store([0, 0], src.load([0, 0]))
"""
    body = "y = torch.empty_like(x)\na, b = (TensorDescriptor.from_tensor(t, [16, 32]) for t in (x, y))\nk[(1,)](a, b, 16, 32)\nreturn y"
    plan = plan_of(record(function(body, head), tensor(64, 32)))
    (variant,) = plan["run"][1]["variants"]
    x = plan["inputs"][0]["t"]
    assert variant["args"][0] == {
        "desc": {"t": x, "shape": [64, 32], "strides": [32, 1], "block": [16, 32], "padding": "zero"}
    }
    assert variant["call"][0] == ["src", {"t": x}] and len(variant["args"]) == 2


@pytest.mark.parametrize("capability", [(8, 0), (12, 0)])
def test_programs_see_the_gpu_they_are_for(capability: tuple[int, int]) -> None:
    head = """
@triton.jit
def k(x_ptr, N: tl.constexpr, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x_ptr, shape=[N, N], strides=[N, 1], block_shape=[B, B])
    d.store([0, 0], d.load([0, 0]) * 2)
"""
    body = """
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device='cuda'))
arch = triton.runtime.driver.active.get_current_target().arch
k[(sum(torch.cuda.get_device_capability()), arch, 1)](x, 64, B=16)
return x
"""
    reply = candidate(function(body, head), [tensor(64, 64)], entry="f", kind="function", capability=capability)
    plan = plan_of(reply)
    major, minor = capability
    assert plan["run"][0]["variants"][0]["grid"] == [major + minor, 10 * major + minor, 1]
    assert "tt.make_tensor_descriptor" in plan["kernels"][0]["ttir"]  # compiling makes pointers of them, where the GPU has none


def test_device_descriptor_and_allocator() -> None:
    head = """
@triton.jit
def k(x_ptr, M, N, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    d.store([0, 0], d.load([0, 0]) * 2)
"""
    body = "triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device='cuda'))\n"
    (launch,) = launches(function(body + "k[(1,)](x, 64, 32, B=16)\nreturn x", head), tensor(64, 32))
    assert len(launch["variants"][0]["args"]) == 3


def test_tuples_reinterpretation_and_inline_assembly() -> None:
    head = """
@triton.jit
def k(pair, q_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.load(pair[0] + i)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(pair[0] + i, v + pair[1])
    tl.store(q_ptr + i, tl.load(q_ptr + i))
"""
    body = "i = torch.zeros(64, dtype=torch.int32, device=x.device)\nq = torch.empty(64, dtype=torch.int8, device=x.device)\n"
    body += "k[(1,)]((i, 5), triton.reinterpret(q, tl.float8e5), B=64)\nreturn i"
    (launch,) = launches(function(body, head))
    args = launch["variants"][0]["args"]
    assert "ptr" in args[0] and args[1] == 5 and "ptr" in args[2]


def test_warmup_compiles_and_launches_nothing() -> None:
    body = "k = add.warmup(x, x, 1000, 1.0, BLOCK=256, grid=(1,))\nk._init_handles()\n"
    body += "n = 65536 // (k.n_regs * 32 * 4) + k.metadata.shared\nadd[(n,)](x, x, 1000, 1.0, BLOCK=256)\nreturn x"
    assert len(launches(function(body))) == 1


def test_a_compiled_kernel_launches_with_all_arguments_by_position() -> None:
    body = "y, z = torch.empty_like(x), torch.empty_like(x)\nk = add[(4,)](x, y, 1000, 1.0, BLOCK=256)\n"
    body += "k[(2, 1, 1)](y, z, 1000, 1.0, 256)\nreturn z"
    first, second = (launch["variants"][0] for launch in launches(function(body)))
    assert second["kernel"] == first["kernel"] and second["grid"] == [2, 1, 1]
    assert [name for name, _ in second["call"]] == [name for name, _ in first["call"]]
    assert second["call"][0][1] == first["call"][1][1] and second["call"][2:] == first["call"][2:]


@pytest.mark.parametrize(
    "arguments", ["x, y, 1008, 1.0, 256", "x, y, 1000, 1.0, 128", "x, y.half(), 1000, 1.0, 256", "x, y[1:], 1000, 1.0, 256"]
)
def test_a_compiled_kernel_takes_what_it_was_compiled_for(arguments: str) -> None:
    body = f"y = torch.empty_like(x)\nk = add[(4,)](x, y, 1000, 1.0, BLOCK=256)\nk[(4, 1, 1)]({arguments})\nreturn y"
    reply = record(function(body))
    assert reply["kind"] == "runtime_error" and "of another kind than it was compiled for" in reply["message"]


def test_device_properties_of_the_driver() -> None:
    body = "p = triton.runtime.driver.active.utils.get_device_properties(x.device.index)\n"
    body += "add[(p['multiprocessor_count'],)](x, x, 1000, 1.0, BLOCK=256)\nreturn x"
    assert launches(function(body))[0]["variants"][0]["grid"][0] == 132


def test_who_looks_for_a_driver_finds_the_one_that_is_active() -> None:
    body = "from torch._inductor.runtime import triton_helpers\ntriton_helpers.set_driver_to_gpu()\n"
    body += "active = triton.runtime.driver.active\nassert active.get_current_target().arch == 90\n"
    body += "assert active.get_device_interface().current_device() == 0\nadd[(4,)](x, x, 1000, 1.0, BLOCK=256)\nreturn x"
    assert len(launches(function(body))) == 1
