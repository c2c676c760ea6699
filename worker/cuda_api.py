"""torch.cuda as a program sees it while it is recorded: one idle NVIDIA H200 whose memory is empty.

Queries get plausible answers, waiting is instant, and what a Plan cannot hold (streams of one's own, graphs, clocks) is
rejected with a sentence.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from guards import forbid, forbid_class, reject

TOTAL_MEMORY = 150_754_820_096
DEVICE = torch.device("cuda", 0)

PROPERTIES = SimpleNamespace(
    name="NVIDIA H200",
    major=9,
    minor=0,
    total_memory=TOTAL_MEMORY,
    multi_processor_count=132,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    warp_size=32,
    regs_per_multiprocessor=65536,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    L2_cache_size=62_914_560,
    is_integrated=0,
    is_multi_gpu_board=0,
    uuid="00000000-0000-0000-0000-000000000000",
    clock_rate=1_980_000,
    memory_clock_rate=3_201_000,
    memory_bus_width=6144,
    pci_bus_id=0,
    pci_device_id=0,
    pci_domain_id=0,
)


class Stream:
    """The current stream, the only one."""

    device = DEVICE
    device_index = 0
    device_type = 1
    stream_id = 0
    cuda_stream = 0
    priority = 0

    def __new__(cls, *args: Any, **kwargs: Any) -> Stream:
        reject("stream", "the program makes a stream of its own; everything runs on the current stream, in order")

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Nothing runs, so nothing is waited for."""

    wait_event = wait_stream = lambda self, other: None

    def record_event(self, event: Any = None) -> Event:
        return event or Event()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass


CURRENT = object.__new__(Stream)


class Event:
    """Ordering on the one stream is free; time is not to be had."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    record = wait = synchronize = lambda self, stream=None: None
    query = lambda self: True
    elapsed_time = forbid("timing", "a program may not measure time; offer variants with @triton.autotune")


class _OnStream:
    def __init__(self, stream: Any) -> None:
        if stream not in (None, CURRENT):
            reject("stream", "the program uses a stream of its own; everything runs on the current stream, in order")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


def _index(device: Any = None) -> int:
    """The index of a device argument; PyTorch's own error for one that is not there."""
    if device is None:
        return 0
    if isinstance(device, int):
        index = device
    else:
        device = torch.device(device)
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        index = device.index or 0
    if index > 0:
        raise RuntimeError("CUDA error: invalid device ordinal")
    return index


def _properties(device: Any = None) -> SimpleNamespace:
    _index(device)
    return PROPERTIES


def _no_seed(seed: int = 0) -> None:
    """Seeds are the verifier's: a program's own have no effect, for the reference and the candidate alike."""


def _manual_seed(seed: int) -> torch.Generator:
    return torch.default_generator


def capability() -> tuple[int, int]:
    """What the last `install` was given."""
    return PROPERTIES.major, PROPERTIES.minor


def install(capability: tuple[int, int]) -> None:
    """Patches torch.cuda. May be called again with another capability."""
    PROPERTIES.major, PROPERTIES.minor = capability
    cuda = torch.cuda
    answers: dict[str, Any] = {
        "is_available": True, "device_count": 1, "is_initialized": True, "is_bf16_supported": True,
        "get_device_name": PROPERTIES.name, "get_device_capability": tuple(capability), "memory_allocated": 0,
        "max_memory_allocated": 0, "memory_reserved": 0, "max_memory_reserved": 0, "init": None, "_lazy_init": None,
        "synchronize": None, "empty_cache": None, "ipc_collect": None, "reset_peak_memory_stats": None,
        "reset_max_memory_allocated": None, "mem_get_info": (TOTAL_MEMORY, TOTAL_MEMORY),
        "get_arch_list": ["sm_{}{}".format(*capability)],
        "set_per_process_memory_fraction": None, "is_current_stream_capturing": False, "memory_stats": {},
    }  # fmt: skip
    for name, value in answers.items():
        setattr(cuda, name, lambda *args, _value=value, **kwargs: _value)
    cuda.current_device = lambda: 0
    cuda.set_device = lambda device: _index(device) and None
    cuda._exchange_device = cuda._maybe_exchange_device = _index
    cuda.get_device_properties = _properties
    cuda.current_stream = cuda.default_stream = lambda device=None: CURRENT
    cuda.Stream = cuda.streams.Stream = torch.Stream = Stream
    cuda.ExternalStream = forbid_class("stream", "the program uses a stream of its own")
    cuda.stream = cuda.StreamContext = _OnStream
    cuda.set_stream = _OnStream
    cuda.Event = cuda.streams.Event = torch.Event = Event
    no_graph = ("cuda_graph", "CUDA graphs are not part of a Plan; the replayer makes its own")
    cuda.CUDAGraph = cuda.graph = forbid_class(*no_graph)
    cuda.make_graphed_callables = cuda.graph_pool_handle = forbid(*no_graph)
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        setattr(cuda.nvtx, name, lambda *args, **kwargs: 0)
    torch._C._cuda_getCurrentRawStream = lambda device: 0
    _install_printed_by_inductor(torch._C._dynamo.guards)
    for name in ("manual_seed", "manual_seed_all", "seed", "seed_all"):
        setattr(cuda, name, _no_seed)
    torch.manual_seed = torch.random.manual_seed = _manual_seed
    torch.seed = torch.random.seed = lambda: 0
    torch.Generator = _Generator
    _install_accelerator()


def _install_printed_by_inductor(helpers: Any) -> None:
    """Functions that code printed by torch.compile calls instead of PyTorch's own; in C++ they would ask the driver."""
    helpers._empty_strided_cuda = lambda size, stride, dtype: torch.empty_strided(
        size, stride, dtype=dtype, device=DEVICE
    )
    helpers._empty_strided_cpu = lambda size, stride, dtype: torch.empty_strided(size, stride, dtype=dtype)
    helpers._reinterpret_tensor = lambda base, size, stride, offset=0: torch.as_strided(
        base, size, stride, base.storage_offset() + offset
    )


class _Generator(torch.Generator):
    """A generator on any device; it is left out of recorded calls, as seeds are."""

    def __new__(cls, device: Any = None) -> torch.Generator:
        return super().__new__(cls)

    def manual_seed(self, seed: int) -> torch.Generator:
        return self


def _install_accelerator() -> None:
    accelerator = torch.accelerator
    accelerator.is_available = lambda: True
    accelerator.device_count = lambda: 1
    accelerator.current_accelerator = lambda check_available=False: torch.device("cuda")
    accelerator.current_device_index = lambda: 0
    accelerator.synchronize = lambda device=None: None
    accelerator.current_stream = lambda device=None: CURRENT
