"""What a program may not do, and what it is told: rule, line, sentence."""

from __future__ import annotations

import pytest

from programs import candidate, line_of, ops, plan_of, reference, tensor


def function(body: str) -> str:
    return "def f(x):\n" + "".join(f"    {line}\n" for line in body.strip().splitlines()) + "    return x + 1\n"


def record(body: str) -> dict:
    return candidate(function(body), [tensor(8, 8)], entry="f", kind="function")


def test_a_view_that_leaves_its_memory_is_an_error_as_in_pytorch() -> None:
    for body in ("y = x.as_strided((8, 8), (8, 1), 1)", "x.as_strided_((9, 8), (8, 1))"):
        reply = record(body)
        assert reply["kind"] == "runtime_error" and "out of bounds for storage of size 256" in reply["message"], reply
    assert record("y = x.as_strided((4, 8), (16, 1), 8)")["ok"]
    assert record("y = x.as_strided((0, 8), (16, 1), 300)")["ok"]


HOST_READS = [
    "y = x.sum().item()", "if x.max() > 0: pass", "x.tolist()", "x.cpu().numpy()", "print(x)", "f'{x}'", "float(x[0, 0])",
    "int(x.argmax())", "torch.equal(x, x)", "torch.allclose(x, x)", "assert (x == x).all()", "import numpy as np; np.asarray(x)",
    "repr(x)", "for row in range(x[0, 0].int()): pass", "x[x[0, 0].long().item()]", "bool(x.any())", "1.0 in x",
]  # fmt: skip


@pytest.mark.parametrize("body", HOST_READS)
def test_host_reads(body: str) -> None:
    reply = record(f"y = 0\n{body}")
    assert (reply["kind"], reply["rule"]) == ("rejected", "host_read"), reply
    assert reply["line"] == line_of(function(f"y = 0\n{body}"), body) and "reads values on the host" in reply["message"]


def test_bincount_asks_for_what_it_needs() -> None:
    assert "minlength" in record("torch.bincount(x[0].long())")["message"]
    assert "1-d" in record("torch.bincount(x.long(), minlength=3)")["message"]


def test_checks_of_pytorchs_own_layers_are_taken_as_passed() -> None:
    assert record("y = torch.nn.functional.gaussian_nll_loss(x, x, x.exp())")["ok"]
    assert ops(plan_of(record("x = torch.linalg.solve(x, x)"))["run"]) == ["_linalg_solve_ex", "add.Tensor"]


def test_dropout_that_drops_nothing_gives_its_argument_itself() -> None:
    for call in ("dropout(x, 0.5, training=False)", "dropout(x, 0.0)", "alpha_dropout(x, 0.5, False)"):
        assert ops(plan_of(record(f"x = torch.nn.functional.{call}"))["run"]) == ["add.Tensor"], call


def test_host_reads_of_state_are_rejected_since_others_choose_its_values() -> None:
    text = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(1))
    def forward(self, x):
        return x * self.w.item()
"""
    assert candidate(text, [tensor(4)])["rule"] == "host_read"


def test_values_that_stand_in_the_text_may_be_read() -> None:
    body = """
