"""Set-up, the steady call and what lies between: which steps stand where."""

from __future__ import annotations

import pytest
import torch

from programs import Replay, candidate, ops, plan_of, reference
from programs import tensor as t

KERNEL = """
@triton.jit
def scale(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)
"""


def model(init: str, forward: str) -> str:
    indent = lambda text: "\n".join("        " + line for line in text.strip().splitlines())
    return f"{KERNEL}\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{indent(init)}\n    def forward(self, x):\n{indent(forward)}\n"


def plan(init: str, forward: str) -> dict:
    return plan_of(candidate(model(init, forward), [t(8, 8)]))


def test_constructor_and_call_are_two_phases() -> None:
    p = plan("self.w = nn.Parameter(torch.rand(8, 8))", "return x @ self.w")
    assert ops(p["setup"]) == ["rand", "_to_copy"] and ops(p["run"]) == ["matmul"]
    (entry,) = p["state"]
    assert entry == ["w", p["setup"][1]["outs"][0], "parameter"]
    assert p["run"][0]["args"] == [{"t": p["inputs"][0]["t"]}, {"t": entry[1]}]
    assert p["warmup_inputs"] == [] and p["generate"] == [] and p["structure"] == "*"


def test_packing_in_the_first_call_moves_to_setup() -> None:
    p = plan(
        "self.w, self.packed = nn.Parameter(torch.rand(8, 8)), None",
        "if self.packed is None: self.packed = self.w.t().contiguous().half()\nreturn x.half() @ self.packed",
    )
    assert ops(p["setup"]) == ["rand", "_to_copy", "t", "clone", "_to_copy"]
    assert ops(p["run"]) == ["_to_copy", "matmul"] and p["warmup_inputs"] == []


def test_a_parameter_that_the_first_call_puts_in_another_layout_is_bound_as_it_was() -> None:
    p = plan(
        "self.w, self.packed = nn.Parameter(torch.rand(8, 4)), False",
        "if not self.packed: self.w.data, self.packed = self.w.data.t().contiguous(), True\nreturn x[:, :4] @ self.w",
    )
    assert ops(p["setup"]) == ["rand", "_to_copy", "t", "clone"]
    (entry,) = p["state"]
    assert entry == ["w", p["setup"][1]["outs"][0], "parameter"]


def test_a_workspace_of_the_first_call_is_made_in_setup_and_not_written_there() -> None:
    p = plan(
        "self.y = None",
        "if self.y is None: self.y = torch.empty(8, 8, device=x.device)\nscale[(1,)](x, self.y, 64, B=64)\nreturn self.y + 1",
    )
    assert ops(p["setup"]) == ["empty.memory_format"] and ops(p["run"]) == ["launch", "add.Tensor"]


def test_an_output_kept_from_the_first_call_depends_on_the_warmup_inputs() -> None:
    p = plan("self.y = None", "if self.y is None: self.y = x * 2\nreturn self.y")
    assert ops(p["setup"]) == ["mul.Tensor"] and ops(p["run"]) == []
    assert p["setup"][0]["args"][0] == p["warmup_inputs"][0] and p["warmup_inputs"][0] != p["inputs"][0]
    assert p["outputs"] == [{"t": p["setup"][0]["outs"][0]}]


def test_state_updates_that_repeat_stay_in_the_call() -> None:
    p = plan("self.f = nn.BatchNorm1d(8)", "return self.f(x)")
    assert ops(p["run"]) == ["add_.Tensor", "batch_norm"]
    assert "batch_norm" not in ops(p["setup"]) and p["training"] is True
    names = {name: kind for name, _, kind in p["state"]}
    assert names == {
        "f.weight": "parameter", "f.bias": "parameter", "f.running_mean": "buffer", "f.running_var": "buffer",
        "f.num_batches_tracked": "buffer",
    }  # fmt: skip


