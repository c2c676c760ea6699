"""Kernels compiled for sm_90a without a GPU, and what they need."""
import pathlib
import subprocess
import tempfile

import triton
from triton.backends.compiler import GPUTarget


class NoDriver:
    """Stands for a GPU where kernels are only compiled: triton.runtime.driver.set_active(NoDriver())."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0


def resources(compiled):
    """Registers and bytes of stack of a thread, bytes of shared memory of a program."""
    tool = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compiled.asm["cubin"]), file.flush()
        text = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True).stdout
    words = dict(word.split(":")[:2] for word in text.split() if word.count(":") == 1)
    return {"registers": int(words["REG"]), "stack": int(words["STACK"]), "shared": compiled.metadata.shared}