rates = [v.item() for v in torch.linspace(0, 1, 5)]
n = int(torch.tensor([3, 5], device="cuda").max())
assert rates[2] == 0.5 and n == 5 and torch.arange(4).tolist() == [0, 1, 2, 3]
k = torch.zeros(3)
k[1] = 7
assert k.numpy()[1] == 7 and torch.nonzero(k).shape == (1, 1) and print(k) is None
x = x * rates[2]
"""
    assert ops(plan_of(record(body))["run"])[-2:] == ["mul.Tensor", "add.Tensor"]


@pytest.mark.parametrize(
    "body, rule",
    [
        ("import threading; threading.Thread(target=print).start()", "thread"),
        ("from concurrent.futures import ThreadPoolExecutor; ThreadPoolExecutor().submit(print)", "thread"),
        ("import subprocess; subprocess.run(['true'])", "process"),
        ("import os; os.system('true')", "process"),
        ("import os; os.fork()", "process"),
        ("import multiprocessing as m; m.Process(target=print).start()", "process"),
        ("open('/etc/passwd').read()", "file"),
        ("open('out.txt', 'w')", "file"),
        ("import os; os.listdir('/')", "file"),
        ("import pathlib; pathlib.Path('x').write_text('a')", "file"),
        ("torch.save(x, 'x.pt')", "file"),
        ("import pickle; pickle.dumps(x)", "file"),
        ("import socket; socket.socket()", "socket"),
        ("import urllib.request; urllib.request.urlopen('http://localhost')", "socket"),
        ("import ctypes; ctypes.CDLL('libc.so.6')", "native_code"),
        ("s = torch.cuda.Stream()", "stream"),
        ("torch.cuda.ExternalStream(1)", "stream"),
        ("g = torch.cuda.CUDAGraph()", "cuda_graph"),
        ("torch.cuda.make_graphed_callables(f, (x,))", "cuda_graph"),
        ("from torch.utils.cpp_extension import load_inline; load_inline('a', '')", "inline_cuda"),
        ("import torch.utils.cpp_extension as c; c.load('a', [])", "inline_cuda"),
        ("g = torch.compile(f)(x)", "torch_compile"),
        ("m = nn.Linear(8, 8).to(x.device); m.compile(); m(x)", "torch_compile"),
        ("torch.compile(nn.Linear(8, 8).to(x.device), mode='max-autotune')(x)", "torch_compile"),
        ("nn.LazyLinear(4)(x)", "lazy_module"),
        ("nn.LazyBatchNorm1d()(x)", "lazy_module"),
        ("e = torch.cuda.Event(enable_timing=True); e.record(); e.elapsed_time(e)", "timing"),
        ("x[x > 0]", "dynamic_shape"),
        ("x[torch.tensor([True] * 8), x[0] > 0]", "dynamic_shape"),
        ("x.masked_select(x > 0)", "dynamic_shape"),
        ("x.nonzero()", "dynamic_shape"),
        ("nn.utils.rnn.pack_padded_sequence(x, (x[:, 0] > 0).cpu() + 1).data", "dynamic_shape"),
        ("torch.unique(x)", "dynamic_shape"),
        ("torch.bincount(x.long().flatten())", "dynamic_shape"),
        ("torch.histogram(x, 5).hist", "device"),
        ("torch.histogramdd(x, [3] * x.shape[-1]).hist", "device"),
        ("x.resize_(3)", "resize"),
        ("x.to(torch.complex32) * 1", "dtype"),
        ("torch.from_dlpack(x)", "host_read"),
    ],
)
def test_rules(body: str, rule: str) -> None:
    reply = record(body)
    assert (reply["kind"], reply["rule"]) == ("rejected", rule), reply
    assert reply["line"] == 9 and reply["message"]


@pytest.mark.parametrize(
    "body",
    [
        "torch.autograd.grad(x.sum(), x)",
        "x.requires_grad_(True); (x * 2).sum().backward()",
        "torch.func.grad(lambda v: v.sum())(x)",
        "torch.autograd.functional.jacobian(torch.exp, x)",
    ],
)
def test_gradients_inside_a_call(body: str) -> None:
    reply = record(body)
    assert (reply["kind"], reply["rule"]) == ("rejected", "gradient") and "forward steps" in reply["message"], reply


@pytest.mark.parametrize("clause", ["except Exception", "except"])
def test_breaking_a_rule_cannot_be_hidden(clause: str) -> None:
    reply = record(f"try:\n    y = x.sum().item()\n{clause}:\n    y = 0")
    assert (reply["rule"], reply["line"]) == ("host_read", 10)


def test_the_one_stream_and_waiting_are_harmless() -> None:
    body = """
s = torch.cuda.current_stream()
assert s.cuda_stream == 0 and torch.cuda.is_available() and torch.cuda.device_count() == 1
with torch.cuda.device(x.device), torch.cuda.stream(s), torch.cuda.device(0):
    torch.cuda.synchronize(); s.synchronize(); s.wait_stream(torch.cuda.default_stream())