def test_updates_stay_out_of_setup_even_when_the_first_call_does_more() -> None:
    p = plan(
        "self.f, self.k = nn.BatchNorm1d(8), None",
        "if self.k is None: self.k = torch.ones(8, device=x.device)\nreturn self.f(x) * self.k",
    )
    assert ops(p["setup"])[-1] == "ones" and "add_.Tensor" not in ops(p["setup"])


def test_state_carried_from_call_to_call_is_steady() -> None:
    p = plan(
        "self.h = torch.zeros(8, 8)", "self.h = self.h.to(x.device)\nself.h = torch.tanh(x + self.h)\nreturn self.h * 1"
    )
    assert ops(p["run"]) == ["add.Tensor", "tanh", "mul.Tensor"]
    assert ops(p["setup"]) == ["zeros", "_to_copy", "add.Tensor", "tanh"]


def test_carried_state_may_be_written_in_place() -> None:
    p = plan(
        "self.h = torch.zeros(8, 8)", "self.h.copy_(x)\nself.h = torch.tanh(self.h.to(x.device))\nreturn self.h * 1"
    )
    assert ops(p["run"]) == ["copy_", "tanh", "mul.Tensor"]
    assert p["run"][0]["outs"] == p["setup"][-1]["outs"]


def test_calls_that_differ_are_unsteady() -> None:
    for init, forward in [
        ("self.n = 0", "self.n += 1\nreturn x * self.n"),
        ("self.n = 0", "self.n += 1\nreturn x * 2 if self.n < 3 else x"),
        ("self.n = 0; self.k = torch.zeros(8)", "self.n += 1\nscale[(self.n,)](x, x, 8, B=8)\nreturn x + 1"),
        ("self.n = 0", "self.n += 1\ny = x * 1\nreturn (y, y) if self.n == 3 else y"),
        ("import random; self.r = random", "return x * self.r.random()"),
    ]:
        reply = candidate(model(init, forward), [t(8, 8)])
        assert (reply["kind"], reply["rule"]) == ("rejected", "unsteady"), forward


def test_calls_may_write_into_what_they_are_given() -> None:
    source = """
class Model(nn.Module):
    def forward(self, x, y):
        x.add_(y)
        x[0].zero_()
        return (x * 2).relu() + y
def get_inputs():
    return [torch.randn(4, 5), torch.randn(4, 5)]
"""
    assert ops(plan_of(reference(source))["run"]) == ["add_.Tensor", "select.int", "zero_", "mul.Tensor", "relu", "add.Tensor"]


def test_nan_arguments_are_steady() -> None:
    assert ops(plan("pass", "return x.masked_fill(x > 0, float('nan'))")["run"]) == ["gt.Scalar", "masked_fill.Scalar"]


def test_tensors_of_the_files_top_level_belong_to_setup() -> None:
    text = "TABLE = torch.arange(8, dtype=torch.float32)\nUNUSED = torch.zeros(3)\n" + model(
        "pass", "return x + TABLE.to(x.device)"
    )
    p = plan_of(candidate(text, [t(8, 8)]))
    assert ops(p["setup"]) == ["arange"] and ops(p["run"]) == ["_to_copy", "add.Tensor"]


def test_init_inputs_of_every_kind() -> None:
    text = """
class Model(nn.Module):
    def __init__(self, n, sizes, scale, nothing, name, w, flag):
        super().__init__()
        assert sizes == (3, 4) and isinstance(sizes, tuple) and [n] + sizes == (8, 3, 4) and nothing is None
        assert torch.utils._pytree.tree_leaves([n, sizes]) == [8, 3, 4]
        assert [1] + sizes[:-1] == (1, 3) and [n] + 2 * sizes[1:] == (8, 4, 4)
        assert name == "relu" and flag is True and w.is_cuda
        self.w = nn.Parameter(w * scale)
    def forward(self, x):
        return x + self.w
"""
    p = plan_of(candidate(text, [t(8)], [8, [3, 4], 0.5, None, "relu", t(8), True]))
    assert p["init_inputs"][:5] == [8, [3, 4], 0.5, None, "relu"] and p["init_inputs"][6] is True
    assert p["setup"][0]["args"][0] == p["init_inputs"][5]


