"""Kernels on plain bytes: the bands around buffers of a replay (src/device/guard_bands.h), and equality of memory."""
import triton
import triton.language as tl

PATTERN = tl.constexpr(-91)  # 0xa5 as a signed byte
WORD = tl.constexpr(-0x5A5A5A5B)  # four of them


@triton.jit
def fill_bands(front, back, front_bytes, back_bytes, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(front + at, tl.full((BLOCK,), PATTERN, tl.int8), mask=at < front_bytes)
    tl.store(back + at, tl.full((BLOCK,), PATTERN, tl.int8), mask=at < back_bytes)


@triton.jit
def picked(which, choices):
    choice = choices[0]
    for i in tl.static_range(1, len(choices)):
        choice = tl.where(which == i, choices[i], choice)
    return choice


@triton.jit
def check_bands(buffer0, buffer1, buffer2, buffer3, buffer4, buffer5, buffer6, buffer7, buffer8, buffer9, buffer10, buffer11, buffer12,
                buffer13, buffer14, buffer15, bytes0, bytes1, bytes2, bytes3, bytes4, bytes5, bytes6, bytes7, bytes8, bytes9, bytes10,
                bytes11, bytes12, bytes13, bytes14, bytes15, broken, WORDS: tl.constexpr, GRANULE: tl.constexpr):  # fmt: skip
    """Adds the number of words that are not as they were, of as many of these buffers as there are programs.

    Their addresses and sizes are arguments, so that they lie where no kernel can write. In front of a buffer is a band of WORDS words;
    behind it the rest of its last granule of words belongs to the band as well. Addresses are multiples of a granule.
    """
    which = tl.program_id(0)
    buffer = picked(which, (buffer0, buffer1, buffer2, buffer3, buffer4, buffer5, buffer6, buffer7, buffer8, buffer9, buffer10, buffer11,
                            buffer12, buffer13, buffer14, buffer15))  # fmt: skip
    size = picked(which, (bytes0, bytes1, bytes2, bytes3, bytes4, bytes5, bytes6, bytes7, bytes8, bytes9, bytes10, bytes11, bytes12,
                          bytes13, bytes14, bytes15))  # fmt: skip
    at = tl.arange(0, WORDS)
    front = tl.load(buffer - WORDS + at)
    end = (size + 4 * GRANULE - 1) // (4 * GRANULE) * GRANULE  # in words
    back = tl.load(buffer + end + at)
    last = end - GRANULE + tl.arange(0, GRANULE)
    rest = tl.load(buffer + last, mask=(last + 1) * 4 > size, other=WORD) ^ WORD
    ours = tl.where(last * 4 < size, size % 4, 0).to(tl.int32)  # bytes of the buffer in this word, the low ones
    count = tl.sum((front != WORD).to(tl.int32) + (back != WORD).to(tl.int32)) + tl.sum(((rest >> (8 * ours)) != 0).to(tl.int32))
    if count > 0:
        tl.atomic_add(broken, count)


@triton.jit
def count_different(a, b, different, n, BLOCK: tl.constexpr):
    """Adds the number of elements whose bits differ."""
    count = tl.zeros((BLOCK,), tl.int32)
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        at = start + tl.arange(0, BLOCK)
        mask = at < n
        count += (tl.load(a + at, mask=mask, other=0) != tl.load(b + at, mask=mask, other=0)).to(tl.int32)
    total = tl.sum(count)
    if total > 0:
        tl.atomic_add(different, total)