e = torch.cuda.Event(); e.record(); e.wait(); x.record_stream(s); torch.cuda.empty_cache(); torch.cuda.nvtx.range_push("a")
p = torch.cuda.get_device_properties(x.device)
assert p.multi_processor_count == 132 and (p.major, p.minor) == (9, 0) == torch.cuda.get_device_capability()
assert torch.cuda.get_device_name() == p.name and torch.cuda.current_device() == 0 and p.total_memory > 2**37
torch.cuda.set_device(0); torch.backends.cuda.matmul.allow_tf32 = False; torch.set_float32_matmul_precision("high")
assert torch.cuda.is_bf16_supported() and torch.cuda.memory_allocated() == 0
"""
    assert ops(plan_of(record(body))["run"]) == ["add.Tensor"]


def test_what_a_mask_selects_is_told_how_to_be_said() -> None:
    for body in ("x[x > 0] *= 2", "y = x.masked_select(x > 0).mean()"):
        assert "torch.where(mask" in record(body)["message"]


def test_a_mask_that_does_not_fit_is_pytorchs_error() -> None:
    reply = record("x[:, torch.tensor([True, False])]")
    assert reply["kind"] == "runtime_error" and "shape of the mask [2] at index 1" in reply["message"]


def test_script_is_the_function_itself() -> None:
    text = "@torch.jit.script\ndef g(x):\n    return x * 2\n" + function("x = g(x)")
    assert ops(plan_of(candidate(text, [tensor(4)], entry="f", kind="function"))["run"]) == ["mul.Tensor", "add.Tensor"]


def test_devices_are_honest() -> None:
    reply = record("y = x + torch.ones(8)")
    assert reply["kind"] == "runtime_error" and "Expected all tensors to be on the same device" in reply["message"]
    assert reply["line"] == 9 and "device=x.device" in reply["message"]
    for fine in ("x + torch.tensor(2.0)", "x[torch.tensor([0, 1])]", "x.cpu() + torch.ones(8)", "torch.ones(8).cuda() + x",
                 "x.copy_(torch.ones(8, 8))", "torch.zeros(3, device='cuda') + torch.zeros(3).to('cuda')"):  # fmt: skip
        assert record(fine)["ok"], fine
    reply = record("torch.zeros(3, device='cuda:1')")
    assert reply["kind"] == "runtime_error" and "invalid device ordinal" in reply["message"]
    assert record("assert torch.ones(2).device.type == 'cpu' and not torch.ones(2).is_cuda")["ok"]
    assert record("torch.set_default_device('cuda'); y = x + torch.ones(8); torch.set_default_device(None)")["ok"]
    assert record("with torch.device('cuda'): x = x + torch.ones(8)")["ok"]


def reply_to(text: str) -> dict:
    return candidate(text, [tensor(4)])


MODEL = "class Model(nn.Module):\n    def forward(self, x):\n        return x\n"


def test_errors_of_the_file() -> None:
    reply = reply_to("class Model(nn.Module)\n    pass\n")
    assert (reply["kind"], reply["line"]) == ("compile_error", 8) and "SyntaxError" in reply["message"]
    reply = candidate(MODEL, [tensor(4)], entry="ModelNew")
    assert (reply["rule"], reply["message"]) == ("contract", "the file does not define ModelNew; it defines Model")
    assert reply_to("from torch.nn import Linear\nget_inputs = lambda: []\n")["message"] == "the file does not define Model"
    assert reference(MODEL)["message"] == "the file does not define get_inputs"
    assert reference(MODEL + "def get_inputs(): return 3\n")["rule"] == "contract"
    assert reply_to("Model = 3\n")["rule"] == "contract"
    assert reply_to("class Model:\n    pass\n")["rule"] == "contract"
    reply = reply_to("import no_such_module\n" + MODEL)
    assert (reply["kind"], reply["line"]) == ("runtime_error", 8) and "no_such_module" in reply["message"]


def test_errors_of_the_program() -> None:
    text = "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        raise ValueError('no luck')\n"
    reply = reply_to(text)
    assert (reply["kind"], reply["message"], reply["line"]) == ("runtime_error", "ValueError: no luck", 11)
    assert 'File "candidate.py", line 11, in __init__' in reply["trace"] and "raise ValueError" in reply["trace"]
    assert "worker" not in reply["trace"] and "site-packages" not in reply["trace"]
    reply = reply_to(
        "class Model(nn.Module):\n    def forward(self, x):\n        return x @ torch.ones(5, 5, device=x.device)\n"
    )
    assert (
        reply["kind"] == "runtime_error"
        and reply["line"] == 10
        and "shapes cannot be multiplied" in reply["message"]
        or "size" in reply["message"]
    )
    reply = reply_to("class Model(nn.Module):\n    def forward(self, x, y):\n        return x\n")
    assert reply["kind"] == "runtime_error" and "missing 1 required positional argument" in reply["message"]
    assert "sys.exit(3)" in reply_to("import sys\nsys.exit(3)\n")["message"]
    assert reply_to("def g():\n    g()\ng()\n")["message"].startswith("RecursionError")
    assert reply_to("raise KeyboardInterrupt\n")["kind"] == "runtime_error"


@pytest.mark.parametrize("result", ["None", "3", "[]", "'text'", "{'a': 1}"])
def test_no_output(result: str) -> None:
    assert (
        reply_to(f"class Model(nn.Module):\n    def forward(self, x):\n        return {result}\n")["rule"]
        == "no_output"
    )


def test_outputs_that_are_no_tensors_among_tensors() -> None:
    assert (
        reply_to("class Model(nn.Module):\n    def forward(self, x):\n        return x, object()\n")["rule"]
        == "contract"
    )


def test_numbers_beyond_64_bits() -> None:
    assert record("x = x.sum() * (1 << 70)")["kind"] in ("runtime_error", "rejected")


def test_what_the_jail_refuses_has_a_rule() -> None:
    import guards

    refused = PermissionError(1, "Operation not permitted")
    assert guards.rule_of(refused, ["/lib/socket.py"])[0] == "socket"
    assert guards.rule_of(refused, ["/lib/threading.py"])[0] == "thread"
    assert guards.rule_of(refused, ["candidate.py"])[0] == "system_call"
    assert guards.rule_of(PermissionError(13, "denied", "/etc/x"), ["candidate.py"])[0] == "file"
    assert guards.rule_of(RuntimeError("can't start new thread"), [])[0] == "thread"
    assert guards.rule_of(ValueError("x"), []) is None


def test_one_program_leaves_nothing_for_the_next() -> None:
    assert record("global KEPT; KEPT = 1")["ok"]
    assert record("assert 'KEPT' not in globals()")["ok"]
    assert record("y = x.sum().item()")["rule"] == "host_read"
    assert record("pass")["ok"]