def test_references_make_their_own_inputs() -> None:
    text = model("self.w = nn.Parameter(torch.rand(8))", "return x * self.w") + (
        "\ndef get_inputs():\n    return [torch.rand(4, 8).t().contiguous().t()]\n"
    )
    p = plan_of(reference(text))
    assert ops(p["generate"]) == ["rand", "t", "clone", "t", "_to_copy"]
    made = p["generate"][-1]["outs"][0]
    assert p["inputs"] == [{"t": made}] and p["tensors"][made][3] == [1, 4] and p["tensors"][made][5] == "cuda"


RAGGED = """
def f(x, ids, ends): return x[ids] + ends[-1]
def get_inputs():
    lengths = torch.randint(1, 9, (4,), dtype=torch.int32)
    ends = lengths.cumsum(0)
    lengths.clamp_(max=0)
    {read}
    return [torch.randn(total, 8), torch.randint(0, total, (5,)), ends]
"""


@pytest.mark.parametrize("read", ["total = int(ends[-1])", "total = ends.tolist()[-1]", "total = sum(ends.diff(prepend=ends[:1] * 0).numpy())",
                                  "total = torch.ones(40)[torch.arange(40) < ends[-1]].shape[0]"])  # fmt: skip
def test_what_get_inputs_reads_is_drawn_once(read: str) -> None:
    p = plan_of(reference(RAGGED.format(read=read), entry="f", kind="function"))
    assert p == plan_of(reference(RAGGED.format(read=read), entry="f", kind="function"))
    total, several = p["tensors"][p["inputs"][0]["t"]][2][0], set()
    for seed in range(3):
        replay = Replay(p)
        torch.default_generator.manual_seed(seed)
        replay.run("generate")
        x, ids, ends = (replay.value(value) for value in p["inputs"])
        assert int(ends[-1]) == total == x.shape[0] and 4 <= total <= 32 and int(ids.max()) < total
        several.add(float(x[0, 0]))
    assert len(several) == 3


@pytest.mark.parametrize("read", ["total = int(torch.empty(1).uniform_(1, 5))", "total = int(torch.randn(1 << 23).sum())", "total = TOP.item()"])
def test_what_get_inputs_may_not_read(read: str) -> None:
    reply = reference("TOP = torch.randint(3, 5, (1,))\n" + RAGGED.format(read=read), entry="f", kind="function")
    assert reply["rule"] == "host_read" and "get_inputs() reads values" in reply["message"]


def test_draws_that_nobody_reads_are_drawn_for_each_trial() -> None:
    text = "def f(x, w): return x * w\ndef get_inputs():\n    i = torch.randint(0, 3, (9,))\n    return [torch.randn(9), i.bincount(minlength=9)]\n"
    assert "randint.low" in ops(plan_of(reference(text, entry="f", kind="function"))["generate"])


def test_buffers_that_are_not_saved_have_names() -> None:
    made = "self.register_buffer('b', torch.rand(8), persistent=False); self.c = torch.rand(8)"
    text = model(made, "return x * self.b") + "\ndef get_inputs():\n    return [torch.rand(4, 8)]\n"
    p = plan_of(reference(text))
    assert p["state"] == [] and p["unsaved"] == [["b", p["run"][0]["args"][1]["t"], "buffer"]]


def test_functions() -> None:
    text = "def f(x, y, alpha=1.0):\n    return {'sum': x + y * alpha, 'list': [x, 3]}\n"
    p = plan_of(candidate(text, [t(4), t(4), 0.5], entry="f", kind="function"))
    assert p["structure"] == '{"sum":*,"list":[*,*]}' and p["state"] == []
    assert p["outputs"][1:] == [p["inputs"][0], 3]


