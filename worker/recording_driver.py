"""What Triton asks of the machine, answered for the GPU that a Plan is for."""

from __future__ import annotations

from typing import Any

import torch
import triton.testing
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

import cuda_api
from guards import reject


class _Utils:
    def get_device_properties(self, device: int) -> dict[str, int]:
        p = cuda_api.PROPERTIES
        return {
            "max_shared_mem": p.shared_memory_per_block_optin,
            "max_num_regs": p.regs_per_multiprocessor,
            "multiprocessor_count": p.multi_processor_count,
            "warpSize": p.warp_size,
            "sm_clock_rate": p.clock_rate,
            "mem_clock_rate": p.memory_clock_rate,
            "mem_bus_width": p.memory_bus_width,
        }


class RecordingDriver(DriverBase):
    """The active driver: one device, one stream, nothing to benchmark."""

    def __init__(self, capability: tuple[int, int]) -> None:
        self.utils = _Utils()
        self.target = GPUTarget("cuda", 10 * capability[0] + capability[1], 32)

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_active_torch_device(self) -> torch.device:
        return cuda_api.DEVICE

    def get_benchmarker(self) -> Any:
        return triton.testing.do_bench  # which rejects

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_device_capability(self, *args: Any) -> tuple[int, int]:
        return divmod(self.target.arch, 10)

    def get_empty_cache_for_benchmark(self) -> Any:
        reject("timing", "a program may not measure time; offer variants with @triton.autotune")
