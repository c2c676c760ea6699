"""Memory that kernels need beside their arguments, and may not get.

How much shared memory that is is known once Triton has laid out a kernel's tiles, stages behind the TTIR at which
recording stops. They are run where the tiles are large enough for it to matter; most kernels' text tells that they are not.
"""

from __future__ import annotations

import math
import re
from typing import Any

from triton._C.libtriton import ir, nvidia, passes
from triton.backends.compiler import GPUTarget, Language
from triton.compiler import make_backend
from triton.runtime import _allocation
from triton.runtime.errors import OutOfResources

from cuda_api import PROPERTIES

_TILE = re.compile(r"tensor<((?:\d+x)+)(?:!tt\.ptr<)?([a-z]+)(\d+)")
_LOOP_STAGES = re.compile(r"tt\.num_stages = (\d+) ")
_FIRST_WITH_DESCRIPTORS = 9  # compute capability


def check(kernel: Any) -> None:
    """Asks as Triton does when it launches a CompiledKernel, with the same errors."""
    if kernel.shared_memory > PROPERTIES.shared_memory_per_block_optin:
        raise OutOfResources(kernel.shared_memory, PROPERTIES.shared_memory_per_block_optin, "shared memory")
    allocator = _allocation._allocator.get()
    makes_descriptors = PROPERTIES.major >= _FIRST_WITH_DESCRIPTORS and "tt.make_tensor_descriptor" in kernel.ttir
    if makes_descriptors and isinstance(allocator, _allocation.NullAllocator):
        allocator(0, 1, None)  # which says what to do


def shared_memory(module: Any, text: str, target: GPUTarget, options: Any) -> int:
    """Bytes of shared memory that a program of the kernel needs, or 0 where they are plainly there.

    `module` is the TTIR, of which `text` is the text; it is lowered in place. 0, too, where Triton cannot lower it: that is
    for whoever compiles it to say.
    """
    if _most(text, options.num_stages) <= PROPERTIES.shared_memory_per_block_optin:
        return 0
    backend = make_backend(target)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, Language.TRITON)
    try:
        if target.arch < 10 * _FIRST_WITH_DESCRIPTORS:
            _run(module, passes.ttir.add_rewrite_tensor_descriptor_to_pointer)
        module = stages["ttgir"](module, {})
        _run(
            module,
            passes.ttgpuir.add_combine_tensor_select_and_if,
            passes.ttgpuir.add_allocate_warp_groups,
            passes.convert.add_scf_to_cf,
            passes.gluon.add_inliner,
            lambda manager: nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, target.arch, 80),
        )
    except RuntimeError:
        return 0
    return module.get_int_attr("ttg.shared") or 0


def _run(module: Any, *additions: Any) -> None:
    manager = ir.pass_manager(module.context)
    for add in additions:
        add(manager)
    manager.run(module, "shared_memory")


def _most(text: str, num_stages: int) -> int:
    """Bytes, hardly ever exceeded: what a loop loads for each of its stages, what products take from registers, and the
    largest tile, which may be laid out anew."""
    stages = max([num_stages, 1, *map(int, _LOOP_STAGES.findall(text))])
    loaded = multiplied = largest = 0
    for line in text.splitlines():
        tiles = [_bytes(*tile) for tile in _TILE.findall(line)]
        largest = max([largest, *tiles])
        if " tt.load " in line or " tt.descriptor_load " in line:
            loaded += tiles[-1] if tiles else 0
        elif " tt.dot " in line:
            multiplied += sum(tiles[:2])
    return max(stages * loaded + multiplied if multiplied else 0, largest)


def _bytes(sizes: str, kind: str, bits: str) -> int:
    return math.prod(map(int, sizes[:-1].split("x"))) * max(int(bits), 8) // 8