def test_structures_of_outputs() -> None:
    for result, structure in [
        ("x", "*"),
        ("(x,)", "(*,)"),
        ("[x, (x, None)]", "[*,(*,*)]"),
        ("{'a\"b': x}", '{"a\\"b":*}'),
    ]:
        assert plan("pass", f"return {result}")["structure"] == structure


def test_strides_and_modes_are_kept() -> None:
    p = plan_of(candidate(model("self.eval()", "return x.sum(0)"), [t(8, 8, strides=[1, 8])]))
    assert p["tensors"][p["inputs"][0]["t"]][3] == [1, 8] and p["training"] is False


def test_views_share_storage_and_copies_do_not() -> None:
    p = plan("pass", "y = x[2:4].t()\nreturn y, y.contiguous()")
    x, y, z = (p["tensors"][v["t"]] for v in (p["inputs"][0], *p["outputs"]))
    assert y[0] == x[0] and y[4] == 16 and y[3] == [1, 8] and z[0] != x[0]
    assert p["storages"][z[0]] == 64


def test_a_view_that_shows_the_same_is_the_same_tensor() -> None:
    p = plan("pass", "return x.view(8, 8).detach()[:].expand(8, 8).contiguous()")
    assert p["run"] == [] and p["outputs"] == p["inputs"]


def test_methods_that_move_modules() -> None:
    for method, dtype in [("half()", "float16"), ("bfloat16()", "bfloat16"), ("double()", "float64"), ("to(torch.float16)", "float16"),
                          ("cuda()", "float32"), ("to('cuda')", "float32"), ("float().cpu()", "float32")]:  # fmt: skip
        p = plan(f"self.f = nn.Linear(8, 8).{method}", "return self.f(x.to(self.f.weight.dtype))")
        kinds = {p["tensors"][tid][1] for _, tid, _ in p["state"]}, {p["tensors"][tid][5] for _, tid, _ in p["state"]}
        assert kinds == ({dtype}, {"cuda"}), method


def test_the_plan_of_a_plan_is_msgpack() -> None:
    import msgpack

    p = plan("self.f = nn.Linear(8, 8)", "scale[(1,)](x, x, 64, B=64)\nreturn self.f(x)")
    assert msgpack.unpackb(msgpack.packb(p)) == p


def test_parameters_are_ordinary_to_the_program() -> None:
    p = plan(
        "self.w = nn.Parameter(torch.rand(8, 8)); self.register_parameter('none', None)\n"
        "assert isinstance(self.w, nn.Parameter) and self.w.requires_grad and self.w.is_leaf\n"
        "assert [n for n, _ in self.named_parameters()] == ['w'] and len(self.state_dict()) == 1\n"
        "self.register_buffer('b', torch.zeros(8), persistent=False)",
        "assert x.is_cuda and x.device == torch.device('cuda:0') and self.w.is_cuda and x.get_device() == 0\n"
        "assert isinstance(self.w, nn.Parameter) and not x.requires_grad and self.w.data.shape == (8, 8)\n"
        "assert x.is_contiguous() and x.stride() == (8, 1) and x.element_size() == 4 and x.numel() == 64 and len(x) == 8\n"
        "return x + self.w + self.b",
    )
    assert [name for name, *_ in p["state"]] == ["w"]


def test_inference_mode_changes_nothing_of_what_is_recorded() -> None:
    body = "y = x.view(-1)[8:].detach() * 2; return torch.stack(y.view(7, 8).t().unbind(0)) + self.w.t()[:, 1:]"
    init = "self.w = nn.Parameter(torch.rand(8, 8))"
    plain = model(init, body)
    decorated = plain.replace("    def forward", "    @torch.inference_mode()\n    def forward")
    for text in (decorated, model(init, f"with torch.inference_mode(): {body}")):
        assert ops(plan_of(candidate(text, [t(8, 8)]))["run"]) == ops(plan_of(candidate(plain, [t(8, 8)]))["run"])


