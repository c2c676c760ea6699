"""Moves the zygote's warm memory into huge pages, and keeps its children from writing there.

A fork copies the page table of what was written since the start, an exit drops it again; with 200 MB of libraries' tables
and Python objects that is most of what a small program costs. One entry of a huge page stands for 512.
The first write of a child to a page that it shares with the zygote copies it, 2 to 3 microseconds each: what a child
allocates belongs into memory of its own, where one fault brings 2 MB.
"""

import ctypes
import gc
import struct

_MADV_COLLAPSE = 25  # Linux 6.1; older kernels and those without huge pages refuse, and nothing changes
_PAGE = 2 << 20
_PT_LOAD, _WRITABLE = 1, 2
_PROGRAM_HEADER = struct.Struct("=IIQQQQQQ")  # type, flags, offset, vaddr, paddr, filesz, memsz, align

_libc = ctypes.CDLL(None)
_libc.sbrk.restype = ctypes.c_size_t
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.malloc.restype = ctypes.c_size_t
_libc.malloc.argtypes = [ctypes.c_size_t]
_HEAP_START = _libc.sbrk(0)


class _Library(ctypes.Structure):  # dl_phdr_info, its first fields
    _fields_ = [
        ("base", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("headers", ctypes.c_void_p),
        ("count", ctypes.c_uint16),
    ]


class _Mallinfo(ctypes.Structure):  # mallinfo2
    _fields_ = [("_", ctypes.c_size_t * 9), ("top", ctypes.c_size_t)]  # bytes at the end of the heap, never handed out


if hasattr(_libc, "mallinfo2"):  # glibc 2.33
    _libc.mallinfo2.restype = _Mallinfo


def fill_holes() -> None:
    """Takes every free block between living ones, for good; a child would find its memory there, a page here and there."""
    if not hasattr(_libc, "mallinfo2"):
        return
    end = _libc.sbrk(0) - _libc.mallinfo2().top
    size = _PAGE // 4
    while size >= 24:
        while _libc.malloc(size) < end:
            pass
        size = size * 3 // 4 if size > 1024 else size - 16


def leave_shared_top() -> None:
    """In a child: takes what is left of the heap's last huge page, so that the next block is on a page of its own."""
    if hasattr(_libc, "mallinfo2") and (top := _libc.mallinfo2().top) > 64:
        _libc.malloc(top - 64)


def collapse() -> None:
    """To be called once, when everything is imported. What is not mapped whole, or not private, is refused and stays."""
    pages = {id(thing) // _PAGE for thing in gc.get_objects()}
    for start, end in [(_HEAP_START, _libc.sbrk(0)), *_zero_initialised()]:
        pages.update(range(start // _PAGE, end // _PAGE + 1))
    for page in pages:
        _libc.madvise(page * _PAGE, _PAGE, _MADV_COLLAPSE)


def _zero_initialised() -> list[tuple[int, int]]:
    """Where the .bss of each loaded library lies. There is no /proc in the jail to ask."""
    spans: list[tuple[int, int]] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Library), ctypes.c_size_t, ctypes.c_void_p)
    def visit(library, _size, _data) -> int:
        info = library.contents
        table = ctypes.string_at(info.headers, info.count * _PROGRAM_HEADER.size)
        for kind, flags, _, address, _, in_file, in_memory, _ in _PROGRAM_HEADER.iter_unpack(table):
            if kind == _PT_LOAD and flags & _WRITABLE and in_memory - in_file >= _PAGE:
                spans.append((info.base + address + in_file, info.base + address + in_memory))
        return 0

    _libc.dl_iterate_phdr(visit, None)
    return spans
