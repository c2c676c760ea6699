"""What torch.compile would write in Triton for canonical programs, without a GPU (docs/remote.md).

Reads one JSON object a line: "program" (text with a function `program`, as src/program prints it) and "inputs" (one
{"dtype", "shape"} for each of its parameters). Answers each with a line: {"source": …} or {"error": …}.

The program is traced on fake CPU tensors and lowered by Inductor as if it were on a GPU whose properties are stated
here, so that the same text comes out on every machine. Nothing is executed. The programs are Tritogen's own print of
what it has parsed and checked, which is why this runs outside of the jail. C++ side: src/propose/inductor_proposer.cc.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any
from unittest import mock

import torch
from torch._dynamo.device_interface import CudaInterface
from torch._functorch.aot_autograd import aot_export_module
from torch._inductor import config
from torch._inductor.debug import DebugContext
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.fx_passes.post_grad import post_grad_passes
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.utils._pytree import tree_leaves

_GPU = torch.device("cuda", 0)
_MAX_ERROR_CHARACTERS = 300


class _Properties:
    """An H100-class GPU, as far as Inductor asks."""

    name, major, minor, gcnArchName = "GPU", 9, 0, ""
    multi_processor_count, warp_size = 132, 32
    max_threads_per_block, max_threads_per_multi_processor = 1024, 2048
    regs_per_multiprocessor = 65536
    shared_memory_per_block, shared_memory_per_block_optin = 49152, 232448
    total_memory, L2_cache_size, is_integrated = 80 << 30, 50 << 20, False


class _Traced(torch.nn.Module):
    """The function as a module that returns the tensors of its result, in order."""

    def __init__(self, function) -> None:
        super().__init__()
        self._function = function

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(tree_leaves(self._function(*inputs)))


def _pretend_gpu() -> contextlib.ExitStack:
    """Until the stack is closed, what Inductor asks about the GPU has an answer."""
    properties = _Properties()
    get = staticmethod(lambda device=None: properties)
    zero = staticmethod(lambda *device: 0)
    stack = contextlib.ExitStack()
    for target, name, value in (
        (fake_tensor, "init_gpu_context", lambda device: None),
        (CudaInterface, "get_device_properties", get),
        (CudaInterface.Worker, "get_device_properties", get),
        (CudaInterface.Worker, "current_device", zero),
        (torch.cuda, "is_available", lambda: True),
        (torch.cuda, "device_count", lambda: 1),
        (torch.cuda, "current_device", lambda: 0),
        (torch.cuda, "get_device_properties", lambda device=None: properties),
        (torch.cuda, "get_device_capability", lambda device=None: (properties.major, properties.minor)),
        (torch.cuda, "_lazy_init", lambda: None),
        (torch.cuda, "set_device", lambda device: None),
        (torch.cuda, "_exchange_device", lambda device: 0),
        (torch.cuda, "_maybe_exchange_device", lambda device: 0),
        (torch.utils._triton, "triton_hash_with_backend", lambda: "0"),
    ):
        stack.enter_context(mock.patch.object(target, name, value))
    return stack


def _on_gpu(mode: FakeTensorMode, value: torch.Tensor) -> FakeTensor:
    with fake_tensor.unset_fake_temporarily():
        meta = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
    return FakeTensor(mode, meta, _GPU)


def inductor_source(program: str, inputs: list[dict[str, Any]]) -> str:
    """The Python module that Inductor writes for the program."""
    scope: dict[str, Any] = {}
    exec(compile(program, "program", "exec"), scope)  # noqa: S102: our own text
    with FakeTensorMode() as mode, torch.no_grad():
        arguments = [torch.empty(one["shape"], dtype=getattr(torch, one["dtype"])) for one in inputs]
        graph, _ = aot_export_module(
            _Traced(scope["program"]), arguments, trace_joint=False, decompositions=select_decomp_table()
        )
        with _pretend_gpu(), V.set_fake_mode(mode):
            placeholders = []
            for node in graph.graph.nodes:
                if node.op == "placeholder":
                    placeholders.append(_on_gpu(mode, node.meta["val"]))
                if "device" in node.kwargs:
                    node.kwargs = {**node.kwargs, "device": _GPU}
            FakeTensorProp(graph, mode).propagate_dont_convert_inputs(*placeholders)
            post_grad_passes(graph, True)
            lowering = GraphLowering(graph, example_inputs=placeholders, is_inference=True)
            with V.set_graph_handler(lowering), DebugContext():
                lowering.run(*placeholders)
                return lowering.codegen()[0].value


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    config.max_autotune = False
    config.triton.use_block_ptr = False
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = {"source": inductor_source(request["program"], request["inputs"])}
        except Exception as error:  # noqa: BLE001: whatever Inductor cannot do is an answer
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            reply = {"error": text[:_MAX_ERROR_CHARACTERS]}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