def test_who_asks_is_told_of_inference_mode() -> None:
    plan(
        "self.w = nn.Parameter(torch.rand(8, 8))",
        "with torch.inference_mode():\n"
        "    y = x * 2\n"
        "    assert torch.is_inference_mode_enabled() and y.is_inference() and y.view(-1).is_inference()\n"
        "    assert not x.t().is_inference() and not self.w.is_inference()\n"
        "assert not (x * 2).is_inference()\n"
        "return y",
    )


def test_autograd_functions_and_functional_wrappers() -> None:
    text = (
        KERNEL
        + """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        y = torch.empty_like(x)
        scale[(1,)](x, y, x.numel(), B=64)
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable(y)
        return y * k
    @staticmethod
    def backward(ctx, g):
        return g, None

class Model(nn.Module):
    def forward(self, x):
        return Scale.apply(x, 3.0)
"""
    )
    assert ops(plan_of(candidate(text, [t(8, 8)]))["run"]) == ["empty_like", "launch", "mul.Tensor"]


@pytest.mark.parametrize(
    "decorator, kernel",
    [
        ("custom_op('mine::scale', mutates_args=())", "scale"),
        ("triton_op('mine::wrapped_scale', mutates_args={})", "torch.library.wrap_triton(scale)"),
    ],
)
def test_operators_that_the_program_registers(decorator: str, kernel: str) -> None:
    text = (
        KERNEL
        + f"""
@torch.library.{decorator}
def scale_op(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    {kernel}[(1,)](x, y, x.numel(), B=64)
    return y

class Model(nn.Module):
    def forward(self, x):
        return scale_op(x) + 1
"""
    )
    assert ops(plan_of(candidate(text, [t(8, 8)]))["run"]) == ["empty_like", "launch", "add.Tensor"]


def test_numpy_and_python_data_become_constants() -> None:
    text = """
import numpy as np
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.from_numpy(np.arange(4, dtype=np.float32)))
        self.register_buffer("b", torch.as_tensor(np.ones(4)).float())
        self.c = nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0], device="cuda"))
        self.d = torch.frombuffer(bytearray(b"\\x01\\x00\\x02\\x00"), dtype=torch.int16).view(2, 1)
    def forward(self, x):
        return x + self.a + self.b + self.c + self.d.to(x.device)
"""
    p = plan_of(candidate(text, [t(2, 4)]))
    constants = [s for s in p["setup"] + p["run"] if s["op"] == "constant"]
    shapes = [p["tensors"][s["out"]][2] for s in constants]
    assert sorted(shapes) == [[2, 1], [4], [4], [4]]
    first = next(s for s in constants if p["tensors"][s["out"]][1] == "float32")
    assert torch.frombuffer(bytearray(first["data"]), dtype=torch.float32).tolist() == [0, 1, 2, 3]
    reply = candidate(
        "def f(x):\n    return x + torch.tensor([0.0] * 5_000_000, device=x.device).sum()\n",
        [t(4)],
        entry="f",
        kind="function",
    )
    assert reply["rule"] == "constant_size"


def test_inputs_that_lie_in_one_memory_get_memory_of_their_own() -> None:
    text = (
        "class Model(nn.Module):\n    def forward(self, x, y, z): return x * y + z\n"
        "def get_inputs():\n    x, y = torch.randn(4, 2, 6, device='cuda').unbind(1)\n"
        "    return [x, y, torch.randn(6, device='cuda').expand(4, 6)]\n"
    )
    p = plan_of(reference(text))
    storages, strides = zip(*((p["tensors"][i["t"]][0], p["tensors"][i["t"]][3]) for i in p["inputs"]))
    assert len(set(storages)) == 3, "trials write into each of them"
    assert strides == ([12, 1], [12, 1], [6, 1]), "laid out as before, but for what repeats elements"
    assert all(p["tensors"][i["t"]][4] == 0 for i in p["inputs"]), "where their memory begins"
