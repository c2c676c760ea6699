"""Programs that the end-to-end tests hand in."""

REFERENCE = """
import torch, torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.0
def get_inputs():
    return [torch.randn(16, 100)]
def get_init_inputs():
    return []
"""

HEAD = """
import torch, torch.nn as nn, triton, triton.language as tl
@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.maximum(x, 0.0) * 2.0, mask=i < n)
"""


def candidate(before: str = "", top: str = "") -> str:
    """A right candidate with lines put at the top of its file and before the launch."""
    body = "".join(f"        {line}\n" for line in before.splitlines())
    return f"""{HEAD}
{top}
class ModelNew(nn.Module):
    def forward(self, x):
{body}        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out
"""


# name: (candidate, verdicts that are right for it, word of the reason or rule)
BAD_CANDIDATES = {
    "syntax": (candidate().replace("def forward", "def forward("), {"compile_error"}, ""),
    "kernel_error": (candidate().replace("tl.maximum(x, 0.0)", "tl.no_such_function(x)"), {"compile_error"}, "no_such_function"),
    "no_class": (candidate().replace("ModelNew", "Other"), {"rejected"}, "ModelNew"),
    "raises": (candidate("raise ValueError('no luck')"), {"runtime_error"}, "no luck"),
    "raises_in_init": (candidate().replace("    def forward", "    def __init__(self):\n        1 / 0\n    def forward"), {"runtime_error"}, "ZeroDivision"),
    "returns_nothing": (candidate().replace("return out", "return None"), {"rejected"}, ""),
    "exit": (candidate("import os; os._exit(0)"), {"rejected", "killed", "runtime_error"}, ""),
    "sys_exit": (candidate("raise SystemExit(0)"), {"rejected", "killed", "runtime_error"}, ""),
    "ten_terabytes": (candidate("y = torch.zeros(10 * 2**40, device=x.device); x = x + y[0]"), {"runtime_error"}, "memory"),
    "endless": (candidate("while True: pass"), {"timeout"}, ""),
    "fork": (candidate("import os\nwhile True: os.fork()"), {"rejected"}, ""),
    "subprocess": (candidate("import subprocess; subprocess.run(['true'])"), {"rejected"}, ""),
    "socket": (candidate("import socket; socket.socket()"), {"rejected"}, ""),
    "thread": (candidate("import threading; threading.Thread(target=print).start()"), {"rejected"}, ""),
    "kill_parent": (candidate("import os\nos.kill(os.getppid(), 9); os.kill(-1, 9)"), {"rejected", "killed", "runtime_error"}, ""),
    "segfault": (candidate("import ctypes; ctypes.string_at(0)"), {"killed", "rejected", "runtime_error"}, ""),
    "host_read": (candidate("if x.sum().item() > 0: pass"), {"rejected"}, ""),
    "wrong": (candidate().replace("* 2.0", "* 2.001"), {"wrong_values"}, ""),
    "overrun": (candidate().replace("mask=i < n", "mask=i <= n"), {"memory_error"}, ""),
    "unwritten": (candidate().replace("tl.store(out_ptr + i, ", "tl.store(out_ptr + i, ", 1).replace("* 2.0, mask=i < n", "* 2.0, mask=i < n - 1"), {"memory_error"}, "nobody wrote"),
    "wrong_shape": (candidate().replace("return out", "return out.flatten()"), {"wrong_shape"}, ""),
    "wrong_dtype": (candidate().replace("return out", "return out.double()"), {"wrong_dtype"}, ""),
    "torch_only": (candidate().replace("kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)", "out = torch.relu(x) * 2.0"), {"rejected"}, "Triton"),
    "decoy": (candidate().replace("return out", "return torch.relu(x) * 2.0"), {"rejected"}, ""),
    "identity": (candidate().replace("return out", "return x"), {"rejected", "wrong_values"}, ""),
    "forged_frame": (
        candidate("import os\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b'\\x05\\x00\\x00\\x00\\x81\\xa2ok\\xc3')\n    except OSError:\n        pass"),
        {"rejected", "killed", "runtime_error"},
        "",
    ),
}

BAD_REFERENCES = {
    "missing_get_inputs": (REFERENCE.replace("get_inputs", "other_inputs"), "get_inputs"),
    "reference_syntax": (REFERENCE.replace("class Model", "class class Model"), ""),
    "reference_raises": (REFERENCE.replace("return torch.relu(x) * 2.0", "raise KeyError('gone')"), "gone"),
    "reference_too_large": (REFERENCE.replace("torch.randn(16, 100)", "torch.zeros(2**38)"), "GiB"),
}
