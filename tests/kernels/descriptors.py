"""Tensor descriptors made by the host and by the kernel."""
import triton
import triton.language as tl

from .cases import Descriptor, InOut, Out, Tensor, case


@case(a=Descriptor(Tensor("fp16", (48, 96)), (32, 64)), o=Descriptor(Out("fp16", (64, 128)), (32, 64)), n=16)
@triton.jit
def host_descriptor(a, o, n):
    v = a.load([n, 0])
    o.store([0, 0], v * 2)
    o.store([n + 32, 64], a.load([n + 8, 48]) + 1)
    tl.store_tensor_descriptor(o, [0, 64], tl.load_tensor_descriptor(a, [0, n]))


@case(grid=(2,), o=Descriptor(InOut("fp32", (32, 32)), (16, 32)), q=Descriptor(InOut("i32", (96,), (0, 1000)), (16,)),
      w=Descriptor(InOut("u32", (32,), (0, 1000)), (16,)), no_interpreter="descriptors have no atomics there")
@triton.jit
def descriptor_reduce(o, q, w):
    step = tl.program_id(0) + 1
    o.atomic_add([0, 0], o.load([16, 0]) * 0.0 + step)
    v = tl.arange(0, 16) * 3 * step
    q.atomic_add([0], v)
    q.atomic_max([16], v - 20)
    q.atomic_min([32], v - 20)
    q.atomic_and([48], v)
    q.atomic_or([64], v)
    q.atomic_xor([80], v)
    w.atomic_max([16], v.to(tl.uint32))


@case(a=Descriptor(Tensor("fp32", (64, 96)), (1, 32)), o=Descriptor(Out("fp32", (64, 96)), (1, 32)),
      i=Tensor("i32", 16, [3 * k % 61 for k in range(16)]), n=32)
@triton.jit
def descriptor_rows(a, o, i, n):
    rows = tl.load(i + tl.arange(0, 16))
    o.scatter(a.gather(rows, n) * 2.0, rows, 64)


@case(x=Tensor("fp32", (40, 64)), h=Tensor("fp32", (40, 64)), z=Out("fp32", (40, 64)), rows=40, columns=64, B=16)
@triton.jit
def device_descriptor(x, h, z, rows, columns, B: tl.constexpr):
    a = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[B, 32])
    b = tl.make_tensor_descriptor(h, shape=[rows, columns], strides=[columns, 1], block_shape=[B, 32], padding_option="nan")
    o = tl.make_tensor_descriptor(z, shape=[rows, columns], strides=[columns, 1], block_shape=[B, 32])
    for k in range(0, rows, B):
        o.store([k, 0], a.load([k, 0]) + b.load([k, 32]))
        late = b.load([k + 8, 48])
        o.store([k, 32], tl.where(late == late, late, 7.0))


@case(a=Descriptor(Tensor("fp16", (8, 128)), (1, 64)), z=Out("fp16", 64), n=5)
@triton.jit
def descriptor_drops_dimension(a, z, n):
    tl.store(z + tl.arange(0, 64), a.load([n, 64]).reshape([64]))
